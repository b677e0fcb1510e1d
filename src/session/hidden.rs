//! Statements of our own on the client's upstream connection, whose answers the client never sees.

use super::Session;
use super::error::Error;
use super::fold::BEGIN;
use crate::counter::fold::{COMMIT, ROLLBACK};
use crate::wire::answer::{Form, Next, PrepareOk, Role, Walker};
use crate::wire::capability;
use crate::wire::column::text_row;
use crate::wire::command;
use crate::wire::packet::encode_packet;
use crate::wire::reply::{self, Ok as OkPacket};

/// The most an answer to a statement of ours may hold, in bytes.
pub(super) const LARGEST_ANSWER: usize = 1024 * 1024;

/// The answer to a statement of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// OK: the payload.
    Ok(Vec<u8>),
    /// A result set: the values of its last row.
    Row(Vec<Option<Vec<u8>>>),
    /// ERR: the payload.
    Err(Vec<u8>),
}

impl Hidden {
    /// The ERR payload if the statement failed.
    pub(super) fn into_result(self) -> Result<(), Vec<u8>> {
        match self {
            Self::Err(payload) => Err(payload),
            Self::Ok(_) | Self::Row(_) => Ok(()),
        }
    }
}

/// The values of a text protocol row; `None` is NULL.
pub(super) type Row = Vec<Option<Vec<u8>>>;

/// A statement that the upstream has prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HiddenStatement {
    pub id: u32,
    /// Payloads of the column definitions.
    pub columns: Vec<Vec<u8>>,
}

/// Appends a COM_QUERY packet.
pub(super) fn encode_query(out: &mut Vec<u8>, text: &[u8], capabilities: u64) {
    encode_packet(out, 0, &query_payload(text, capabilities));
}

/// The payload of a COM_QUERY packet.
pub(super) fn query_payload(text: &[u8], capabilities: u64) -> Vec<u8> {
    let mut payload = Vec::with_capacity(text.len() + 3);
    payload.push(command::QUERY);
    if capabilities & capability::QUERY_ATTRIBUTES != 0 {
        // No parameters, in one set.
        payload.extend_from_slice(&[0, 1]);
    }
    payload.extend_from_slice(text);
    payload
}

/// Appends a COM_STMT_PREPARE packet.
pub(super) fn encode_prepare(out: &mut Vec<u8>, text: &[u8]) {
    let mut payload = Vec::with_capacity(text.len() + 1);
    payload.push(command::STMT_PREPARE);
    payload.extend_from_slice(text);
    encode_packet(out, 0, &payload);
}

/// Appends a packet of a command that names a statement and nothing else.
pub(super) fn encode_statement_command(out: &mut Vec<u8>, command_byte: u8, statement_id: u32) {
    let [a, b, c, d] = statement_id.to_le_bytes();
    encode_packet(out, 0, &[command_byte, a, b, c, d]);
}

impl Session {
    /// Runs one statement and takes its answer in.
    pub(super) async fn hidden(&mut self, text: impl AsRef<[u8]>) -> Result<Hidden, Error> {
        let text = text.as_ref();
        if text.starts_with(BEGIN.as_bytes()) {
            self.state.tracked.begin_own();
        }
        self.write_query(text).await?;
        let answer = self.read_hidden().await?;
        let ends = text == COMMIT.as_bytes() || text == ROLLBACK.as_bytes();
        if ends && matches!(answer, Hidden::Ok(_)) {
            self.state.tracked.end_own();
        }
        Ok(answer)
    }

    /// The same for a question of ours and for the end of a transaction of ours: again, if it is interrupted. KILL
    /// QUERY is meant for a statement of the client's, and when none runs nothing comes of it.
    pub(super) async fn insist(&mut self, text: impl AsRef<[u8]>) -> Result<Hidden, Error> {
        const MOST: u8 = 20;
        let mut answer = self.hidden(&text).await?;
        for _ in 1..MOST {
            if !matches!(&answer, Hidden::Err(error) if is_interrupted(error)) {
                break;
            }
            answer = self.hidden(&text).await?;
        }
        Ok(answer)
    }

    /// Sends one statement.
    pub(super) async fn write_query(&mut self, text: &[u8]) -> Result<(), Error> {
        let mut out = Vec::new();
        encode_query(&mut out, text, self.capabilities);
        self.write_upstream(&out).await
    }

    /// Writes commands to the upstream.
    pub(super) async fn write_upstream(&mut self, packets: &[u8]) -> Result<(), Error> {
        self.heed_refusal().await?;
        let written = self.upstream.write(packets).await;
        written.map_err(Error::NotSent)
    }

    /// Takes in the answer to a COM_QUERY of ours.
    pub(super) async fn read_hidden(&mut self) -> Result<Hidden, Error> {
        let mut walker = Walker::new(Form::Results, self.capabilities);
        let mut payload = Vec::new();
        let mut row = Vec::new();
        let role = loop {
            let role = self.read_packet(&mut walker, &mut payload).await?;
            match role {
                Role::Row => row = text_row(&payload)?,
                _ if !walker.is_done() => {}
                role => break role,
            }
        };
        self.observe_hidden(&walker);
        Ok(match role {
            Role::Ok => Hidden::Ok(payload),
            Role::RowsEnd => Hidden::Row(row),
            _ => Hidden::Err(payload),
        })
    }

    /// Takes in the answer to a query of ours: its first rows, so many at most. The inner error is an ERR payload.
    pub(super) async fn read_hidden_rows(
        &mut self,
        most: usize,
    ) -> Result<Result<Vec<Row>, Vec<u8>>, Error> {
        let mut walker = Walker::new(Form::Results, self.capabilities);
        let mut payload = Vec::new();
        let mut rows = Vec::new();
        let mut error = None;
        while !walker.is_done() {
            match self.read_packet(&mut walker, &mut payload).await? {
                Role::Row if rows.len() < most => rows.push(text_row(&payload)?),
                Role::Err => error = Some(payload.clone()),
                _ => {}
            }
        }
        self.observe_hidden(&walker);
        Ok(match error {
            Some(payload) => Err(payload),
            None => Ok(rows),
        })
    }

    /// Takes in the answer to a COM_STMT_PREPARE of ours, or its ERR payload.
    pub(super) async fn read_prepared(
        &mut self,
    ) -> Result<Result<HiddenStatement, Vec<u8>>, Error> {
        let mut walker = Walker::new(Form::Prepared, self.capabilities);
        let mut payload = Vec::new();
        let mut statement = HiddenStatement {
            id: 0,
            columns: Vec::new(),
        };
        while !walker.is_done() {
            match self.read_packet(&mut walker, &mut payload).await? {
                Role::PrepareOk => statement.id = PrepareOk::decode(&payload)?.statement_id,
                Role::Column => statement.columns.push(payload.clone()),
                Role::Err => return Ok(Err(payload)),
                _ => {}
            }
        }
        Ok(Ok(statement))
    }

    /// Reads one packet of a hidden answer whole.
    pub(super) async fn read_packet(
        &mut self,
        walker: &mut Walker,
        payload: &mut Vec<u8>,
    ) -> Result<Role, Error> {
        loop {
            match walker.next(self.upstream.buffered()) {
                Next::Need(_) => self.await_upstream_only().await?,
                Next::Packet { role, .. } => {
                    let read = self.upstream.read_payload(payload, LARGEST_ANSWER).await;
                    read.map_err(Error::Upstream)?;
                    walker.read_whole();
                    if role == Role::Err {
                        self.note_refusal(payload);
                    }
                    return Ok(role);
                }
            }
        }
    }
}

/// What an ERR packet means for the increment or fold that got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// MySQL would have given the original the same answer: waiting, killing, dying.
    TheClients,
    /// It comes of our own statement; the original must be asked.
    Ours,
}

/// Sorts an ERR payload.
pub(super) fn failure(payload: &[u8]) -> Failure {
    /// Server shutdown, lock wait timeout, deadlock, query interrupted, connection killed, execution time
    /// exceeded (MariaDB, MySQL), lost locks under XA.
    const THE_CLIENTS: [u16; 8] = [1053, 1205, 1213, 1317, 1927, 1969, 3024, 1614];
    match reply::Err::decode(payload) {
        Ok(err) if THE_CLIENTS.contains(&err.code) => Failure::TheClients,
        _ => Failure::Ours,
    }
}

/// How often a statement of ours that a deadlock has chosen as its victim is run again.
pub(super) const MOST_DEADLOCKS: usize = 10;

/// Whether the transaction was rolled back to end a deadlock.
pub(super) fn is_deadlock(payload: &[u8]) -> bool {
    const DEADLOCK: u16 = 1213;
    reply::Err::decode(payload).is_ok_and(|err| err.code == DEADLOCK)
}

/// Whether a statement was killed, or took longer than it may (MariaDB, MySQL).
pub(super) fn is_interrupted(payload: &[u8]) -> bool {
    const INTERRUPTED: [u16; 3] = [1317, 1969, 3024];
    reply::Err::decode(payload).is_ok_and(|err| INTERRUPTED.contains(&err.code))
}

/// The affected rows of an OK payload.
pub(super) fn affected_rows(payload: &[u8]) -> Result<u64, Error> {
    Ok(OkPacket::decode(payload)?.affected_rows)
}
