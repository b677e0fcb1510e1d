//! Operations on links. Those that write keep the counts: in one transaction with the link, by an upsert.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::graph::{Link, Links};
use super::{data, now};
use crate::session::{Interrupted, Session};
use crate::workload::Done;

/// The most links of a list.
const LONGEST_LIST: u32 = 10_000;

/// The affected rows of an upsert that has changed a row which was there.
const CHANGED: u64 = 2;

/// An operation and its inputs.
pub enum LinkTask {
    /// Adds a link, or updates it if it is there.
    Add(Link, String),
    /// Hides a link.
    Delete(Link),
    /// Reads how many links there are.
    Count(Link),
    /// Reads some.
    Get(Links),
    /// Reads those of one type, latest first.
    List(Link),
}

impl LinkTask {
    pub fn add(link: Link, random: &mut SmallRng) -> Self {
        let length = random.random_range(4..=12);
        Self::Add(link, data(length, random))
    }

    pub fn delete(link: Link) -> Self {
        Self::Delete(link)
    }

    pub fn count(link: Link) -> Self {
        Self::Count(link)
    }

    pub fn get(links: Links) -> Self {
        Self::Get(links)
    }

    pub fn list(link: Link) -> Self {
        Self::List(link)
    }

    pub async fn play(&self, session: &mut Session) -> Result<Done, Interrupted> {
        let counted = match self {
            Self::Add(link, data) => add(session, *link, data).await?,
            Self::Delete(link) => delete(session, *link).await?,
            Self::Count(link) => {
                let statement = format!(
                    "SELECT count FROM counttable WHERE id = {} AND link_type = {}",
                    link.from, link.link_type
                );
                session.rows(&statement).await?;
                0
            }
            Self::Get(links) => {
                let to: Vec<_> = links.to.iter().map(u64::to_string).collect();
                let statement = format!(
                    "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable \
                     WHERE id1 = {} AND link_type = {} AND id2 IN ({})",
                    links.from,
                    links.link_type,
                    to.join(", ")
                );
                session.rows(&statement).await?;
                0
            }
            Self::List(link) => {
                let statement = format!(
                    "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable FORCE INDEX (id1_type) \
                     WHERE id1 = {} AND link_type = {} AND time >= 0 AND time <= {} AND visibility = 1 \
                     ORDER BY time DESC LIMIT 0, {LONGEST_LIST}",
                    link.from,
                    link.link_type,
                    i64::MAX
                );
                session.rows(&statement).await?;
                0
            }
        };
        Ok(Done::counting(counted))
    }
}

/// Returns how many counts were changed.
async fn add(session: &mut Session, link: Link, data: &str) -> Result<u64, Interrupted> {
    let Link {
        from,
        link_type,
        to,
    } = link;
    let time = now();
    session.change("START TRANSACTION").await?;
    let statement = format!(
        "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version) \
         VALUES ({from}, {to}, {link_type}, 1, '{data}', {time}, 0) \
         ON DUPLICATE KEY UPDATE visibility = VALUES(visibility)"
    );
    // None when the link was there already, and two when it was hidden.
    let affected = session.change(&statement).await?;
    let mut changed = 0;
    if affected != 0 {
        let statement = format!(
            "INSERT INTO counttable (id, link_type, count, time, version) VALUES ({from}, {link_type}, 1, {time}, 0) \
             ON DUPLICATE KEY UPDATE count = count + 1, version = version + 1, time = {time}"
        );
        changed = u64::from(session.change(&statement).await? == CHANGED);
    }
    if affected != 1 {
        let statement = format!(
            "UPDATE linktable SET visibility = 1, data = '{data}', time = {time}, version = version + 1 \
             WHERE id1 = {from} AND id2 = {to} AND link_type = {link_type}"
        );
        session.change(&statement).await?;
    }
    session.change("COMMIT").await?;
    Ok(changed)
}

/// Returns how many counts were changed.
async fn delete(session: &mut Session, link: Link) -> Result<u64, Interrupted> {
    let Link {
        from,
        link_type,
        to,
    } = link;
    let place = format!("id1 = {from} AND id2 = {to} AND link_type = {link_type}");
    session.change("START TRANSACTION").await?;
    let statement = format!("SELECT visibility FROM linktable WHERE {place} FOR UPDATE");
    let found = session.rows(&statement).await?.pop();
    let mut changed = 0;
    if let Some(row) = found
        && row.number(0)? == 1
    {
        let statement = format!("UPDATE linktable SET visibility = 0 WHERE {place}");
        session.change(&statement).await?;
        let time = now();
        let statement = format!(
            "INSERT INTO counttable (id, link_type, count, time, version) VALUES ({from}, {link_type}, 0, {time}, 0) \
             ON DUPLICATE KEY UPDATE count = IF (count = 0, 0, count - 1), time = {time}, version = version + 1"
        );
        changed = u64::from(session.change(&statement).await? == CHANGED);
    }
    session.change("COMMIT").await?;
    Ok(changed)
}
