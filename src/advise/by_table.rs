//! Evidence put together by table: how many clients wait for its rows, by which statements, for which rows.

use std::collections::HashMap;

use super::evidence::{Crowd, Evidence, Row};
use crate::config::TableName;
use crate::sql::plan::SessionVariables;
use crate::sql::{self, Kind, Sets, Tally, tally};

/// A table is named from this many waiting clients on, on average: one client for a twentieth of the time.
pub const NAMED: f64 = 0.05;

/// The most tables that are looked at.
const MOST_SPOTS: usize = 10;

/// A table for whose rows clients wait.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The table.
    pub table: TableName,
    /// How many clients wait, on average.
    pub waiting: f64,
    /// The statements that wait, with how many clients, the most first.
    pub statements: Vec<Waiting>,
    /// The rows that are waited for, with how many clients, the most first.
    pub rows: Vec<(Row, f64)>,
    /// The share of waiting clients that are in a transaction; none if it is not known.
    pub in_transaction: Option<f64>,
}

/// A statement that waits.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The schema in which it runs.
    pub schema: Option<String>,
    /// Without literals.
    pub text: String,
    /// How many clients wait, on average.
    pub waiting: f64,
    /// What it does to the table; none where it is no write of this table, or none that is understood.
    pub tally: Option<Tally>,
}

impl Spot {
    /// The columns that the statements that wait, by UPDATE, set so.
    pub fn columns(&self, wanted: Sets) -> Vec<String> {
        self.columns_of(wanted, false)
    }

    /// The same, by INSERT .. ON DUPLICATE KEY UPDATE.
    pub fn columns_of_upserts(&self, wanted: Sets) -> Vec<String> {
        self.columns_of(wanted, true)
    }

    fn columns_of(&self, wanted: Sets, upserts: bool) -> Vec<String> {
        let mut columns: Vec<String> = Vec::new();
        let tallies = self
            .statements
            .iter()
            .filter_map(|waiting| waiting.tally.as_ref());
        for tally in tallies.filter(|tally| tally.is_upsert == upserts) {
            for column in tally.columns(wanted) {
                if !columns
                    .iter()
                    .any(|other| other.eq_ignore_ascii_case(column))
                {
                    columns.push(column.to_owned());
                }
            }
        }
        columns
    }

    /// How many clients are at the hottest row: those that wait, and the one that holds it.
    pub fn clients(&self) -> f64 {
        self.rows.first().map_or(1.0, |(_, waiting)| waiting + 1.0)
    }
}

/// The tables for whose rows clients wait, the one with the most first; and how many wait for rows of tables that are
/// not known. `resolve` gives the schema of a table that is named without one.
pub(super) fn spots(evidence: &Evidence, resolve: &HashMap<String, String>) -> (Vec<Spot>, f64) {
    let mut spots: HashMap<TableName, Spot> = HashMap::new();
    let mut lost = 0.0;
    for crowd in &evidence.crowds {
        let tally = understood(crowd);
        let Some(table) = table_of(crowd, tally.as_ref(), resolve) else {
            lost += crowd.waiting;
            continue;
        };
        let spot = spots.entry(table.clone()).or_insert_with(|| Spot {
            table,
            waiting: 0.0,
            statements: Vec::new(),
            rows: Vec::new(),
            in_transaction: None,
        });
        spot.take(crowd, tally);
    }
    let mut spots: Vec<Spot> = spots
        .into_values()
        .filter(|spot| spot.waiting >= NAMED)
        .collect();
    spots.sort_by(|left, right| {
        let by_waiting = right.waiting.total_cmp(&left.waiting);
        by_waiting.then_with(|| left.table.to_string().cmp(&right.table.to_string()))
    });
    spots.truncate(MOST_SPOTS);
    for spot in &mut spots {
        spot.take_running(evidence);
        spot.statements
            .sort_by(|left, right| right.waiting.total_cmp(&left.waiting));
        spot.rows.sort_by(|left, right| {
            let by_waiting = right.1.total_cmp(&left.1);
            by_waiting.then_with(|| left.0.cmp(&right.0))
        });
    }
    (spots, lost)
}

/// The tables that statements that wait name without a schema that is known.
pub(super) fn without_schema(evidence: &Evidence) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for crowd in &evidence.crowds {
        if crowd.table.is_none()
            && let Some(tally) = understood(crowd)
            && tally.schema.is_none()
            && !names.contains(&tally.table)
        {
            names.push(tally.table);
        }
    }
    names
}

/// The session variables by which a statement that was seen is read: of them the schema alone is known.
pub(super) fn variables(schema: Option<&str>) -> SessionVariables {
    SessionVariables {
        schema: schema.map(str::to_owned),
        ..SessionVariables::default()
    }
}

fn understood(crowd: &Crowd) -> Option<Tally> {
    tally(
        crowd.text.as_deref()?.as_bytes(),
        &variables(crowd.schema.as_deref()),
    )
}

/// Whether a statement may wait for a row: one that cannot has followed the one that did, while the server was being
/// looked at.
fn is_of_rows(text: &str) -> bool {
    let kind = sql::statement_kind(text.as_bytes(), &SessionVariables::default());
    !matches!(
        kind,
        Kind::Begin | Kind::Commit | Kind::Rollback | Kind::Do | Kind::Set { .. } | Kind::Show
    )
}

fn table_of(
    crowd: &Crowd,
    tally: Option<&Tally>,
    resolve: &HashMap<String, String>,
) -> Option<TableName> {
    if let Some(table) = &crowd.table {
        return Some(table.clone());
    }
    let tally = tally?;
    let schema = tally
        .schema
        .as_ref()
        .or_else(|| resolve.get(&tally.table))?;
    Some(TableName {
        schema: schema.clone(),
        name: tally.table.clone(),
    })
}

impl Spot {
    /// Where no write is known that waits, those that run on the table do so, no doubt.
    fn take_running(&mut self, evidence: &Evidence) {
        if self
            .statements
            .iter()
            .any(|waiting| waiting.tally.is_some())
        {
            return;
        }
        for statement in &evidence.statements {
            let schema = statement.schema.as_deref();
            let tally = tally(statement.text.as_bytes(), &variables(schema)).filter(|tally| {
                let schema = tally.schema.as_ref();
                schema.is_none_or(|schema| *schema == self.table.schema)
                    && tally.table.eq_ignore_ascii_case(&self.table.name)
            });
            if tally.is_some() {
                self.statements.push(Waiting {
                    schema: statement.schema.clone(),
                    text: statement.text.clone(),
                    waiting: 0.0,
                    tally,
                });
            }
        }
    }

    fn take(&mut self, crowd: &Crowd, tally: Option<Tally>) {
        if let Some(share) = crowd.in_transaction {
            let before = self.in_transaction.unwrap_or(share) * self.waiting;
            let all = self.waiting + crowd.waiting;
            self.in_transaction =
                Some((before + share * crowd.waiting) / all.max(f64::MIN_POSITIVE));
        }
        self.waiting += crowd.waiting;
        if let Some(row) = &crowd.row {
            match self.rows.iter_mut().find(|(other, _)| other == row) {
                Some((_, waiting)) => *waiting += crowd.waiting,
                None => self.rows.push((row.clone(), crowd.waiting)),
            }
        }
        let text = crowd.text.as_ref().filter(|text| is_of_rows(text));
        let Some(text) = text else {
            return;
        };
        let same = |waiting: &&mut Waiting| waiting.text == *text && waiting.schema == crowd.schema;
        match self.statements.iter_mut().find(same) {
            Some(known) => known.waiting += crowd.waiting,
            None => self.statements.push(Waiting {
                schema: crowd.schema.clone(),
                text: text.clone(),
                waiting: crowd.waiting,
                // A child's INSERT may wait for its parent's row.
                tally: tally.filter(|tally| tally.table.eq_ignore_ascii_case(&self.table.name)),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::advise::evidence::Source;

    fn crowd(table: Option<(&str, &str)>, text: &str, row: &str, waiting: f64) -> Crowd {
        Crowd {
            schema: None,
            text: Some(text.to_owned()),
            table: table.map(|(schema, name)| TableName {
                schema: schema.to_owned(),
                name: name.to_owned(),
            }),
            row: Some(Row::Compared(row.to_owned())),
            waiting,
            in_transaction: Some(1.0),
        }
    }

    fn evidence(crowds: Vec<Crowd>) -> Evidence {
        Evidence {
            source: Source::Proxy,
            window: Duration::from_secs(1),
            looks: None,
            statements: Vec::new(),
            are_executions: true,
            crowds,
            followers: Vec::new(),
            row_lock_waits: None,
            unseen: Vec::new(),
        }
    }

    #[test]
    fn who_waits_most_comes_first() {
        let evidence = evidence(vec![
            crowd(
                Some(("shop", "a")),
                "UPDATE a SET n = n + ? WHERE id = ?",
                "id = 1",
                2.0,
            ),
            crowd(
                Some(("shop", "b")),
                "UPDATE b SET n = n + ? WHERE id = ?",
                "id = 1",
                1.5,
            ),
            crowd(
                Some(("shop", "b")),
                "UPDATE b SET m = m + ? WHERE id = ?",
                "id = 1",
                0.5,
            ),
            crowd(
                Some(("shop", "b")),
                "UPDATE b SET n = n + ? WHERE id = ?",
                "id = 2",
                1.0,
            ),
            crowd(Some(("shop", "c")), "UPDATE c SET n = ?", "id = 2", 0.01),
        ]);
        let (spots, lost) = spots(&evidence, &HashMap::new());
        let names: Vec<String> = spots.iter().map(|spot| spot.table.to_string()).collect();
        assert_eq!(names, ["shop.b", "shop.a"]);
        assert!(lost.abs() < 1e-9);
        let b = &spots[0];
        assert_eq!(b.columns(Sets::Sum), ["n", "m"]);
        assert_eq!(b.rows[0], (Row::Compared("id = 1".to_owned()), 2.0));
        assert!((b.clients() - 3.0).abs() < 1e-9);
        assert!((b.statements[0].waiting - 2.5).abs() < 1e-9);
    }

    #[test]
    fn a_table_without_a_schema_is_the_one_of_that_name() {
        let evidence = evidence(vec![crowd(None, "UPDATE a SET n = n + ?", "id = 1", 2.0)]);
        assert_eq!(without_schema(&evidence), ["a"]);
        let (none, lost) = spots(&evidence, &HashMap::new());
        assert!(none.is_empty() && (lost - 2.0).abs() < 1e-9);
        let known = HashMap::from([("a".to_owned(), "shop".to_owned())]);
        let (spots, _) = spots(&evidence, &known);
        assert_eq!(spots[0].table.to_string(), "shop.a");
    }
}
