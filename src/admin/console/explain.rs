//! EXPLAIN: what the proxy would do with a statement of a session in autocommit.

use mysql_async::prelude::Queryable;

use super::handles::Desk;
use super::table::{Answer, Column, Refusal, Table, text};
use crate::explain::{Situation, explain_plan};
use crate::sql::plan;
use crate::sql::plan::SessionVariables;

/// The same as EXPLAIN FORMAT=COUNTERSINK has in a session.
pub(super) const COLUMNS: [Column; 3] = [
    text("part", "`plan`, `why`, `sends`, `locks` or `note`"),
    text("when", "in which case; empty where there is but one"),
    text("text", "the statement, the lock or the sentence"),
];

/// Explains a statement by the plan that it gets.
pub(super) async fn explain(
    desk: &Desk,
    schema: Option<String>,
    statement: &str,
) -> Result<Answer, Refusal> {
    let variables = SessionVariables {
        schema,
        ..SessionVariables::default()
    };
    let variables = variables.with_sql_mode(&sql_mode(desk).await);
    let hot = desk.shared.hot();
    let plan = plan(statement.as_bytes(), &variables, &hot.catalog);
    let explanation = explain_plan(&plan, &Situation::default());
    let lines = explanation.lines();
    let rows = lines.iter().map(|line| {
        vec![
            line.part.name().into(),
            line.when.as_str().into(),
            line.text.as_str().into(),
        ]
    });
    Ok(Answer::Rows(Table::of(&COLUMNS, rows.collect())))
}

/// The default of sessions; MySQL's own default if the server cannot be asked.
async fn sql_mode(desk: &Desk) -> String {
    let Ok(mut conn) = desk.control.connect().await else {
        return String::new();
    };
    let mode = conn.query_first::<String, _>("SELECT @@GLOBAL.sql_mode");
    mode.await.ok().flatten().unwrap_or_default()
}
