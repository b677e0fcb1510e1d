//! How far the values of counters are from the ends of their types, where looking is cheap.

use mysql_async::{Conn, Error as DriverFailure};

use crate::catalog::read::{Facts, rows};
use crate::catalog::{Bounds, HotTable, Problem};
use crate::check::evidence::Extremes;
use crate::counter::quote;
use crate::wire::error_code::is_over_time;

/// So many rows are scanned for the largest value, at most.
const MOST_ROWS: u64 = 100_000;

/// Longest time of one scan, in milliseconds; the numbers of rows are only estimates.
const LONGEST: u32 = 2000;

/// One entry per counter that may be slotted; `size` is about how many rows the table has.
pub(super) async fn read(
    conn: &mut Conn,
    mariadb: bool,
    table: &HotTable,
    facts: &Facts,
    size: u64,
) -> Result<Vec<(usize, Extremes)>, Problem> {
    let mut extremes = Vec::new();
    for counter in &table.counters {
        let Some(bounds) = &counter.bounds else {
            continue;
        };
        let name = &table.columns[counter.column].name;
        let looked = match size <= MOST_ROWS || is_indexed(facts, name) {
            true => look(conn, &query(mariadb, table, name, bounds)).await?,
            false => None,
        };
        extremes.push((counter.column, looked.unwrap_or(Extremes::TooMany(size))));
    }
    Ok(extremes)
}

/// Whether an index begins with the column.
fn is_indexed(facts: &Facts, name: &str) -> bool {
    facts.indexes.iter().enumerate().any(|(at, part)| {
        let begins = at == 0 || facts.indexes[at - 1].index != part.index;
        begins && part.column.as_deref() == Some(name)
    })
}

fn query(mariadb: bool, table: &HotTable, name: &str, bounds: &Bounds) -> String {
    let (name, from) = (quote::name(name), quote::pair(&table.schema, &table.name));
    let (low, high) = (&bounds.base_low, &bounds.base_high);
    let (before, hint) = match mariadb {
        true => (
            format!("SET STATEMENT max_statement_time = {} FOR ", LONGEST / 1000),
            String::new(),
        ),
        false => (
            String::new(),
            format!("/*+ MAX_EXECUTION_TIME({LONGEST}) */ "),
        ),
    };
    format!(
        "{before}SELECT {hint}CASE WHEN MAX({name}) > {high} THEN CAST(MAX({name}) AS CHAR) \
         WHEN MIN({name}) < {low} THEN CAST(MIN({name}) AS CHAR) END FROM {from}"
    )
}

/// None when it takes too long.
async fn look(conn: &mut Conn, query: &str) -> Result<Option<Extremes>, Problem> {
    let tuple = mysql_async::from_row_opt::<Option<String>>;
    match rows(conn, "the values of a counter", query, (), tuple).await {
        Ok(mut found) => Ok(Some(match found.pop().flatten() {
            Some(value) => Extremes::Beyond(value),
            None => Extremes::Within,
        })),
        Err(Problem::Query {
            source: DriverFailure::Server(error),
            ..
        }) if is_over_time(error.code) => Ok(None),
        Err(problem) => Err(problem),
    }
}
