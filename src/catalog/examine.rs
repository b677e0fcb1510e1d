//! Looks at the tables of all rules and says everything that is wrong, where [`load`](super::load()) stops at the
//! first.

use std::collections::HashMap;
use std::sync::Arc;

use mysql_async::Conn;

use super::error::{Error, Problem};
use super::read::{Facts, Server};
use super::{Catalog, HotTable, check, load, logins, read};
use crate::config::{Config, Place, Rule};

/// What the upstream says of all rules that act.
#[derive(Debug)]
pub(crate) struct Examination {
    pub(crate) server: Server,
    /// Why the server cannot carry slots; no table has been looked at then.
    pub(crate) problem: Option<Problem>,
    /// What would keep clients from logging in, or let them in as somebody else.
    pub(crate) logins: Vec<Problem>,
    /// One entry per rule that acts.
    pub(crate) tables: Vec<Examined>,
    /// Those that can be hot.
    pub(crate) catalog: Catalog,
}

impl Examination {
    /// Whether the server lacks what would be asked of it.
    pub(crate) fn is_of_another_kind(&self) -> bool {
        matches!(
            self.problem,
            Some(Problem::TooOld { .. } | Problem::OtherEngine { .. })
        )
    }
}

/// What the upstream says of one rule's table.
#[derive(Debug)]
pub(crate) struct Examined {
    /// The rule's position in the file.
    pub(crate) rule: usize,
    /// None when no such table can be seen.
    pub(crate) facts: Option<Facts>,
    /// None when it cannot be hot.
    pub(crate) table: Option<Arc<HotTable>>,
    /// All that [`load`](super::load()) would refuse it for.
    pub(crate) problems: Vec<Problem>,
}

/// Looks at the server and at the tables of all rules that act.
///
/// # Errors
///
/// A query that failed; what is wrong with the tables is no error here.
pub(crate) async fn examine(conn: &mut Conn, config: &Config) -> Result<Examination, Error> {
    let upstream = |problem| Error {
        place: Box::new(Place::field("upstream")),
        problem,
    };
    let server = read::server(conn).await.map_err(upstream)?;
    let mut examination = Examination {
        problem: load::fits(&server).err(),
        logins: Vec::new(),
        tables: Vec::new(),
        catalog: Catalog {
            lower_case_table_names: server.lower_case_table_names,
            mariadb: server.mariadb,
            has_snapshot_isolation: server.has_snapshot_isolation,
            prepares_writes: load::prepares_writes(server.mariadb, &server.version),
            ..Catalog::default()
        },
        server,
    };
    if examination.is_of_another_kind() {
        return Ok(examination);
    }
    let logins = logins::problems(conn, examination.server.mariadb, config).await;
    examination.logins = logins.map_err(upstream)?;
    let mut seen = HashMap::new();
    for rule in config.rules.iter().filter(|rule| rule.plans()) {
        let found = load::found(conn, &examination.server, rule).await;
        let examined = match found {
            Ok(facts) => one(conn, &examination.server, rule, facts, &mut seen),
            Err(problem @ Problem::Query { .. }) => {
                let place = Box::new(rule.place("table"));
                return Err(Error { place, problem });
            }
            Err(problem) => Examined {
                rule: rule.index,
                facts: None,
                table: None,
                problems: vec![problem],
            },
        };
        if let Some(table) = &examined.table {
            let catalog = &mut examination.catalog;
            let tables = match table.slots {
                0 => &mut catalog.without_slots,
                _ => &mut catalog.tables,
            };
            tables.push(Arc::clone(table));
        }
        examination.tables.push(examined);
    }
    Ok(examination)
}

fn one(
    conn: &Conn,
    server: &Server,
    rule: &Rule,
    facts: Facts,
    seen: &mut HashMap<String, usize>,
) -> Examined {
    let first = *seen.entry(check::full_name(&facts)).or_insert(rule.index);
    let mut problems: Vec<Problem> = load::sees_triggers(conn, server, &facts)
        .err()
        .into_iter()
        .collect();
    if first != rule.index {
        problems.push(Problem::SameTable { first });
    }
    let table = match check::examine(rule, &facts) {
        Ok(table) => Some(Arc::new(table)),
        Err(errors) => {
            problems.extend(errors.into_iter().map(|error| error.problem));
            None
        }
    };
    Examined {
        rule: rule.index,
        facts: Some(facts),
        table: table.filter(|_| first == rule.index),
        problems,
    }
}
