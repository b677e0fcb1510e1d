//! From a statement's text to its plan.

use std::sync::Arc;

use crate::catalog::{Catalog, HotTable};
use crate::sql::accounted;
use crate::sql::cascade::with_cascades;
use crate::sql::context::{Context, mentioned};
use crate::sql::ddl::{self, fold_tables};
use crate::sql::executed::executed;
use crate::sql::lexer::{Lexer, TokenKind};
use crate::sql::mention::mentions;
use crate::sql::plan::{ConsistentRead, Ddl, Fold, Plan, Reason, SessionVariables};
use crate::sql::statement::{Kind, is_off, statement_kind};
use crate::sql::table_query::with_selects;
use crate::sql::words::Words;
use crate::sql::{lock_tables, prepare, read, syntax, write};

/// What to do with one statement (not a packet of several), which may have `?` placeholders.
///
/// It never fails: what is not understood is forwarded, after a fold where it could matter.
pub fn plan(text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Plan {
    let text = &*executed(text, variables, catalog.mariadb);
    let text = match catalog.mariadb {
        true => text,
        false => &*with_selects(text, variables),
    };
    let plan = plan_in_force(text, variables, catalog);
    if plan != Plan::Forward(Reason::NotHot) || catalog.observed.is_empty() {
        return plan;
    }
    match plan_in_force(text, variables, &catalog.of_those_observed()) {
        Plan::Forward(Reason::NotHot) => plan,
        observed => Plan::Observe(Box::new(observed)),
    }
}

/// The plan by the tables whose rules are in force.
fn plan_in_force(text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Plan {
    if is_off(text, variables) {
        return Plan::Forward(Reason::Off);
    }
    let kind = statement_kind(text, variables);
    let mut plan = plan_by_names(text, variables, catalog, kind);
    if matches!(plan, Plan::Fold(_) | Plan::Read(_)) {
        note_consistent_read(&mut plan, consistent_read(text, variables, kind));
    }
    let as_deleted = |text: &[u8]| plan_by_names(text, variables, catalog, Kind::Delete);
    with_cascades(plan, text, (variables, catalog, kind), as_deleted)
}

/// Whether a statement is a query that locks no rows it reads, whatever else it is.
fn consistent_read(text: &[u8], variables: &SessionVariables, kind: Kind) -> ConsistentRead {
    let others: &[&str] = match kind {
        Kind::Select => &["UPDATE", "SHARE"],
        Kind::With => &["UPDATE", "SHARE", "DELETE"],
        Kind::Other => return consistent_read_inside(text, variables),
        _ => return ConsistentRead::No,
    };
    let words = Words::new(text, variables);
    let mentions_some = others.iter().any(|word| mentions(text, word.as_bytes()));
    if words.has_inner_mark(b';') || (mentions_some && others.iter().any(|word| words.has(word))) {
        ConsistentRead::No
    } else if mentions_some && has_executable_comment(text, variables) {
        ConsistentRead::Possibly
    } else {
        ConsistentRead::Yes
    }
}

/// The same for a statement that is not known by its first word. MariaDB's SET STATEMENT has another one after FOR,
/// and its compound statements have several.
fn consistent_read_inside(text: &[u8], variables: &SessionVariables) -> ConsistentRead {
    let mut words = Words::new(text, variables);
    // It shows how the statement runs, and no value.
    if words.accept("ANALYZE") {
        return ConsistentRead::No;
    }
    if words.accept_all(&["SET", "STATEMENT"])
        && words.skip_past("FOR")
        && let Some(first) = words.peek()
    {
        let inner = &text[first.start..];
        let kind = statement_kind(inner, variables);
        return match kind {
            Kind::Other => ConsistentRead::Possibly,
            kind => consistent_read(inner, variables, kind),
        };
    }
    ConsistentRead::Possibly
}

fn note_consistent_read(plan: &mut Plan, consistent_read: ConsistentRead) {
    match plan {
        Plan::Fold(fold) => fold.consistent_read = consistent_read,
        Plan::Read(read) => {
            if let Some(fold) = &mut read.or_fold {
                fold.consistent_read = consistent_read;
            }
        }
        _ => {}
    }
}

/// The plan by the hot tables that the text names.
fn plan_by_names(text: &[u8], variables: &SessionVariables, catalog: &Catalog, kind: Kind) -> Plan {
    let tables = mentioned(text, catalog);
    if let Kind::Ddl = kind {
        return match (
            ddl::plan(text, variables, catalog),
            ddl::plan(text, variables, &catalog.of_those_without_slots()),
        ) {
            // Nothing to fold, but the table may be another one afterwards.
            (Plan::Forward(_), Plan::Ddl(_) | Plan::Fold(_) | Plan::Shadow(_)) => {
                Plan::Ddl(Box::new(Ddl {
                    tables: Vec::new(),
                    withdraws_slots: false,
                }))
            }
            (plan, _) => plan,
        };
    }
    if let Kind::Prepare = kind {
        return ddl::plan_prepare(text, variables, catalog);
    }
    if may_execute_unseen(text, variables, kind) {
        return Plan::Fold(Box::new(Fold::of_unknown_text(catalog)));
    }
    if tables.is_empty() {
        return without_slots(text, variables, catalog, kind);
    }
    if let Some(reason) = obstacle(text, variables, catalog) {
        return not_understood(text, variables, kind, tables, reason);
    }
    match kind {
        Kind::Select | Kind::With | Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete => {
            parsed(text, variables, catalog, kind, tables)
        }
        Kind::LoadData => ddl::plan_load(text, variables, catalog),
        Kind::LockTables => lock_tables::plan(text, variables, catalog),
        _ => not_understood(text, variables, kind, tables, Reason::NotParsed),
    }
}

/// The plan of a statement that names no table with slots: tables without slots are plain tables, but writes of one row
/// may be written together.
fn without_slots(text: &[u8], variables: &SessionVariables, catalog: &Catalog, kind: Kind) -> Plan {
    let catalog = catalog.of_those_without_slots();
    let tables = mentioned(text, &catalog);
    if tables.is_empty() {
        return Plan::Forward(Reason::NotHot);
    }
    let may_write_a_row = matches!(
        kind,
        Kind::Update | Kind::Insert | Kind::Replace | Kind::Delete
    );
    let is_read_surely = may_write_a_row && obstacle(text, variables, &catalog).is_none();
    let plan = is_read_surely.then(|| write_of_one_row(text, variables, &catalog, &tables));
    plan.flatten().unwrap_or(Plan::Forward(Reason::OnBase))
}

/// The plan of a write of one row of a table without slots, if it may be written together with others.
fn write_of_one_row(
    text: &[u8],
    variables: &SessionVariables,
    catalog: &Catalog,
    tables: &[Arc<HotTable>],
) -> Option<Plan> {
    let syntax = syntax::parse(text, variables).ok()?;
    let context = Context {
        text,
        variables,
        catalog,
        syntax: &syntax,
    };
    accounted::is_complete(&context, tables).then_some(())?;
    match write::plan(&context, &syntax.statement) {
        Plan::Combine(increment) => Some(Plan::Combine(increment)),
        _ => {
            let row = write::one_row::plan(&context, &syntax.statement)?;
            Some(Plan::Batch(Arc::new(row)))
        }
    }
}

/// The plan of a statement whose syntax tree matters.
fn parsed(
    text: &[u8],
    variables: &SessionVariables,
    catalog: &Catalog,
    kind: Kind,
    tables: Vec<Arc<HotTable>>,
) -> Plan {
    let syntax = match syntax::parse(text, variables) {
        Ok(syntax) => syntax,
        Err(reason) => return not_understood(text, variables, kind, tables, reason),
    };
    let context = Context {
        text,
        variables,
        catalog,
        syntax: &syntax,
    };
    if !accounted::is_complete(&context, &tables) {
        return not_understood(text, variables, kind, tables, Reason::NotParsed);
    }
    match &syntax.statement {
        sqlparser::ast::Statement::Query(query) if read::is_query(query) => {
            read::plan(&context, query)
        }
        statement => write::plan(&context, statement),
    }
}

/// Whether a text that is not read to its end executes a prepared statement, perhaps: `/*!50000 EXECUTE s */`, and
/// MariaDB's SET STATEMENT .. FOR EXECUTE and BEGIN NOT ATOMIC.
fn may_execute_unseen(text: &[u8], variables: &SessionVariables, kind: Kind) -> bool {
    prepare::may_execute(text) && (kind == Kind::Other || has_executable_comment(text, variables))
}

/// What keeps a text from being read with certainty, whatever the parser says.
fn obstacle(text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Option<Reason> {
    if variables.unsafe_character_set {
        return Some(Reason::CharacterSet);
    }
    if names_like_ours(text) {
        return Some(Reason::Unresolved);
    }
    // Names beyond ASCII can only be compared, and written, in the character set of the catalog.
    if (variables.other_characters.is_some() || std::str::from_utf8(text).is_err())
        && catalog.has_names_beyond_ascii()
    {
        return Some(Reason::CharacterSet);
    }
    has_executable_comment(text, variables).then_some(Reason::NotParsed)
}

/// Whether a text has names that begin like the aliases in the proxy's own texts.
pub(super) fn names_like_ours(text: &[u8]) -> bool {
    mentions(text, b"countersink_")
}

/// The plan of a statement that names hot tables but is not understood.
fn not_understood(
    text: &[u8],
    variables: &SessionVariables,
    kind: Kind,
    tables: Vec<Arc<HotTable>>,
    reason: Reason,
) -> Plan {
    let words = Words::new(text, variables);
    if words.has_inner_mark(b';') || (words.has_subquery() && !words.explains()) {
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
        Kind::Set { .. } | Kind::Do => Plan::Forward(Reason::Metadata),
        Kind::Insert
            if reason != Reason::CharacterSet
                && !["DUPLICATE", "SELECT", "TABLE"]
                    .iter()
                    .any(|word| words.has(word))
                && !has_executable_comment(text, variables) =>
        {
            Plan::Forward(Reason::InsertOnly)
        }
        _ => fold_tables(tables, reason),
    }
}

fn has_executable_comment(text: &[u8], variables: &SessionVariables) -> bool {
    memchr::memmem::find(text, b"/*").is_some()
        && Lexer::new(text, variables).any(|token| token.kind == TokenKind::ExecutableComment)
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::{catalog, planned, show};
    use crate::sql::plan::SessionVariables;

    fn planned_with(variables: SessionVariables, text: &[u8]) -> String {
        let variables = SessionVariables {
            schema: Some("shop".to_owned()),
            ..variables
        };
        show(&super::plan(text, &variables, &catalog()))
    }

    #[test]
    fn what_is_not_understood_is_folded_first() {
        let long = format!(
            "SELECT views FROM posts WHERE title = '{}'",
            "x".repeat(20_000)
        );
        let chain = format!("SELECT views FROM posts WHERE id = 1{}", "+1".repeat(2_000));
        let cases = [
            (long.as_str(), "fold TooLong: posts"),
            (chain.as_str(), "fold TooLong: posts"),
            (
                "SELECT views FROM posts /*!99999 FOR UPDATE */",
                "fold NotParsed: posts",
            ),
            (
                "SELECT views FROM posts /*M! FOR UPDATE */",
                "fold NotParsed: posts",
            ),
            (
                "SELECT views FROM posts, hits WHERE 5 MOD 2",
                "fold NotParsed: posts; hits",
            ),
            (
                "INSERT INTO posts PARTITION (p0) (id) VALUES (1)",
                "forward InsertOnly",
            ),
            (
                "INSERT INTO posts PARTITION (p0) (id) VALUES (1) ON DUPLICATE KEY UPDATE views = 1",
                "fold NotParsed: posts",
            ),
            (
                "UPDATE posts SET views = views + 1 WHERE id = 1; DELETE FROM posts",
                "fold NotParsed: posts",
            ),
            (
                "UPDATE posts SET views = 'not closed",
                "fold NotParsed: posts",
            ),
            (
                "UPDATE posts SET views = 5 /* countersink:off */",
                "forward Off",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(planned(text), expected, "{text}");
        }
    }

    #[test]
    fn the_session_changes_what_a_text_means() {
        let unsafe_set = || SessionVariables {
            unsafe_character_set: true,
            ..SessionVariables::default()
        };
        assert_eq!(
            planned_with(unsafe_set(), b"SELECT views FROM posts"),
            "fold CharacterSet: posts"
        );
        assert_eq!(
            planned_with(unsafe_set(), b"INSERT INTO posts VALUES (1)"),
            "fold CharacterSet: posts"
        );
        assert_eq!(
            planned_with(unsafe_set(), b"SHOW CREATE TABLE posts"),
            "forward Metadata"
        );

        let ansi = || SessionVariables {
            ansi_quotes: true,
            ..SessionVariables::default()
        };
        let quoted = b"DELETE FROM \"posts\" WHERE \"id\" = 1";
        assert_eq!(
            planned_with(ansi(), quoted),
            "fold Delete: posts where `id` = 1"
        );
        // A string is no table's name; the server refuses it, whatever we do before.
        assert_eq!(
            planned_with(SessionVariables::default(), quoted),
            "fold Delete: posts"
        );

        let plain = || SessionVariables {
            no_backslash_escapes: true,
            ..SessionVariables::default()
        };
        let backslash = br"DELETE FROM posts WHERE title = '\' AND id = 1 -- '";
        assert_eq!(
            planned_with(plain(), backslash),
            "fold Delete: posts where `id` = 1"
        );
        assert_eq!(
            planned_with(SessionVariables::default(), backslash),
            "fold Delete: posts"
        );

        let careful = || SessionVariables {
            safe_updates: true,
            ..SessionVariables::default()
        };
        assert_eq!(
            planned_with(careful(), b"UPDATE posts SET views = views + 1"),
            "fold Unresolved: posts"
        );
        assert!(
            planned_with(
                careful(),
                b"UPDATE posts SET views = views + 1 WHERE id = 1"
            )
            .starts_with("update: ")
        );
        let whole = b"UPDATE drawn SET number = number + 1";
        assert_eq!(planned_with(careful(), whole), "forward OnBase");
    }

    #[test]
    fn names_follow_schema_and_letter_case() {
        assert_eq!(planned("DELETE FROM other.posts"), "forward NotHot");
        assert_eq!(planned("DELETE FROM POSTS"), "forward NotHot");
        assert_eq!(
            planned("DELETE FROM `shop` . `posts` WHERE ID = 1"),
            "fold Delete: posts where `id` = 1"
        );
        let mut catalog = catalog();
        catalog.lower_case_table_names = 1;
        let variables = SessionVariables {
            schema: Some("SHOP".to_owned()),
            ..SessionVariables::default()
        };
        assert_eq!(
            show(&super::plan(b"DELETE FROM POSTS", &variables, &catalog)),
            "fold Delete: posts"
        );
        let nowhere = SessionVariables::default();
        assert_eq!(
            show(&super::plan(b"DELETE FROM posts", &nowhere, &catalog)),
            "forward NotHot"
        );
    }

    /// A worker's stack is 2 MiB; the parser, the walks and the drop of a syntax tree recurse once per operator.
    #[test]
    fn the_longest_chains_fit_a_small_stack() {
        let chains = [
            format!("SELECT views FROM posts WHERE id = 1{}", "+1".repeat(980)),
            format!(
                "UPDATE posts SET views = views + 1 WHERE id = 1{}",
                " OR 1".repeat(980)
            ),
            format!(
                "UPDATE posts SET views = views + 1 WHERE {}id = 1",
                "NOT ".repeat(1_900)
            ),
            format!("SELECT views FROM posts WHERE id = {}1", "- ".repeat(1_900)),
            format!("SELECT 1 FROM posts{}", " UNION SELECT 1".repeat(600)),
            format!(
                "SELECT {}views{} FROM posts",
                "(".repeat(900),
                ")".repeat(900)
            ),
            format!(
                "SELECT {}views{} FROM posts",
                "CASE WHEN 1 THEN ".repeat(300),
                " END".repeat(300)
            ),
            format!(
                "DELETE FROM posts WHERE {}1{}",
                "id IN (SELECT ".repeat(300),
                ")".repeat(300)
            ),
        ];
        let worker = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || {
                for chain in &chains {
                    assert_ne!(planned(chain), "");
                }
            });
        worker.expect("a thread").join().expect("no overflow");
    }
}
