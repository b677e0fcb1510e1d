//! What the upstream's hot tables look like: a snapshot, taken at start and again after DDL.
//!
//! The types here are pure data; [`load`] fills them through the control account.

mod bounds;
mod cascades;
mod changers;
pub(crate) mod check;
mod engines;
mod error;
mod examine;
pub(crate) mod grants;
pub(crate) mod letter_case;
mod load;
mod logins;
mod proxy_protocol;
pub(crate) mod read;
mod show_create;
mod snapshot;
mod socket_accounts;

use std::sync::Arc;
use std::time::Duration;

use crate::config::Adopted;

pub use cascades::Cascade;
pub use changers::Changers;
pub(crate) use check::definition;
pub use error::{Error, Problem};
pub(crate) use examine::{Examination, Examined, examine};
pub(crate) use load::version;
pub use load::{load, load_present, offline, survey};
pub use logins::refuse_logins;
pub use snapshot::{NotACatalog, Snapshot};

/// The hot tables of all rules, as the upstream describes them.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// One entry per rule with `mode: enforce` that has slots.
    pub tables: Vec<Arc<HotTable>>,
    /// One entry per rule with `slots: 0`, or whose table rests: increments are combined on the base row, all else
    /// passes.
    pub without_slots: Vec<Arc<HotTable>>,
    /// One entry per rule with `mode: observe`: plans are made and counted, and everything passes.
    pub observed: Vec<Arc<HotTable>>,
    /// The server's `lower_case_table_names`: 0 means that schema and table names are case-sensitive.
    pub lower_case_table_names: u8,
    /// Whether the upstream is MariaDB rather than MySQL.
    pub mariadb: bool,
    /// Whether the server has `innodb_snapshot_isolation`, as MariaDB since 10.6.18 does.
    pub has_snapshot_isolation: bool,
    /// Whether UPDATE and DELETE look their columns up before they begin a transaction, as in MySQL, and in MariaDB
    /// since 11.1.
    pub prepares_writes: bool,
}

impl Catalog {
    /// Whether a hot table has a name beyond ASCII: its own, its schema's or a column's.
    pub fn has_names_beyond_ascii(&self) -> bool {
        self.tables
            .iter()
            .any(|table| table.has_names_beyond_ascii())
    }

    /// The same for a server that is one of several that take writes.
    #[must_use]
    pub fn of_several_writers(mut self) -> Self {
        let gated = |table: &mut Arc<HotTable>| {
            let table = Arc::make_mut(table);
            table.is_gated = true;
            table.may_rest = false;
        };
        self.tables.iter_mut().for_each(gated);
        self
    }

    /// The tables without slots alone, as if they were the ones with slots.
    #[must_use]
    pub fn of_those_without_slots(&self) -> Self {
        Self {
            tables: self.without_slots.clone(),
            without_slots: Vec::new(),
            observed: Vec::new(),
            ..*self
        }
    }

    /// The same while the tables that may rest do.
    #[must_use]
    pub fn at_rest(&self) -> Self {
        let tables = self.tables.iter().cloned();
        let (resting, tables) = tables.partition::<Vec<_>, _>(|table| table.may_rest);
        let resting = resting.iter().map(|table| Arc::new(table.at_rest()));
        Self {
            tables,
            without_slots: resting.chain(self.without_slots.iter().cloned()).collect(),
            observed: self.observed.clone(),
            ..*self
        }
    }

    /// The observed tables alone, as if their rules were in force, and those that may rest did.
    #[must_use]
    pub fn of_those_observed(&self) -> Self {
        let observed = self.observed.iter().cloned();
        let (tables, without_slots) = observed.partition(|table| table.slots > 0);
        let in_force = Self {
            tables,
            without_slots,
            observed: Vec::new(),
            ..*self
        };
        in_force.at_rest()
    }

    /// The tables that have a slot table, at rest or not.
    pub fn with_slot_tables(&self) -> impl Iterator<Item = &Arc<HotTable>> {
        let resting = self.without_slots.iter();
        let resting = resting.filter(|table| table.is_at_rest());
        self.tables.iter().chain(resting)
    }

    /// The tables in force that adopt hand-written slots.
    pub fn adopting(&self) -> Vec<Arc<HotTable>> {
        let tables = self.tables.iter().chain(&self.without_slots);
        let adopting = tables.filter(|table| table.adopted.is_some());
        adopting.cloned().collect()
    }

    /// The hot table that `schema.name` names, by the server's rules of letter case.
    pub fn table(&self, schema: &str, name: &str) -> Option<&Arc<HotTable>> {
        let case = self.lower_case_table_names;
        let same = |left: &str, right: &str| letter_case::is_same_table(case, left, right);
        self.tables
            .iter()
            .find(|table| same(&table.schema, schema) && same(&table.name, name))
    }
}

/// A table that a rule names, with all that rewriting needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotTable {
    /// Schema of the table, as the server spells it.
    pub schema: String,
    /// Name of the table, as the server spells it.
    pub name: String,
    /// Schema of its slot table.
    pub slot_schema: String,
    /// Name of its slot table.
    pub slot_name: String,
    /// All columns in their ordinal order, invisible ones too.
    pub columns: Vec<Column>,
    /// The primary key: positions in `columns`, in key order. Empty where the table has none; it has no slots then.
    pub primary_key: Vec<usize>,
    /// The counters that the rule names.
    pub counters: Vec<Counter>,
    /// Columns that say when a row was last changed, and that an increment may also set: positions in `columns` of the
    /// rule's `touch` columns, and of those with ON UPDATE CURRENT_TIMESTAMP. DATETIME or TIMESTAMP.
    pub touches: Vec<usize>,
    /// Columns of the unique keys other than the primary key: by them an INSERT may meet a row with another primary
    /// key. `None` when a statement does not show which row: a key is over an expression or a part of a column, or a
    /// trigger may set other values.
    pub unique_keys: Option<Vec<Vec<usize>>>,
    /// What changes its rows in statements that need not name it.
    pub changed_by: Changers,
    /// By whose writes its rows are deleted, or get other primary keys.
    pub cascades: Vec<Cascade>,
    /// It has triggers: its writes may read other tables, and without locks.
    pub has_triggers: bool,
    /// Most slots of a key (the rule's `slots`); 0: there is no slot table.
    pub slots: u16,
    /// How often its slots are rolled up (the rule's `rollup`).
    pub rollup: Duration,
    /// It may do without slots until they are needed (the rule's `rest`).
    pub may_rest: bool,
    /// Other members of a cluster take writes, too: row locks of this server do not keep them from opening slots.
    pub is_gated: bool,
    /// Slots that an application writes by hand, and that are rolled up as well.
    pub adopted: Option<Arc<Adopted>>,
}

impl HotTable {
    /// Whether its own name, its schema's or a column's is beyond ASCII.
    pub fn has_names_beyond_ascii(&self) -> bool {
        let columns = self.columns.iter().map(|column| &column.name);
        columns
            .chain([&self.schema, &self.name])
            .any(|name| !name.is_ascii())
    }

    /// Numbers of slots from here on are gates: see `counter::gates`.
    pub const FIRST_GATE: u16 = u16::MAX - 1;

    /// The same without slots: base is the whole value.
    #[must_use]
    pub fn at_rest(&self) -> Self {
        Self {
            slots: 0,
            ..self.clone()
        }
    }

    /// Whether it has no primary key. Such a table may be hot as long as it has one row.
    pub fn is_keyless(&self) -> bool {
        self.primary_key.is_empty()
    }

    /// Whether it does without slots until they are needed.
    pub fn is_at_rest(&self) -> bool {
        self.may_rest && self.slots == 0
    }

    /// Position of the column `name` (column names know no letter case).
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| letter_case::is_same(&column.name, name))
    }

    /// The counter in column `position`, if that column is one.
    pub fn counter(&self, position: usize) -> Option<&Counter> {
        self.counters
            .iter()
            .find(|counter| counter.column == position)
    }

    /// Whether the value of column `position` may be in slots: a counter or a touch column.
    pub fn is_hot(&self, position: usize) -> bool {
        self.counter(position).is_some() || self.touches.contains(&position)
    }

    /// Name of the slot table's column for the slot number: another one when the table has a `slot` of its own
    /// that the slot table must carry.
    pub fn slot_column(&self) -> &str {
        match self.carries("slot") {
            true => "countersink_slot",
            false => "slot",
        }
    }

    /// Name of the slot table's column that says whether a slot row takes increments: 1, or 0 once a fold has moved
    /// its value into base.
    pub fn open_column(&self) -> &str {
        match self.carries("open") {
            true => "countersink_open",
            false => "open",
        }
    }

    /// Whether the slot table has a column of this name too.
    fn carries(&self, name: &str) -> bool {
        let counters = self.counters.iter().map(|counter| counter.column);
        let touches = self.touches.iter().copied();
        let mut carried = self
            .primary_key
            .iter()
            .copied()
            .chain(counters)
            .chain(touches);
        carried.any(|position| self.columns[position].name.eq_ignore_ascii_case(name))
    }
}

/// A column of a hot table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Its name, as the server spells it.
    pub name: String,
    /// Its full type as in `information_schema.columns.column_type`, with character set and collation where it has
    /// them: what follows the name in CREATE TABLE.
    pub definition: String,
    /// Left out of `SELECT *`.
    pub invisible: bool,
    /// May hold NULL.
    pub nullable: bool,
    /// Has ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// Has AUTO_INCREMENT.
    pub auto_increment: bool,
}

impl Column {
    /// Whether its times are the same for every time zone.
    pub fn is_timestamp(&self) -> bool {
        self.definition
            .to_ascii_lowercase()
            .starts_with("timestamp")
    }

    /// Fractional digits of a DATETIME or TIMESTAMP: `datetime(6)` has 6.
    pub fn fraction(&self) -> u8 {
        let digits = self
            .definition
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'));
        digits
            .and_then(|(digits, _)| digits.parse().ok())
            .unwrap_or(0)
    }
}

/// A counter column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Position in [`HotTable::columns`].
    pub column: usize,
    /// The exact type of its values.
    pub domain: Domain,
    /// How much may be slotted; `None` when nothing may: the type is too narrow, or a CHECK names the column.
    pub bounds: Option<Bounds>,
}

/// The exact type of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// An integer of `bytes` bytes: 1, 2, 3, 4 or 8.
    Integer {
        /// Width in bytes.
        bytes: u8,
        /// Has no negative values.
        unsigned: bool,
    },
    /// DECIMAL(precision, scale).
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the decimal point.
        scale: u8,
        /// Has no negative values.
        unsigned: bool,
    },
}

impl Domain {
    /// Whether adding a double that is a whole number is exact, as it is to a value of up to 53 bits. A string is a
    /// double to the server, too, where it is added to a number.
    pub fn adds_doubles(self) -> bool {
        matches!(self, Self::Integer { bytes, .. } if bytes <= 4)
    }

    /// The smallest amount that a column of this type can represent, as a literal.
    pub fn unit(self) -> String {
        match self {
            Self::Integer { .. } | Self::Decimal { scale: 0, .. } => "1".to_owned(),
            Self::Decimal { scale, .. } => format!("0.{:0>1$}", 1, usize::from(scale)),
        }
    }

    /// Whether the column refuses negative values; decrements of such a column are not slotted.
    pub fn is_unsigned(self) -> bool {
        match self {
            Self::Integer { unsigned, .. } | Self::Decimal { unsigned, .. } => unsigned,
        }
    }
}

/// Limits within which base row and slots together can never leave the column's type.
///
/// Increments of a row may go to slots while base is within `base_low ..= base_high`. A slot row's CHECK keeps it
/// within `-slot ..= slot`. With at most [`Bounds::MAX_SLOTS`] slot rows the sum stays inside the type. What does not
/// fit fails the slot table's CHECK, and the statement takes the exact path, where MySQL itself raises its error. All
/// figures are whole numbers of the counter's unit; the widest (DECIMAL(65)) does not fit an integer type, so they are
/// kept as the text that goes into SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Smallest base value that may be slotted onto.
    pub base_low: String,
    /// Largest base value that may be slotted onto.
    pub base_high: String,
    /// Largest absolute value of one slot.
    pub slot: String,
}

impl Bounds {
    /// The most slots a rule may ask for.
    pub const MAX_SLOTS: u16 = 256;

    /// The most that an upsert may add to the base row of an eight-byte counter while slots are open. Within the bounds
    /// 2^61 are spare, enough for two million million such upserts between two folds.
    pub const MOST_ADDED: u64 = 1_000_000;
}
