//! What all sessions share: the hot tables with their plans, slots, metrics.

pub(crate) mod hot_tables;
pub mod lease;
pub(crate) mod planning;
pub(crate) mod plans;
pub(crate) mod registry;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use crate::catalog::{Catalog, HotTable};
use crate::counter::combine::Groups;
use crate::counter::control::Control;
use crate::counter::fold::OpenRow;
use crate::counter::motion::Motion;
use crate::counter::node::Listener;
use crate::counter::opener::Opener;
use crate::counter::rights::Rights;
use crate::counter::server::Server;
use crate::counter::withdrawal::{self, Withdrawal};
use crate::counter::{Key, KeyForm, Slots};
use crate::metrics::Metrics;
use crate::sentinel::Reports;
use crate::spans::Spans;
use crate::traffic::Traffic;
use hot_tables::{Hot, PreparedUnder};
use lease::Lease;
use registry::Sessions;

/// How long after the last mixed transaction a shape goes to slots again: one odd transaction must not slow all others
/// for good.
const MIXED_COUNTS: Duration = Duration::from_secs(60);

/// How long a table without a primary key that had several rows is left alone.
const SEVERAL_ROWS_COUNT: Duration = Duration::from_secs(60);

/// How many shapes of statements are remembered.
const MOST_SHAPES: usize = 1024;

/// How long statements wait for a rule to be taken out of force whose table no longer fits it.
pub(crate) const LONGEST_CHANGE: Duration = Duration::from_secs(1);

/// Shared by all sessions of the process.
#[derive(Debug)]
pub struct Shared {
    hot: ArcSwap<Hot>,
    /// Slots of all hot tables.
    pub slots: Slots,
    /// Groups of sessions whose increments are combined.
    pub(crate) groups: Groups,
    /// Which tables need slots now.
    pub motion: Arc<Motion>,
    /// For how long privileges that sessions have been shown hold.
    pub rights: Rights,
    /// What is known of the transactions that contain increments of a shape.
    shapes: quick_cache::sync::Cache<u64, Shape>,
    /// Shapes of statements that have left messages: a warning, or an error.
    with_messages: quick_cache::sync::Cache<u64, ()>,
    /// Shapes of statements of which one did not do what several do.
    one_by_one: quick_cache::sync::Cache<u64, ()>,
    /// Shapes of statements whose table, without a primary key, did not have one row, and when that was.
    of_several_rows: quick_cache::sync::Cache<u64, Instant>,
    /// Every metric.
    pub metrics: Arc<Metrics>,
    /// The statements that pass, while somebody asks for a report.
    pub traffic: Traffic,
    /// Where statements go whose applications trace them.
    pub spans: Spans,
    /// What the sentinel has found.
    pub sentinel: Arc<Reports>,
    /// The sessions that are connected.
    pub sessions: Arc<Sessions>,
    refresh: mpsc::Sender<oneshot::Sender<()>>,
    /// [`Hot::number`] of the hot tables that were read again for a statement which then failed as before, and when
    /// that was.
    ///
    /// [`Hot::number`]: super::Hot
    in_vain: Mutex<Option<(u64, Instant)>>,
    /// For how long sessions may act by what proxies have agreed on.
    pub lease: Lease,
    /// Opens slots where sessions may not.
    pub(crate) opener: Opener,
    /// The control account's connection, which reports which slot rows there are.
    pub(crate) control: Control,
}

/// Hot tables that were in force until a moment ago, and still are in sessions that have not seen the change yet.
#[derive(Debug)]
pub struct Replaced {
    hot: Weak<Hot>,
    prepared_under: Weak<PreparedUnder>,
}

impl Replaced {
    /// Whether no session uses them any more: no statement, and no transaction or LOCK TABLES that began under them.
    pub fn is_released(&self) -> bool {
        self.hot.strong_count() == 0
    }

    /// Whether no session has a statement any more that it prepared under them and that named no hot table.
    pub fn has_no_prepared(&self) -> bool {
        self.prepared_under.strong_count() == 0
    }
}

/// What transactions do besides increments of one shape.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Nothing that locks base rows.
    Pure,
    /// Something that does, last at this time.
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
    /// Makes what sessions share. Plans may take `plan_cache` bytes. `refresh` takes requests to read the catalog
    /// again; each is met by [`Shared::replace`] and a signal.
    pub fn new(
        catalog: Catalog,
        plan_cache: u64,
        refresh: mpsc::Sender<oneshot::Sender<()>>,
        control: Control,
    ) -> Self {
        let metrics: Arc<Metrics> = Arc::default();
        let opener = Opener::new(control.clone(), Arc::clone(&metrics));
        Self {
            hot: ArcSwap::from_pointee(Hot::in_force(catalog, Vec::new(), 0, plan_cache, &metrics)),
            slots: Slots::default(),
            groups: Groups::default(),
            motion: Arc::default(),
            rights: Rights::default(),
            shapes: quick_cache::sync::Cache::new(MOST_SHAPES),
            with_messages: quick_cache::sync::Cache::new(MOST_SHAPES),
            one_by_one: quick_cache::sync::Cache::new(MOST_SHAPES),
            of_several_rows: quick_cache::sync::Cache::new(MOST_SHAPES),
            traffic: Traffic::default(),
            spans: Spans::start(&metrics),
            sentinel: Arc::default(),
            metrics,
            sessions: Arc::default(),
            refresh,
            in_vain: Mutex::default(),
            lease: Lease::default(),
            opener,
            control,
        }
    }

    /// The open slot rows of these keys, or of all. `None` if the control account does not report them in time, or if
    /// there are too many.
    pub(crate) async fn open_rows(
        &self,
        server: &Server,
        table: &HotTable,
        form: &KeyForm,
        keys: Option<&[Key]>,
    ) -> Option<Vec<OpenRow>> {
        self.control.open_rows(server, table, form, keys).await
    }

    /// Begins to withdraw the slot tables of these tables, for DDL of the session with this number.
    pub(crate) async fn withdraw(
        &self,
        tables: &[Arc<HotTable>],
        session: u32,
        seconds: u64,
    ) -> Result<Withdrawal, withdrawal::Error> {
        Withdrawal::begin(&self.control, tables, session, seconds).await
    }

    /// Remembers that a transaction has locked base rows (to read its own increments, or to write other columns)
    /// besides increments of this shape. Two such transactions hold slots that the other's fold needs, so the next
    /// ones increment base from the start. Returns true if that was not known.
    pub(crate) fn learn_mixed(&self, shape: u64) -> bool {
        let known = matches!(self.shapes.get(&shape), Some(Shape::Mixed(_)));
        self.shapes.insert(shape, Shape::Mixed(Instant::now()));
        !known
    }

    /// Remembers that a transaction with increments of this shape has done nothing else to hot tables.
    pub(crate) fn learn_pure(&self, shape: u64) {
        match self.shapes.get(&shape) {
            Some(Shape::Pure) => {}
            Some(Shape::Mixed(last)) if last.elapsed() < MIXED_COUNTS => {}
            _ => self.shapes.insert(shape, Shape::Pure),
        }
    }

    /// Whether transactions with increments of this shape are known to lock base rows as well.
    pub(crate) fn is_mixed(&self, shape: u64) -> bool {
        match self.shapes.get(&shape) {
            Some(Shape::Mixed(last)) => last.elapsed() < MIXED_COUNTS,
            _ => false,
        }
    }

    /// Whether transactions with increments of this shape are known to do nothing else to hot tables.
    pub(crate) fn is_pure(&self, shape: u64) -> bool {
        matches!(self.shapes.get(&shape), Some(Shape::Pure))
    }

    /// Remembers that statements of this shape leave messages: whoever runs one for another session asks for them.
    pub(crate) fn learn_messages(&self, shape: u64) {
        self.with_messages.insert(shape, ());
    }

    /// Whether statements of this shape are known to leave messages.
    pub(crate) fn leaves_messages(&self, shape: u64) -> bool {
        self.with_messages.get(&shape).is_some()
    }

    /// Remembers that statements of this shape are to run one by one.
    pub(crate) fn learn_one_by_one(&self, shape: u64) {
        self.one_by_one.insert(shape, ());
    }

    /// Whether statements of this shape are to run one by one.
    pub(crate) fn run_one_by_one(&self, shape: u64) -> bool {
        self.one_by_one.get(&shape).is_some()
    }

    /// Remembers that the table of these statements, which has no primary key, has several rows.
    pub(crate) fn learn_several_rows(&self, shape: u64) {
        self.of_several_rows.insert(shape, Instant::now());
    }

    /// Whether the table of these statements, which has no primary key, had several rows a short while ago.
    pub(crate) fn meets_several_rows(&self, shape: u64) -> bool {
        let last = self.of_several_rows.get(&shape);
        last.is_some_and(|last| last.elapsed() < SEVERAL_ROWS_COUNT)
    }

    /// The hot tables now.
    pub fn hot(&self) -> Arc<Hot> {
        self.hot.load_full()
    }

    /// Lets plans, with the texts that they are for, take so many bytes.
    pub fn resize_plan_cache(&self, bytes: u64) {
        self.hot.load().plans.resize(bytes);
    }

    /// Puts a new catalog in force, and tells all sessions. The slots of the tables in `changing` take nothing.
    pub fn replace(&self, catalog: Catalog, changing: Vec<Arc<HotTable>>) -> Replaced {
        let before = self.hot.load_full();
        let hot = Arc::new(Hot::in_force(
            catalog,
            changing,
            before.number + 1,
            before.plans.capacity(),
            &self.metrics,
        ));
        self.hot.store(hot);
        self.sessions.notify();
        Replaced {
            hot: Arc::downgrade(&before),
            prepared_under: Arc::downgrade(&before.prepared_under),
        }
    }

    /// Remembers that the tables of this number were read again for a statement, which fails under them as before.
    pub(crate) fn was_in_vain(&self, number: u64) {
        *self.lock_in_vain() = Some((number, Instant::now()));
    }

    /// When the tables of this number were read again in vain, if they were.
    pub(crate) fn in_vain(&self, number: u64) -> Option<Instant> {
        let (last, when) = (*self.lock_in_vain())?;
        (last == number).then_some(when)
    }

    /// Whether statements may be waiting for a rule to be taken out of force.
    pub fn is_change_awaited(&self) -> bool {
        self.lock_in_vain()
            .is_some_and(|(_, since)| since.elapsed() < LONGEST_CHANGE)
    }

    fn lock_in_vain(&self) -> MutexGuard<'_, Option<(u64, Instant)>> {
        self.in_vain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the tables again after the upstream's address has led to another server: its tables may differ, and its
    /// privileges too.
    pub async fn read_tables_again(&self) {
        drop(self.rights.change());
        self.refresh().await;
    }

    /// Has the catalog read again, and waits until it is in force (or the server stops).
    pub(crate) async fn refresh(&self) {
        let (done, refreshed) = oneshot::channel();
        if self.refresh.send(done).await.is_ok() {
            refreshed.await.ok();
        }
    }
}
