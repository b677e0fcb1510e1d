//! What changes rows of a table in statements that need not name it: writes of tables that have a trigger, or that the
//! table refers to by a foreign key with an action, and routines.

use std::collections::VecDeque;

use mysql_async::Conn;
use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::read::rows;

/// Names without their schemas: a statement that has none of them in it leaves the table's rows alone, unless it does
/// so through a view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changers {
    /// Tables whose writes change it.
    pub tables: Vec<String>,
    /// Procedures and functions.
    pub routines: Vec<String>,
}

impl Changers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.routines.is_empty()
    }
}

/// What changes `schema.name`, itself or by way of others, as far as the account may see it.
pub(super) async fn of(conn: &mut Conn, schema: &str, name: &str) -> Result<Changers, Problem> {
    /// Beyond this, the programs are no longer tracked.
    const MOST: usize = 256;
    let mut found = Changers::default();
    let mut rest = VecDeque::from([name.to_owned()]);
    while let Some(name_of_one) = rest.pop_front() {
        let like = format!("%{}%", escaped(&name_of_one));
        let tables = [
            referred(conn, schema, &name_of_one).await?,
            with_triggers(conn, schema, &like).await?,
        ];
        let routines = routines(conn, schema, &like).await?;
        let new_tables = tables.into_iter().flatten().map(|table| (table, true));
        let new_routines = routines.into_iter().map(|routine| (routine, false));
        for (new, is_table) in new_tables.chain(new_routines) {
            let known = match is_table {
                true => &mut found.tables,
                false => &mut found.routines,
            };
            if new != name && !known.contains(&new) && known.len() < MOST {
                known.push(new.clone());
                rest.push_back(new);
            }
        }
    }
    Ok(found)
}

/// A name in a pattern of LIKE.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

/// Tables that this one refers to by a foreign key with an action.
async fn referred(conn: &mut Conn, schema: &str, name: &str) -> Result<Vec<String>, Problem> {
    let query = "SELECT DISTINCT REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS \
                 WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ? \
                 AND (UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION'))";
    let tuple = mysql_async::from_row_opt::<String>;
    let what = "the foreign keys with actions";
    rows(conn, what, query, (schema, name), tuple).await
}

/// Tables with a trigger in which this pattern is found.
async fn with_triggers(conn: &mut Conn, schema: &str, like: &str) -> Result<Vec<String>, Problem> {
    let query = "SELECT DISTINCT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS \
                 WHERE TRIGGER_SCHEMA = ? AND ACTION_STATEMENT LIKE ?";
    let tuple = mysql_async::from_row_opt::<String>;
    let what = "the triggers of other tables";
    rows(conn, what, query, (schema, like), tuple).await
}

/// Routines in which this pattern is found: those of the schema, and others that name the schema as well.
async fn routines(conn: &mut Conn, schema: &str, like: &str) -> Result<Vec<String>, Problem> {
    let query = "SELECT DISTINCT ROUTINE_NAME FROM information_schema.ROUTINES \
                 WHERE ROUTINE_DEFINITION LIKE ? AND (ROUTINE_SCHEMA = ? OR ROUTINE_DEFINITION LIKE ?)";
    let of_schema = format!("%{}%", escaped(schema));
    let tuple = mysql_async::from_row_opt::<String>;
    rows(
        conn,
        "the routines",
        query,
        (like, schema, of_schema),
        tuple,
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_themselves_in_a_pattern() {
        assert_eq!(escaped(r"my_table%\"), r"my\_table\%\\");
    }
}
