//! Views, routines, events and triggers that have the table's name in their text, as far as the account is shown them.

use mysql_async::Conn;

use crate::catalog::read::rows;
use crate::catalog::{HotTable, Problem};
use crate::check::evidence::{Kind, Program};

/// The server's own schemas, whose views and routines name no tables of applications.
const NOT_THE_SERVERS: &str = "NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";

/// Where each kind is: the beginning of its columns' names, kind, body, and the table that it belongs to.
const SOURCES: [(&str, &str, &str, &str, [&str; 2]); 4] = [
    ("VIEWS", "TABLE", "'VIEW'", "VIEW_DEFINITION", ["''", "''"]),
    (
        "ROUTINES",
        "ROUTINE",
        "ROUTINE_TYPE",
        "ROUTINE_DEFINITION",
        ["''", "''"],
    ),
    (
        "EVENTS",
        "EVENT",
        "'EVENT'",
        "EVENT_DEFINITION",
        ["''", "''"],
    ),
    (
        "TRIGGERS",
        "TRIGGER",
        "'TRIGGER'",
        "ACTION_STATEMENT",
        ["EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE"],
    ),
];

/// Triggers of the table itself are left out: they run with its own statements, for which slots are folded.
pub(super) async fn read(conn: &mut Conn, table: &HotTable) -> Result<Vec<Program>, Problem> {
    let mut programs = Vec::new();
    for (from, prefix, kind, body, [schema, name]) in SOURCES {
        let query = format!(
            "SELECT {kind}, {prefix}_SCHEMA, {prefix}_NAME, {body} FROM information_schema.{from} \
             WHERE LOCATE(LOWER(?), LOWER({body})) > 0 AND {prefix}_SCHEMA {NOT_THE_SERVERS} \
             AND NOT ({schema} = ? AND {name} = ?) ORDER BY {prefix}_SCHEMA, {prefix}_NAME"
        );
        let names = (&table.name, &table.schema, &table.name);
        let tuple = mysql_async::from_row_opt::<(String, String, String, String)>;
        let found = rows(
            conn,
            "views, routines, events and triggers",
            &query,
            names,
            tuple,
        )
        .await?;
        programs.extend(found.into_iter().map(|(kind, schema, name, body)| Program {
            kind: kind_of(&kind),
            schema,
            name,
            body,
        }));
    }
    Ok(programs)
}

fn kind_of(text: &str) -> Kind {
    match text {
        "VIEW" => Kind::View,
        "FUNCTION" => Kind::Function,
        "EVENT" => Kind::Event,
        "TRIGGER" => Kind::Trigger,
        _ => Kind::Procedure,
    }
}
