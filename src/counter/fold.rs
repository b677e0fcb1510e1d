//! The statements of a fold: lock base, then move its slots into it.
//!
//! A move is one statement, so that nothing (a KILL QUERY, a lost connection) can come between adding to base and
//! taking from the slots. It closes the slot rows, so the next increment goes through the base row again, where the
//! guard against overflow is. It never deletes them, not even when their base row goes: an UPDATE that misses its slot
//! row locks the gap where the row would be, and two transactions that do so and then insert will deadlock. Measured on
//! MySQL 9.7 and MariaDB 10.11: the derived table is materialised before the first row is changed, and a base row that
//! joins with several slot rows is changed once.
//!
//! Nor may a fold lock gaps. The gap after the last slot row of a key is the one before the first of the next key, and
//! sessions that increment neighbouring keys would wait for each other, as they never do without the proxy. So a fold
//! names the slot rows that it moves, one by one. Another connection tells which exist, without locks ([`open_rows`]),
//! once the base row is locked: only sessions that have locked the base row themselves can add new ones.

use std::fmt::Write;
use std::sync::Arc;

use super::key::{Key, KeyForm};
use super::row_digest::digest;
use super::{gates, quote};
use crate::catalog::HotTable;
use crate::sql::plan::LockTables;

/// Ends LOCK TABLES.
pub const UNLOCK: &str = "UNLOCK TABLES";

/// Opens a transaction with the characteristics that the client has asked for.
pub const BEGIN: &str = "START TRANSACTION";

/// The same, but for the access mode.
pub const BEGIN_TO_WRITE: &str = "START TRANSACTION READ WRITE";

/// Ends the transaction around a fold in autocommit; spelled out, so that `completion_type` has no effect.
pub const COMMIT: &str = "COMMIT AND NO CHAIN NO RELEASE";

/// Rolls a transaction of the proxy's back, whatever the session's `completion_type` says.
pub const ROLLBACK: &str = "ROLLBACK AND NO CHAIN NO RELEASE";

/// What a session has set that a fold cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cautious<'a> {
    /// `sql_safe_updates` is on.
    pub safe_updates: bool,
    /// `sql_big_selects` is on; setting `max_join_size` switches it off.
    pub big_selects: bool,
    /// `character_set_client`, if the names in the texts would be others in it.
    pub character_set: Option<&'a str>,
}

/// Statements to send before and after the moves of a fold; `None` if the session has set nothing that they cannot
/// have.
pub fn without_caution(session: Cautious<'_>) -> Option<[String; 2]> {
    let own = session.character_set.unwrap_or_default();
    let variables = [
        ("sql_safe_updates", "0", "1", session.safe_updates),
        ("sql_big_selects", "1", "0", !session.big_selects),
        ("character_set_client", "utf8mb4", own, !own.is_empty()),
    ];
    let variables = variables.iter().filter(|(.., is_cautious)| *is_cautious);
    let set = |is_own: bool| {
        let list = variables.clone().map(|(name, free, own, _)| {
            let value = if is_own { own } else { free };
            format!("{name} = {value}")
        });
        format!("SET SESSION {}", list.collect::<Vec<_>>().join(", "))
    };
    (variables.clone().count() > 0).then(|| [set(false), set(true)])
}

/// The statement with MariaDB's variables set for it alone: `name = value, ..`.
pub fn with_variables(set: &str, text: &[u8]) -> Vec<u8> {
    [b"SET STATEMENT ", set.as_bytes(), b" FOR ", text].concat()
}

/// Queries of no row, which make no snapshot and take no lock: of the slot table, and of the table itself for an
/// account that may not read the slot table.
pub fn no_rows(table: &HotTable) -> [String; 2] {
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    let base = quote::pair(&table.schema, &table.name);
    [slots, base].map(|path| format!("SELECT NULL FROM {path} WHERE FALSE{ONE_ROW}"))
}

/// Asks whether a name is that of a temporary table.
pub fn show_create(table: &HotTable) -> String {
    show_create_of(&quote::pair(&table.schema, &table.name))
}

/// Asks what a table is; its name is in backticks.
pub fn show_create_of(path: &str) -> String {
    format!("SHOW CREATE TABLE {path}")
}

/// LOCK TABLES of hot tables and their slot tables, under which they are folded and emptied.
pub fn lock_alone(tables: Vec<Arc<HotTable>>) -> LockTables {
    let names = tables
        .iter()
        .map(|table| format!("{} WRITE", quote::pair(&table.schema, &table.name)));
    let text = format!("LOCK TABLES {}", names.collect::<Vec<_>>().join(", "));
    LockTables {
        flush: None,
        written: tables.clone(),
        tables,
        text: text.into_bytes(),
    }
}

/// LOCK TABLES as it is sent: tables locked for WRITE are folded, so the names that the fold uses are locked as well.
pub fn lock_tables(lock: &LockTables) -> Vec<u8> {
    let mut text = lock.text.clone();
    for (number, table) in lock.written.iter().enumerate() {
        // On a line of its own: the client's text may end in a comment.
        text.extend_from_slice(b"\n, ");
        text.extend_from_slice(locks(number, table).as_bytes());
    }
    text
}

/// The statements that move everything into the rows under LOCK TABLES .. WRITE, table by table.
pub fn under_locks(lock: &LockTables) -> impl Iterator<Item = Vec<u8>> {
    let tables = lock.written.iter().enumerate();
    tables.map(|(number, table)| FoldStatements::numbered(number, table, None).fold)
}

/// What LOCK TABLES .. WRITE must also lock for the fold of this number to run under it.
fn locks(number: usize, table: &HotTable) -> String {
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    format!(
        "{} AS {} WRITE, {slots} AS {} WRITE, {slots} WRITE",
        quote::pair(&table.schema, &table.name),
        base_alias(number),
        slots_alias(number)
    )
}

fn base_alias(number: usize) -> String {
    format!("countersink_b{number}")
}

fn slots_alias(number: usize) -> String {
    format!("countersink_f{number}")
}

/// The maximum number of keys whose open slot rows are asked for by name; beyond that, all of the table's are.
pub const MOST_KEYS: usize = 64;

/// The maximum number of slot rows that a fold names one by one.
pub const MOST_ROWS: usize = 512;

/// A slot row that is open: it may hold a value, and takes increments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenRow {
    /// Its key.
    pub key: Key,
    /// Number of its slot.
    pub slot: u16,
}

/// Lifts `max_join_size` for one query. It is a comment to MariaDB, which needs [`with_variables`].
pub(super) const ALL_ROWS: &str = "/*+ SET_VAR(sql_big_selects = 1) */";

/// A query that begins with `ALL_ROWS`, with this sql_mode besides. MySQL takes no empty mode there.
pub fn with_mode(mode: &str, text: &[u8]) -> Vec<u8> {
    let hint = format!("/*+ SET_VAR(sql_big_selects = 1) SET_VAR(sql_mode = '{mode}') */");
    match memchr::memmem::find(text, ALL_ROWS.as_bytes()) {
        Some(at) => {
            let (head, tail) = (&text[..at], &text[at + ALL_ROWS.len()..]);
            [head, hint.as_bytes(), tail].concat()
        }
        None => text.to_vec(),
    }
}

/// Ends a query of one row. Under `sql_select_limit = 0`, servers run, and lock, nothing for a query without a limit of
/// its own.
const ONE_ROW: &str = " LIMIT 1";

/// The maximum number of base rows whose keys a fold remembers; beyond that, it takes the whole table.
pub const MOST_LOCKED: usize = 1024;

/// Locks the base rows under `predicate` (unqualified columns; all rows without one). Returns their keys, or one row
/// with a count. The LIMIT takes the place of the session's own `sql_select_limit`; if it is reached, more is locked.
///
/// It reads a counter, because hardly any index contains one. A query for keys alone may be answered from an index that
/// covers it; on a small table, servers read, and lock, that whole index.
pub fn lock(table: &HotTable, predicate: Option<&[u8]>, form: Option<&KeyForm>) -> Vec<u8> {
    lock_reading(table, predicate, form, &counter(table))
}

/// The same, but reads only keys: for when the counter is gone, or `max_join_size` does not permit reading the rows.
pub fn lock_by_keys(table: &HotTable, predicate: Option<&[u8]>, form: Option<&KeyForm>) -> Vec<u8> {
    lock_reading(table, predicate, form, "1")
}

fn lock_reading(
    table: &HotTable,
    predicate: Option<&[u8]>,
    form: Option<&KeyForm>,
    read: &str,
) -> Vec<u8> {
    let (list, limit) = match form {
        Some(form) => (
            format!("{}, {read}", form.select_list()),
            format!(" LIMIT {}", MOST_LOCKED + 1),
        ),
        None => (count(table, read), ONE_ROW.to_owned()),
    };
    let base = quote::pair(&table.schema, &table.name);
    let text = format!("SELECT {list} FROM {base}").into_bytes();
    [
        text,
        condition(" WHERE ", predicate),
        limit.into_bytes(),
        b" FOR UPDATE".to_vec(),
    ]
    .concat()
}

/// Reads all rows for one number. In a cluster with several writers it does not count them: MySQL may count the rows of
/// a table without looking whether the transaction is still there (docs/design/clusters.md). A sum is refused by
/// `max_join_size` where a count is not; the hint lifts that, and is a comment to MariaDB.
fn count(table: &HotTable, read: &str) -> String {
    match table.is_gated {
        true => format!("{ALL_ROWS} SUM({read} IS NULL)"),
        false => format!("COUNT({read})"),
    }
}

/// How base rows are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// As they are now, locked.
    Locked,
    /// As the transaction sees them.
    Consistent,
}

/// Returns the keys of the base rows under `predicate`, each with a digest of all its columns, which shows whether a
/// statement has changed the row.
pub fn digests(table: &HotTable, predicate: Option<&[u8]>, form: &KeyForm, look: Look) -> Vec<u8> {
    let base = quote::pair(&table.schema, &table.name);
    let text = format!(
        "SELECT {ALL_ROWS} {}, {} FROM {base}",
        form.select_list(),
        digest(table.columns.iter())
    );
    [
        text.into_bytes(),
        condition(" WHERE ", predicate),
        format!(" LIMIT {}", MOST_LOCKED + 1).into_bytes(),
        match look {
            Look::Locked => b" FOR UPDATE".to_vec(),
            Look::Consistent => Vec::new(),
        },
    ]
    .concat()
}

/// A predicate for the keys whose slot rows a consistent read sees, and for these others.
pub fn with_slots(table: &HotTable, form: &KeyForm, others: &[Key]) -> Vec<u8> {
    let keys = quote::keys(table).join(", ");
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    let no_gates = match table.is_gated {
        true => format!(
            " WHERE {} < {}",
            quote::name(table.slot_column()),
            HotTable::FIRST_GATE
        ),
        false => String::new(),
    };
    let mut predicate = format!("({keys}) IN (SELECT {keys} FROM {slots}{no_gates})");
    if !others.is_empty() {
        predicate += " OR ";
        predicate += &form.any_of(others);
    }
    predicate.into_bytes()
}

/// The open slot rows of these keys, or of all: key, then slot number. Without locks and with what is not committed yet
/// (READ UNCOMMITTED), on a connection of the control account.
pub fn open_rows(table: &HotTable, form: &KeyForm, keys: Option<&[Key]>) -> String {
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    let (slot, open) = (
        quote::name(table.slot_column()),
        quote::name(table.open_column()),
    );
    let mut text = format!(
        "SELECT {}, {slot} FROM {slots} WHERE {open} = 1",
        form.select_list()
    );
    if table.is_gated {
        write!(text, " AND {slot} < {}", HotTable::FIRST_GATE).expect("a String takes all");
    }
    if let Some(keys) = keys {
        write!(text, " AND ({})", form.any_of(keys)).expect("a String takes all");
    }
    write!(text, " LIMIT {}", MOST_ROWS + 1).expect("a String takes all");
    text
}

/// Passes the gates of the base rows under `predicate`, or of the whole table, whose rows are locked: see [`gates`].
/// `None` where nobody opens slots past these locks.
///
/// [`gates`]: super::gates
pub fn pass_gates(table: &HotTable, predicate: Option<&[u8]>) -> Option<Vec<u8>> {
    let of_table = gates::of_table(table)?;
    Some(match predicate {
        Some(predicate) => gates::of_rows(table, predicate),
        None => of_table.into_bytes(),
    })
}

/// Moves the open slot rows of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The key.
    pub key: Key,
    /// Numbers of its slots.
    slots: Vec<u16>,
    /// To be run in this order. The last one finds the base row and these slot rows, each once.
    pub texts: [Vec<u8>; Self::TEXTS],
}

impl Move {
    /// How many statements one takes.
    pub const TEXTS: usize = 2;

    /// One of its slot rows.
    pub fn row(&self) -> OpenRow {
        OpenRow {
            key: self.key.clone(),
            slot: self.slots.first().copied().unwrap_or_default(),
        }
    }
}

/// Moves slot rows into base, one statement for each key. Each can run by itself. Before each, its slot rows are locked
/// for writing: the move would first lock them for reading, and two sessions that then want to write would wait for
/// each other (seen on MariaDB).
pub fn moves(table: &HotTable, form: &KeyForm, rows: &[OpenRow]) -> Vec<Move> {
    let mut keys: Vec<(&Key, Vec<u16>)> = Vec::new();
    for row in rows {
        match keys.iter_mut().find(|(key, _)| **key == row.key) {
            Some((_, slots)) => slots.push(row.slot),
            None => keys.push((&row.key, vec![row.slot])),
        }
    }
    let moves = keys.into_iter().map(|(key, slots)| {
        // Looked up one by one. For a list of slots, optimizers scan all slot rows of the key if there are few, and so
        // also lock those that other sessions hold.
        let numbers: Vec<_> = slots.iter().map(u16::to_string).collect();
        let listed = format!(
            "(SELECT {} AS countersink_n) AS countersink_e",
            numbers.join(" AS countersink_n UNION ALL SELECT ")
        );
        let slot = quote::name(table.slot_column());
        let condition = |alias: &str| form.condition(&format!("{alias}."), key);
        let (b, s) = (base_alias(0), slots_alias(0));
        let slot_table = quote::pair(&table.slot_schema, &table.slot_name);
        let looked_up = format!("{} AND {s}.{slot} = countersink_n", condition(&s));
        let from = format!("{listed} STRAIGHT_JOIN {slot_table} AS {s} WHERE {looked_up}");
        let lock = format!("SELECT COUNT(*) FROM {from}{ONE_ROW} FOR UPDATE");
        let named = Moved {
            from: from.into_bytes(),
            listed: format!("STRAIGHT_JOIN {listed} STRAIGHT_JOIN"),
            condition: format!(" WHERE {} AND {looked_up}", condition(&b)).into_bytes(),
        };
        Move {
            key: key.clone(),
            slots,
            texts: [lock.into_bytes(), move_text(0, table, &named)],
        }
    });
    moves.collect()
}

/// Writes the base row of this slot row although no value changes: moves the smallest amount of its counters from base
/// to the slot and back, or the other way round if base would become negative. Each statement keeps base + SUM(slots)
/// as it is. Run them in this order, with the base row locked.
pub fn rewrites(table: &HotTable, form: &KeyForm, row: &OpenRow) -> Vec<Vec<u8>> {
    let (b, s, d) = (base_alias(0), slots_alias(0), "countersink_d");
    let base = quote::pair(&table.schema, &table.name);
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    let slot = quote::name(table.slot_column());
    let condition = |alias: &str| form.condition(&format!("{alias}."), &row.key);
    // Read separately: the assignments of a multi-table UPDATE see each other's values in no guaranteed order.
    let (mut amounts, mut sets) = (Vec::new(), Vec::new());
    for counter in &table.counters {
        let column = quote::name(&table.columns[counter.column].name);
        let unit = counter.domain.unit();
        amounts.push(format!(
            "IF({column} >= {unit}, {unit}, -{unit}) AS {column}"
        ));
        sets.push(format!("{b}.{column} = {b}.{column} - {d}.{column}"));
        sets.push(format!(
            "{s}.{column} = {s}.{column} + COALESCE({d}.{column}, 0)"
        ));
    }
    for &position in &table.touches {
        let column = quote::name(&table.columns[position].name);
        sets.push(format!("{b}.{column} = {b}.{column}"));
    }
    sets.push(format!("{s}.{} = 1", quote::name(table.open_column())));
    let there = format!(
        "UPDATE {base} AS {b} STRAIGHT_JOIN (SELECT {} FROM {base} WHERE {}) AS {d} STRAIGHT_JOIN {slots} AS {s} \
         SET {} WHERE {} AND {} AND {s}.{slot} = {}",
        amounts.join(", "),
        form.condition("", &row.key),
        sets.join(", "),
        condition(&b),
        condition(&s),
        row.slot
    );
    let back = moves(table, form, std::slice::from_ref(row));
    let back = back.into_iter().flat_map(|of_key| of_key.texts);
    std::iter::once(there.into_bytes()).chain(back).collect()
}

/// The first counter, quoted.
fn counter(table: &HotTable) -> String {
    let first = table.counters.first();
    first.map_or_else(
        || "*".to_owned(),
        |first| quote::name(&table.columns[first.column].name),
    )
}

fn condition(start: &str, predicate: Option<&[u8]>) -> Vec<u8> {
    match predicate {
        Some(predicate) => [start.as_bytes(), b"(", predicate, b")"].concat(),
        None => Vec::new(),
    }
}

/// Statements that fold by a predicate. Run them in this order within one transaction. They lock gaps between slot
/// rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldStatements {
    /// Locks base rows, then slot rows: one row with a count.
    pub lock: Vec<u8>,
    /// Adds the slots to base, zeroes and closes them.
    pub fold: Vec<u8>,
}

impl FoldStatements {
    /// For the keys under `predicate` (unqualified key columns), or for the whole table.
    pub fn new(table: &HotTable, predicate: Option<&[u8]>) -> Self {
        Self::numbered(0, table, predicate)
    }

    /// As [`FoldStatements::new`]; under LOCK TABLES, which needs a lock for each alias, `number` distinguishes the
    /// tables. See [`locks`].
    fn numbered(number: usize, table: &HotTable, predicate: Option<&[u8]>) -> Self {
        let (b, s) = (base_alias(number), slots_alias(number));
        let base = quote::pair(&table.schema, &table.name);
        let slots = quote::pair(&table.slot_schema, &table.slot_name);
        // USING merges the key columns, so that the predicate's unqualified names are not ambiguous; the left join
        // keeps the order of locks: base first.
        let lock = [
            format!(
                "SELECT {} FROM {base} AS {b} LEFT JOIN {slots} AS {s} USING ({})",
                count(table, &format!("{b}.{}", counter(table))),
                quote::keys(table).join(", ")
            )
            .into_bytes(),
            condition(" WHERE ", predicate),
            ONE_ROW.as_bytes().to_vec(),
            b" FOR UPDATE".to_vec(),
        ];
        Self {
            lock: lock.concat(),
            fold: move_text(
                number,
                table,
                &Moved {
                    from: [slots.into_bytes(), condition(" WHERE ", predicate)].concat(),
                    listed: "JOIN".to_owned(),
                    condition: Vec::new(),
                },
            ),
        }
    }
}

/// Which slot rows a fold moves.
struct Moved {
    /// What follows FROM to read them.
    from: Vec<u8>,
    /// How they are joined again, to be changed.
    listed: String,
    /// What follows at the end.
    condition: Vec<u8>,
}

/// Adds slot rows to base, zeroes and closes them.
fn move_text(number: usize, table: &HotTable, moved: &Moved) -> Vec<u8> {
    let (b, s, d) = (base_alias(number), slots_alias(number), "countersink_d");
    let base = quote::pair(&table.schema, &table.name);
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    let keys = quote::keys(table);
    let join = |left: &str, right: &str| {
        let pairs = keys
            .iter()
            .map(|key| format!("{left}.{key} = {right}.{key}"));
        pairs.collect::<Vec<_>>().join(" AND ")
    };
    let mut sums = String::new();
    let mut base_sets = Vec::new();
    let mut slot_sets = Vec::new();
    for counter in &table.counters {
        let column = quote::name(&table.columns[counter.column].name);
        write!(sums, ", SUM({column}) AS {column}").expect("a String takes all");
        base_sets.push(format!("{b}.{column} = {b}.{column} + {d}.{column}"));
        slot_sets.push(format!("{s}.{column} = 0"));
    }
    // An ON UPDATE CURRENT_TIMESTAMP column that is named does not set itself, so the fold changes no visible value.
    for &position in &table.touches {
        let column = quote::name(&table.columns[position].name);
        write!(sums, ", MAX({column}) AS {column}").expect("a String takes all");
        base_sets.push(format!(
            "{b}.{column} = COALESCE(GREATEST({b}.{column}, {d}.{column}), {b}.{column})"
        ));
        slot_sets.push(format!("{s}.{column} = NULL"));
    }
    slot_sets.push(format!("{s}.{} = 0", quote::name(table.open_column())));
    base_sets.append(&mut slot_sets);
    [
        format!(
            "UPDATE {base} AS {b} JOIN (SELECT {}{sums} FROM ",
            keys.join(", ")
        )
        .into_bytes(),
        moved.from.clone(),
        format!(
            " GROUP BY {}) AS {d} ON {} {} {slots} AS {s} ON {} SET {}",
            keys.join(", "),
            join(d, &b),
            moved.listed,
            join(&s, &b),
            base_sets.join(", ")
        )
        .into_bytes(),
        moved.condition.clone(),
    ]
    .concat()
}
