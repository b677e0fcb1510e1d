//! Roll-up: moves the values in slots into base rows in the background, so that reads find little to add up, and
//! readers past the proxy see nearly the whole value.
//!
//! It moves values and changes none, whatever rows it takes. It does not wait for locks: slot rows and base rows that
//! other sessions have locked are left for the next time. Since it never waits while it holds locks, it takes part in
//! no deadlock. A transaction takes few rows and lasts a few round trips. Every proxy rolls up what its own sessions
//! have put into slots (`Dirty`), so the server is asked nothing while nothing changes. The leader among the proxies
//! looks after the rest: what others have left when they ended, and slot rows that are no longer used.

mod adopted;
mod dirty;
mod kept;
mod pass;
mod sweep;
mod text;
mod values;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use rand::RngExt;

use super::control::{self, Control};
use super::fold::{FoldStatements, OpenRow};
use super::{KeyForm, Slots};
use crate::catalog::HotTable;
use crate::metrics::Metrics;
use crate::wire::error_code::{
    ER_BAD_FIELD_ERROR, ER_BAD_TABLE_ERROR, ER_BINLOG_STMT_MODE_AND_ROW_ENGINE, ER_NO_SUCH_TABLE,
};

pub(crate) use adopted::unique_key;
pub use adopted::{Adoption, Moved};
pub use dirty::Dirty;
use dirty::Marks;
use kept::Kept;
pub use pass::Error;
use pass::Pass;
pub(super) use text::count;

/// The keys of one transaction: it holds their base rows for as long as they take.
const KEYS: usize = 16;

/// How often locked rows are tried again within one roll-up. A row that is incremented without a pause is free only
/// between two commits.
const TRIES: u32 = 24;

/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(6);

/// The longest time until a table is tried again whose roll-up has failed.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// How long a slot row is there without being used.
const IDLE: Duration = Duration::from_secs(600);

/// How many slot rows in use are remembered. One costs some 100 bytes.
const MOST_IN_USE: usize = 64 * 1024;

/// A slot table is not searched again until this many times the duration of a search has passed.
const SWEEPS_APART: u32 = 20;

/// The longest time until it may be searched again.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(10);

/// The background task's state.
pub struct RollUp {
    control: Control,
    metrics: Arc<Metrics>,
    kept: Kept,
    /// The binary log has statements, so that READ COMMITTED may not write: gaps are locked where a slot row has gone
    /// meanwhile, for as long as a transaction lasts.
    locks_gaps: bool,
    tables: HashMap<(String, String), History>,
    idle: Duration,
}

/// The state of a table's roll-ups so far.
#[derive(Debug)]
struct History {
    /// Failures since the last one that went well.
    failures: u32,
    /// What was logged last.
    complaint: Option<String>,
    /// When the slot table may be searched again.
    sweeps_from: Option<Instant>,
    /// When unused slot rows were deleted last.
    cleaned: Instant,
    /// Those that were rolled up since then.
    in_use: HashSet<OpenRow>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            failures: 0,
            complaint: None,
            sweeps_from: None,
            cleaned: Instant::now(),
            in_use: HashSet::new(),
        }
    }
}

impl RollUp {
    /// Over a connection of its own, made when it is needed.
    pub fn new(control: Control, metrics: Arc<Metrics>) -> Self {
        Self {
            kept: Kept::new(&control),
            control,
            metrics,
            locks_gaps: false,
            tables: HashMap::new(),
            idle: IDLE,
        }
    }

    /// Slot rows are deleted when they have not been used for this long, ten minutes by default.
    #[must_use]
    pub fn with_idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Rolls up what is marked, each table an interval after the first mark, until `stop` is there; then all that is
    /// left, once.
    pub async fn keep(mut self, slots: &Slots, stop: impl Future<Output = ()>) {
        let dirty = slots.dirty();
        tokio::pin!(stop);
        loop {
            let due = dirty.due();
            let next = due.iter().map(|(_, at)| *at).min();
            let come = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next.into()).await,
                    None => std::future::pending().await,
                }
            };
            let stopped = tokio::select! {
                () = &mut stop => true,
                () = come => false,
                // Of another table, which may be due earlier.
                () = dirty.wait() => false,
            };
            if stopped {
                return self.finish(slots).await;
            }
            let now = Instant::now();
            for (table, _) in due.into_iter().filter(|(_, at)| *at <= now) {
                self.table(slots, &table).await;
            }
        }
    }

    /// Rolls up all that is marked, however recently a slot table was searched and however much it holds. What cannot
    /// be rolled up stays in slots.
    async fn finish(&mut self, slots: &Slots) {
        for (table, _) in slots.dirty().due() {
            loop {
                self.history(&table).sweeps_from = None;
                let before = self.progress();
                let has_more = self.table(slots, &table).await;
                if !has_more || self.progress() == before {
                    break;
                }
            }
        }
    }

    /// Grows with each slot row that is rolled up.
    fn progress(&self) -> u64 {
        self.metrics.rolled_up() + self.metrics.orphans()
    }

    /// Rolls up all slots of a table, whichever proxy has filled them.
    ///
    /// # Errors
    ///
    /// Why it did not finish; what it has done until then stays done.
    pub async fn now(&mut self, table: &HotTable) -> Result<Rolled, Error> {
        let (form, mut conn) = self.ready(table).await?;
        let pass = Pass { table, form: &form };
        let (moved, orphans) = (self.metrics.rolled_up(), self.metrics.orphans());
        loop {
            let before = self.progress();
            let mut marks = Marks::default();
            sweep::mark_all(&pass, &mut conn, &mut marks).await?;
            self.moved(&pass, &mut conn, &mut marks).await?;
            let has_moved = self.progress() > before;
            if !(marks.others && has_moved) {
                break;
            }
        }
        let rolled = Rolled {
            moved: self.metrics.rolled_up() - moved,
            orphans: self.metrics.orphans() - orphans,
            left: sweep::count(table, &mut conn).await?,
        };
        self.kept.give_back(conn);
        Ok(rolled)
    }

    /// How many slot rows of a table hold something.
    ///
    /// # Errors
    ///
    /// Why they cannot be counted.
    pub async fn held(&mut self, table: &HotTable) -> Result<u64, Error> {
        let mut conn = self.connection().await?;
        let held = sweep::count(table, &mut conn).await?;
        self.kept.give_back(conn);
        Ok(held)
    }

    /// Moves all values in slots into base, including those that a roll-up leaves; for these it waits for locks as a
    /// client would, for at most a second. Returns how many slot rows still hold something: none, unless a session
    /// increments in slots.
    ///
    /// # Errors
    ///
    /// Why it did not finish: usually because other sessions hold locks on slot rows.
    pub async fn empty(&mut self, table: &HotTable) -> Result<u64, Error> {
        match self.now(table).await {
            Ok(_) | Err(Error::Unnamed) => {}
            Err(error) => return Err(error),
        }
        let mut conn = self.connection().await?;
        let question = text::count_committed(table);
        let mut held: u64 = conn.query_first(&question).await?.ok_or(Error::Malformed)?;
        if held > 0 {
            match KeyForm::of(table) {
                Some(form) => fold(&Pass { table, form: &form }, &mut conn).await?,
                None => {
                    let fold = FoldStatements::new(table, None);
                    transaction(&mut conn, [fold.lock, fold.fold]).await?;
                }
            }
            held = conn.query_first(&question).await?.ok_or(Error::Malformed)?;
        }
        self.kept.give_back(conn);
        Ok(held)
    }

    async fn ready(&mut self, table: &HotTable) -> Result<(KeyForm, Conn), Error> {
        let form = KeyForm::of(table).ok_or(Error::Unnamed)?;
        Ok((form, self.connection().await?))
    }

    async fn connection(&mut self) -> Result<Conn, Error> {
        let (mut conn, is_new) = self.kept.take(&self.control).await?;
        if is_new && self.locks_gaps {
            conn.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                .await?;
        }
        Ok(conn)
    }

    /// Rolls up one table; what could not be rolled up is marked again. Whether the slot table is to be searched for
    /// more.
    async fn table(&mut self, slots: &Slots, table: &Arc<HotTable>) -> bool {
        let dirty = slots.dirty();
        let mut left = dirty.take(table);
        let control = self.control.clone();
        let marked = control.unless_replaced(self.marked(slots, table, &mut left));
        let result = marked.await;
        if let Err(Error::NoConnection(control::Error::Replaced)) = result {
            // What was under way is not known.
            left.others = true;
        }
        let metrics = Arc::clone(&self.metrics);
        let history = self.history(table);
        let wait = match result {
            Ok(()) => {
                if history.complaint.take().is_some() {
                    tracing::info!("roll-up of {} works again", full_name(table));
                }
                history.failures = 0;
                table.rollup
            }
            Err(error) => {
                metrics.count_failed_roll_up(matches!(error, Error::Drift));
                let complaint = error.to_string();
                if is_of_another_table(&error) {
                    tracing::warn!("roll-up of {}: {complaint}", full_name(table));
                    return false;
                }
                history.failures += 1;
                let doubled = 2_u32.saturating_pow(history.failures);
                let wait = table.rollup.saturating_mul(doubled).min(LONGEST_BACKOFF);
                if history.complaint.as_ref() != Some(&complaint) {
                    tracing::warn!(
                        "roll-up of {}: {complaint}; slots keep what they have, and it is tried again",
                        full_name(table)
                    );
                    history.complaint = Some(complaint);
                }
                wait
            }
        };
        if left.others || !left.rows.is_empty() {
            dirty.put_back(table, &left, wait);
        }
        left.others
    }

    /// Rolls up what is marked, and leaves in `marks` what is left.
    async fn marked(
        &mut self,
        slots: &Slots,
        table: &Arc<HotTable>,
        marks: &mut Marks,
    ) -> Result<(), Error> {
        let (form, mut conn) = match self.ready(table).await {
            Ok(ready) => ready,
            Err(Error::Unnamed) => {
                *marks = Marks::default();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let pass = Pass { table, form: &form };
        let mut result = self.moved(&pass, &mut conn, marks).await;
        if result.is_ok() {
            result = self.cleaned(&pass, &mut conn, (slots, table)).await;
        }
        match &result {
            Ok(()) => self.kept.give_back(conn),
            // Closed, and so rolled back.
            Err(error) => self.locks_gaps |= is_for_statements_in_the_log(error),
        }
        result
    }

    async fn moved(
        &mut self,
        pass: &Pass<'_>,
        conn: &mut Conn,
        marks: &mut Marks,
    ) -> Result<(), Error> {
        if marks.others {
            let begun = Instant::now();
            let history = self.history(pass.table);
            if history.sweeps_from.is_none_or(|from| from <= begun) {
                sweep::mark_all(pass, conn, marks).await?;
                history.sweeps_from = Some(Instant::now() + until_next_sweep(begun.elapsed()));
            }
        }
        for again in 0..TRIES {
            if again > 0 {
                let pause = rand::rng().random_range(PAUSE / 6..PAUSE);
                tokio::time::sleep(pause).await;
            }
            let mut parts = marks.take_rows().parts(KEYS);
            while let Some(part) = parts.pop() {
                let turn = self.control.turns().of_roll_up().await;
                let result = pass.run(conn, &part, again > 0).await;
                drop(turn);
                match result {
                    Ok(rolled) => {
                        let (moved, orphans) = (rolled.moved.len(), rolled.orphans);
                        self.metrics.count_roll_up(moved as u64, orphans);
                        self.history(pass.table).remember(rolled.moved);
                        marks.rows.extend(rolled.locked.rows);
                    }
                    // As if it were locked.
                    Err(error) if pass.is_lost(&error) => {
                        conn.query_drop(text::ROLL_BACK).await?;
                        marks.rows.extend(part.rows);
                    }
                    Err(error) => {
                        marks.rows.extend(part.rows);
                        marks
                            .rows
                            .extend(parts.into_iter().flat_map(|part| part.rows));
                        return Err(error);
                    }
                }
            }
            if marks.rows.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// From time to time deletes unused slot rows; if this proxy leads, marks what others have left for the next
    /// roll-up.
    async fn cleaned(
        &mut self,
        pass: &Pass<'_>,
        conn: &mut Conn,
        (slots, table): (&Slots, &Arc<HotTable>),
    ) -> Result<(), Error> {
        let idle = self.idle;
        let history = self.history(table);
        if history.cleaned.elapsed() < idle {
            return Ok(());
        }
        history.cleaned = Instant::now();
        let in_use = std::mem::take(&mut history.in_use);
        let _turn = self.control.turns().of_roll_up().await;
        let mut deleted = 0;
        if in_use.len() <= MOST_IN_USE {
            deleted += sweep::delete_own_idle(pass, conn, (slots, table), &in_use).await?;
        }
        if slots.dirty().leads(table) {
            deleted +=
                sweep::delete_abandoned(pass, conn, slots.range(table), &self.control).await?;
            slots.dirty().mark(table, None, 0);
        }
        tracing::debug!("{deleted} slot rows of {} were idle", full_name(table));
        Ok(())
    }

    fn history(&mut self, table: &HotTable) -> &mut History {
        let name = (table.schema.clone(), table.name.clone());
        self.tables.entry(name).or_default()
    }
}

/// What a roll-up of a whole table has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rolled {
    /// Slot rows that were moved.
    pub moved: u64,
    /// Slot rows without a base row, which were deleted.
    pub orphans: u64,
    /// Slot rows that hold something still, or again.
    pub left: u64,
}

impl fmt::Display for Rolled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = |count: u64| match count {
            1 => "1 slot row".to_owned(),
            count => format!("{count} slot rows"),
        };
        write!(formatter, "{} rolled up", rows(self.moved))?;
        if self.orphans > 0 {
            let rows = rows(self.orphans);
            write!(formatter, ", {rows} of rows that are no more deleted")?;
        }
        match self.left {
            0 => Ok(()),
            left => write!(
                formatter,
                ", {} left (locked by open transactions, incremented meanwhile, or so near a limit of the type that \
                 the row has no room)",
                rows(left)
            ),
        }
    }
}

impl History {
    /// These are in use. Once they are too many to remember, none is deleted.
    fn remember(&mut self, rows: Vec<OpenRow>) {
        if self.in_use.len() <= MOST_IN_USE {
            self.in_use.extend(rows);
        }
    }
}

/// Folds what slots hold: for those that a roll-up leaves alone, since it would leave them open.
async fn fold(pass: &Pass<'_>, conn: &mut Conn) -> Result<(), Error> {
    loop {
        let rows = sweep::holding(pass, conn, KEYS).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
        let keys = pass.form.any_of(&keys);
        let lock = super::fold::lock(pass.table, Some(keys.as_bytes()), Some(pass.form));
        let moves = super::fold::moves(pass.table, pass.form, &rows);
        let moves = moves.into_iter().flat_map(|of_key| of_key.texts);
        transaction(conn, [lock].into_iter().chain(moves)).await?;
    }
}

/// How long to wait after a search that took so long: searching is a small part of what goes on, however large the
/// table.
fn until_next_sweep(took: Duration) -> Duration {
    took.saturating_mul(SWEEPS_APART).min(BETWEEN_SWEEPS)
}

/// Runs these in one transaction. A connection on which it has failed must be closed, which rolls back.
async fn transaction(
    conn: &mut Conn,
    statements: impl IntoIterator<Item = Vec<u8>>,
) -> Result<(), Error> {
    conn.query_drop(text::BEGIN).await?;
    for statement in statements {
        conn.query_drop(statement).await?;
    }
    conn.query_drop(text::END).await?;
    Ok(())
}

/// Whether the binary log has statements rather than rows, which READ COMMITTED does not go with.
fn is_for_statements_in_the_log(error: &Error) -> bool {
    matches!(error, Error::Server(DriverFailure::Server(error)) if error.code == ER_BINLOG_STMT_MODE_AND_ROW_ENGINE)
}

/// Whether the tables are no longer those that were incremented: gone, or with other columns.
fn is_of_another_table(error: &Error) -> bool {
    const GONE: [u16; 3] = [ER_BAD_TABLE_ERROR, ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE];
    matches!(error, Error::Server(DriverFailure::Server(error)) if GONE.contains(&error.code))
}

fn full_name(table: &HotTable) -> String {
    format!("{}.{}", table.schema, table.name)
}
