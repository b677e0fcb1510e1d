//! One statement on its way: its digest, the row that it means, and when it was sent.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use crate::sql::plan::SessionFacts;
use crate::sql::{self, Digest, Kind, Place};

/// Of a value so many bytes tell which one it is.
const MOST_OF_A_VALUE: usize = 64;

/// The longest text of a key, in bytes.
const LONGEST_KEY: usize = 192;

/// A statement that is on its way, or was.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// The current schema, as far as it is known.
    pub(super) schema: Option<String>,
    pub(super) digest: Arc<Digest>,
    /// The row that it means: `id = 42`.
    pub(super) key: Option<String>,
    pub(super) in_transaction: bool,
    /// What its transaction has written before.
    pub(super) behind: Vec<Arc<Digest>>,
    pub(super) since: Instant,
}

impl Sighting {
    /// Whether statements of this kind are looked at.
    pub fn is_of_interest(kind: Kind) -> bool {
        matches!(
            kind,
            Kind::Select | Kind::With | Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete
        )
    }

    /// The digest of a statement. Where nothing is known of the session, only of a text that reads the same in all: what
    /// one takes for an identifier may be a literal of another.
    pub fn digest(text: &[u8], facts: Option<&SessionFacts>) -> Option<Arc<Digest>> {
        let digest = match facts {
            Some(facts) => sql::digest(text, facts),
            None if sql::reads_the_same(text) => sql::digest(text, &SessionFacts::default()),
            None => None,
        };
        digest.map(Arc::new)
    }

    /// Of one in a transaction that has written this before.
    #[must_use]
    pub fn behind(mut self, written: &[Arc<Digest>]) -> Self {
        self.behind = written.to_vec();
        self
    }

    /// What it writes, if it is an UPDATE.
    pub fn written(&self) -> Option<&Arc<Digest>> {
        let verb = self.digest.text.get(..6);
        verb.filter(|verb| verb.eq_ignore_ascii_case("UPDATE"))
            .map(|_| &self.digest)
    }

    /// A statement that is about to be sent; `value` gives the value at a place of its digest, as SQL.
    pub fn new<'a>(
        digest: Arc<Digest>,
        schema: Option<String>,
        in_transaction: bool,
        value: impl Fn(&Place) -> Option<std::borrow::Cow<'a, [u8]>>,
    ) -> Self {
        Self {
            key: key(&digest, value),
            schema,
            digest,
            in_transaction,
            behind: Vec::new(),
            since: Instant::now(),
        }
    }
}

/// The row that a statement means; none where it does not say, or a value is not known.
fn key<'a>(
    digest: &Digest,
    value: impl Fn(&Place) -> Option<std::borrow::Cow<'a, [u8]>>,
) -> Option<String> {
    // What reads does not queue.
    let first = digest.text.as_bytes().first()?;
    if !matches!(first.to_ascii_lowercase(), b'u' | b'i') {
        return None;
    }
    let mut key = String::new();
    for compared in &digest.compared {
        let value = value(&compared.place)?;
        let value = &value[..value.len().min(MOST_OF_A_VALUE)];
        let and = if key.is_empty() { "" } else { " AND " };
        write!(
            key,
            "{and}{} = {}",
            compared.column,
            String::from_utf8_lossy(value)
        )
        .ok()?;
    }
    (!key.is_empty() && key.len() <= LONGEST_KEY).then_some(key)
}
