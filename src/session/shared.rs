//! What all sessions share: the hot tables with their plans, slots, metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use equivalent::Equivalent;
use tokio::sync::{mpsc, oneshot};

use crate::catalog::{Catalog, HotTable};
use crate::counter::combine::Groups;
use crate::counter::control::Control;
use crate::counter::fold::OpenRow;
use crate::counter::{Key, KeyForm, Slots};
use crate::metrics::Metrics;
use crate::sql::Prefilter;
use crate::sql::plan::{Plan, SessionFacts};

/// How many plans are kept.
const MOST_PLANS: usize = 2048;

/// So long after the last such transaction a shape goes to slots again: one odd transaction must not slow all others for good.
const MIXED_COUNTS: Duration = Duration::from_secs(60);

/// How many shapes of statements are remembered.
const MOST_SHAPES: usize = 1024;

/// Texts longer than this are planned anew each time, so that the cache takes at most some 10 MiB.
const LONGEST_CACHED: usize = 4096;

/// Shared by all sessions of the process.
#[derive(Debug)]
pub struct Shared {
    hot: ArcSwap<Hot>,
    /// Slots of all hot tables.
    pub slots: Slots,
    /// Sessions whose increments are added up.
    pub(super) groups: Groups,
    /// What is known of the transactions that increments of a shape stand in.
    shapes: quick_cache::sync::Cache<u64, Shape>,
    /// Every metric.
    pub metrics: Metrics,
    refresh: mpsc::Sender<oneshot::Sender<()>>,
    /// Tells which slot rows there are.
    control: Control,
}

/// What transactions do besides increments of one shape.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Nothing that locks base rows.
    Pure,
    /// Something, this long ago.
    Mixed(Instant),
}

/// The hot tables at one time, and the plans made for them.
#[derive(Debug)]
pub struct Hot {
    /// The tables.
    pub catalog: Arc<Catalog>,
    /// Tells statements that cannot concern them.
    pub prefilter: Prefilter,
    /// Plans of texts seen.
    pub plans: Plans,
}

impl Hot {
    /// With an empty plan cache.
    pub fn new(catalog: Catalog) -> Self {
        Self {
            prefilter: Prefilter::new(&catalog),
            catalog: Arc::new(catalog),
            plans: Plans::default(),
        }
    }
}

impl Shared {
    /// `refresh` takes requests to read the catalog again, each answered by [`Shared::replace`] and a signal.
    pub fn new(
        catalog: Catalog,
        refresh: mpsc::Sender<oneshot::Sender<()>>,
        control: Control,
    ) -> Self {
        Self {
            hot: ArcSwap::from_pointee(Hot::new(catalog)),
            slots: Slots::default(),
            groups: Groups::default(),
            shapes: quick_cache::sync::Cache::new(MOST_SHAPES),
            metrics: Metrics::default(),
            refresh,
            control,
        }
    }

    /// The open slot rows of these keys, or of all; `None` when that cannot be told.
    pub(super) async fn open_rows(
        &self,
        table: &HotTable,
        form: &KeyForm,
        keys: Option<&[Key]>,
    ) -> Option<Vec<OpenRow>> {
        self.control.open_rows(table, form, keys).await
    }

    /// Remembers that a transaction has locked base rows (to read its own increments, to write other columns) beside
    /// increments of this shape. Two such transactions hold slots that each other's fold wants, so the next ones
    /// increment base from the start. True when that was not known.
    pub(super) fn learn_mixed(&self, shape: u64) -> bool {
        let known = matches!(self.shapes.get(&shape), Some(Shape::Mixed(_)));
        self.shapes.insert(shape, Shape::Mixed(Instant::now()));
        !known
    }

    /// Remembers that a transaction with increments of this shape has done nothing else to hot tables.
    pub(super) fn learn_pure(&self, shape: u64) {
        match self.shapes.get(&shape) {
            Some(Shape::Pure) => {}
            Some(Shape::Mixed(last)) if last.elapsed() < MIXED_COUNTS => {}
            _ => self.shapes.insert(shape, Shape::Pure),
        }
    }

    /// Whether transactions with increments of this shape are known to do nothing else to hot tables.
    pub(super) fn is_pure(&self, shape: u64) -> bool {
        matches!(self.shapes.get(&shape), Some(Shape::Pure))
    }

    /// The hot tables now.
    pub fn hot(&self) -> Arc<Hot> {
        self.hot.load_full()
    }

    /// Whether `hot` is still what [`Shared::hot`] gives.
    pub(super) fn is_current(&self, hot: &Arc<Hot>) -> bool {
        Arc::ptr_eq(&self.hot.load(), hot)
    }

    /// Puts a new catalog in place.
    pub fn replace(&self, catalog: Catalog) {
        self.hot.store(Arc::new(Hot::new(catalog)));
    }

    /// Has the catalog read again and waits until it is in place (or the server stops).
    pub(super) async fn refresh(&self) {
        let (done, refreshed) = oneshot::channel();
        if self.refresh.send(done).await.is_ok() {
            refreshed.await.ok();
        }
    }
}

/// Plans by text and session facts.
#[derive(Debug)]
pub struct Plans {
    cache: quick_cache::sync::Cache<PlanKey, Arc<Plan>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PlanKey {
    facts: SessionFacts,
    text: Vec<u8>,
}

/// A key that borrows; hashes as [`PlanKey`] does, field by field.
#[derive(Hash)]
struct PlanKeyRef<'a> {
    facts: &'a SessionFacts,
    text: &'a [u8],
}

impl Equivalent<PlanKey> for PlanKeyRef<'_> {
    fn equivalent(&self, key: &PlanKey) -> bool {
        self.text == key.text && *self.facts == key.facts
    }
}

impl Default for Plans {
    fn default() -> Self {
        Self {
            cache: quick_cache::sync::Cache::new(MOST_PLANS),
        }
    }
}

impl Plans {
    /// The plan kept for this text.
    pub(super) fn get(&self, text: &[u8], facts: &SessionFacts) -> Option<Arc<Plan>> {
        self.cache.get(&PlanKeyRef { facts, text })
    }

    /// The plan kept for this text, or the one that `plan` makes.
    pub(super) fn get_or_plan(
        &self,
        text: &[u8],
        facts: &SessionFacts,
        plan: impl FnOnce() -> Plan,
    ) -> Arc<Plan> {
        if text.len() > LONGEST_CACHED {
            return Arc::new(plan());
        }
        if let Some(plan) = self.get(text, facts) {
            return plan;
        }
        let plan = Arc::new(plan());
        let key = PlanKey {
            facts: facts.clone(),
            text: text.to_vec(),
        };
        self.cache.insert(key, Arc::clone(&plan));
        plan
    }
}
