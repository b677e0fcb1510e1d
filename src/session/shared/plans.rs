//! Plans that are kept, by text (or shape) and session variables. The cache is bounded in bytes.

use std::mem::size_of;
use std::sync::Arc;

use equivalent::Equivalent;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::sql::plan::{Plan, SessionVariables};

/// How many parts the cache is divided into, so that sessions do not wait for each other.
const SHARDS: usize = 8;

/// The usual size of an entry, in bytes: a guess, by which the cache sizes what it remembers of evicted entries.
const USUAL_ENTRY: usize = 2048;

/// What the cache itself keeps for an entry besides key and value, in bytes.
const BOOKKEEPING: usize = 64;

/// Plans by text and session variables. Those that are not used are evicted first.
#[derive(Debug)]
pub(crate) struct Plans {
    cache: Cache<Key, Kept, Bytes>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    variables: SessionVariables,
    text: Vec<u8>,
}

/// A key that borrows. It hashes as [`Key`] does, field by field.
#[derive(Hash)]
struct KeyRef<'a> {
    variables: &'a SessionVariables,
    text: &'a [u8],
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.text == key.text && *self.variables == key.variables
    }
}

/// A plan that is kept, to be shown to people.
#[derive(Clone, Debug)]
pub struct KeptPlan {
    /// The variables that it was planned under.
    pub variables: SessionVariables,
    /// The statement, or its shape. It may contain literals.
    pub text: Vec<u8>,
    /// What is done with the statement.
    pub plan: Arc<Plan>,
}

#[derive(Clone, Debug)]
struct Kept {
    plan: Arc<Plan>,
    /// The plan's size, in bytes.
    size: usize,
}

/// Weighs entries by their size in bytes.
#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<Key, Kept> for Bytes {
    fn weight(&self, key: &Key, kept: &Kept) -> u64 {
        let schema = key.variables.schema.as_ref().map_or(0, String::len);
        let entry = size_of::<Key>() + size_of::<Kept>() + BOOKKEEPING;
        u64::try_from(entry + schema + key.text.len() + kept.size).unwrap_or(u64::MAX)
    }
}

impl Plans {
    /// An empty cache. Texts and plans may take so many bytes together, by estimate.
    pub(crate) fn holding(bytes: u64) -> Self {
        Self::sharded(bytes, SHARDS)
    }

    fn sharded(bytes: u64, shards: usize) -> Self {
        let entries = usize::try_from(bytes).unwrap_or(usize::MAX) / USUAL_ENTRY;
        let options = OptionsBuilder::new()
            .shards(shards)
            .weight_capacity(bytes)
            .estimated_items_capacity(entries)
            .build()
            .expect("both capacities are set");
        let hasher = DefaultHashBuilder::default();
        Self {
            cache: Cache::with_options(options, Bytes, hasher, DefaultLifecycle::default()),
        }
    }

    /// Lets texts and plans take so many bytes from now on; what is too much goes.
    pub(crate) fn resize(&self, bytes: u64) {
        self.cache.set_capacity(bytes);
    }

    /// How many bytes texts and plans may take.
    pub(crate) fn capacity(&self) -> u64 {
        self.cache.capacity()
    }

    /// The plan kept for this text.
    pub(crate) fn get(&self, text: &[u8], variables: &SessionVariables) -> Option<Arc<Plan>> {
        let kept = self.cache.get(&KeyRef { variables, text })?;
        Some(kept.plan)
    }

    /// At most `most` of the plans that are kept, and how many there are.
    pub(crate) fn kept(&self, most: usize) -> (Vec<KeptPlan>, usize) {
        let plans = self.cache.iter().take(most).map(|(key, kept)| KeptPlan {
            variables: key.variables,
            text: key.text,
            plan: kept.plan,
        });
        (plans.collect(), self.cache.len())
    }

    /// The plan kept for this text, or the one that `plan` makes.
    pub(crate) fn get_or_plan(
        &self,
        text: &[u8],
        variables: &SessionVariables,
        plan: impl FnOnce() -> Plan,
    ) -> Arc<Plan> {
        if let Some(plan) = self.get(text, variables) {
            return plan;
        }
        let plan = plan();
        let size = plan.size();
        let plan = Arc::new(plan);
        let key = Key {
            variables: variables.clone(),
            text: text.to_vec(),
        };
        let kept = Kept {
            plan: Arc::clone(&plan),
            size,
        };
        // An entry larger than a part of the cache is not kept.
        self.cache.insert(key, kept);
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::plan::Reason;

    fn plan(plans: &Plans, text: &str) -> bool {
        let mut is_new = false;
        plans.get_or_plan(text.as_bytes(), &SessionVariables::default(), || {
            is_new = true;
            Plan::Forward(Reason::NoCounter)
        });
        is_new
    }

    #[test]
    fn a_plan_is_made_once_for_each_text_and_its_facts() {
        let plans = Plans::holding(1 << 20);
        assert!(plan(&plans, "SELECT 1"));
        assert!(!plan(&plans, "SELECT 1"));
        assert!(plan(&plans, "SELECT 2"));
        let ansi = SessionVariables {
            ansi_quotes: true,
            ..SessionVariables::default()
        };
        assert!(plans.get(b"SELECT 1", &ansi).is_none());
        assert!(
            plans
                .get(b"SELECT 1", &SessionVariables::default())
                .is_some()
        );
    }

    #[test]
    fn the_bound_is_in_bytes_and_what_is_asked_for_stays() {
        const BYTES: u64 = 256 * 1024;
        let plans = Plans::sharded(BYTES, 2);
        let often = |number: usize| match number < 5_000 {
            true => "SELECT early",
            false => "SELECT late",
        };
        let text = |number: usize| format!("SELECT {number} {}", "x".repeat(number % 2_000));
        for number in 0..10_000 {
            assert!(plan(&plans, &text(number)));
            plan(&plans, often(number));
            assert!(plans.cache.weight() <= BYTES);
        }
        assert!(!plan(&plans, "SELECT late"));
        assert!(plans.cache.weight() > BYTES / 2);
        let kept = (0..10_000).filter(|&number| {
            let text = text(number);
            plans
                .get(text.as_bytes(), &SessionVariables::default())
                .is_some()
        });
        assert!(kept.count() < 1_000);
        plans.resize(BYTES / 4);
        assert!(plans.cache.weight() <= BYTES / 4);
        assert_eq!(plans.capacity(), BYTES / 4);
        plans.resize(BYTES);
        // The text is larger than a part of the cache.
        let long = "x".repeat(usize::try_from(BYTES).expect("small") / 2);
        assert!(plan(&plans, &long));
        assert!(plan(&plans, &long));
        assert!(plans.cache.weight() <= BYTES);
    }
}
