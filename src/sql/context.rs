//! Whose table and column a name means, and how names are written.

use std::ops::Range;
use std::sync::Arc;

use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::Token;

use crate::catalog::letter_case::is_same_table;
use crate::catalog::{Catalog, HotTable};
use crate::sql::plan::SessionVariables;
use crate::sql::syntax::{self, Syntax};
use crate::sql::template::{Piece, Template};
use crate::sql::words::{Name, identifier};

/// What planning a statement works with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) text: &'a [u8],
    pub(super) variables: &'a SessionVariables,
    pub(super) catalog: &'a Catalog,
    pub(super) syntax: &'a Syntax,
}

impl<'a> Context<'a> {
    /// The hot table that a table reference names.
    pub(super) fn hot(&self, name: &ObjectName) -> Option<&'a Arc<HotTable>> {
        let parts: Option<Vec<&Ident>> = name.0.iter().map(ident).collect();
        match parts?.as_slice() {
            [table] => self
                .catalog
                .table(self.variables.schema.as_deref()?, &self.name(table)),
            [schema, table] => self.catalog.table(&self.name(schema), &self.name(table)),
            _ => None,
        }
    }

    /// The name that an identifier spells.
    pub(super) fn name(&self, ident: &Ident) -> String {
        match syntax::range(ident).and_then(|range| self.text.get(range)) {
            Some(spelled) => identifier(spelled),
            None => ident.value.clone(),
        }
    }

    /// Whether two names of tables, schemas or aliases are one, by the server's rules of letter case.
    pub(super) fn is_same_table_name(&self, left: &str, right: &str) -> bool {
        is_same_table(self.catalog.lower_case_table_names, left, right)
    }

    /// The text of a range.
    pub(super) fn slice(&self, range: Range<usize>) -> &'a [u8] {
        self.text.get(range).unwrap_or_default()
    }

    /// A part of the text with edits applied, each placeholder a hole.
    pub(super) fn spliced(&self, range: Range<usize>, edits: &[Edit]) -> Template {
        let holes = self.placeholders().map(|(position, hole)| {
            let mut text = Template::default();
            text.push(Piece::Parameter(position));
            Edit { range: hole, text }
        });
        let mut edits: Vec<Edit> = edits.iter().cloned().chain(holes).collect();
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        self.edited(range, &edits)
    }

    /// A part of the text with edits applied; they are in order and do not overlap. Placeholders stay.
    pub(super) fn edited(&self, range: Range<usize>, edits: &[Edit]) -> Template {
        let mut template = Template::default();
        let mut at = range.start;
        let inside = |edit: &&Edit| range.start <= edit.range.start && edit.range.end <= range.end;
        for edit in edits.iter().filter(inside) {
            template
                .append_apart(&Template::text(self.slice(at..edit.range.start)))
                .append_apart(&edit.text);
            at = edit.range.end;
        }
        template.append_apart(&Template::text(self.slice(at..range.end)));
        template
    }

    /// The placeholders of the statement: position (from 0) and place.
    pub(super) fn placeholders(&self) -> impl Iterator<Item = (u16, Range<usize>)> + '_ {
        let holes = self
            .syntax
            .tokens
            .iter()
            .filter(|token| matches!(token.token, Token::Placeholder(_)));
        (0..).zip(holes.map(|token| token.range.clone()))
    }

    /// Position of the placeholder at this place.
    pub(super) fn parameter(&self, start: usize) -> Option<u16> {
        self.placeholders()
            .find(|(_, hole)| hole.start == start)
            .map(|(position, _)| position)
    }
}

/// A replacement of a part of the text.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: Template,
}

impl Edit {
    pub(super) fn new(range: Range<usize>, text: impl AsRef<[u8]>) -> Self {
        Self {
            range,
            text: Template::text(text),
        }
    }
}

/// The identifier that a part of a name is.
pub(super) fn ident(part: &ObjectNamePart) -> Option<&Ident> {
    match part {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    }
}

/// The identifiers of a column reference, variables excluded.
pub(super) fn column_path(expr: &Expr) -> Option<&[Ident]> {
    let path = match expr {
        Expr::Identifier(name) => std::slice::from_ref(name),
        Expr::CompoundIdentifier(path) => path.as_slice(),
        _ => return None,
    };
    let is_variable = path.first()?.quote_style.is_none() && path.first()?.value.starts_with('@');
    (!is_variable).then_some(path)
}

/// The expression inside any number of parentheses.
pub(super) fn bare(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// A name in backticks.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The base table, written with its schema.
pub(crate) fn base_path(table: &HotTable) -> String {
    format!("{}.{}", quoted(&table.schema), quoted(&table.name))
}

/// The slot table, written with its schema.
pub(super) fn slots_path(table: &HotTable) -> String {
    format!(
        "{}.{}",
        quoted(&table.slot_schema),
        quoted(&table.slot_name)
    )
}

/// Names under which each slot table is locked for reads: a read with more sums than this is refused by the
/// server (1100) while tables are locked.
pub(super) const READ_ALIASES: usize = 16;

/// The name of a slot table in the statement's sum number `index`. Each has its own: under LOCK TABLES a statement may
/// use a locked name once only, and no two tables may have the same.
pub(super) fn read_alias(catalog: &Catalog, table: &Arc<HotTable>, index: usize) -> String {
    let mut tables = catalog.tables.iter();
    let ordinal = tables.position(|other| other == table).unwrap_or_default();
    match ordinal * READ_ALIASES + index {
        0 => "countersink_s".to_owned(),
        later => format!("countersink_s{}", later + 1),
    }
}

/// The hot table that a name in a text lexed by words means.
pub(super) fn hot_by_words<'a>(
    catalog: &'a Catalog,
    variables: &SessionVariables,
    name: &Name,
) -> Option<&'a Arc<HotTable>> {
    let schema = name.schema.as_deref().or(variables.schema.as_deref())?;
    catalog.table(schema, &name.table)
}

/// The hot tables whose names occur anywhere in a text, whatever they mean there.
pub(super) fn mentioned(text: &[u8], catalog: &Catalog) -> Vec<Arc<HotTable>> {
    let text = text.to_ascii_lowercase();
    catalog
        .tables
        .iter()
        .filter(|table| may_name(&text, &table.name))
        .cloned()
        .collect()
}

/// Whether this name may occur in a text, whose ASCII letters are small.
pub(super) fn may_name(text: &[u8], name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_there = |form: &str| memchr::memmem::find(text, form.as_bytes()).is_some();
    let is_there_doubled = |quote: char| {
        name.contains(quote) && is_there(&name.replace(quote, &format!("{quote}{quote}")))
    };
    // Beyond ASCII, letter case and character set cannot be judged here.
    !name.is_ascii() || is_there(&name) || is_there_doubled('`') || is_there_doubled('"')
}
