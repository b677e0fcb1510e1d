//! Whether the server locks rows: some databases that speak MySQL's protocol accept the words and do nothing.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure, Row};

use super::control::{self, Control, texts};
use super::key::KeyForm;
use super::{quote, server};
use crate::catalog::{Catalog, HotTable};

/// Whether two sessions can have one row locked. Nothing is known where all tables are empty, or others have locked
/// what there is, or the two are on different servers, or the server refuses: MariaDB before 10.6 has no SKIP LOCKED.
pub async fn are_none(control: &Control, catalog: &Catalog) -> bool {
    for table in &catalog.tables {
        match is_locked_twice(control, table).await {
            Ok(None) => {}
            Ok(Some(are_none)) => return are_none,
            Err(error) => {
                tracing::debug!("row locks cannot be tried: {error}");
                return false;
            }
        }
    }
    false
}

/// Whether two sessions have locked one row; `None` where no row was found, or where a load balancer has led them to
/// two servers.
async fn is_locked_twice(control: &Control, table: &HotTable) -> Result<Option<bool>, String> {
    let Some(form) = KeyForm::of(table) else {
        return Ok(None);
    };
    let of_control = |error: control::Error| error.to_string();
    let mut one = control.roll_up_connection().await.map_err(of_control)?;
    let mut other = control.roll_up_connection().await.map_err(of_control)?;
    let tried = try_locks(&mut one, &mut other, table, &form).await;
    // A connection that is closed gives its locks back.
    for conn in [one, other] {
        conn.disconnect().await.ok();
    }
    tried.map_err(|error| error.to_string())
}

async fn try_locks(
    one: &mut Conn,
    other: &mut Conn,
    table: &HotTable,
    form: &KeyForm,
) -> Result<Option<bool>, DriverFailure> {
    let base = quote::pair(&table.schema, &table.name);
    let keys = form.select_list();
    let of = |condition: &str| {
        format!("SELECT {keys} FROM {base}{condition} LIMIT 1 FOR UPDATE SKIP LOCKED")
    };
    if server::ask(one).await? != server::ask(other).await? {
        return Ok(None);
    }
    for conn in [&mut *one, &mut *other] {
        conn.query_drop("START TRANSACTION").await?;
    }
    let row: Option<Row> = one.query_first(of("")).await?;
    let Some(key) = row.and_then(|row| form.read(&texts(row))) else {
        return Ok(None);
    };
    let condition = format!(" WHERE {}", form.condition("", &key));
    let again: Option<Row> = other.query_first(of(&condition)).await?;
    if again.is_none() {
        return Ok(Some(false));
    }
    // In a cluster, a change of the row that comes from another member takes the first lock away. Whoever had it is
    // told so at the next statement (1213).
    let still: Option<Row> = one.query_first(of(&condition)).await?;
    Ok(Some(still.is_some()))
}
