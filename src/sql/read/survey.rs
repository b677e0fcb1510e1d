//! Walks a query and notes its blocks and column references.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, Function, GroupByExpr, Ident, LockClause, LockType, NonBlock, OrderBy,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
    Value, ValueWithSpan, Visit, Visitor,
};

use crate::sql::context::{Context, bare, column_path, ident};
use crate::sql::read::block::{Block, Grouping, Item, ItemShape, Lock, Place, Reference, Wait};
use crate::sql::read::clause::Clauses;
use crate::sql::read::from::From;
use crate::sql::syntax;

/// What a walk over a query found.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    context: &'a Context<'a>,
    pub(super) blocks: Vec<Block>,
    pub(super) references: Vec<Reference>,
    /// Something was met whose effect on names or locks is not known here.
    pub(super) is_doubtful: bool,
    /// A join compares counters by their names alone, in a place that takes no expression.
    pub(super) joins_by_counter: bool,
    /// Queries that are open, the innermost last.
    frames: Vec<Frame>,
    /// Blocks whose names are visible, the innermost last; `None`: names of a set operation's result.
    scopes: Vec<Option<usize>>,
    /// What the next query will be.
    next_place: Option<Place>,
    opaque_depth: usize,
    /// Starts of column references that are all of an item in ORDER BY or GROUP BY.
    whole_items: BTreeSet<usize>,
    /// Starts of column references that are asked whether they are NULL.
    null_tests: BTreeSet<usize>,
}

#[derive(Debug)]
struct Frame {
    place: Place,
    /// Its body is a set operation, so that ORDER BY means the result's columns.
    is_set_operation: bool,
    /// It is (an arm of) a set operation.
    is_arm: bool,
    ctes: Vec<CteName>,
    ctes_left: usize,
    scopes_at_start: usize,
    lock: Option<Lock>,
    block: Option<usize>,
    aggregate_depth: usize,
}

/// A name that WITH gives, and the offset from which it holds.
#[derive(Debug)]
struct CteName {
    name: String,
    from: usize,
}

impl<'a> Survey<'a> {
    /// Walks `query`.
    pub(super) fn of(context: &'a Context<'a>, query: &Query) -> Self {
        let mut survey = Self {
            context,
            blocks: Vec::new(),
            references: Vec::new(),
            is_doubtful: false,
            joins_by_counter: false,
            frames: Vec::new(),
            scopes: Vec::new(),
            next_place: None,
            opaque_depth: 0,
            whole_items: BTreeSet::new(),
            null_tests: BTreeSet::new(),
        };
        let _ = query.visit(&mut survey);
        survey
    }

    fn place_of_next(&mut self) -> (Place, bool) {
        if let Some(place) = self.next_place.take() {
            return (place, false);
        }
        let depth = self.scopes.len();
        match self.frames.last_mut() {
            None => (Place::Statement, false),
            Some(frame) if frame.scopes_at_start == depth && frame.ctes_left > 0 => {
                frame.ctes_left -= 1;
                (Place::Cte, false)
            }
            // A query in parentheses as (an arm of) another.
            Some(frame) if frame.scopes_at_start == depth => (frame.place, true),
            Some(_) => (Place::Expression, false),
        }
    }

    fn cte_names(&self, query: &Query) -> Vec<CteName> {
        let Some(with) = &query.with else {
            return Vec::new();
        };
        let name = |cte: &sqlparser::ast::Cte| CteName {
            name: self.context.name(&cte.alias.name),
            from: match with.recursive {
                true => 0,
                false => syntax::offsets(cte.closing_paren_token.0.span).end,
            },
        };
        with.cte_tables.iter().map(name).collect()
    }

    fn is_cte(&self, name: &str, at: usize) -> bool {
        self.frames
            .iter()
            .flat_map(|frame| &frame.ctes)
            .any(|cte| cte.from <= at && self.context.is_same_table_name(&cte.name, name))
    }

    fn items(&mut self, select: &Select, clauses: &Clauses) -> Vec<Item> {
        if clauses.items.len() != select.projection.len() {
            self.is_doubtful = true;
            return Vec::new();
        }
        let ranges = clauses.items.iter().cloned();
        select
            .projection
            .iter()
            .zip(ranges)
            .map(|(item, range)| match item {
                SelectItem::UnnamedExpr(expr) => Item {
                    range,
                    alias: None,
                    shape: self.item_shape(expr),
                },
                SelectItem::ExprWithAlias { expr, alias } => Item {
                    range,
                    alias: Some(self.context.name(alias)),
                    shape: self.item_shape(expr),
                },
                SelectItem::Wildcard(_) => Item {
                    range,
                    alias: None,
                    shape: ItemShape::Wildcard,
                },
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let path = name
                        .0
                        .iter()
                        .filter_map(ident)
                        .map(|part| self.context.name(part));
                    Item {
                        range,
                        alias: None,
                        shape: ItemShape::TableWildcard(path.collect()),
                    }
                }
                _ => {
                    self.is_doubtful = true;
                    Item {
                        range,
                        alias: None,
                        shape: ItemShape::Expression,
                    }
                }
            })
            .collect()
    }

    fn item_shape(&self, expr: &Expr) -> ItemShape {
        // Parentheses do not show in the name that the server gives to such an item.
        let column = column_path(bare(expr)).and_then(|path| {
            let start = syntax::range(path.first()?)?.start;
            Some(ItemShape::Column {
                start,
                name: self.context.name(path.last()?),
            })
        });
        column.unwrap_or(ItemShape::Expression)
    }

    fn note_whole_item(&mut self, expr: &Expr) {
        let start = column_path(expr).and_then(|path| syntax::range(path.first()?));
        self.whole_items.extend(start.map(|range| range.start));
    }

    fn note_reference(&mut self, path: &[Ident]) {
        let Some(Some(block)) = self.scopes.last().copied() else {
            return;
        };
        let ranges = path
            .first()
            .and_then(syntax::range)
            .zip(path.last().and_then(syntax::range));
        let Some((first, last)) = ranges else {
            // An identifier without a place cannot be edited.
            self.is_doubtful = true;
            return;
        };
        self.references.push(Reference {
            block,
            clause: self.blocks[block].clauses.at(first.start),
            path: path.iter().map(|part| self.context.name(part)).collect(),
            in_aggregate: self
                .frames
                .last()
                .is_some_and(|frame| frame.aggregate_depth > 0),
            is_opaque: self.opaque_depth > 0,
            is_whole_item: self.whole_items.contains(&first.start),
            is_null_test: self.null_tests.contains(&first.start),
            range: first.start..last.end,
        });
    }
}

fn lock(context: &Context<'_>, clauses: &[LockClause]) -> Option<Lock> {
    let first = clauses.first()?;
    Some(Lock {
        exclusive: clauses
            .iter()
            .any(|clause| matches!(clause.lock_type, LockType::Update)),
        wait: match first.nonblock {
            None => Wait::Block,
            Some(NonBlock::Nowait) => Wait::Nowait,
            Some(NonBlock::SkipLocked) => Wait::SkipLocked,
        },
        of: clauses
            .iter()
            .filter_map(|clause| clause.of.as_ref()?.0.last().and_then(ident))
            .map(|name| context.name(name))
            .collect(),
    })
}

fn grouping(group_by: &GroupByExpr) -> Grouping {
    match group_by {
        GroupByExpr::Expressions(items, modifiers) if items.is_empty() && modifiers.is_empty() => {
            Grouping::None
        }
        GroupByExpr::Expressions(_, modifiers) if modifiers.is_empty() => Grouping::Plain,
        GroupByExpr::Expressions(..) | GroupByExpr::All(_) => Grouping::Rollup,
    }
}

/// The number in `GROUP BY 2`.
fn position(item: &Expr) -> Option<usize> {
    match item {
        Expr::Value(ValueWithSpan {
            value: Value::Number(digits, _),
            ..
        }) => digits.parse().ok(),
        _ => None,
    }
}

fn function_name(function: &Function) -> String {
    let name = function.name.0.last().and_then(ident);
    name.map(|name| name.value.to_ascii_uppercase())
        .unwrap_or_default()
}

pub(super) fn is_aggregate(function: &Function) -> bool {
    const AGGREGATES: [&str; 20] = [
        "ANY_VALUE",
        "AVG",
        "BIT_AND",
        "BIT_OR",
        "BIT_XOR",
        "COUNT",
        "GROUP_CONCAT",
        "JSON_ARRAYAGG",
        "JSON_OBJECTAGG",
        "MAX",
        "MIN",
        "STD",
        "STDDEV",
        "STDDEV_POP",
        "STDDEV_SAMP",
        "SUM",
        "VAR_POP",
        "VAR_SAMP",
        "VARIANCE",
        "ST_COLLECT",
    ];
    function.over.is_none() && AGGREGATES.contains(&function_name(function).as_str())
}

fn takes_names(function: &Function) -> bool {
    matches!(
        function_name(function).as_str(),
        "DEFAULT" | "VALUES" | "VALUE" | "GROUPING" | "MATCH"
    )
}

impl Visitor for Survey<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let (place, is_inner) = self.place_of_next();
        let is_set_operation = matches!(&*query.body, SetExpr::SetOperation { .. });
        let is_select = matches!(&*query.body, SetExpr::Select(_));
        let is_odd = query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty()
            // Only the server can say whose rows a lock or an order after parentheses concerns.
            || (!is_select && !query.locks.is_empty())
            || (!is_select && !is_set_operation && query.order_by.is_some());
        self.is_doubtful |= is_odd;
        let is_arm = is_inner && self.frames.last().is_some_and(|frame| frame.is_arm);
        let ctes = self.cte_names(query);
        self.frames.push(Frame {
            place,
            is_set_operation,
            is_arm: is_arm || is_set_operation,
            ctes_left: ctes.len(),
            ctes,
            scopes_at_start: self.scopes.len(),
            lock: lock(self.context, &query.locks),
            block: None,
            aggregate_depth: 0,
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.frames.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let clauses = Clauses::of(
            &self.context.syntax.tokens,
            syntax::offsets(select.select_token.0.span).start,
        );
        let from = From::of(self.context, &select.from, &|name, at| {
            self.is_cte(name, at)
        });
        self.is_doubtful |= from.is_doubtful;
        self.joins_by_counter |= from.joins_by_counter;
        let items = self.items(select, &clauses);
        let frame = self.frames.last();
        let mut block = Block {
            place: frame.map_or(Place::Statement, |frame| frame.place),
            is_arm: frame.is_some_and(|frame| frame.is_arm),
            parent: self.scopes.last().copied().flatten(),
            sources: from.sources,
            join: from.join,
            is_distinct: matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))),
            grouping: grouping(&select.group_by),
            group_positions: Vec::new(),
            lock: frame.and_then(|frame| frame.lock.clone()),
            items,
            clauses,
        };
        if let GroupByExpr::Expressions(items, _) = &select.group_by {
            for item in items {
                self.note_whole_item(item);
                block.group_positions.extend(position(item));
            }
        }
        self.is_doubtful |= select.into.is_some();
        let index = self.blocks.len();
        if let Some(frame) = self
            .frames
            .last_mut()
            .filter(|frame| !frame.is_set_operation)
        {
            frame.block = Some(index);
        }
        self.blocks.push(block);
        self.scopes.push(Some(index));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_order_by(&mut self, order_by: &OrderBy) -> ControlFlow<()> {
        match &order_by.kind {
            OrderByKind::Expressions(items) => items
                .iter()
                .for_each(|item| self.note_whole_item(&item.expr)),
            OrderByKind::All(_) => self.is_doubtful = true,
        }
        self.scopes
            .push(self.frames.last().and_then(|frame| frame.block));
        ControlFlow::Continue(())
    }

    fn post_visit_order_by(&mut self, _: &OrderBy) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Derived { lateral, .. } => {
                self.next_place = Some(Place::Derived { lateral: *lateral })
            }
            TableFactor::JsonTable { .. } => self.opaque_depth += 1,
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::JsonTable { .. } = factor {
            self.opaque_depth -= 1;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Some(path) = column_path(expr) {
            self.note_reference(path);
        }
        match expr {
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                let path = column_path(bare(inner)).and_then(|path| syntax::range(path.first()?));
                self.null_tests.extend(path.map(|range| range.start));
            }
            Expr::Exists { .. } => self.next_place = Some(Place::Exists),
            Expr::Function(function) if takes_names(function) => self.opaque_depth += 1,
            Expr::Function(function) if is_aggregate(function) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.aggregate_depth += 1;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if takes_names(function) => self.opaque_depth -= 1,
            Expr::Function(function) if is_aggregate(function) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.aggregate_depth -= 1;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
