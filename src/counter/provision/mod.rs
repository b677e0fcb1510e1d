//! Slot tables: made when missing, verified when there, never changed while they hold values.

mod ddl;
mod error;
mod remove;
mod survey;
mod verify;

use std::fmt;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::control::Control;
use super::{grants, quote, withdrawal};
use crate::catalog::read::{self, Facts, Server};
use crate::catalog::{Catalog, HotTable};
use crate::config::{Config, Rule, TableName};
use crate::wire::error_code::{
    ER_LOCK_WAIT_TIMEOUT, ER_TOO_BIG_ROWSIZE, ER_TOO_LONG_KEY, ER_TOO_MANY_KEY_PARTS,
    is_check_violated, lacks_privilege,
};
use ddl::slot_table;
use verify::Difference;

pub use error::{Error, Problem};
pub use remove::{Removal, remove};
pub(crate) use survey::{State, survey, survey_unserved};

/// Whether a table with this comment is a slot table.
pub(crate) fn is_slot_table(comment: &str) -> bool {
    comment.starts_with(ddl::MARK)
}

/// What was done, one entry per hot table in the catalog's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The slot tables.
    pub tables: Vec<(TableName, Outcome)>,
}

/// What was done to a slot table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was there and right.
    Verified,
    /// It was made.
    Created,
    /// It got new counters or touch columns.
    Extended,
    /// It had other columns, but was empty, and was made again.
    Replaced,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.iter().try_for_each(|(table, outcome)| {
            let outcome = match outcome {
                Outcome::Verified => "there already",
                Outcome::Created => "created",
                Outcome::Extended => "extended by new columns",
                Outcome::Replaced => "replaced, as the hot table has changed",
            };
            writeln!(formatter, "{table}: {outcome}")
        })
    }
}

/// Makes sure that every hot table has its slot table. Writes nothing if none is missing or wrong.
///
/// # Errors
///
/// The first slot table that cannot be made or used, with the remedy.
pub async fn provision(conn: &mut Conn, catalog: &Catalog) -> Result<Report, Error> {
    each(None, conn, catalog).await
}

/// The same before a cluster whose members all take writes, too: a slot table is made or changed through one member at
/// a time, however many proxies want it.
///
/// # Errors
///
/// As [`provision`].
pub async fn provide(
    control: &Control,
    conn: &mut Conn,
    catalog: &Catalog,
) -> Result<Report, Error> {
    let several_writers = control.has_several_writers().then_some(control);
    each(several_writers, conn, catalog).await
}

/// Table by table; with this control account where others may do so on other members.
async fn each(
    several_writers: Option<&Control>,
    conn: &mut Conn,
    catalog: &Catalog,
) -> Result<Report, Error> {
    let mut report = Report::default();
    for table in &catalog.tables {
        let outcome = match several_writers {
            Some(control) => in_cluster(control, conn, catalog, table).await,
            None => one(conn, catalog, table).await,
        };
        let outcome = outcome.map_err(|problem| Error {
            table: TableName {
                schema: table.schema.clone(),
                name: table.name.clone(),
            },
            problem,
        })?;
        report.tables.push((slot_table(table), outcome));
    }
    Ok(report)
}

async fn in_cluster(
    control: &Control,
    conn: &mut Conn,
    catalog: &Catalog,
    table: &HotTable,
) -> Result<Outcome, Problem> {
    let agreement = control.agreement();
    // This member then has what the others have made.
    agreement.catch_up(control).await?;
    match survey(conn, catalog, table).await? {
        State::Verified => return Ok(Outcome::Verified),
        State::Refused(problem) => return Err(problem),
        State::Missing(_) | State::Lacks(_) | State::Outdated(_) => {}
    }
    let Some(said) = agreement.begin_ddl(control, table).await? else {
        return Err(Problem::Withdrawn {
            slots: slot_table(table).to_string(),
            table: full_name(table),
        });
    };
    let made = one(conn, catalog, table).await;
    said.end(control).await;
    made
}

/// The statements that make all slot tables, with GRANT hints, for a DBA to run.
pub fn print(config: &Config, catalog: &Catalog) -> String {
    let mut text = String::new();
    for table in &catalog.tables {
        text.push_str(&format!("-- Slots of {}.{}\n", table.schema, table.name));
        text.push_str(&ddl::create(table));
        text.push_str(";\n\n");
    }
    let account = format!("'{}'@'%'", config.control.user);
    text.push_str("-- The control account needs (CREATE, ALTER and DROP only if it is to make the tables itself):\n");
    for grant in grants::for_control(config, &account) {
        text.push_str(&format!("-- {grant}\n"));
    }
    text.push_str("-- Accounts whose grants are on tables rather than on the schema need also:\n");
    for table in &catalog.tables {
        text.push_str(&format!("-- {}\n", grants::for_clients(&slot_table(table))));
    }
    text
}

/// What the control account needs besides, for proxies on several members of a cluster to hear each other.
pub fn print_for_cluster(config: &Config) -> String {
    let account = format!("'{}'@'%'", config.control.user);
    let grant = grants::for_registry(&account);
    format!(
        "-- The proxies on several members of the cluster hear each other by a table:\n-- {grant}\n"
    )
}

/// Refuses to start while a rule with `slots: 0` has slots with values: reads would miss them.
///
/// # Errors
///
/// [`Problem::Unserved`], or a query that failed.
pub async fn refuse_unserved(
    conn: &mut Conn,
    config: &Config,
    catalog: &Catalog,
) -> Result<(), Error> {
    for rule in config.rules.iter().filter(|rule| rule.slots == 0) {
        unserved(conn, catalog, &rule.slot_table, &rule.table)
            .await
            .map_err(|problem| Error {
                table: rule.table.clone(),
                problem,
            })?;
    }
    Ok(())
}

async fn unserved(
    conn: &mut Conn,
    catalog: &Catalog,
    slots: &TableName,
    table: &TableName,
) -> Result<(), Problem> {
    let Some(facts) = describe(conn, catalog, slots).await? else {
        return Ok(());
    };
    let held = facts
        .columns
        .iter()
        .filter(|column| is_held(&facts, column));
    let counters: Vec<String> = held.map(|column| column.name.clone()).collect();
    match facts.comment.starts_with(ddl::MARK) && has_values(conn, slots, &counters).await? {
        true => Err(Problem::Unserved {
            slots: slots.to_string(),
            table: table.to_string(),
        }),
        false => Ok(()),
    }
}

/// Whether a column of a slot table holds what increments have put there: it is not of the key, and does not say
/// whether the row is open, as only a TINYINT does.
fn is_held(slots: &Facts, column: &read::ColumnFacts) -> bool {
    let mut key = slots.primary_key().filter_map(|key| key.column.as_deref());
    column.data_type != "tinyint" && !key.any(|key| key == column.name)
}

/// A predicate for the slot rows that hold nothing.
fn hold_nothing(slots: &Facts) -> String {
    let held = slots.columns.iter().filter(|column| is_held(slots, column));
    let nothing = held.map(|column| {
        let name = quote::name(&column.name);
        match column.data_type.as_str() {
            "datetime" | "timestamp" => format!("{name} IS NULL"),
            _ => format!("{name} = 0"),
        }
    });
    let nothing = nothing.chain(["TRUE".to_owned()]);
    nothing.collect::<Vec<_>>().join(" AND ")
}

/// Whether slots of a rule that does not rewrite hold values: reads would miss them.
///
/// # Errors
///
/// A query that failed.
pub async fn holds_values(conn: &mut Conn, catalog: &Catalog, rule: &Rule) -> Result<bool, Error> {
    match unserved(conn, catalog, &rule.slot_table, &rule.table).await {
        Ok(()) => Ok(false),
        Err(Problem::Unserved { .. }) => Ok(true),
        Err(problem) => Err(Error {
            table: rule.table.clone(),
            problem,
        }),
    }
}

/// Whether there is a slot table of this rule, made by this program.
///
/// # Errors
///
/// A query that failed.
pub async fn has_slot_table(
    conn: &mut Conn,
    catalog: &Catalog,
    rule: &Rule,
) -> Result<bool, Problem> {
    let facts = describe(conn, catalog, &rule.slot_table).await?;
    Ok(facts.is_some_and(|facts| is_slot_table(&facts.comment)))
}

async fn one(conn: &mut Conn, catalog: &Catalog, table: &HotTable) -> Result<Outcome, Problem> {
    let slots = slot_table(table);
    let Some(facts) = describe(conn, catalog, &slots).await? else {
        create(conn, table).await?;
        // If IF NOT EXISTS found another table, or an older server made something else, it would show here.
        return match describe(conn, catalog, &slots).await? {
            Some(made) => ours(table, &made).and(settled(table, &made, Outcome::Created)),
            None => Ok(Outcome::Created),
        };
    };
    ours(table, &facts)?;
    match verify::compare(table, &facts) {
        Difference::None { extra } => {
            for column in extra {
                if has_values(conn, &slots, std::slice::from_ref(&column)).await? {
                    return Err(Problem::Forgotten {
                        slots: slots.to_string(),
                        table: full_name(table),
                        column,
                    });
                }
            }
            Ok(Outcome::Verified)
        }
        Difference::Lacks { counters, touches } => {
            let add = ddl::add(table, &counters, &touches);
            run(conn, "alter", table, &add).await?;
            Ok(Outcome::Extended)
        }
        Difference::Drift { .. } => replace(conn, table, &facts).await,
    }
}

/// Makes a slot table, unless DDL keeps it away.
async fn create(conn: &mut Conn, table: &HotTable) -> Result<(), Problem> {
    /// In seconds: most DDL takes less.
    const PATIENCE: u64 = 1;
    let lock = withdrawal::lock_name(table);
    let failed = |source| Problem::Failed {
        action: "create",
        slots: slot_table(table).to_string(),
        source,
    };
    let got: Option<Option<i64>> = conn
        .query_first(withdrawal::lock(&lock, PATIENCE))
        .await
        .map_err(failed)?;
    if got.flatten() != Some(1) {
        return Err(Problem::Withdrawn {
            slots: slot_table(table).to_string(),
            table: full_name(table),
        });
    }
    let created = run(conn, "create", table, &ddl::create(table)).await;
    conn.query_drop(withdrawal::release(&lock))
        .await
        .map_err(failed)?;
    created
}

/// Replaces a slot table that does not fit, if nothing is in slots.
async fn replace(conn: &mut Conn, table: &HotTable, facts: &Facts) -> Result<Outcome, Problem> {
    let slots = slot_table(table);
    // Rows stay when what they held has been moved.
    let delete = format!(
        "DELETE FROM {} WHERE {}",
        quote::table(&slots),
        hold_nothing(facts)
    );
    run(conn, "delete from", table, &delete).await?;
    let slot_column = facts
        .primary_key()
        .last()
        .and_then(|key| key.column.clone());
    let seal = ddl::seal(&slots, slot_column.as_deref().unwrap_or_default());
    match run(conn, "alter", table, &seal).await {
        Ok(()) => {}
        // A row violates the CHECK: 3819 on MySQL, 4025 on MariaDB.
        Err(Problem::Failed {
            source: DriverFailure::Server(error),
            ..
        }) if is_check_violated(error.code) => {
            return settled(table, facts, Outcome::Replaced);
        }
        Err(problem) => return Err(problem),
    }
    let drop = format!("DROP TABLE {}", quote::table(&slots));
    run(conn, "drop", table, &drop).await?;
    run(conn, "create", table, &ddl::create(table)).await?;
    Ok(Outcome::Replaced)
}

/// `outcome` if the slot table is the one that is needed.
fn settled(table: &HotTable, facts: &Facts, outcome: Outcome) -> Result<Outcome, Problem> {
    match verify::compare(table, facts) {
        Difference::Drift {
            what,
            found,
            expected,
        } => Err(Problem::Drift {
            slots: slot_table(table).to_string(),
            table: full_name(table),
            what,
            found,
            expected,
        }),
        Difference::None { .. } | Difference::Lacks { .. } => Ok(outcome),
    }
}

/// Refuses a table that is not a slot table, or one of another hot table.
fn ours(table: &HotTable, facts: &Facts) -> Result<(), Problem> {
    let comment = &facts.comment;
    if facts.kind == "BASE TABLE" && comment.to_lowercase() == ddl::comment(table).to_lowercase() {
        return Ok(());
    }
    Err(Problem::NotOurs {
        slots: slot_table(table).to_string(),
        table: full_name(table),
        whose: match comment.strip_prefix(ddl::MARK) {
            Some(other) => format!(" but of {other}"),
            None => String::new(),
        },
    })
}

async fn describe(
    conn: &mut Conn,
    catalog: &Catalog,
    slots: &TableName,
) -> Result<Option<Facts>, Problem> {
    let server = Server {
        version: String::new(),
        other_engine: None,
        mariadb: catalog.mariadb,
        lower_case_table_names: catalog.lower_case_table_names,
        sql_mode: String::new(),
        grants: Vec::new(),
        checks: true,
        has_snapshot_isolation: catalog.has_snapshot_isolation,
    };
    read::table(conn, &server, &slots.schema, &slots.name)
        .await
        .map_err(Problem::Catalog)
}

/// Whether any of `columns` is not zero in any slot.
async fn has_values(
    conn: &mut Conn,
    slots: &TableName,
    columns: &[String],
) -> Result<bool, Problem> {
    let nonzero: Vec<String> = columns
        .iter()
        .map(|column| format!("{} <> 0", quote::name(column)))
        .collect();
    if nonzero.is_empty() {
        return Ok(false);
    }
    let query = format!(
        "SELECT 1 FROM {} WHERE {} LIMIT 1",
        quote::table(slots),
        nonzero.join(" OR ")
    );
    // Not by EXISTS, which is false where a KILL interrupts it.
    let found: Result<Option<u8>, DriverFailure> = conn.query_first(query).await;
    found
        .map(|found| found.is_some())
        .map_err(|source| Problem::Failed {
            action: "read",
            slots: slots.to_string(),
            source,
        })
}

async fn run(
    conn: &mut Conn,
    action: &'static str,
    table: &HotTable,
    statement: &str,
) -> Result<(), Problem> {
    // Sessions that use the slot table queue after a statement that waits for it: by default, for a year. One second is
    // the minimum.
    const PATIENCE: &str = "SET SESSION lock_wait_timeout = 1";
    const TOO_LONG: [u16; 3] = [ER_TOO_MANY_KEY_PARTS, ER_TOO_LONG_KEY, ER_TOO_BIG_ROWSIZE];
    let slots = || slot_table(table).to_string();
    let ran = match conn.query_drop(PATIENCE).await {
        Ok(()) => conn.query_drop(statement).await,
        failed => failed,
    };
    ran.map_err(|failure| match failure {
        DriverFailure::Server(error) if error.code == ER_LOCK_WAIT_TIMEOUT => {
            Problem::InUse { slots: slots() }
        }
        DriverFailure::Server(error) if lacks_privilege(error.code) => Problem::Forbidden {
            action,
            slots: slots(),
            message: error.message,
        },
        DriverFailure::Server(error) if TOO_LONG.contains(&error.code) => Problem::KeyTooLong {
            table: full_name(table),
            message: error.message,
        },
        source => Problem::Failed {
            action,
            slots: slots(),
            source,
        },
    })
}

fn full_name(table: &HotTable) -> String {
    format!("{}.{}", table.schema, table.name)
}

#[cfg(test)]
mod tests;
