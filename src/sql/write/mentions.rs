//! Which hot tables and which columns a part of a statement mentions, without asking what they mean there.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{Expr, ObjectName, Query, Select, SelectItem, Visit, Visitor};

use crate::catalog::HotTable;
use crate::sql::context::{Context, column_path};

/// What a part of a statement mentions.
#[derive(Clone, Debug, Default)]
pub(in crate::sql) struct Mentions {
    /// Hot tables, each once, in the order of the catalog.
    pub(in crate::sql) tables: Vec<Arc<HotTable>>,
    /// Those of them that are mentioned more than once, for each time beyond the first.
    repeated: Vec<Arc<HotTable>>,
    /// Last parts of column references, in lower case.
    columns: BTreeSet<String>,
    /// `SELECT *`, `SELECT t.*`: all columns.
    has_wildcard: bool,
    /// It contains a query.
    pub(in crate::sql) has_query: bool,
}

impl Mentions {
    pub(super) fn of(context: &Context<'_>, part: &impl Visit) -> Self {
        let mut collector = Collector {
            context,
            found: Self::default(),
        };
        let _ = part.visit(&mut collector);
        collector.found.in_catalog_order(context)
    }

    /// The same without one mention of this table.
    pub(super) fn without(&self, table: &Arc<HotTable>) -> Self {
        let mut others = self.clone();
        let is_table = |other: &Arc<HotTable>| Arc::ptr_eq(other, table);
        match others.repeated.iter().position(is_table) {
            Some(once) => drop(others.repeated.remove(once)),
            None => others.tables.retain(|other| !is_table(other)),
        }
        others
    }

    /// Whether this table is mentioned more than once.
    pub(super) fn repeats(&self, table: &Arc<HotTable>) -> bool {
        self.repeated.iter().any(|other| Arc::ptr_eq(other, table))
    }

    /// Both together.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.repeated.extend(other.repeated);
        for table in other.tables {
            match self.tables.iter().any(|known| Arc::ptr_eq(known, &table)) {
                true => self.repeated.push(table),
                false => self.tables.push(table),
            }
        }
        self.columns.extend(other.columns);
        self.has_wildcard |= other.has_wildcard;
        self.has_query |= other.has_query;
        self
    }

    /// Whether a column is mentioned that may be one of the table's counters or touch columns.
    pub(in crate::sql) fn names_counter_of(&self, table: &HotTable) -> bool {
        self.has_wildcard
            || (0..table.columns.len()).any(|position| {
                table.is_hot(position)
                    && self
                        .columns
                        .contains(&table.columns[position].name.to_lowercase())
            })
    }

    /// The tables whose counters are read, perhaps.
    pub(super) fn read(&self) -> impl Iterator<Item = &Arc<HotTable>> {
        let tables = self.tables.iter();
        tables.filter(|table| self.names_counter_of(table))
    }

    fn in_catalog_order(mut self, context: &Context<'_>) -> Self {
        let place = |table: &Arc<HotTable>| {
            context
                .catalog
                .tables
                .iter()
                .position(|known| Arc::ptr_eq(known, table))
        };
        self.tables.sort_by_key(place);
        let neighbours = self.tables.windows(2);
        let repeated = neighbours.filter(|pair| Arc::ptr_eq(&pair[0], &pair[1]));
        self.repeated = repeated.map(|pair| pair[0].clone()).collect();
        self.tables.dedup_by(|left, right| Arc::ptr_eq(left, right));
        self
    }
}

struct Collector<'a> {
    context: &'a Context<'a>,
    found: Mentions,
}

impl Visitor for Collector<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.found
            .tables
            .extend(self.context.hot(relation).cloned());
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.found.has_query = true;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.found.has_wildcard |= select.projection.iter().any(|item| {
            matches!(
                item,
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
            )
        });
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Some(column) = column_path(expr).and_then(|path| path.last()) {
            self.found
                .columns
                .insert(self.context.name(column).to_lowercase());
        }
        ControlFlow::Continue(())
    }
}
