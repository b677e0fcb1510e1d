//! From a statement's text to its plan.

use std::sync::Arc;

use crate::catalog::{Catalog, HotTable};
use crate::sql::context::{Context, mentioned};
use crate::sql::ddl::{self, fold_tables};
use crate::sql::lexer::{Lexer, TokenKind};
use crate::sql::plan::{Plan, Reason, SessionFacts};
use crate::sql::statement::{Kind, is_off, statement_kind};
use crate::sql::words::Words;
use crate::sql::{read, syntax, write};

/// What to do with one statement (not a packet of several), which may have `?` placeholders.
///
/// It never fails: what is not understood is forwarded, after a fold where it could matter.
pub fn plan(text: &[u8], facts: &SessionFacts, catalog: &Catalog) -> Plan {
    if is_off(text, facts) {
        return Plan::Forward(Reason::Off);
    }
    let kind = statement_kind(text, facts);
    let tables = mentioned(text, catalog);
    if let Kind::Ddl = kind {
        return ddl::plan(text, facts, catalog);
    }
    if let Kind::Prepare = kind {
        return ddl::plan_prepare(text, facts, catalog);
    }
    if tables.is_empty() {
        return Plan::Forward(Reason::NotHot);
    }
    if let Some(reason) = obstacle(text, facts, catalog) {
        return not_understood(text, facts, kind, tables, reason);
    }
    match kind {
        Kind::Select | Kind::With | Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete => {
            parsed(text, facts, catalog, kind, tables)
        }
        Kind::LoadData => ddl::plan_load(text, facts, catalog),
        Kind::LockTables => ddl::plan_lock_tables(text, facts, catalog),
        _ => not_understood(text, facts, kind, tables, Reason::NotParsed),
    }
}

/// The plan of a statement whose syntax tree matters.
fn parsed(
    text: &[u8],
    facts: &SessionFacts,
    catalog: &Catalog,
    kind: Kind,
    tables: Vec<Arc<HotTable>>,
) -> Plan {
    let syntax = match syntax::parse(text, facts) {
        Ok(syntax) => syntax,
        Err(reason) => return not_understood(text, facts, kind, tables, reason),
    };
    let context = Context {
        text,
        facts,
        catalog,
        syntax: &syntax,
    };
    match &syntax.statement {
        sqlparser::ast::Statement::Query(query) if read::is_query(query) => {
            read::plan(&context, query)
        }
        statement => write::plan(&context, statement),
    }
}

/// What keeps a text from being read with certainty, whatever the parser says.
fn obstacle(text: &[u8], facts: &SessionFacts, catalog: &Catalog) -> Option<Reason> {
    if facts.unsafe_character_set {
        return Some(Reason::CharacterSet);
    }
    // Names beyond ASCII can only be compared in a character set that we know.
    if std::str::from_utf8(text).is_err()
        && catalog.tables.iter().any(|table| has_foreign_name(table))
    {
        return Some(Reason::CharacterSet);
    }
    let is_executable =
        Lexer::new(text, facts).any(|token| token.kind == TokenKind::ExecutableComment);
    is_executable.then_some(Reason::NotParsed)
}

fn has_foreign_name(table: &HotTable) -> bool {
    let columns = table.columns.iter().map(|column| &column.name);
    columns
        .chain([&table.schema, &table.name])
        .any(|name| !name.is_ascii())
}

/// The plan of a statement that names hot tables but is not understood.
fn not_understood(
    text: &[u8],
    facts: &SessionFacts,
    kind: Kind,
    tables: Vec<Arc<HotTable>>,
    reason: Reason,
) -> Plan {
    let words = Words::new(text, facts);
    if words.has_inner_mark(b';') {
        return fold_tables(tables, reason);
    }
    match kind {
        Kind::Show
        | Kind::Use
        | Kind::Execute
        | Kind::Deallocate
        | Kind::UnlockTables
        | Kind::Call => Plan::Forward(Reason::Metadata),
        Kind::Begin | Kind::Commit | Kind::Rollback | Kind::Savepoint | Kind::Release => {
            Plan::Forward(Reason::Metadata)
        }
        Kind::Set { .. } | Kind::Do if !words.has("SELECT") && !words.has("TABLE") => {
            Plan::Forward(Reason::Metadata)
        }
        Kind::Insert
            if reason != Reason::CharacterSet
                && !["DUPLICATE", "SELECT", "TABLE"]
                    .iter()
                    .any(|word| words.has(word))
                && !has_executable_comment(text, facts) =>
        {
            Plan::Forward(Reason::InsertOnly)
        }
        _ => fold_tables(tables, reason),
    }
}

fn has_executable_comment(text: &[u8], facts: &SessionFacts) -> bool {
    Lexer::new(text, facts).any(|token| token.kind == TokenKind::ExecutableComment)
}
