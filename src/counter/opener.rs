//! Opens slots in a cluster with several writers.
//!
//! There, whoever opens a slot must pass a gate (see [`gates`]), and so may lose against a transaction of another
//! member. A client's transaction would be lost with it. So the control account opens slots, in transactions of its
//! own, which are tried again when they are lost; what sessions need at the same time is opened together. A session
//! increments slots that are open, and nothing else: its row locks are on slot rows that no other session writes.
//!
//! [`gates`]: super::gates

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use rand::RngExt;
use tokio::sync::oneshot;

use super::control::{self, Control};
use super::fold::COMMIT;
use super::{gates, quote, unpoisoned};
use crate::catalog::HotTable;
use crate::metrics::Metrics;
use crate::wire::error_code::is_rolled_back;

/// How many slots are opened in one transaction.
const MOST: usize = 64;

/// How often a transaction that was lost is tried again.
const TRIES: u32 = 40;

/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(8);

/// How often a slot is tried again whose base row others have locked.
const WAITS: u32 = 4;

/// Opens slots for the sessions of a proxy.
#[derive(Clone, Debug)]
pub struct Opener {
    control: Control,
    metrics: Arc<Metrics>,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Request>,
    /// A task works on it.
    is_served: bool,
    /// Why the last slots could not be opened.
    complaint: Option<String>,
}

#[derive(Debug)]
struct Request {
    table: Arc<HotTable>,
    predicate: Vec<u8>,
    guard: String,
    slot: u16,
    mariadb: bool,
    done: oneshot::Sender<bool>,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    NoConnection(#[from] control::Error),
    #[error(transparent)]
    Server(#[from] DriverFailure),
}

/// Whether base can be asked for these counters and touch columns, by any connection: a DATETIME is of the client's
/// time zone.
pub fn may_guard(table: &HotTable, guarded: &[usize]) -> bool {
    let mut touches = guarded
        .iter()
        .filter(|column| table.touches.contains(column));
    touches.all(|&column| table.columns[column].is_timestamp())
}

/// The condition that base has room for these counters, and no later time in these touch columns.
fn guard(table: &HotTable, guarded: &[usize]) -> Option<String> {
    let mut text = String::new();
    for &position in guarded {
        let column = &table.columns[position];
        let name = quote::name(&column.name);
        let counter = table
            .counters
            .iter()
            .find(|counter| counter.column == position);
        text += &match counter {
            Some(counter) => {
                let bounds = counter.bounds.as_ref()?;
                format!(
                    " AND {name} BETWEEN {} AND {}",
                    bounds.base_low, bounds.base_high
                )
            }
            None => format!(" AND {name} <= NOW({})", column.fraction()),
        };
    }
    Some(text)
}

impl Opener {
    /// Over connections of its own, made when they are needed.
    pub fn new(control: Control, metrics: Arc<Metrics>) -> Self {
        Self {
            control,
            metrics,
            queue: Arc::default(),
        }
    }

    /// Opens this slot of the row under `predicate`, which names its key by unqualified columns. False if base has no
    /// room for these counters, if there is no such row, or if others keep it locked.
    pub async fn open(
        &self,
        (table, mariadb): (&Arc<HotTable>, bool),
        predicate: &[u8],
        guarded: &[usize],
        slot: u16,
    ) -> bool {
        let Some(guard) = guard(table, guarded) else {
            return false;
        };
        let (done, opened) = oneshot::channel();
        let is_served = {
            let mut queue = unpoisoned(&self.queue);
            queue.waiting.push(Request {
                table: Arc::clone(table),
                predicate: predicate.to_vec(),
                guard,
                slot,
                mariadb,
                done,
            });
            std::mem::replace(&mut queue.is_served, true)
        };
        if !is_served {
            let opener = self.clone();
            self.control.spawn(async move { opener.serve().await });
        }
        opened.await.unwrap_or_default()
    }

    /// Works until nobody waits.
    async fn serve(&self) {
        let mut conn = None;
        loop {
            let requests = {
                let mut queue = unpoisoned(&self.queue);
                let most = queue.waiting.len().min(MOST);
                if most == 0 {
                    queue.is_served = false;
                    return;
                }
                queue.waiting.drain(..most).collect::<Vec<_>>()
            };
            let mut opened = self.open_or_complain(&mut conn, &requests).await;
            if opened.is_none() && requests.len() > 1 {
                // One of them may be at fault.
                let mut one_by_one = Vec::with_capacity(requests.len());
                for request in requests.chunks(1) {
                    let alone = self.open_or_complain(&mut conn, request).await;
                    one_by_one.push(alone.is_some_and(|opened| opened == [true]));
                }
                opened = Some(one_by_one);
            }
            let opened = opened.unwrap_or_default().into_iter();
            let opened = opened.chain(std::iter::repeat(false));
            for (request, is_open) in requests.into_iter().zip(opened) {
                request.done.send(is_open).ok();
            }
        }
    }

    /// Which of these could be opened; `None` if the server refuses. Complains once, until it goes well again.
    async fn open_or_complain(
        &self,
        conn: &mut Option<Conn>,
        requests: &[Request],
    ) -> Option<Vec<bool>> {
        let opening = self.open_all(conn, requests);
        let opened = self.control.unless_replaced(opening).await;
        let complaint = opened.as_ref().err().map(Error::to_string);
        let before = std::mem::replace(&mut unpoisoned(&self.queue).complaint, complaint.clone());
        if let Some(why) = complaint {
            *conn = None;
            if before.as_ref() != Some(&why) {
                tracing::warn!("slots cannot be opened: {why}");
            }
        }
        opened.ok()
    }

    /// Which of these could be opened.
    async fn open_all(
        &self,
        kept: &mut Option<Conn>,
        requests: &[Request],
    ) -> Result<Vec<bool>, Error> {
        let mut opened = vec![false; requests.len()];
        for again in 0..WAITS {
            let wanted: Vec<usize> = (0..requests.len()).filter(|&at| !opened[at]).collect();
            if wanted.is_empty() {
                break;
            }
            if again > 0 {
                let pause = rand::rng().random_range(PAUSE / 2..PAUSE);
                tokio::time::sleep(pause).await;
            }
            let mut conn = match kept.take() {
                Some(conn) => conn,
                None => self.control.roll_up_connection().await?,
            };
            let mut is_any_locked = false;
            for (&at, found) in wanted
                .iter()
                .zip(self.open_unless_lost(&mut conn, requests, &wanted).await?)
            {
                opened[at] = found == Found::Open;
                is_any_locked |= found == Found::Locked;
            }
            *kept = Some(conn);
            if !is_any_locked {
                break;
            }
        }
        Ok(opened)
    }

    /// Opens these, again and again while other members are first.
    async fn open_unless_lost(
        &self,
        conn: &mut Conn,
        requests: &[Request],
        wanted: &[usize],
    ) -> Result<Vec<Found>, DriverFailure> {
        let mut tries = 0;
        loop {
            match open_at_once(conn, requests, wanted).await {
                Err(DriverFailure::Server(error))
                    if is_rolled_back(error.code, error.message.as_bytes()) && tries < TRIES =>
                {
                    tries += 1;
                    self.metrics.count_retried();
                    // MySQL leaves the session in a transaction where a COMMIT has failed late.
                    conn.query_drop("ROLLBACK").await?;
                    let pause = PAUSE.min(Duration::from_millis(u64::from(tries)));
                    let pause = rand::rng().random_range(Duration::ZERO..pause);
                    tokio::time::sleep(pause).await;
                }
                done => return done,
            }
        }
    }
}

/// What became of a slot that was to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Open,
    /// Others have locked the base row.
    Locked,
    /// There is no such row, or it has no room.
    Not,
}

async fn open_at_once(
    conn: &mut Conn,
    requests: &[Request],
    wanted: &[usize],
) -> Result<Vec<Found>, DriverFailure> {
    let mut found = Vec::with_capacity(wanted.len());
    let mut tables: Vec<&HotTable> = Vec::new();
    conn.query_drop("START TRANSACTION").await?;
    for &at in wanted {
        let request = &requests[at];
        let table: &HotTable = &request.table;
        let (slot, predicate) = (request.slot, &request.predicate);
        let open = gates::open(table, request.mariadb, slot, predicate, &request.guard);
        conn.query_drop(open).await?;
        let is_open = conn.affected_rows() > 0;
        found.push(if is_open { Found::Open } else { Found::Not });
        let is_known = |known: &&HotTable| {
            known.slot_name == table.slot_name && known.slot_schema == table.slot_schema
        };
        if is_open && !tables.iter().any(is_known) {
            tables.push(table);
        }
    }
    for gate in tables.into_iter().filter_map(gates::of_table) {
        conn.query_drop(gate).await?;
    }
    conn.query_drop(COMMIT).await?;
    for (&at, found) in wanted.iter().zip(&mut found) {
        if *found == Found::Not && is_there(conn, &requests[at]).await? {
            *found = Found::Locked;
        }
    }
    Ok(found)
}

/// Whether there is such a row, locked or not.
async fn is_there(conn: &mut Conn, request: &Request) -> Result<bool, DriverFailure> {
    let base = quote::pair(&request.table.schema, &request.table.name);
    let start = format!("SELECT 1 FROM {base} WHERE (");
    let end = format!("){}", request.guard);
    let text = [start.as_bytes(), &request.predicate, end.as_bytes()].concat();
    Ok(conn.query_first::<u8, _>(text).await?.is_some())
}
