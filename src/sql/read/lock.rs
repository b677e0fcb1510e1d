//! Locking reads: base rows and slot rows are locked in the same mode.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, SetExpr, Visit, Visitor};

use crate::sql::context::{Context, base_path, slots_path};
use crate::sql::key;
use crate::sql::plan::Scope;
use crate::sql::predicate::Target;
use crate::sql::read::block::{Block, Lock, Place, Wait};
use crate::sql::template::Template;

/// A hot table that a block locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Locked {
    pub(super) block: usize,
    pub(super) source: usize,
}

/// The hot tables that any block locks.
pub(super) fn locked_sources(context: &Context<'_>, blocks: &[Block]) -> Vec<Locked> {
    let mut locked = Vec::new();
    for (block, of) in blocks.iter().enumerate() {
        let sources = (0..of.sources.len()).filter(|&source| of.sources[source].hot.is_some());
        locked.extend(
            sources
                .filter(|&source| applies(context, of, source))
                .map(|source| Locked { block, source }),
        );
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
    // SKIP LOCKED in a sum would leave out slots that others hold, and with them a part of the value: wait there.
    match (lock.exclusive, lock.wait, mariadb) {
        (true, Wait::Nowait, _) => " FOR UPDATE NOWAIT",
        (true, Wait::Block | Wait::SkipLocked, _) => " FOR UPDATE",
        (false, Wait::Nowait, true) => " LOCK IN SHARE MODE NOWAIT",
        (false, Wait::Nowait, false) => " FOR SHARE NOWAIT",
        (false, Wait::Block | Wait::SkipLocked, _) => " LOCK IN SHARE MODE",
    }
}

/// Statements that lock the base rows, then the slot rows, of a query's outermost block.
pub(super) fn statements(
    context: &Context<'_>,
    query: &Query,
    blocks: &[Block],
    locked: &[Locked],
) -> Vec<Template> {
    let SetExpr::Select(select) = &*query.body else {
        return Vec::new();
    };
    let mut statements = Vec::new();
    for place in locked {
        let block = &blocks[place.block];
        let (Some(lock), Place::Statement) = (&block.lock, block.place) else {
            continue;
        };
        // Who skips locked rows does not want to wait for them here either.
        let Some(table) = block.sources[place.source]
            .hot
            .as_ref()
            .filter(|_| lock.wait != Wait::SkipLocked)
        else {
            continue;
        };
        let target = Target::named(table, &block.sources[place.source].exposed);
        let scope = key::scope(context, &target, select.selection.as_ref());
        for path in [base_path(table), slots_path(table)] {
            let mut text = Template::text(format!("SELECT COUNT(*) FROM {path}"));
            if let Scope::Keys(predicate) = &scope {
                text.push_text(" WHERE ").append(predicate);
            }
            text.push_text(clause(lock, context.catalog.mariadb));
            statements.push(text);
        }
    }
    statements
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
