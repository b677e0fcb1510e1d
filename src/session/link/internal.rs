//! Internal statements on the client's upstream connection: their responses are read here, and the client never sees
//! them.

use super::Link;
use crate::session::error::Error;
use crate::wire::column::text_row;
use crate::wire::command;
use crate::wire::error_code::{
    self, ER_CHECKREAD, ER_QUERY_INTERRUPTED, is_killed, is_over_time, is_rolled_back,
    may_be_tried_again,
};
use crate::wire::packet::encode_packet;
use crate::wire::reader::Malformed;
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::response::{Next, PacketKind, PrepareOk, ResponseKind, ResponseTracker};

/// The maximum size of a packet in the response to an internal statement, in bytes.
pub const LARGEST_ANSWER: usize = 1024 * 1024;

/// The response to an internal statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InternalResponse {
    /// OK: the payload.
    Ok(Vec<u8>),
    /// A result set: the values of its last row.
    Row(Vec<Option<Vec<u8>>>),
    /// ERR: the payload.
    Err(Vec<u8>),
}

impl InternalResponse {
    /// The ERR payload if the statement failed.
    pub fn into_result(self) -> Result<(), Vec<u8>> {
        match self {
            Self::Err(payload) => Err(payload),
            Self::Ok(_) | Self::Row(_) => Ok(()),
        }
    }
}

/// The values of a text protocol row; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// Reads a row of what the proxy asks for: ASCII, which the server may send in UTF-16 or UTF-32, by the session's
/// `character_set_results`.
pub fn internal_row(payload: &[u8]) -> Result<Row, Malformed> {
    let mut row = text_row(payload)?;
    for value in row.iter_mut().flatten() {
        value.retain(|&byte| byte != 0);
    }
    Ok(row)
}

/// A statement that the upstream has prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternalStatement {
    pub id: u32,
    /// Payloads of the column definitions.
    pub columns: Vec<Vec<u8>>,
}

impl Link {
    /// Writes commands to the upstream.
    pub async fn write_upstream(&mut self, packets: &[u8]) -> Result<(), Error> {
        let written = self.upstream.write(packets).await;
        written.map_err(Error::NotSent)
    }

    /// Pings the upstream. That shows the server that the connection is in use, and shows the session that it is
    /// alive.
    pub async fn ping(&mut self) -> Result<ResponseTracker, Error> {
        self.write_ping().await?;
        let mut tracker = ResponseTracker::new(ResponseKind::Single, self.capabilities);
        self.read_packet(&mut tracker, &mut Vec::new()).await?;
        Ok(tracker)
    }

    /// Sends COM_PING.
    pub async fn write_ping(&mut self) -> Result<(), Error> {
        let mut packet = Vec::new();
        encode_packet(&mut packet, 0, &[command::PING]);
        self.write_upstream(&packet).await
    }

    /// Reads the response to an internal COM_QUERY.
    pub async fn read_internal(&mut self) -> Result<(InternalResponse, ResponseTracker), Error> {
        let mut tracker = ResponseTracker::new(ResponseKind::Results, self.capabilities);
        let mut payload = Vec::new();
        let mut row = Vec::new();
        let packet_kind = loop {
            let packet_kind = self.read_packet(&mut tracker, &mut payload).await?;
            match packet_kind {
                PacketKind::Row => row = internal_row(&payload)?,
                _ if !tracker.is_done() => {}
                packet_kind => break packet_kind,
            }
        };
        let response = match packet_kind {
            PacketKind::Ok => InternalResponse::Ok(payload),
            PacketKind::RowsEnd => InternalResponse::Row(row),
            _ => InternalResponse::Err(payload),
        };
        Ok((response, tracker))
    }

    /// Reads the response to an internal query: at most this many of its first rows. The inner error is an ERR
    /// payload.
    pub async fn read_internal_rows(
        &mut self,
        most: usize,
    ) -> Result<(Result<Vec<Row>, Vec<u8>>, ResponseTracker), Error> {
        let mut tracker = ResponseTracker::new(ResponseKind::Results, self.capabilities);
        let mut payload = Vec::new();
        let mut rows = Vec::new();
        let mut error = None;
        while !tracker.is_done() {
            match self.read_packet(&mut tracker, &mut payload).await? {
                PacketKind::Row if rows.len() < most => rows.push(internal_row(&payload)?),
                PacketKind::Err => error = Some(payload.clone()),
                _ => {}
            }
        }
        let rows = match error {
            Some(payload) => Err(payload),
            None => Ok(rows),
        };
        Ok((rows, tracker))
    }

    /// Reads the response to an internal COM_STMT_PREPARE. The inner error is its ERR payload.
    pub async fn read_prepared(&mut self) -> Result<Result<InternalStatement, Vec<u8>>, Error> {
        let mut tracker = ResponseTracker::new(ResponseKind::Prepared, self.capabilities);
        let mut payload = Vec::new();
        let mut statement = InternalStatement {
            id: 0,
            columns: Vec::new(),
        };
        while !tracker.is_done() {
            match self.read_packet(&mut tracker, &mut payload).await? {
                PacketKind::PrepareOk => statement.id = PrepareOk::decode(&payload)?.statement_id,
                PacketKind::Column => statement.columns.push(payload.clone()),
                PacketKind::Err => return Ok(Err(payload)),
                _ => {}
            }
        }
        Ok(Ok(statement))
    }

    /// Reads the column definitions of a response of this kind, and skips its rows. The inner error is the ERR payload
    /// that it ends with before them.
    pub async fn read_columns(
        &mut self,
        response_kind: ResponseKind,
    ) -> Result<(Result<Vec<Vec<u8>>, Vec<u8>>, ResponseTracker), Error> {
        let mut tracker = ResponseTracker::new(response_kind, self.capabilities);
        let (mut columns, mut error) = (Vec::new(), None);
        let mut payload = Vec::new();
        while !tracker.is_done() {
            match tracker.next(self.upstream.buffered()) {
                Next::Need(_) => self.await_upstream_only().await?,
                Next::Packet {
                    packet_kind: packet_kind @ (PacketKind::Column | PacketKind::Err),
                    ..
                } => {
                    let read = self.upstream.read_payload(&mut payload, LARGEST_ANSWER);
                    read.await.map_err(Error::Upstream)?;
                    tracker.read_whole(&payload);
                    match packet_kind {
                        PacketKind::Column => columns.push(std::mem::take(&mut payload)),
                        _ => error = Some(std::mem::take(&mut payload)),
                    }
                }
                Next::Packet { length, .. } => self.skip_upstream(length).await?,
            }
        }
        let columns = match error.filter(|_| columns.is_empty()) {
            Some(error) => Err(error),
            None => Ok(columns),
        };
        Ok((columns, tracker))
    }

    /// Reads one whole packet of an internal response.
    pub async fn read_packet(
        &mut self,
        tracker: &mut ResponseTracker,
        payload: &mut Vec<u8>,
    ) -> Result<PacketKind, Error> {
        loop {
            match tracker.next(self.upstream.buffered()) {
                Next::Need(_) => self.await_upstream_only().await?,
                Next::Packet { packet_kind, .. } => {
                    let read = self.upstream.read_payload(payload, LARGEST_ANSWER).await;
                    read.map_err(Error::Upstream)?;
                    tracker.read_whole(payload);
                    if packet_kind == PacketKind::Err {
                        self.note_refusal(payload);
                    }
                    return Ok(packet_kind);
                }
            }
        }
    }
}

/// What an ERR packet means for the increment or fold that got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// MySQL would have given the original the same response: a lock wait, a KILL, a shutdown.
    TheClients,
    /// It comes from the internal statement; the original must be asked.
    Ours,
}

/// Classifies an ERR payload.
pub fn failure(payload: &[u8]) -> Failure {
    let is_the_clients = |code| is_killed(code) || is_over_time(code) || may_be_tried_again(code);
    match reply::Err::decode(payload) {
        Ok(err) if is_the_clients(err.code) || is_rolled_back(err.code, err.message) => {
            Failure::TheClients
        }
        _ => Failure::Ours,
    }
}

/// How often an internal statement is run again after a deadlock has chosen it as its victim.
pub const MOST_DEADLOCKS: usize = 10;

/// Whether the transaction was rolled back to end a deadlock, or because another member of a cluster was first.
pub fn is_deadlock(payload: &[u8]) -> bool {
    reply::Err::decode(payload).is_ok_and(|err| is_rolled_back(err.code, err.message))
}

/// Whether the storage engine has rolled the transaction back for another member of a cluster, and the server has not
/// heard of it.
pub fn is_savepoint_lost(payload: &[u8]) -> bool {
    reply::Err::decode(payload)
        .is_ok_and(|err| error_code::is_savepoint_lost(err.code, err.message))
}

/// Whether the transaction was rolled back because its snapshot is older than a row that it would have locked, under
/// MariaDB's `innodb_snapshot_isolation`.
pub fn is_outgrown(payload: &[u8]) -> bool {
    reply::Err::decode(payload).is_ok_and(|err| err.code == ER_CHECKREAD)
}

/// Whether a statement was killed, or exceeded its time limit.
pub fn is_interrupted(payload: &[u8]) -> bool {
    reply::Err::decode(payload)
        .is_ok_and(|err| err.code == ER_QUERY_INTERRUPTED || is_over_time(err.code))
}

/// The affected rows of an OK payload.
pub fn affected_rows(payload: &[u8]) -> Result<u64, Error> {
    Ok(OkPacket::decode(payload)?.affected_rows)
}
