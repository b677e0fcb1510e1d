//! What proxies before one server tell each other, by user locks (GET_LOCK).

use std::collections::BTreeMap;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::{Claim, Here, Own, Partners, drain};
use crate::config::TableName;
use crate::counter::node::{HERE, MOST_NODES};

pub(super) async fn drained(
    conn: &mut Conn,
    tables: &[TableName],
) -> Result<Vec<usize>, DriverFailure> {
    let locks = tables.iter().map(drain).enumerate();
    let used = users(conn, locks).await?;
    Ok(used.into_keys().collect())
}

pub(super) async fn here(conn: &mut Conn, own: Option<Own>) -> Result<Here, DriverFailure> {
    users_besides(conn, HERE, own).await
}

pub(super) async fn is_heard(conn: &mut Conn, own: Own) -> Result<bool, DriverFailure> {
    let lock = (0, format!("{HERE}.{}", own.number));
    let users = users(conn, std::iter::once(lock)).await?;
    Ok(users.get(&0).copied() == own.connection)
}

pub(super) async fn others(
    conn: &mut Conn,
    claim: &str,
    own: Option<Own>,
) -> Result<Vec<usize>, DriverFailure> {
    let used = users_besides(conn, claim, own).await?;
    Ok(used.into_keys().collect())
}

/// Who says this, by the number, but for this proxy: it is known by its connection, for another may have its number by
/// now.
async fn users_besides(
    conn: &mut Conn,
    claim: &str,
    own: Option<Own>,
) -> Result<BTreeMap<usize, u64>, DriverFailure> {
    let locks = (0..MOST_NODES).map(|number| (usize::from(number), format!("{claim}.{number}")));
    let mut used = users(conn, locks).await?;
    used.retain(|_, connection| own.and_then(|own| own.connection) != Some(*connection));
    Ok(used)
}

pub(super) async fn partners(
    conn: &mut Conn,
    tables: &[TableName],
    here: &Here,
) -> Result<Partners, DriverFailure> {
    let most = usize::from(MOST_NODES);
    let mut partners = Vec::new();
    for claim in [Claim::Reads, Claim::Base] {
        let locks = tables.iter().enumerate().flat_map(|(position, table)| {
            let name = claim.name(table);
            let lock = move |number| (position * most + number, format!("{name}.{number}"));
            here.keys().copied().map(lock)
        });
        for (place, connection) in users(conn, locks).await? {
            if let Some(table) = tables.get(place / most) {
                partners.push(((table.clone(), connection), place % most));
            }
        }
    }
    Ok(partners)
}

/// The connections that hold these locks.
async fn users(
    conn: &mut Conn,
    locks: impl Iterator<Item = (usize, String)>,
) -> Result<BTreeMap<usize, u64>, DriverFailure> {
    let asked = locks.map(|(place, lock)| format!("CONCAT({place}, ' ', IS_USED_LOCK('{lock}'))"));
    let asked: Vec<_> = asked.collect();
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    // It is NULL for a lock that is free, which is left out.
    let question = format!("SELECT CONCAT_WS(',', {})", asked.join(", "));
    let used: Option<String> = conn.query_first(question).await?;
    let used = used.unwrap_or_default();
    let user = |user: &str| {
        let (place, connection) = user.split_once(' ')?;
        Some((place.parse().ok()?, connection.parse().ok()?))
    };
    Ok(used.split(',').filter_map(user).collect())
}
