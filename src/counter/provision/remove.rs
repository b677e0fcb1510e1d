//! Removes a slot table.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::ddl::slot_table;
use super::{Problem, run};
use crate::catalog::HotTable;
use crate::counter::agreement::Claim;
use crate::counter::control::Control;
use crate::counter::{grants, quote, rollup};
use crate::wire::error_code::{ER_LOCK_WAIT_TIMEOUT, ER_NO_SUCH_TABLE, lacks_privilege};

/// What happened to a slot table that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It held nothing and is gone.
    Done,
    /// There was none.
    Absent,
    /// It holds something, and stays.
    HoldsValues,
    /// A session uses it, and did not end within a second.
    InUse,
}

/// Removes a table's slot table if it holds nothing, which is seen under a lock that keeps it so.
///
/// # Errors
///
/// What the server says.
pub async fn remove(control: &Control, table: &HotTable) -> Result<Removal, Problem> {
    if control.has_several_writers() {
        return remove_from_cluster(control, table).await;
    }
    let slots = slot_table(table);
    let conn = control.roll_up_connection().await;
    let mut conn = conn.map_err(|source| Problem::NoConnection { source })?;
    let lock = format!("LOCK TABLES {} WRITE", quote::table(&slots));
    match conn.query_drop(lock).await {
        Ok(()) => {}
        Err(DriverFailure::Server(error)) if error.code == ER_NO_SUCH_TABLE => {
            return Ok(Removal::Absent);
        }
        Err(DriverFailure::Server(error)) if error.code == ER_LOCK_WAIT_TIMEOUT => {
            return Ok(Removal::InUse);
        }
        Err(DriverFailure::Server(error)) if lacks_privilege(error.code) => {
            return Err(Problem::MayNotLock {
                slots: slots.to_string(),
                message: error.message,
                grant: grants::to_lock(&slots, ".."),
            });
        }
        Err(source) => {
            return Err(Problem::Failed {
                action: "lock",
                slots: slots.to_string(),
                source,
            });
        }
    }
    let removal = match held(&mut conn, table).await? {
        Some(1..) => Removal::HoldsValues,
        _ => {
            let drop = format!("DROP TABLE {}", quote::table(&slots));
            run(&mut conn, "drop", table, &drop).await?;
            Removal::Done
        }
    };
    // With the connection, what is locked is free again.
    conn.disconnect().await.ok();
    Ok(removal)
}

/// How many slot rows hold something; `None` if there is no slot table.
async fn held(conn: &mut Conn, table: &HotTable) -> Result<Option<u64>, Problem> {
    let held: Result<Option<u64>, _> = conn.query_first(rollup::count(table)).await;
    match held {
        Ok(held) => Ok(held.or(Some(0))),
        Err(DriverFailure::Server(error)) if error.code == ER_NO_SUCH_TABLE => Ok(None),
        Err(source) => Err(Problem::Failed {
            action: "read",
            slots: slot_table(table).to_string(),
            source,
        }),
    }
}

/// The same where a lock of the table is one member's: all proxies have said before that they use it no longer. On
/// Galera who writes under LOCK TABLES while a change of the table is on its way would hang for ever.
async fn remove_from_cluster(control: &Control, table: &HotTable) -> Result<Removal, Problem> {
    let agreement = control.agreement();
    // No proxy makes it meanwhile.
    let Some(said) = agreement.begin_ddl(control, table).await? else {
        return Ok(Removal::InUse);
    };
    let removed = async {
        // What the proxies did before they left is here then.
        agreement.catch_up(control).await?;
        // This process may have stood still, and proxies have come back to it since it asked them.
        for claim in [Claim::Slots, Claim::Reads] {
            let claim = claim.name(&slot_table(table));
            if !agreement.others(control, &claim, None).await?.is_empty() {
                return Ok(Removal::InUse);
            }
        }
        let conn = control.roll_up_connection().await;
        let mut conn = conn.map_err(|source| Problem::NoConnection { source })?;
        let removal = match held(&mut conn, table).await? {
            None => Removal::Absent,
            Some(1..) => Removal::HoldsValues,
            Some(0) => {
                let drop = format!("DROP TABLE {}", quote::table(&slot_table(table)));
                match run(&mut conn, "drop", table, &drop).await {
                    Err(Problem::InUse { .. }) => Removal::InUse,
                    dropped => dropped.map(|()| Removal::Done)?,
                }
            }
        };
        conn.disconnect().await.ok();
        Ok(removal)
    };
    let removed = removed.await;
    said.end(control).await;
    removed
}
