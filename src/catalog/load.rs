//! Loads the catalog through the control account.

use std::collections::HashMap;
use std::sync::Arc;

use mysql_async::Conn;

use super::error::{Error, Problem};
use super::read::{Facts, Server};
use super::snapshot::Snapshot;
use super::{Catalog, check, grants, read};
use crate::config::{Config, Mode, Place, Rule, TableName, did_you_mean};

/// Reads the tables of all rules that are not off, and checks that each can be hot.
///
/// # Errors
///
/// The first rule that does not fit its table, with the remedy; or a query that failed.
pub async fn load(conn: &mut Conn, config: &Config) -> Result<Catalog, Error> {
    let (catalog, _) = survey(conn, config).await?;
    Ok(catalog)
}

/// [`load`], with what the catalog was made from.
///
/// # Errors
///
/// As [`load`].
pub async fn survey(conn: &mut Conn, config: &Config) -> Result<(Catalog, Snapshot), Error> {
    look_at(conn, config, Err).await
}

/// [`load`], but rules whose tables are not there are left out.
///
/// # Errors
///
/// As [`load`].
pub async fn load_present(conn: &mut Conn, config: &Config) -> Result<Catalog, Error> {
    let (catalog, _) = look_at(conn, config, |_| Ok(())).await?;
    Ok(catalog)
}

/// Goes through the rules. `absent` says what becomes of one whose table is not there, by its error.
async fn look_at(
    conn: &mut Conn,
    config: &Config,
    absent: impl Fn(Error) -> Result<(), Error>,
) -> Result<(Catalog, Snapshot), Error> {
    let upstream = |problem| Error {
        place: Box::new(Place::field("upstream")),
        problem,
    };
    let server = read::server(conn).await.map_err(upstream)?;
    fits(&server).map_err(upstream)?;
    let mut snapshot = Snapshot::new(&server);
    let mut hot = HotTables::of(&snapshot);
    for rule in planning(config) {
        match describe(conn, &server, rule).await {
            Ok(facts) => {
                hot.add(rule, &facts)?;
                snapshot.tables.push(facts);
            }
            Err(problem @ Problem::NoTable { .. }) => absent(about(rule, problem))?,
            Err(problem) => return Err(about(rule, problem)),
        }
    }
    Ok((hot.catalog, snapshot))
}

/// Applies the rules to what was once read of the tables.
///
/// # Errors
///
/// The first rule that does not fit its table, or whose table was not read then.
pub fn offline(snapshot: &Snapshot, config: &Config) -> Result<Catalog, Error> {
    let mut hot = HotTables::of(snapshot);
    for rule in planning(config) {
        let TableName { schema, name } = &rule.table;
        let facts = snapshot.table(schema, name).ok_or_else(|| {
            let known = snapshot.tables.iter().map(check::full_name);
            let problem = Problem::NotInSnapshot {
                table: rule.table.to_string(),
                known: known.collect::<Vec<_>>().join(", "),
            };
            about(rule, problem)
        })?;
        hot.add(rule, facts)?;
    }
    Ok(hot.catalog)
}

fn planning(config: &Config) -> impl Iterator<Item = &Rule> {
    config.rules.iter().filter(|rule| rule.plans())
}

fn about(rule: &Rule, problem: Problem) -> Error {
    Error {
        place: Box::new(rule.place("table")),
        problem,
    }
}

/// The hot tables of the rules so far.
struct HotTables {
    catalog: Catalog,
    /// Rules by the tables that they are for.
    seen: HashMap<String, usize>,
}

impl HotTables {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            catalog: Catalog {
                tables: Vec::new(),
                without_slots: Vec::new(),
                observed: Vec::new(),
                lower_case_table_names: snapshot.server.lower_case_table_names,
                mariadb: snapshot.server.mariadb,
                has_snapshot_isolation: snapshot.server.has_snapshot_isolation,
                prepares_writes: prepares_writes(snapshot.server.mariadb, &snapshot.server.version),
            },
            seen: HashMap::new(),
        }
    }

    /// Adds a rule's table.
    fn add(&mut self, rule: &Rule, facts: &Facts) -> Result<(), Error> {
        if let Some(first) = self.seen.insert(check::full_name(facts), rule.index) {
            return Err(about(rule, Problem::SameTable { first }));
        }
        let table = Arc::new(check::hot_table(rule, facts)?);
        let has_slots = table.slots > 0;
        let list = match rule.mode {
            Mode::Observe => &mut self.catalog.observed,
            _ if has_slots => &mut self.catalog.tables,
            _ => &mut self.catalog.without_slots,
        };
        list.push(table);
        Ok(())
    }
}

/// The facts of a rule's table, complete: with its triggers.
async fn describe(conn: &mut Conn, server: &Server, rule: &Rule) -> Result<Facts, Problem> {
    let facts = found(conn, server, rule).await?;
    sees_triggers(conn, server, &facts)?;
    Ok(facts)
}

/// The facts of a rule's table, as far as the control account may see them.
pub(super) async fn found(conn: &mut Conn, server: &Server, rule: &Rule) -> Result<Facts, Problem> {
    let table = &rule.table;
    if let Some(facts) = read::table(conn, server, &table.schema, &table.name).await? {
        return Ok(facts);
    }
    let names = read::table_names(conn, &table.schema).await?;
    let near = did_you_mean(&table.name, names.iter().map(String::as_str));
    Err(Problem::NoTable {
        table: table.to_string(),
        hint: if near.is_empty() {
            ".".to_owned()
        } else {
            near
        },
        grant: grant(conn, table.schema.as_str(), &table.name),
    })
}

/// Refuses a table whose triggers would go unnoticed.
pub(super) fn sees_triggers(conn: &Conn, server: &Server, facts: &Facts) -> Result<(), Problem> {
    match grants::see_triggers(&server.grants, &facts.schema, &facts.name) {
        true => Ok(()),
        false => Err(Problem::TriggersUnseen {
            table: check::full_name(facts),
            grant: grant(conn, &facts.schema, &facts.name),
        }),
    }
}

/// The GRANT that lets the control account see a table with its triggers.
fn grant(conn: &Conn, schema: &str, name: &str) -> String {
    let user = conn.opts().user().unwrap_or_default();
    format!("GRANT SELECT, UPDATE, TRIGGER ON `{schema}`.`{name}` TO '{user}'@'..'")
}

/// Slot tables rely on InnoDB's locks, and on CHECK.
pub(super) fn fits(server: &Server) -> Result<(), Problem> {
    if let Some((engine, why)) = server.other_engine {
        return Err(Problem::OtherEngine { engine, why });
    }
    let (name, since) = match server.mariadb {
        true => ("MariaDB", [10, 2, 1]),
        false => ("MySQL", [8, 0, 16]),
    };
    if version(&server.version) < since {
        return Err(Problem::TooOld {
            server: name,
            version: server.version.clone(),
        });
    }
    match server.checks {
        true => Ok(()),
        false => Err(Problem::ChecksOff),
    }
}

/// Whether UPDATE and DELETE look their columns up before they begin a transaction.
pub(super) fn prepares_writes(mariadb: bool, version_text: &str) -> bool {
    !mariadb || version(version_text) >= [11, 1, 0]
}

/// The three numbers that a version begins with; MariaDB may put `5.5.5-` before its own.
pub(crate) fn version(text: &str) -> [u32; 3] {
    let own = match text.to_lowercase().contains("mariadb") {
        true => text.strip_prefix("5.5.5-").unwrap_or(text),
        false => text,
    };
    let mut numbers = own
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, mariadb: bool) -> Server {
        Server {
            version: version.to_owned(),
            other_engine: None,
            mariadb,
            lower_case_table_names: 0,
            sql_mode: String::new(),
            grants: Vec::new(),
            checks: true,
            has_snapshot_isolation: false,
        }
    }

    #[test]
    fn servers_that_enforce_check() {
        for (text, mariadb, enough) in [
            ("8.0.15", false, false),
            ("8.0.16", false, true),
            ("8.4.3-commercial", false, true),
            ("9.7.4-2", false, true),
            ("5.7.44-log", false, false),
            ("8.0.11-TiDB-v7.5.0", false, false),
            ("10.2.0-MariaDB", true, false),
            ("10.2.1-MariaDB", true, true),
            ("5.5.5-10.11.18-MariaDB-0+deb12u1-log", true, true),
            ("11.4.2-MariaDB", true, true),
        ] {
            assert_eq!(fits(&server(text, mariadb)).is_ok(), enough, "{text}");
        }
    }

    #[test]
    fn a_server_that_ignores_check_is_refused_with_the_remedy() {
        let old = fits(&server("5.7.44", false)).unwrap_err().to_string();
        assert!(
            old.contains("MySQL 5.7.44") && old.contains("8.0.16"),
            "{old}"
        );
        let off = Server {
            checks: false,
            ..server("10.11.18-MariaDB", true)
        };
        let off = fits(&off).unwrap_err().to_string();
        assert!(
            off.contains("SET GLOBAL check_constraint_checks = ON"),
            "{off}"
        );
    }
}
