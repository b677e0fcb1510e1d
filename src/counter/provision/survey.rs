//! What provisioning would do to a slot table, found out by reading alone.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::ddl::{self, slot_table};
use super::verify::{self, Difference};
use super::{Problem, describe, full_name, has_values, hold_nothing, ours, settled, unserved};
use crate::catalog::{Catalog, HotTable};
use crate::config::Rule;
use crate::counter::quote;

/// What [`provision`](super::provision) would meet.
#[derive(Debug)]
pub(crate) enum State {
    /// The slot table that is needed.
    Verified,
    /// None: it would be made by this statement.
    Missing(String),
    /// It lacks columns, which this statement would add.
    Lacks(String),
    /// Another one, but nothing is in slots: it would be dropped and made by these statements.
    Outdated([String; 2]),
    /// It would be refused.
    Refused(Problem),
}

/// Looks at the slot table of `table`.
///
/// # Errors
///
/// A query that failed.
pub(crate) async fn survey(
    conn: &mut Conn,
    catalog: &Catalog,
    table: &HotTable,
) -> Result<State, Problem> {
    let slots = slot_table(table);
    let Some(facts) = describe(conn, catalog, &slots).await? else {
        return Ok(State::Missing(ddl::create(table)));
    };
    if let Err(problem) = ours(table, &facts) {
        return Ok(State::Refused(problem));
    }
    match verify::compare(table, &facts) {
        Difference::None { extra } => {
            for column in extra {
                if has_values(conn, &slots, std::slice::from_ref(&column)).await? {
                    let (slots, table) = (slots.to_string(), full_name(table));
                    return Ok(State::Refused(Problem::Forgotten {
                        slots,
                        table,
                        column,
                    }));
                }
            }
            Ok(State::Verified)
        }
        Difference::Lacks { counters, touches } => {
            Ok(State::Lacks(ddl::add(table, &counters, &touches)))
        }
        Difference::Drift { .. } => {
            let query = format!(
                "SELECT 1 FROM {} WHERE NOT ({}) LIMIT 1",
                quote::table(&slots),
                hold_nothing(&facts)
            );
            // Not by EXISTS, which is false where a KILL interrupts it.
            let holds_values: Result<Option<u8>, _> = conn.query_first(query).await;
            let holds_values = holds_values.map_err(|source| Problem::Failed {
                action: "read",
                slots: slots.to_string(),
                source,
            })?;
            let drop = format!("DROP TABLE {}", quote::table(&slots));
            match settled(table, &facts, super::Outcome::Replaced) {
                Err(problem) if holds_values.is_some() => Ok(State::Refused(problem)),
                _ => Ok(State::Outdated([drop, ddl::create(table)])),
            }
        }
    }
}

/// Looks at the slots of a rule that does not rewrite; the reason why `serve` refuses it, if they hold values.
///
/// # Errors
///
/// A query that failed.
pub(crate) async fn survey_unserved(
    conn: &mut Conn,
    catalog: &Catalog,
    rule: &Rule,
) -> Result<Option<Problem>, Problem> {
    match unserved(conn, catalog, &rule.slot_table, &rule.table).await {
        Ok(()) => Ok(None),
        Err(problem @ Problem::Unserved { .. }) => Ok(Some(problem)),
        Err(problem) => Err(problem),
    }
}
