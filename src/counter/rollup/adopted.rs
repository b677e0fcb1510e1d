//! Slots that an application writes by hand, in a table of its own (`adopts` of a rule), are moved into base rows as
//! well.
//!
//! Such slots have no part in reads, folds and combining: to MySQL, and so to whoever reads the counter, they are rows
//! of another table. What is moved is added to base and taken from them in one transaction, so base + SUM(count),
//! which is what such an application reads, is the same at every moment.
//!
//! The base row is locked first, and waited for, while nothing else is locked. Slots that others have locked are left
//! for the next time. So this never waits while it holds what somebody else may want next, and takes part in no
//! deadlock, whichever of the two an application locks first.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::kept::Kept;
use super::pass::{Error, Pass};
use super::text::{self, Lock};
use super::values::{Sums, Values};
use crate::catalog::HotTable;
use crate::catalog::read::{self, Facts};
use crate::config::Adopted;
use crate::counter::control::{Control, texts};
use crate::counter::{Key, KeyForm, quote};
use crate::metrics::Metrics;
use crate::sql::Amount;
use crate::wire::error_code::{
    ER_DATA_OUT_OF_RANGE, ER_LOCK_WAIT_TIMEOUT, ER_WARN_DATA_OUT_OF_RANGE, is_check_violated,
};

/// The columns of the pattern as it was published.
const RECORD_TYPE: &str = "record_type";
const RECORD_ID: &str = "record_id";
const SLOT: &str = "slot";
const COUNT: &str = "count";

/// The rule's one counter.
const COUNTER: usize = 0;

/// How many keys are found at a time.
const KEYS: usize = 1000;

/// For how many seconds a base row is waited for.
const PATIENCE: u32 = 2;

/// How often to look whether a rule adopts slots now.
const LOOK: Duration = Duration::from_secs(1);

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Slot rows that were moved.
    pub rows: u64,
    /// Keys whose slots stay: others have locked them, there is no such row, it is NULL, or it has no room.
    pub left: u64,
}

impl fmt::Display for Moved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = if self.rows == 1 { "row" } else { "rows" };
        write!(formatter, "{} {rows} moved", self.rows)?;
        match self.left {
            0 => Ok(()),
            left => write!(
                formatter,
                ", what belongs to {left} keys left (locked by open transactions, or the row is gone, NULL, or has no room)"
            ),
        }
    }
}

/// Moves hand-written slots.
pub struct Adoption {
    control: Control,
    metrics: Arc<Metrics>,
    kept: Kept,
    tables: HashMap<(String, String), History>,
}

/// A table's adoption so far.
#[derive(Debug, Default)]
struct History {
    next: Option<Instant>,
    /// The index by which slots are found, once their table's shape has been seen.
    index: Option<String>,
    /// What was logged last.
    complaint: Option<String>,
}

impl Adoption {
    /// Over a connection of its own, made when it is needed.
    pub fn new(control: Control, metrics: Arc<Metrics>) -> Self {
        Self {
            kept: Kept::new(&control),
            control,
            metrics,
            tables: HashMap::new(),
        }
    }

    /// Moves what `tables` have adopted, each table as often as its rule says. Never returns.
    pub async fn keep(mut self, tables: impl Fn() -> Vec<Arc<HotTable>>) {
        loop {
            let mut next = Instant::now() + LOOK;
            for table in tables() {
                let due = self.history(&table).next;
                if due.is_none_or(|due| due <= Instant::now()) {
                    self.tell(&table).await;
                    self.history(&table).next = Some(Instant::now() + table.rollup);
                }
                next = next.min(self.history(&table).next.unwrap_or(next));
            }
            tokio::time::sleep_until(next.into()).await;
        }
    }

    /// Moves them once, and logs what is wrong, once.
    async fn tell(&mut self, table: &HotTable) {
        let control = self.control.clone();
        let moved = control.unless_replaced(self.now(table)).await;
        let metrics = Arc::clone(&self.metrics);
        let history = self.history(table);
        let (schema, name) = (&table.schema, &table.name);
        match moved {
            Ok(_) => {
                if history.complaint.take().is_some() {
                    tracing::info!("hand-written slots of {schema}.{name} are rolled up again");
                }
            }
            // Its source does that.
            Err(Error::ReadOnly) => {}
            Err(error) => {
                metrics.count_failed_roll_up(matches!(error, Error::Drift));
                let complaint = error.to_string();
                if history.complaint.as_ref() != Some(&complaint) {
                    tracing::warn!(
                        "hand-written slots of {schema}.{name} stay where they are: {complaint}; it is tried again"
                    );
                    history.complaint = Some(complaint);
                }
            }
        }
    }

    /// Moves what a table has adopted, if it has anything.
    ///
    /// # Errors
    ///
    /// Why it did not finish; what it has done until then stays done.
    pub async fn now(&mut self, table: &HotTable) -> Result<Moved, Error> {
        let Some(adopted) = &table.adopted else {
            return Ok(Moved::default());
        };
        let form = KeyForm::of(table).ok_or(Error::Unnamed)?;
        let mut conn = self.connection().await?;
        let index = match self.history(table).index.take() {
            Some(index) => index,
            None => unique_key(&mut conn, adopted).await?,
        };
        let pass = AdoptedPass {
            pass: Pass { table, form: &form },
            adopted,
            slots: format!(
                "{} FORCE INDEX ({})",
                quote::table(&adopted.table),
                quote::name(&index)
            ),
        };
        let mut moved = Moved::default();
        let mut last = None;
        loop {
            let keys = pass.find(&mut conn, last.as_ref()).await?;
            for key in &keys {
                match pass.key(&mut conn, key).await {
                    Ok(0) => moved.left += 1,
                    Ok(rows) => {
                        moved.rows += rows;
                        self.metrics.count_adopted(rows);
                    }
                    Err(error) if pass.pass.is_lost(&error) || leaves(&error) => {
                        conn.query_drop(text::ROLL_BACK).await?;
                        moved.left += 1;
                    }
                    // The connection is closed, which rolls back.
                    Err(error) => return Err(error),
                }
            }
            if keys.len() < KEYS {
                break;
            }
            last = keys.into_iter().next_back();
        }
        self.kept.give_back(conn);
        self.history(table).index = Some(index);
        Ok(moved)
    }

    async fn connection(&mut self) -> Result<Conn, Error> {
        let (mut conn, is_new) = self.kept.take(&self.control).await?;
        if is_new {
            for history in self.tables.values_mut() {
                history.index = None;
            }
            let set = format!(
                "SET SESSION innodb_lock_wait_timeout = {PATIENCE}, \
                 SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')"
            );
            conn.query_drop(set).await?;
        }
        Ok(conn)
    }

    fn history(&mut self, table: &HotTable) -> &mut History {
        let name = (table.schema.clone(), table.name.clone());
        self.tables.entry(name).or_default()
    }
}

/// Whether a key is left for the next time: its row is locked for too long, or has no room.
fn leaves(error: &Error) -> bool {
    const LEFT: [u16; 3] = [
        ER_LOCK_WAIT_TIMEOUT,
        ER_WARN_DATA_OUT_OF_RANGE,
        ER_DATA_OUT_OF_RANGE,
    ];
    let Error::Server(DriverFailure::Server(refused)) = error else {
        return false;
    };
    LEFT.contains(&refused.code) || is_check_violated(refused.code)
}

/// The adoption of one table.
struct AdoptedPass<'a> {
    pass: Pass<'a>,
    adopted: &'a Adopted,
    /// The slots, by the unique key that the application's upserts lock first, too. By another way this could wait for
    /// one who waits for it.
    slots: String,
}

impl AdoptedPass<'_> {
    /// Keys of which slots hold something, in order, from behind the `last` one.
    async fn find(&self, conn: &mut Conn, last: Option<&Key>) -> Result<Vec<Key>, Error> {
        let behind = last.map_or_else(String::new, |key| {
            format!(" AND {RECORD_ID} > {}", key.join(", "))
        });
        let question = format!(
            "SELECT DISTINCT {RECORD_ID} FROM {} WHERE {}`{COUNT}` <> 0{behind} ORDER BY {RECORD_ID} LIMIT {KEYS}",
            quote::table(&self.adopted.table),
            of_type(self.adopted),
        );
        let rows: Vec<mysql_async::Row> = conn.query(question).await?;
        // What is no number names no row.
        let keys = rows.into_iter().map(|row| self.pass.form.read(&texts(row)));
        Ok(keys.flatten().collect())
    }

    /// Moves the slots of one key. How many.
    async fn key(&self, conn: &mut Conn, key: &Key) -> Result<u64, Error> {
        conn.query_drop(text::BEGIN).await?;
        let moved = self.within(conn, key).await?;
        conn.query_drop(text::END).await?;
        Ok(moved)
    }

    async fn within(&self, conn: &mut Conn, key: &Key) -> Result<u64, Error> {
        let Pass { table, form } = self.pass;
        let Some(base) = self.base(conn, key, Lock::Wait).await? else {
            return Ok(0);
        };
        let slots = self.slots(conn, key).await?;
        let mut amounts = slots.iter().map(|(_, amount)| *amount);
        let added = amounts.try_fold(Amount::from(0), |sum, amount| sum.plus(amount?));
        let (Some(added), false) = (added, slots.is_empty()) else {
            return Ok(0);
        };
        let mut sums = Sums {
            amounts: vec![Amount::from(0); table.counters.len()],
            touches: vec![None; table.touches.len()],
        };
        sums.amounts[COUNTER] = added;
        let is_slotted = table.counters[COUNTER].bounds.is_some();
        // NULL stays NULL, whatever is added.
        let Some(before) = base.counters[COUNTER] else {
            return Ok(0);
        };
        if is_slotted && !sums.leaves_room(table, &base) {
            return Ok(0);
        }
        conn.query_drop(text::add(table, form, key, &sums)).await?;
        conn.query_drop(self.empty(key, &slots)).await?;
        let after = self.base(conn, key, Lock::None).await?;
        let after = after.and_then(|after| after.counters[COUNTER]);
        match after == before.plus(added) && conn.affected_rows() == 0 {
            true => Ok(slots.len() as u64),
            false => Err(Error::Drift),
        }
    }

    async fn base(
        &self,
        conn: &mut Conn,
        key: &Key,
        lock: Lock,
    ) -> Result<Option<Values<Key>>, Error> {
        let Pass { table, form } = self.pass;
        let question = text::base_rows(table, form, std::slice::from_ref(key), lock);
        let row = conn.query_first(question).await?;
        row.map(|row| Values::base(table, form, row).ok_or(Error::Malformed))
            .transpose()
    }

    /// The slots of a key that hold something and that no other session has locked: their numbers, and what they hold.
    async fn slots(
        &self,
        conn: &mut Conn,
        key: &Key,
    ) -> Result<Vec<(String, Option<Amount>)>, Error> {
        let question = format!(
            "SELECT {SLOT}, `{COUNT}` FROM {} WHERE {} AND `{COUNT}` <> 0{}",
            self.slots,
            self.of_key(key),
            Lock::SkipLocked.clause()
        );
        let rows: Vec<mysql_async::Row> = conn.query(question).await?;
        let read = |row| {
            let mut values = texts(row).into_iter().flatten();
            let mut text = || String::from_utf8(values.next()?).ok();
            let (slot, count) = (text()?, text()?);
            let is_number = slot
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
            is_number.then(|| (slot, Amount::parse(&count)))
        };
        let slots = rows.into_iter().map(read);
        slots.collect::<Option<_>>().ok_or(Error::Malformed)
    }

    /// Sets what these slots hold to zero. The rows stay, so that whoever increments them does so without a gap to
    /// lock.
    fn empty(&self, key: &Key, slots: &[(String, Option<Amount>)]) -> String {
        let numbers: Vec<_> = slots.iter().map(|(slot, _)| slot.as_str()).collect();
        format!(
            "UPDATE {} SET `{COUNT}` = 0 WHERE {} AND {SLOT} IN ({})",
            self.slots,
            self.of_key(key),
            numbers.join(", ")
        )
    }

    /// Holds for the slots of a key.
    fn of_key(&self, key: &Key) -> String {
        format!("{}{RECORD_ID} = {}", of_type(self.adopted), key.join(", "))
    }
}

/// Holds for the rows that belong to the hot table, with AND behind it where there are others.
fn of_type(adopted: &Adopted) -> String {
    let Some(value) = &adopted.record_type else {
        return String::new();
    };
    let is_plain = value
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let literal = match is_plain {
        true => quote::text(value),
        false => {
            let bytes = value.bytes().map(|byte| format!("{byte:02X}"));
            format!("_utf8mb4 X'{}'", bytes.collect::<String>())
        }
    };
    format!("{RECORD_TYPE} = {literal} AND ")
}

/// The unique key by which each slot is one row, in a table that has the shape of slots: the columns, and InnoDB.
///
/// # Errors
///
/// What it lacks; or a query that failed.
pub(crate) async fn unique_key(conn: &mut Conn, adopted: &Adopted) -> Result<String, Error> {
    let no_slots = |why: String| Error::NoSlots {
        table: adopted.table.to_string(),
        why,
    };
    let failed = |problem: crate::catalog::Problem| no_slots(problem.to_string());
    let server = read::server(conn).await.map_err(failed)?;
    let table = &adopted.table;
    let facts = read::table(conn, &server, &table.schema, &table.name).await;
    let facts = facts.map_err(failed)?.ok_or_else(|| {
        let table = quote::table(table);
        no_slots(format!(
            "no such table can be seen; if it exists, let the control account use it: GRANT SELECT, UPDATE ON {table} TO .."
        ))
    })?;
    found(&facts, adopted).map_err(no_slots)
}

/// The unique key of slots, or what a table lacks to be one of slots; pure.
fn found(facts: &Facts, adopted: &Adopted) -> Result<String, String> {
    let is = |left: &str, right: &str| left.eq_ignore_ascii_case(right);
    let record_type = adopted.record_type.as_ref().map(|_| RECORD_TYPE);
    let key: Vec<&str> = record_type.into_iter().chain([RECORD_ID, SLOT]).collect();
    let columns = key.iter().copied().chain([COUNT]);
    for name in columns {
        if !facts.columns.iter().any(|column| is(&column.name, name)) {
            return Err(format!(
                "it has no column `{name}`; the pattern as it was published has record_type, record_id, slot and count"
            ));
        }
    }
    if !facts.engine.eq_ignore_ascii_case("InnoDB") {
        return Err(format!(
            "it is stored in {}, which has no row locks",
            facts.engine
        ));
    }
    let of_index = |index: &str| {
        let parts = facts.indexes.iter();
        parts.filter(|part| part.index == index).collect::<Vec<_>>()
    };
    let is_key = |index: &str| {
        let parts = of_index(index);
        let has = |name: &&str| {
            parts.iter().any(|part| {
                let column = part.column.as_ref();
                !part.prefix && column.is_some_and(|column| is(column, name))
            })
        };
        parts.len() == key.len() && key.iter().all(has)
    };
    let unique = facts.indexes.iter().filter(|part| part.unique);
    let mut keys = unique.filter(|part| is_key(&part.index));
    keys.next().map(|part| part.index.clone()).ok_or_else(|| {
        let names: Vec<_> = key.iter().map(|name| quote::name(name)).collect();
        format!(
            "it has no unique key of exactly ({}), by which a slot is one row",
            names.join(", ")
        )
    })
}
