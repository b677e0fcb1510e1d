//! What the upstream says of itself and of one table: the queries, and their rows as they come.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, FromRowError, Params, Row};
use serde::{Deserialize, Serialize};

use super::cascades::{self, Cascade};
use super::changers::{self, Changers};
use super::engines;
use super::error::Problem;
use super::letter_case::is_same_table;
use super::show_create;

/// What the upstream is.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) version: String,
    /// Where it is neither MySQL nor MariaDB: its name, and why slots do not go with it.
    pub(crate) other_engine: Option<(&'static str, &'static str)>,
    pub(crate) mariadb: bool,
    pub(crate) lower_case_table_names: u8,
    /// What its sessions start with.
    pub(crate) sql_mode: String,
    /// What the control account may do: the lines of SHOW GRANTS.
    pub(crate) grants: Vec<String>,
    /// MariaDB's check_constraint_checks; elsewhere always on.
    pub(crate) checks: bool,
    /// It has `innodb_snapshot_isolation`.
    pub(crate) has_snapshot_isolation: bool,
}

/// A table as information_schema describes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Facts {
    pub(crate) schema: String,
    pub(crate) name: String,
    /// `BASE TABLE`, `VIEW`, ..
    pub(crate) kind: String,
    pub(crate) engine: String,
    pub(crate) comment: String,
    /// In ordinal order.
    pub(crate) columns: Vec<ColumnFacts>,
    /// One entry per column of an index, in order.
    pub(crate) indexes: Vec<IndexFacts>,
    /// Names of the triggers for UPDATE.
    pub(crate) update_triggers: Vec<String>,
    /// Names of the triggers before INSERT.
    #[serde(default)]
    pub(crate) insert_triggers: Vec<String>,
    /// Names of the others.
    #[serde(default)]
    pub(crate) other_triggers: Vec<String>,
    /// The clauses of the CHECK constraints.
    pub(crate) checks: Vec<String>,
    /// One entry per column of a foreign key of this table.
    pub(crate) foreign_keys: Vec<ForeignKeyFacts>,
    /// What changes its rows besides statements that name it.
    #[serde(default)]
    pub(crate) changed_by: Changers,
    /// Foreign keys by which rows go, or get other keys, in statements that need not name it.
    #[serde(default)]
    pub(crate) cascades: Vec<Cascade>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnFacts {
    pub(crate) name: String,
    pub(crate) data_type: String,
    pub(crate) column_type: String,
    pub(crate) character_set: Option<String>,
    pub(crate) collation: Option<String>,
    pub(crate) precision: u8,
    pub(crate) scale: u8,
    pub(crate) nullable: bool,
    pub(crate) extra: String,
    /// Empty unless the column is generated.
    pub(crate) expression: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IndexFacts {
    pub(crate) index: String,
    pub(crate) unique: bool,
    /// `None` in an index over an expression.
    pub(crate) column: Option<String>,
    /// Holds only the beginning of the column.
    pub(crate) prefix: bool,
    pub(crate) expression: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForeignKeyFacts {
    pub(crate) name: String,
    pub(crate) column: String,
    pub(crate) update_rule: String,
    pub(crate) delete_rule: String,
    /// Schema, table and column that it refers to; empty in a file of an older version.
    #[serde(default)]
    pub(crate) referenced: (String, String, String),
}

impl Facts {
    /// The index entries of the primary key, in key order.
    pub(crate) fn primary_key(&self) -> impl Iterator<Item = &IndexFacts> {
        self.indexes.iter().filter(|index| index.index == "PRIMARY")
    }
}

/// Runs one query and maps its rows.
pub(crate) async fn rows<T>(
    conn: &mut Conn,
    what: &'static str,
    query: &str,
    parameters: impl Into<Params>,
    map: impl Fn(Row) -> Result<T, FromRowError>,
) -> Result<Vec<T>, Problem> {
    let rows: Vec<Row> = conn
        .exec(query, parameters.into())
        .await
        .map_err(|source| Problem::Query { what, source })?;
    rows.into_iter()
        .map(|row| {
            map(row).map_err(|FromRowError(row)| Problem::Query {
                what,
                source: mysql_async::DriverError::FromRow { row }.into(),
            })
        })
        .collect()
}

/// Asks the server what it is and what the account may do.
pub(crate) async fn server(conn: &mut Conn) -> Result<Server, Problem> {
    let variables =
        "SELECT @@version, @@version_comment, @@lower_case_table_names, @@GLOBAL.sql_mode";
    let tuple = mysql_async::from_row_opt::<(String, String, u8, String)>;
    let what = "its version";
    let (version, comment, lower_case_table_names, sql_mode) =
        rows(conn, what, variables, (), tuple)
            .await?
            .pop()
            .unwrap_or_default();
    let mariadb = [&version, &comment]
        .iter()
        .any(|text| text.to_lowercase().contains("mariadb"));
    let show_grants = conn.query::<String, _>("SHOW GRANTS").await;
    let grants = show_grants.map_err(|source| Problem::Query {
        what: "the control account's grants",
        source,
    })?;
    let checks = match mariadb {
        true => rows(
            conn,
            what,
            "SELECT @@GLOBAL.check_constraint_checks",
            (),
            mysql_async::from_row_opt::<u8>,
        )
        .await
        // Before 10.2.1 the variable is not there, and the version is refused anyway.
        .map_or(true, |rows| rows != [0]),
        false => true,
    };
    let has_snapshot_isolation = mariadb && {
        let query = "SELECT COUNT(*) FROM information_schema.GLOBAL_VARIABLES \
                     WHERE VARIABLE_NAME = 'innodb_snapshot_isolation'";
        let found = rows(conn, what, query, (), mysql_async::from_row_opt::<u8>).await?;
        found != [0]
    };
    Ok(Server {
        other_engine: engines::other(&version, &comment),
        version,
        mariadb,
        lower_case_table_names,
        sql_mode,
        grants,
        checks,
        has_snapshot_isolation,
    })
}

/// Names of the tables that the account may see in `schema`, for "did you mean".
pub(crate) async fn table_names(conn: &mut Conn, schema: &str) -> Result<Vec<String>, Problem> {
    let query = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?";
    let tuple = mysql_async::from_row_opt::<String>;
    rows(conn, "the names of tables", query, (schema,), tuple).await
}

/// Describes `schema.name`, spelled as the server spells it; `None` when the account can see no such table.
pub(crate) async fn table(
    conn: &mut Conn,
    server: &Server,
    schema: &str,
    name: &str,
) -> Result<Option<Facts>, Problem> {
    let query = "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(TABLE_COMMENT, '') \
                 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";
    let tuple = mysql_async::from_row_opt::<(String, String, String, String, String)>;
    let found = rows(conn, "the table", query, (schema, name), tuple).await?;
    // Whether information_schema minds letter case depends on the server and on how the query is run.
    let case = server.lower_case_table_names;
    let same = |left: &str, right: &str| is_same_table(case, left, right);
    let Some((schema, name, kind, engine, comment)) = found
        .into_iter()
        .find(|found| same(&found.0, schema) && same(&found.1, name))
    else {
        return Ok(None);
    };
    let triggers = triggers(conn, &schema, &name).await?;
    let names = |of: fn(&Trigger) -> bool| {
        let found = triggers.iter().filter(|trigger| of(trigger));
        found.map(|trigger| trigger.name.clone()).collect()
    };
    let mut facts = Facts {
        columns: columns(conn, &schema, &name).await?,
        indexes: indexes(conn, server, &schema, &name).await?,
        update_triggers: names(Trigger::is_for_update),
        insert_triggers: names(Trigger::is_before_insert),
        other_triggers: names(|trigger| !trigger.is_for_update() && !trigger.is_before_insert()),
        changed_by: changers::of(conn, &schema, &name).await?,
        schema,
        name,
        kind,
        engine,
        comment,
        ..Facts::default()
    };
    match server.mariadb {
        true => shown_constraints(conn, &mut facts).await?,
        false => {
            facts.checks = checks(conn, &facts.schema, &facts.name).await?;
            facts.foreign_keys = foreign_keys(conn, &facts.schema, &facts.name).await?;
        }
    }
    facts.cascades = cascades::of(conn, &facts).await?;
    Ok(Some(facts))
}

/// MariaDB: constraints out of SHOW CREATE TABLE.
async fn shown_constraints(conn: &mut Conn, facts: &mut Facts) -> Result<(), Problem> {
    if facts.kind != "BASE TABLE" {
        return Ok(());
    }
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let show = format!(
        "SHOW CREATE TABLE {}.{}",
        quoted(&facts.schema),
        quoted(&facts.name)
    );
    let shown: Option<(String, String)> = conn.query_first(show).await.map_err(|source| {
        let what = "the constraints";
        Problem::Query { what, source }
    })?;
    let (_, statement) = shown.unwrap_or_default();
    facts.checks = show_create::checks(&statement);
    facts.foreign_keys = show_create::foreign_keys(&statement, &facts.schema);
    Ok(())
}

async fn columns(conn: &mut Conn, schema: &str, name: &str) -> Result<Vec<ColumnFacts>, Problem> {
    let query = "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, \
                 COALESCE(NUMERIC_PRECISION, 0), COALESCE(NUMERIC_SCALE, 0), IS_NULLABLE, EXTRA, \
                 COALESCE(GENERATION_EXPRESSION, '') \
                 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION";
    type Columns = (
        (String, String, String),
        (Option<String>, Option<String>),
        (u64, u64),
        (String, String, String),
    );
    let map = |row: Row| {
        type Flat = (
            String,
            String,
            String,
            Option<String>,
            Option<String>,
            u64,
            u64,
            String,
            String,
            String,
        );
        let (a, b, c, d, e, f, g, h, i, j): Flat = mysql_async::from_row_opt(row)?;
        let grouped: Columns = ((a, b, c), (d, e), (f, g), (h, i, j));
        Ok(grouped)
    };
    let rows = rows(conn, "the columns", query, (schema, name), map).await?;
    Ok(rows
        .into_iter()
        .map(
            |((name, data_type, column_type), text, number, (nullable, extra, expression))| {
                ColumnFacts {
                    name,
                    data_type: data_type.to_lowercase(),
                    column_type,
                    character_set: text.0,
                    collation: text.1,
                    // Of bits for BIT, which no counter is; 65 at most for DECIMAL.
                    precision: u8::try_from(number.0).unwrap_or(u8::MAX),
                    scale: u8::try_from(number.1).unwrap_or(u8::MAX),
                    nullable: nullable.eq_ignore_ascii_case("YES"),
                    extra: extra.to_lowercase(),
                    expression,
                }
            },
        )
        .collect())
}

async fn indexes(
    conn: &mut Conn,
    server: &Server,
    schema: &str,
    name: &str,
) -> Result<Vec<IndexFacts>, Problem> {
    // MariaDB has no index over an expression, nor the column.
    let expression = match server.mariadb {
        true => "''",
        false => "COALESCE(EXPRESSION, '')",
    };
    let query = format!(
        "SELECT INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART IS NOT NULL, {expression} \
         FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? \
         ORDER BY INDEX_NAME, SEQ_IN_INDEX"
    );
    let tuple = mysql_async::from_row_opt::<(String, u64, Option<String>, bool, String)>;
    let rows = rows(conn, "the indexes", &query, (schema, name), tuple).await?;
    Ok(rows
        .into_iter()
        .map(
            |(index, non_unique, column, prefix, expression)| IndexFacts {
                index,
                unique: non_unique == 0,
                column,
                prefix,
                expression,
            },
        )
        .collect())
}

/// A trigger of a table.
struct Trigger {
    name: String,
    /// `UPDATE`; several on MariaDB, with commas.
    events: String,
    /// `BEFORE` or `AFTER`.
    timing: String,
}

impl Trigger {
    fn is_for_update(&self) -> bool {
        self.events.contains("UPDATE")
    }

    fn is_before_insert(&self) -> bool {
        self.events.contains("INSERT") && self.timing == "BEFORE"
    }
}

async fn triggers(conn: &mut Conn, schema: &str, name: &str) -> Result<Vec<Trigger>, Problem> {
    let query = "SELECT TRIGGER_NAME, EVENT_MANIPULATION, ACTION_TIMING FROM information_schema.TRIGGERS \
                 WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ?";
    let map = |row: Row| {
        let (name, events, timing) = mysql_async::from_row_opt(row)?;
        Ok(Trigger {
            name,
            events,
            timing,
        })
    };
    rows(conn, "the triggers", query, (schema, name), map).await
}

async fn checks(conn: &mut Conn, schema: &str, name: &str) -> Result<Vec<String>, Problem> {
    let query = "SELECT c.CHECK_CLAUSE FROM information_schema.TABLE_CONSTRAINTS t \
                 JOIN information_schema.CHECK_CONSTRAINTS c \
                 ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME \
                 WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ? AND t.CONSTRAINT_TYPE = 'CHECK'";
    let tuple = mysql_async::from_row_opt::<String>;
    let checks = rows(conn, "the CHECK constraints", query, (schema, name), tuple).await?;
    Ok(checks.into_iter().map(as_written).collect())
}

/// The clause of a CHECK as it was written. MySQL 9.7 shows each byte of a name beyond ASCII as a character of its own.
fn as_written(clause: String) -> String {
    let bytes = clause.chars().map(|letter| u8::try_from(u32::from(letter)));
    let bytes: Option<Vec<u8>> = bytes.map(Result::ok).collect();
    let written = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    written.unwrap_or(clause)
}

pub(super) async fn foreign_keys(
    conn: &mut Conn,
    schema: &str,
    name: &str,
) -> Result<Vec<ForeignKeyFacts>, Problem> {
    let query = "SELECT k.CONSTRAINT_NAME, k.COLUMN_NAME, r.UPDATE_RULE, r.DELETE_RULE, \
                 k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME \
                 FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r \
                 ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME \
                 AND r.TABLE_NAME = k.TABLE_NAME \
                 WHERE k.TABLE_SCHEMA = ? AND k.TABLE_NAME = ? AND k.REFERENCED_TABLE_NAME IS NOT NULL \
                 ORDER BY k.CONSTRAINT_NAME, k.ORDINAL_POSITION";
    let map = |row: Row| {
        type Flat = (String, String, String, String, String, String, String);
        let (name, column, update_rule, delete_rule, schema, table, referenced) =
            mysql_async::from_row_opt::<Flat>(row)?;
        Ok(ForeignKeyFacts {
            name,
            column,
            update_rule,
            delete_rule,
            referenced: (schema, table, referenced),
        })
    };
    rows(conn, "the foreign keys", query, (schema, name), map).await
}
