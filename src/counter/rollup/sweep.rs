//! Slot rows that are found by looking at all of them: those that hold something, and unused ones.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::dirty::Marks;
use super::pass::{Error, Pass};
use super::text::{self, Lock};
use crate::catalog::{Bounds, HotTable};
use crate::counter::control::Control;
use crate::counter::fold::OpenRow;
use crate::counter::{Slots, node, quote};

/// How many slot rows are found at a time.
const ROWS: usize = 4096;

/// How many are deleted by one statement.
const DELETED: usize = 64;

/// Marks the slot rows that hold something, whoever has put it there; `others` says whether there are more of them.
pub(super) async fn mark_all(
    pass: &Pass<'_>,
    conn: &mut Conn,
    marks: &mut Marks,
) -> Result<(), Error> {
    let found = holding(pass, conn, ROWS + 1).await?;
    marks.others = found.len() > ROWS;
    for row in found {
        marks.add(pass.form, &row);
    }
    Ok(())
}

/// Slot rows that hold something, up to this many.
pub(super) async fn holding(
    pass: &Pass<'_>,
    conn: &mut Conn,
    most: usize,
) -> Result<Vec<OpenRow>, Error> {
    let which = format!("{} LIMIT {most}", text::holds_something(pass.table));
    let found = text::slot_rows(pass.table, pass.form, &which, Lock::None);
    pass.open_rows(conn.query(found).await?)
}

/// How many slot rows hold something.
pub(super) async fn count(table: &HotTable, conn: &mut Conn) -> Result<u64, Error> {
    let held = conn.query_first(text::count(table)).await?;
    held.ok_or(Error::Malformed)
}

/// Deletes slot rows of this proxy's range that hold nothing and are not among those `in_use`. Returns how many.
///
/// A session that knows a slot row updates it, and a miss would lock the gap. So the slot is leased meanwhile, and its
/// rows are no longer known when it is given back.
pub(super) async fn delete_own_idle(
    pass: &Pass<'_>,
    conn: &mut Conn,
    (slots, table): (&Slots, &Arc<HotTable>),
    in_use: &HashSet<OpenRow>,
) -> Result<u64, Error> {
    let mut idle = find_idle(pass, conn, slots.range(table)).await?;
    idle.retain(|row| !in_use.contains(row));
    let mut deleted = 0;
    while let Some(slot) = idle.first().map(|row| row.slot) {
        let rows = idle
            .extract_if(.., |row| row.slot == slot)
            .collect::<Vec<_>>();
        if let Some(lease) = slots.lease_of(table, slot) {
            slots.forget_all(table);
            deleted += delete(pass, conn, &rows).await?;
            drop(lease);
        }
    }
    Ok(deleted)
}

/// Deletes slot rows that hold nothing in ranges that belong to no proxy now. How many.
pub(super) async fn delete_abandoned(
    pass: &Pass<'_>,
    conn: &mut Conn,
    own: Range<u16>,
    control: &Control,
) -> Result<u64, Error> {
    // A proxy that comes meanwhile knows no slot rows yet.
    let numbers = match control.agreement().numbers(control).await {
        Ok(numbers) => numbers,
        Err(error) => {
            tracing::debug!("whose slots are nobody's: {error}");
            return Ok(0);
        }
    };
    let width = (own.end - own.start).max(1);
    let mut deleted = 0;
    for number in 0..Bounds::MAX_SLOTS / width {
        let range = number * width..(number + 1) * width;
        if range == own {
            continue;
        }
        match &numbers {
            Some(numbers) if numbers.contains(&number) => {}
            Some(_) => {
                let idle = find_idle(pass, conn, range).await?;
                deleted += delete(pass, conn, &idle).await?;
            }
            None => {
                let lock = node::lock_of(number);
                if node::has_locked(conn, &lock).await? {
                    let idle = find_idle(pass, conn, range).await?;
                    deleted += delete(pass, conn, &idle).await?;
                    conn.query_drop(format!("SELECT RELEASE_LOCK('{lock}')"))
                        .await?;
                }
            }
        }
    }
    Ok(deleted)
}

async fn find_idle(
    pass: &Pass<'_>,
    conn: &mut Conn,
    range: Range<u16>,
) -> Result<Vec<OpenRow>, Error> {
    let which = format!(
        "NOT ({}) AND {} BETWEEN {} AND {} LIMIT {ROWS}",
        text::holds_something(pass.table),
        quote::name(pass.table.slot_column()),
        range.start,
        range.end - 1,
    );
    let found = text::slot_rows(pass.table, pass.form, &which, Lock::None);
    pass.open_rows(conn.query(found).await?)
}

/// Deletes those that still hold nothing and that no session has locked. Returns how many. As for [`Pass::run`], a
/// connection on which it has failed must be closed.
async fn delete(pass: &Pass<'_>, conn: &mut Conn, rows: &[OpenRow]) -> Result<u64, Error> {
    let mut deleted = 0;
    for rows in rows.chunks(DELETED) {
        conn.query_drop(text::BEGIN).await?;
        deleted += delete_free(pass, conn, rows).await?;
        conn.query_drop(text::END).await?;
    }
    Ok(deleted)
}

async fn delete_free(pass: &Pass<'_>, conn: &mut Conn, rows: &[OpenRow]) -> Result<u64, Error> {
    let which = format!(
        "({}) AND NOT ({})",
        text::named(pass.table, pass.form, rows),
        text::holds_something(pass.table)
    );
    let free = text::slot_rows(pass.table, pass.form, &which, Lock::SkipLocked);
    let free = pass.open_rows(conn.query(free).await?)?;
    if !free.is_empty() {
        conn.query_drop(text::delete(pass.table, pass.form, &free))
            .await?;
    }
    Ok(free.len() as u64)
}
