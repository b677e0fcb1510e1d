//! Connections of the control account that look at what is not committed and do nothing else; each knows its server.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure, Opts, Row};
use tokio::sync::Semaphore;

use super::server::{self, Server};
use super::unpoisoned;

/// How many may look at the same time; further ones wait.
const MOST: usize = 8;

/// A connection that was idle for this long is not used again: servers close such connections.
const IDLE: Duration = Duration::from_secs(60);

/// The connections that are idle at the moment.
#[derive(Debug)]
pub(super) struct Looks {
    options: ArcSwap<Opts>,
    idle: Mutex<Vec<Look>>,
    places: Semaphore,
}

/// A connection.
#[derive(Debug)]
struct Look {
    conn: Conn,
    server: Server,
    since: Instant,
}

/// The result of a query.
pub(super) struct Answer {
    /// The server that has answered.
    pub server: Server,
    pub rows: Vec<Row>,
}

impl Looks {
    pub(super) fn new(options: Opts) -> Self {
        Self {
            options: ArcSwap::from_pointee(options),
            idle: Mutex::default(),
            places: Semaphore::new(MOST),
        }
    }

    /// New connections are made with these options from now on.
    pub(super) fn lead_to(&self, options: Opts) {
        self.options.store(Arc::new(options));
    }

    /// Asks the server to which `wanted` belongs, or, where that is `None`, the one to which the address leads now. If
    /// a new connection leads to another server than wanted, that server is not asked: there are no rows then.
    pub(super) async fn ask(
        &self,
        wanted: Option<&Server>,
        question: &str,
    ) -> Result<Answer, DriverFailure> {
        let _place = self.places.acquire().await;
        while let Some(mut look) = wanted.and_then(|server| self.take(server)) {
            // The server may have closed it.
            if let Ok(rows) = look.conn.query(question).await {
                return Ok(self.answered(look, rows));
            }
        }
        let mut conn = Conn::new(Opts::clone(&self.options.load())).await?;
        let mut look = Look {
            server: server::ask(&mut conn).await?,
            conn,
            since: Instant::now(),
        };
        let rows = match wanted.is_none_or(|wanted| *wanted == look.server) {
            true => look.conn.query(question).await?,
            false => Vec::new(),
        };
        Ok(self.answered(look, rows))
    }

    fn answered(&self, mut look: Look, rows: Vec<Row>) -> Answer {
        look.since = Instant::now();
        let server = look.server.clone();
        let mut idle = unpoisoned(&self.idle);
        idle.retain(|look| look.since.elapsed() < IDLE);
        if idle.len() < MOST {
            idle.push(look);
        }
        Answer { server, rows }
    }

    fn take(&self, server: &Server) -> Option<Look> {
        let mut idle = unpoisoned(&self.idle);
        idle.retain(|look| look.since.elapsed() < IDLE);
        let position = idle.iter().rposition(|look| look.server == *server)?;
        Some(idle.swap_remove(position))
    }

    /// Closes all idle connections.
    pub(super) async fn close(&self) {
        let idle = std::mem::take(&mut *unpoisoned(&self.idle));
        for look in idle {
            if let Err(error) = look.conn.disconnect().await {
                tracing::debug!("closing a control connection: {error}");
            }
        }
    }
}
