//! Follows the server's binary log.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::time::Duration;

use futures_core::Stream;
use mysql_async::binlog::EventType;
use mysql_async::binlog::events::Event;
use mysql_async::prelude::Queryable;
use mysql_async::{BinlogStream, Error as DriverFailure};
use tokio::time::{Instant, sleep_until, timeout};

use super::events;
use super::judge::Judge;
use super::others::{self, Others};
use super::position::{self, Position};
use super::report::Reports;
use super::transaction::Transaction;
use super::watched::Watched;
use crate::counter::control::{Control, Error as ControlError};
use crate::counter::grants;
use crate::counter::node::Claims;
use crate::counter::server::Server;
use crate::metrics::Metrics;
use crate::wire::error_code::{ER_MASTER_FATAL_ERROR_READING_BINLOG, lacks_privilege};

/// A log from which nothing comes for so long, not even that there is nothing, is not read any more.
const SILENCE: Duration = Duration::from_secs(20);

/// How long to wait before the log is read again.
const PAUSE: Duration = Duration::from_secs(1);

/// How often the log is tried from a place from which nothing can be read, before it is read from its end.
const STALLS: u32 = 5;

/// How often the tables are looked up that are watched.
const LOOK: Duration = Duration::from_millis(500);

/// Why the binary log is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The control account has no connection.
    #[error(transparent)]
    NoConnection(#[from] ControlError),
    /// The server refuses.
    #[error(transparent)]
    Server(DriverFailure),
    /// It keeps none.
    #[error("this server writes no binary log (log_bin is off)")]
    NoLog,
    /// The control account may not.
    #[error("the control account may not read the binary log ({message}); allow it: {grant}")]
    Forbidden {
        /// The server's words.
        message: String,
        /// The GRANT.
        grant: String,
    },
    /// What comes is no event.
    #[error("an event of the binary log cannot be read: {0}")]
    Event(#[from] io::Error),
    /// Nothing comes.
    #[error("nothing has come from the binary log for {SILENCE:?}")]
    Silent,
    /// The server has closed the stream.
    #[error(
        "the server has ended the binary log's stream; does another replica have the same server_id?"
    )]
    Ended,
    /// The address leads to another server.
    #[error("another server has taken the place of this one")]
    Replaced,
}

impl From<DriverFailure> for Error {
    fn from(failure: DriverFailure) -> Self {
        match failure {
            DriverFailure::Server(error) if lacks_privilege(error.code) => Self::Forbidden {
                message: error.message,
                grant: grants::for_sentinel(".."),
            },
            failure => Self::Server(failure),
        }
    }
}

impl Error {
    /// The log no longer has what was to be read next.
    fn is_lost_position(&self) -> bool {
        matches!(self, Self::Server(DriverFailure::Server(error))
            if error.code == ER_MASTER_FATAL_ERROR_READING_BINLOG)
    }
}

/// Reads the binary log as the replica `server_id` would, and reports whoever changes counters past the proxy. Returns
/// only where that cannot be told.
pub async fn keep(
    server_id: u32,
    (control, claims): (&Control, &Claims),
    watched: impl Fn() -> Watched,
    (reports, metrics): (&Reports, &Metrics),
) {
    if control.has_several_writers() {
        tracing::warn!(
            "sentinel: it does not watch a cluster whose members all take writes: a member's log has the threads of all of them"
        );
        return;
    }
    control.threads().remember();
    let others = Others::default();
    let judge = Judge::new((control, claims, &others), (reports, metrics));
    let follow = follow(server_id, control, watched, judge);
    tokio::join!(follow, others::say(control, claims, &others));
}

/// Never returns.
async fn follow(
    server_id: u32,
    control: &Control,
    watched: impl Fn() -> Watched,
    mut judge: Judge<'_>,
) {
    let mut place = Place::default();
    let mut complaint: Option<String> = None;
    loop {
        let before = place.last.clone();
        let follow = Follow {
            server_id,
            control,
            watched: &watched,
            judge: &mut judge,
            place: &mut place,
            was_told: complaint.is_some(),
        };
        let Err(error) = follow.run().await;
        if std::mem::take(&mut place.is_read) {
            complaint = None;
            place.stalls = match place.last == before {
                true => place.stalls + 1,
                false => 0,
            };
        }
        if error.is_lost_position() || place.stalls >= STALLS {
            place = Place::default();
            tracing::warn!("sentinel: goes on from where the log ends now");
        }
        let error = error.to_string();
        if complaint.as_ref() != Some(&error) {
            tracing::warn!("sentinel: {error}; writes past the proxy are not reported meanwhile");
            complaint = Some(error);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// How far the log has been read.
#[derive(Debug, Default)]
struct Place {
    /// Behind the last transaction, and on which server.
    last: Option<(Server, Position)>,
    /// The server has sent something of its log.
    is_read: bool,
    /// How often nothing could be read from here.
    stalls: u32,
}

/// One connection that follows the log.
struct Follow<'a, 'b, W> {
    server_id: u32,
    control: &'a Control,
    watched: &'a W,
    judge: &'a mut Judge<'b>,
    place: &'a mut Place,
    /// It has been said that the log is not read.
    was_told: bool,
}

impl<W: Fn() -> Watched> Follow<'_, '_, W> {
    /// The log, from where it is read, and the server's own id.
    async fn begin(&self, server: &Server) -> Result<(BinlogStream, Position, u32), Error> {
        let mut conn = self.control.roll_up_connection().await?;
        let own_id: Option<u32> = conn.query_first("SELECT @@GLOBAL.server_id").await?;
        let from = match &self.place.last {
            Some((of, position)) if of == server => position.clone(),
            _ => Position::now(&mut conn).await?,
        };
        let stream = position::stream(conn, &from, self.server_id).await?;
        Ok((stream, from, own_id.unwrap_or_default()))
    }

    async fn run(self) -> Result<Infallible, Error> {
        let mut servers = self.control.servers();
        let server = servers.borrow_and_update().clone();
        let begun = timeout(SILENCE, self.begin(&server)).await;
        let (mut stream, from, own_id) = begun.unwrap_or(Err(Error::Silent))?;
        let mut reading = Reading::at(from);
        let mut watched = (self.watched)();
        let mut look_at = Instant::now() + LOOK;
        let mut silent_at = Instant::now() + SILENCE;
        loop {
            let due = self.judge.due().map(Instant::from);
            let due = due.map_or(look_at, |due| look_at.min(due));
            let event = tokio::select! {
                event = poll_fn(|context| Pin::new(&mut stream).poll_next(context)) => {
                    event.ok_or(Error::Ended)??
                }
                () = sleep_until(due) => {
                    if Instant::now() >= look_at {
                        watched = (self.watched)();
                        look_at = Instant::now() + LOOK;
                    }
                    self.judge.judge().await;
                    continue;
                }
                () = sleep_until(silent_at) => return Err(Error::Silent),
                _ = servers.changed() => return Err(Error::Replaced),
            };
            silent_at = Instant::now() + SILENCE;
            let said = events::read(&event, |id| stream.get_tme(id), &watched, own_id)?;
            self.judge.take(reading.transaction.hear(said));
            let was_described = reading.is_described;
            if reading.pass(&event) {
                self.place.last = Some((server.clone(), reading.position.clone()));
            }
            if reading.is_described && !was_described {
                self.place.is_read = true;
                let again = if self.was_told { " again" } else { "" };
                let position = &reading.position;
                tracing::info!("sentinel: reads the binary log{again}, from {position} on");
            }
        }
    }
}

/// How far a connection has read.
#[derive(Debug)]
struct Reading {
    position: Position,
    transaction: Transaction,
    /// The server has said in which format its events are.
    is_described: bool,
    /// Where the compressed transaction ends whose events these are.
    payload_end: Option<u32>,
}

impl Reading {
    fn at(position: Position) -> Self {
        Self {
            position,
            transaction: Transaction::default(),
            is_described: false,
            payload_end: None,
        }
    }

    /// The event has been heard. Returns whether the log can be read again from behind it.
    fn pass(&mut self, event: &Event) -> bool {
        let end = event.header().log_pos();
        match event.header().event_type() {
            Ok(EventType::FORMAT_DESCRIPTION_EVENT) => self.is_described = true,
            Ok(EventType::TRANSACTION_PAYLOAD_EVENT) => self.payload_end = Some(end),
            // The first names the file that was asked for. MariaDB adds a checksum, of which nothing is known yet.
            Ok(EventType::ROTATE_EVENT) if !self.is_described => return false,
            Ok(EventType::ROTATE_EVENT) => {
                let Some((file, offset)) = events::next_file(event) else {
                    return false;
                };
                self.position = Position { file, offset };
                return true;
            }
            _ => {}
        }
        if !self.transaction.is_between() {
            return false;
        }
        let end = u64::from(self.payload_end.take().unwrap_or(end));
        let is_further = end > self.position.offset;
        if is_further {
            self.position.offset = end;
        }
        is_further
    }
}
