//! A query after IN: one column of one table that is not hot.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, Query, Select, SelectFlavor, SelectItem, SetExpr,
    TableFactor, TableWithJoins,
};

use crate::sql::context::{Context, bare, column_path, ident, quoted};

/// The table of an inner query. Which columns it has is not known.
#[derive(Debug)]
pub(super) struct Inner {
    /// The table with its schema, in backticks.
    pub(super) path: String,
    /// The name by which the query refers to it: its alias, or its own.
    exposed: String,
    /// If it has no alias, the schema that may come before its name.
    schema: Option<String>,
}

impl Inner {
    /// What follows FROM.
    pub(super) fn from(&self) -> String {
        match self.schema {
            Some(_) => self.path.clone(),
            None => format!("{} AS {}", self.path, quoted(&self.exposed)),
        }
    }

    /// A column of this table, qualified, so that it is never taken for one of a table around. A name that only a table
    /// around has is so refused by the server (1054).
    pub(super) fn column(&self, context: &Context<'_>, expr: &Expr) -> Option<String> {
        let path = column_path(bare(expr))?;
        let is_mine = match path {
            [name] => !is_function(name),
            [table, _] => context.is_same_table_name(&context.name(table), &self.exposed),
            [schema, table, _] => {
                let is_schema =
                    |own: &String| context.is_same_table_name(&context.name(schema), own);
                self.schema.as_ref().is_some_and(is_schema)
                    && context.is_same_table_name(&context.name(table), &self.exposed)
            }
            _ => false,
        };
        let name = context.name(path.last().filter(|_| is_mine)?);
        // Which character set it is sent in is the client's affair.
        let is_same_in_all = name.is_ascii();
        is_same_in_all.then(|| format!("{}.{}", quoted(&self.exposed), quoted(&name)))
    }
}

/// Whether a word calls a function though no parentheses follow.
fn is_function(name: &Ident) -> bool {
    const WORDS: [&str; 9] = [
        "CURRENT_USER",
        "CURRENT_ROLE",
        "CURRENT_DATE",
        "CURRENT_TIME",
        "CURRENT_TIMESTAMP",
        "UTC_DATE",
        "UTC_TIME",
        "UTC_TIMESTAMP",
        "ROWNUM",
    ];
    let mut words = WORDS.iter();
    name.quote_style.is_none() && words.any(|word| name.value.eq_ignore_ascii_case(word))
}

/// The parts of a query that is `SELECT column FROM cold [WHERE ..]` and nothing else: the table, the column, the
/// condition.
pub(super) fn read<'a>(
    context: &Context<'_>,
    query: &'a Query,
) -> Option<(Inner, &'a Expr, Option<&'a Expr>)> {
    let Query {
        with: None,
        body,
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks,
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators,
    } = query
    else {
        return None;
    };
    let SetExpr::Select(select) = &**body else {
        return None;
    };
    let Select {
        select_token: _,
        optimizer_hints,
        // How often a value is there does not matter to IN.
        distinct: None | Some(Distinct::All | Distinct::Distinct),
        select_modifiers: None,
        top: None,
        top_before_distinct: _,
        projection,
        exclude: None,
        into: None,
        from,
        lateral_views,
        prewhere: None,
        selection,
        connect_by,
        group_by: GroupByExpr::Expressions(groups, modifiers),
        cluster_by,
        distribute_by,
        sort_by,
        having: None,
        named_window,
        qualify: None,
        window_before_qualify: _,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    } = &**select
    else {
        return None;
    };
    let is_plain = locks.is_empty()
        && pipe_operators.is_empty()
        && optimizer_hints.is_empty()
        && lateral_views.is_empty()
        && connect_by.is_empty()
        && groups.is_empty()
        && modifiers.is_empty()
        && cluster_by.is_empty()
        && distribute_by.is_empty()
        && sort_by.is_empty()
        && named_window.is_empty();
    let ([SelectItem::UnnamedExpr(column)], [from], true) =
        (projection.as_slice(), from.as_slice(), is_plain)
    else {
        return None;
    };
    Some((table(context, from)?, column, selection.as_ref()))
}

fn table(context: &Context<'_>, from: &TableWithJoins) -> Option<Inner> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = &from.relation
    else {
        return None;
    };
    let is_plain = from.joins.is_empty()
        && with_hints.is_empty()
        && partitions.is_empty()
        && index_hints.is_empty()
        && context.hot(name).is_none();
    let parts: Option<Vec<&Ident>> = name.0.iter().map(ident).collect();
    let (schema, table) = match parts.filter(|_| is_plain)?.as_slice() {
        [table] => (context.variables.schema.clone()?, context.name(table)),
        [schema, table] => (context.name(schema), context.name(table)),
        _ => return None,
    };
    let path = format!("{}.{}", quoted(&schema), quoted(&table));
    let found = match alias {
        Some(alias) if alias.columns.is_empty() => Inner {
            path,
            exposed: context.name(&alias.name),
            schema: None,
        },
        Some(_) => return None,
        None => Inner {
            path,
            exposed: table,
            schema: Some(schema),
        },
    };
    (found.path.is_ascii() && found.exposed.is_ascii()).then_some(found)
}
