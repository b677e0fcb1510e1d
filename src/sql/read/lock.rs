//! Locking reads: base rows and slot rows are locked in the same mode.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, SetExpr, Visit, Visitor};

use crate::catalog::HotTable;
use crate::sql::context::{Context, Edit, base_path, quoted, slots_path};
use crate::sql::interrupted::interrupted;
use crate::sql::key;
use crate::sql::plan::Scope;
use crate::sql::predicate::Target;
use crate::sql::read::block::{Block, Lock, Place, Wait};
use crate::sql::read::rewrite::Rewriter;
use crate::sql::template::{OpenSlots, Piece, Template};

/// A hot table that a block locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Locked {
    pub(super) block: usize,
    pub(super) source: usize,
    /// The keys that the statement names, as a predicate.
    keys: Option<Template>,
}

/// The hot tables that any block locks.
pub(super) fn locked_sources(
    context: &Context<'_>,
    query: &Query,
    blocks: &[Block],
) -> Vec<Locked> {
    let selection = match &*query.body {
        SetExpr::Select(select) => select.selection.as_ref(),
        _ => None,
    };
    let mut locked = Vec::new();
    for (block, of) in blocks.iter().enumerate() {
        let selection = selection.filter(|_| of.place == Place::Statement);
        for (source, named) in of.sources.iter().enumerate() {
            let Some(table) = named.hot.as_ref().filter(|_| applies(context, of, source)) else {
                continue;
            };
            let target = Target::named(table, &named.exposed);
            locked.push(Locked {
                block,
                source,
                keys: match key::scope(context, &target, selection) {
                    Scope::Keys(keys) => Some(keys),
                    Scope::Rows(_) | Scope::Table => None,
                },
            });
        }
    }
    locked
}

/// Whether a block locks the rows of a source.
fn applies(context: &Context<'_>, block: &Block, source: usize) -> bool {
    block.lock.as_ref().is_some_and(|lock| {
        let exposed = &block.sources[source].exposed;
        lock.of.is_empty()
            || lock
                .of
                .iter()
                .any(|name| context.is_same_table_name(name, exposed))
    })
}

/// The clause for a sum over the slots of a source, with a space before it.
pub(super) fn clause_for(context: &Context<'_>, block: &Block, source: usize) -> &'static str {
    match &block.lock {
        Some(lock) if applies(context, block, source) => clause(lock, context.catalog.mariadb),
        _ => "",
    }
}

fn clause(lock: &Lock, mariadb: bool) -> &'static str {
    // A sum that skips slots which others hold is a part of the value; but then the row is skipped as well.
    match (lock.exclusive, lock.wait, mariadb) {
        (true, Wait::Nowait, _) => " FOR UPDATE NOWAIT",
        (true, Wait::SkipLocked, _) => " FOR UPDATE SKIP LOCKED",
        (true, Wait::Block, _) => " FOR UPDATE",
        (false, Wait::Nowait, true) => " LOCK IN SHARE MODE NOWAIT",
        (false, Wait::Nowait, false) => " FOR SHARE NOWAIT",
        (false, Wait::SkipLocked, true) => " LOCK IN SHARE MODE SKIP LOCKED",
        (false, Wait::SkipLocked, false) => " FOR SHARE SKIP LOCKED",
        (false, Wait::Block, _) => " LOCK IN SHARE MODE",
    }
}

impl Rewriter<'_> {
    /// Adds to each block's WHERE what its lock does at a row whose slots others hold. That row is locked for MySQL, as
    /// it has an increment that is not committed: SKIP LOCKED leaves it out, NOWAIT fails, others wait. Slots are
    /// locked with their row also where the statement shows no counter.
    pub(super) fn guard_locks(&mut self, locked: &[Locked]) {
        let mut edits: Vec<Edit> = Vec::new();
        for place in locked {
            let block = &self.names.blocks[place.block];
            let Some(guard) = self.lock_guard(place) else {
                continue;
            };
            let (word, end) = block.clauses.filter();
            let is_end = |edit: &Edit| edit.range == (end..end);
            if let Some(edit) = edits.iter_mut().find(|edit| is_end(edit)) {
                edit.text.push_text(" AND ").append(&guard);
                continue;
            }
            let condition = word.map(|word| {
                let rest = self.names.context.slice(word..end);
                word + rest.len() - rest.trim_ascii_start().len()
            });
            edits.extend(condition.map(|start| Edit::new(start..start, "(")));
            let joint = if word.is_some() { ") AND" } else { "WHERE" };
            let mut edit = Edit::new(end..end, format!("{joint} "));
            edit.text.append(&guard);
            edits.push(edit);
        }
        self.rewrite.edits.extend(edits);
    }

    /// A condition that holds for a row if no other session holds a slot of it, and that locks its slots: as many of
    /// the open ones can be locked as there are. How many there are must be known beforehand. A consistent read would
    /// not see slots that are not committed or younger than the snapshot, and would make the snapshot if there is none.
    fn lock_guard(&mut self, place: &Locked) -> Option<Template> {
        let block = &self.names.blocks[place.block];
        let source = &block.sources[place.source];
        let (table, lock) = (source.hot.as_ref()?, block.lock.as_ref()?);
        // These have been waited for when the statement begins.
        if lock.wait == Wait::Block && place.keys.is_some() {
            return None;
        }
        let clause = clause(lock, self.names.context.catalog.mariadb);
        let slots = slots_path(table);
        let qualifier = String::from_utf8_lossy(&source.qualifier).into_owned();
        let keys = table
            .primary_key
            .iter()
            .map(|&key| &table.columns[key].name);
        let same_key = |left: &str, right: &str| {
            let pairs = keys.clone().map(|key| {
                let key = quoted(key);
                format!("{left}.{key} = {right}.{key}")
            });
            pairs.collect::<Vec<_>>().join(" AND ")
        };
        let slots_of_row = |alias: &str| {
            let condition = same_key(alias, &qualifier);
            let condition = match table.is_gated {
                true => format!(
                    "{condition} AND {alias}.{} < {}",
                    quoted(table.slot_column()),
                    HotTable::FIRST_GATE
                ),
                false => condition,
            };
            format!("{slots} AS {alias} FORCE INDEX (PRIMARY) WHERE {condition}")
        };
        let of_row = format!("{qualifier}.{}", quoted(keys.clone().next()?));
        let interrupted = interrupted(of_row.as_bytes());
        let interrupted = String::from_utf8_lossy(&interrupted);
        let or_interrupted = |subquery: String| format!("COALESCE({subquery}, {interrupted})");
        let locked = self.next_alias(table);
        if lock.wait != Wait::SkipLocked {
            let counted = format!("(SELECT COUNT(*) FROM {}{clause})", slots_of_row(&locked));
            return Some(Template::text(format!("{} >= 0", or_interrupted(counted))));
        }
        let seen = self.next_alias(table);
        let open = quoted(table.open_column());
        let count = |alias: &str| {
            let from = slots_of_row(alias);
            format!("(SELECT COALESCE(SUM({alias}.{open}), 0) FROM {from}")
        };
        let counted = or_interrupted(format!("{}{clause})", count(&locked)));
        let mut guard = Template::text(format!("{counted} >= "));
        guard.push(Piece::OpenSlots(Box::new(OpenSlots {
            table: self.index_of(table),
            key: keys
                .clone()
                .map(|key| format!("{qualifier}.{}", quoted(key)))
                .collect(),
            counted: or_interrupted(format!("{})", count(&seen))),
        })));
        Some(guard)
    }
}

/// Statements that lock the base rows, then the slot rows, of the keys that a query names. Rows that are found in
/// another way are locked as the server meets them, each with its slots: locking them beforehand could lock more.
pub(super) fn statements(
    context: &Context<'_>,
    blocks: &[Block],
    locked: &[Locked],
) -> Vec<Template> {
    let mut statements = Vec::new();
    for place in locked {
        let block = &blocks[place.block];
        // A query that skips locked rows must not wait for them here either.
        let lock = block.lock.as_ref();
        let waiting = lock.filter(|lock| lock.wait != Wait::SkipLocked);
        let table = block.sources[place.source].hot.as_ref();
        let (Some(lock), Some(table), Some(keys)) = (waiting, table, &place.keys) else {
            continue;
        };
        for path in [base_path(table), slots_path(table)] {
            let mut text = Template::text(format!("SELECT COUNT(*) FROM {path} WHERE "));
            text.append(keys);
            text.push_text(clause(lock, context.catalog.mariadb));
            statements.push(text);
        }
    }
    statements
}

/// Whether no lock is waited for.
pub(super) fn waits_for_nothing(blocks: &[Block], locked: &[Locked]) -> bool {
    let mut locks = locked.iter().map(|place| &blocks[place.block].lock);
    locks.all(|lock| lock.as_ref().is_some_and(|lock| lock.wait == Wait::Nowait))
}

/// Whether all that is locked is locked exclusively, however long others hold it.
pub(super) fn waits_for_rows(blocks: &[Block], locked: &[Locked]) -> bool {
    let mut locks = locked.iter().map(|place| &blocks[place.block].lock);
    !locked.is_empty()
        && locks.all(|lock| {
            lock.as_ref()
                .is_some_and(|lock| lock.exclusive && lock.wait == Wait::Block)
        })
}

/// How many queries there are in a query, itself included.
pub(super) fn count_queries(query: &Query) -> usize {
    struct Count(usize);
    impl Visitor for Count {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
    }
    let mut count = Count(0);
    let _ = query.visit(&mut count);
    count.0
}
