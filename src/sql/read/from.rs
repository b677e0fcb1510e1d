//! The tables of a FROM clause.

use sqlparser::ast::{
    Ident, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins,
};

use crate::sql::context::{Context, ident};
use crate::sql::read::block::{JoinKind, Source};
use crate::sql::syntax;

/// What a FROM clause brings into a block.
#[derive(Debug)]
pub(super) struct From {
    pub(super) sources: Vec<Source>,
    pub(super) join: JoinKind,
    /// Something in it has an effect on names that is not known here.
    pub(super) is_doubtful: bool,
    /// Counters are compared by their names alone.
    pub(super) joins_by_counter: bool,
}

impl From {
    /// Reads a FROM clause; `is_cte` says whether a name at an offset means a common table expression.
    pub(super) fn of(
        context: &Context<'_>,
        tables: &[TableWithJoins],
        is_cte: &dyn Fn(&str, usize) -> bool,
    ) -> Self {
        let from = Self {
            sources: Vec::new(),
            join: JoinKind::Plain,
            is_doubtful: false,
            joins_by_counter: false,
        };
        let mut reader = Reader {
            context,
            is_cte,
            from,
        };
        for tables in tables {
            reader.add_joined(tables);
        }
        reader.from
    }
}

struct Reader<'a> {
    context: &'a Context<'a>,
    is_cte: &'a dyn Fn(&str, usize) -> bool,
    from: From,
}

impl Reader<'_> {
    fn add_joined(&mut self, tables: &TableWithJoins) {
        self.add(&tables.relation);
        for join in &tables.joins {
            self.add(&join.relation);
            match constraint(&join.join_operator) {
                Some(JoinConstraint::Natural) => self.from.join = JoinKind::Natural,
                Some(JoinConstraint::Using(_)) if self.from.join == JoinKind::Plain => {
                    self.from.join = JoinKind::Using
                }
                Some(_) => {}
                None => self.from.is_doubtful = true,
            }
            if let Some(JoinConstraint::Using(columns)) = constraint(&join.join_operator) {
                self.note_counters_in_using(columns);
            }
        }
    }

    /// USING (views) compares counters, in a place that takes names only.
    fn note_counters_in_using(&mut self, columns: &[ObjectName]) {
        let names: Vec<String> = columns
            .iter()
            .filter_map(|column| column.0.last().and_then(ident))
            .map(|column| self.context.name(column))
            .collect();
        self.from.joins_by_counter |= self.context.catalog.tables.iter().any(|table| {
            names
                .iter()
                .filter_map(|name| table.column(name))
                .any(|column| table.is_hot(column))
        });
    }

    fn add(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                version: None,
                partitions,
                index_hints,
                ..
            } => {
                let source = self.table_source(name, alias.as_ref());
                let is_bare = partitions.is_empty() && index_hints.is_empty();
                self.from.sources.extend(source.map(|source| Source {
                    name: source.name.filter(|_| is_bare),
                    ..source
                }));
            }
            TableFactor::Derived { alias, .. } | TableFactor::JsonTable { alias, .. } => {
                self.from.sources.push(self.unknown_source(alias.as_ref()));
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.add_joined(table_with_joins),
            _ => {
                self.from.is_doubtful = true;
                self.from.sources.push(self.unknown_source(None));
            }
        }
    }

    fn unknown_source(&self, alias: Option<&TableAlias>) -> Source {
        let exposed = alias
            .map(|alias| self.context.name(&alias.name))
            .unwrap_or_default();
        Source {
            qualifier: self.written(alias.map(|alias| &alias.name)),
            exposed,
            schema: None,
            hot: None,
            name: None,
        }
    }

    fn table_source(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Option<Source> {
        let parts: Vec<&Ident> = name.0.iter().filter_map(ident).collect();
        let last = *parts.last()?;
        let start = syntax::range(parts.first()?).map_or(0, |range| range.start);
        let is_cte = parts.len() == 1 && (self.is_cte)(&self.context.name(last), start);
        let schema = match parts.as_slice() {
            [schema, _] => Some(self.context.name(schema)),
            _ => self.context.variables.schema.clone(),
        };
        let qualifier = match alias {
            Some(alias) => self.written(Some(&alias.name)),
            None => self.written_path(&parts),
        };
        self.from.is_doubtful |= alias.is_some_and(|alias| !alias.columns.is_empty()) && !is_cte;
        Some(Source {
            qualifier,
            exposed: self.context.name(alias.map_or(last, |alias| &alias.name)),
            schema: schema.filter(|_| !is_cte),
            hot: self.context.hot(name).filter(|_| !is_cte).cloned(),
            name: syntax::range(last).map(|range| (start..range.end, alias.is_some())),
        })
    }

    fn written(&self, name: Option<&Ident>) -> Vec<u8> {
        let range = name.and_then(syntax::range).unwrap_or_default();
        self.context.slice(range).to_vec()
    }

    fn written_path(&self, parts: &[&Ident]) -> Vec<u8> {
        let parts: Vec<Vec<u8>> = parts.iter().map(|part| self.written(Some(part))).collect();
        parts.join(&b'.')
    }
}

fn constraint(join: &JoinOperator) -> Option<&JoinConstraint> {
    match join {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        _ => None,
    }
}
