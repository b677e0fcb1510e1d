//! Reads of counters: each reference becomes base + SUM(slots).

mod block;
mod clause;
mod derived;
mod from;
mod items;
mod lock;
mod resolve;
mod rewrite;
mod survey;

use std::sync::Arc;

use sqlparser::ast::{Query, SetExpr};
use sqlparser::tokenizer::Token;

use crate::catalog::HotTable;
use crate::sql::context::{Context, Edit};
use crate::sql::plan::{Fold, FoldTable, Plan, Read, Reason, Scope};
use crate::sql::predicate::Target;
use crate::sql::read::block::Block;
use crate::sql::read::clause::Clause;
use crate::sql::read::resolve::Doubt;
use crate::sql::read::rewrite::Rewrite;
use crate::sql::read::survey::Survey;
use crate::sql::rows;
use crate::sql::template::Template;
use crate::sql::write;

pub use items::aggregates;

/// Whether a query only reads (WITH may come before an UPDATE or DELETE).
pub(super) fn is_query(query: &Query) -> bool {
    let mut rest = vec![&*query.body];
    while let Some(body) = rest.pop() {
        match body {
            SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Table(_) => {}
            SetExpr::Query(inner) => rest.push(&inner.body),
            SetExpr::SetOperation { left, right, .. } => rest.extend([&**left, &**right]),
            _ => return false,
        }
    }
    true
}

/// The plan of a query.
pub(super) fn plan(context: &Context<'_>, query: &Query) -> Plan {
    let survey = Survey::of(context, query);
    let locked = lock::locked_sources(context, query, &survey.blocks);
    let (blocks, references) = (&survey.blocks, &survey.references);
    let rewrite = match survey.is_doubtful || survey.joins_by_counter {
        true => Err(Doubt),
        false => Rewrite::of(context, blocks, references, &locked),
    };
    let is_derived = rewrite.is_err();
    let rewrite = match rewrite {
        Err(Doubt) if !survey.is_doubtful && locked.is_empty() => {
            Rewrite::by_derived_tables(context, blocks, references)
        }
        other => other,
    };
    let Ok(rewrite) = rewrite else {
        return unresolved(context, query);
    };
    if rewrite.tables.is_empty() && locked.is_empty() {
        let is_hot = survey
            .blocks
            .iter()
            .flat_map(|block| &block.sources)
            .any(|source| source.hot.is_some());
        return Plan::Forward(if is_hot {
            Reason::NoCounter
        } else {
            Reason::NotHot
        });
    }
    let read = Read {
        text: rewritten(context, &rewrite.edits),
        locks: lock::statements(context, &survey.blocks, &locked),
        fails_when_locked: lock::waits_for_nothing(blocks, &locked),
        folded_first: lock::waits_for_rows(&survey.blocks, &locked)
            .then(|| confined(context, query))
            .flatten()
            .filter(|fold| matches!(fold.scope, Scope::Keys(_))),
        or_fold: match is_derived.then(|| unresolved(context, query)) {
            Some(Plan::Fold(fold)) => Some(*fold),
            _ => None,
        },
        reason: if locked.is_empty() {
            Reason::Summed
        } else {
            Reason::SummedLocked
        },
        tables: with_locked(rewrite.tables, &survey.blocks, &locked),
    };
    if !has_parameter_in_items(context, &survey.blocks) {
        return Plan::Read(Box::new(read));
    }
    match unresolved(context, query) {
        Plan::Fold(mut fold) => {
            fold.in_snapshot = locked.is_empty().then(|| Box::new(read));
            Plan::Fold(fold)
        }
        other => other,
    }
}

/// The edits that put sums in place of the counters that a query in a write reads; `None` if the query is not
/// understood, or has a locking clause.
pub(super) fn sums(context: &Context<'_>, query: &Query) -> Option<Vec<Edit>> {
    let survey = Survey::of(context, query);
    let (blocks, references) = (&survey.blocks, &survey.references);
    let is_plain = !survey.is_doubtful
        && !survey.joins_by_counter
        && lock::locked_sources(context, query, blocks).is_empty();
    let rewrite = is_plain.then(|| Rewrite::of(context, blocks, references, &[]));
    Some(rewrite?.ok()?.edits)
}

/// Whether an item of a select list has a parameter in it: then its type, and with it the column's definition and the
/// rows of the binary protocol, depend on what each execution sends. What an inner query compares it with does not.
fn has_parameter_in_items(context: &Context<'_>, blocks: &[Block]) -> bool {
    let tokens = context.syntax.tokens.iter();
    let mut parameters = tokens.filter(|token| matches!(token.token, Token::Placeholder(_)));
    parameters.any(|parameter| {
        let at = parameter.range.start;
        let around = blocks.iter().map(|block| &block.clauses);
        let innermost = around
            .filter(|clauses| clauses.range().contains(&at))
            .max_by_key(|clauses| clauses.range().start);
        innermost.is_some_and(|clauses| clauses.at(at) == Clause::Items)
    })
}

fn rewritten(context: &Context<'_>, edits: &[Edit]) -> Template {
    context.edited(0..context.text.len(), edits)
}

/// The tables that are read, and those that are only locked.
fn with_locked(
    mut tables: Vec<Arc<HotTable>>,
    blocks: &[Block],
    locked: &[lock::Locked],
) -> Vec<Arc<HotTable>> {
    for place in locked {
        let hot = blocks[place.block].sources[place.source].hot.as_ref();
        tables.extend(
            hot.filter(|hot| !tables.contains(hot))
                .cloned()
                .into_iter()
                .collect::<Vec<_>>(),
        );
    }
    tables
}

/// The plan of a query that names hot tables in ways that are not understood: fold what it may read.
fn unresolved(context: &Context<'_>, query: &Query) -> Plan {
    let mentions = write::mentions(context, query);
    let confined = confined(context, query);
    match (confined, mentions.tables.as_slice()) {
        (Some(fold), [table]) if fold.table == *table => {
            Plan::Fold(Box::new(Fold::new(vec![fold], Reason::Unresolved)))
        }
        _ => write::fold_all(&mentions, Reason::Unresolved),
    }
}

/// The keys that a query over one table and without inner queries reads.
fn confined(context: &Context<'_>, query: &Query) -> Option<FoldTable> {
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let [from] = select.from.as_slice() else {
        return None;
    };
    let is_alone = query.with.is_none() && lock::count_queries(query) == 1;
    let target = Target::of(context, from).filter(|_| is_alone)?;
    Some(rows::fold_of(context, &target, select.selection.as_ref()))
}

#[cfg(test)]
mod tests;
