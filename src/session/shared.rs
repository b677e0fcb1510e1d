//! What all sessions share: the hot tables with their plans, slots, metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use super::hot::Hot;
use super::registry::Sessions;
use crate::catalog::{Catalog, HotTable};
use crate::counter::combine::Groups;
use crate::counter::control::Control;
use crate::counter::fold::OpenRow;
use crate::counter::node::Listener;
use crate::counter::{Key, KeyForm, Slots};
use crate::metrics::Metrics;

/// So long after the last such transaction a shape goes to slots again: one odd transaction must not slow all others for good.
const MIXED_COUNTS: Duration = Duration::from_secs(60);

/// How many shapes of statements are remembered.
const MOST_SHAPES: usize = 1024;

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
    pub metrics: Arc<Metrics>,
    /// Who is connected.
    pub sessions: Arc<Sessions>,
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

impl Listener for Shared {
    fn tables(&self) -> Vec<Arc<HotTable>> {
        self.hot().catalog.tables.clone()
    }

    fn stands(&self, number: u16, leads: &[Arc<HotTable>]) {
        self.slots.set_node(number);
        self.slots.dirty().lead(leads);
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
            metrics: Arc::default(),
            sessions: Arc::default(),
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
        let hot = Hot::new(catalog).after(&self.hot());
        self.hot.store(Arc::new(hot));
    }

    /// Has the catalog read again and waits until it is in place (or the server stops).
    pub(super) async fn refresh(&self) {
        let (done, refreshed) = oneshot::channel();
        if self.refresh.send(done).await.is_ok() {
            refreshed.await.ok();
        }
    }
}
