//! Follows the response to a command packet by packet, by headers and first bytes alone (manual: "Text Protocol",
//! "Binary Protocol").
//!
//! The tracker never buffers bytes. At each packet boundary it is given the start of the upstream's stream, and reports
//! what kind of packet that is and whether the response ends with it. The result does not depend on how many bytes are
//! available beyond those that it asks for.

mod changes;
mod kind;
mod prepare_ok;

pub use kind::ResponseKind;
pub use prepare_ok::PrepareOk;

use changes::Changes;

use crate::wire::capability;
use crate::wire::packet::{HEADER_LENGTH, Header, MAX_PAYLOAD};
use crate::wire::reader::Reader;
use crate::wire::reply::{self, Ok};
use crate::wire::session_state::TransactionState;
use crate::wire::status;

/// The kind of a packet in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// An OK packet that ends a result and carries status flags.
    Ok,
    /// An ERR packet. It ends the response.
    Err,
    /// The server requests a local file from the client. The response continues after the client has sent it.
    LocalInfile,
    /// A progress report of MariaDB.
    Progress,
    /// The column count of a result set.
    ColumnCount,
    /// A column definition.
    Column,
    /// The definition of a prepared statement's parameter.
    Parameter,
    /// The EOF packet between definitions and what follows them.
    Separator,
    /// A row.
    Row,
    /// The EOF packet after the rows, or the OK packet that replaces it.
    RowsEnd,
    /// The first packet of the response to COM_STMT_PREPARE.
    PrepareOk,
    /// A single packet of another kind, such as the text that COM_STATISTICS returns.
    Other,
    /// Continues the packet reported before: the next packet of a long payload, or the next part of an OK packet.
    Continuation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first packet of a result is next.
    Result,
    /// This many parameter definitions are next, then those of the columns.
    Parameters {
        left: u16,
        columns: u16,
    },
    ParametersEof {
        columns: u16,
    },
    Columns {
        left: u64,
    },
    ColumnsEof,
    PreparedColumns {
        left: u16,
    },
    PreparedColumnsEof,
    Rows,
    Fields,
    Prepare,
    Single,
    Done,
}

/// The result of [`ResponseTracker::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At least this many bytes must be available; never more than [`ResponseTracker::LOOKAHEAD`].
    Need(usize),
    /// A packet, or a part of one.
    Packet {
        /// Its kind.
        packet_kind: PacketKind,
        /// Length in bytes, including the header. An OK packet with session state changes is reported in parts: first
        /// the header with the fixed part of the payload, then each field.
        length: usize,
    },
}

/// What is missing of the packet that was reported last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// The packet that continues it.
    Packet,
    /// The session state changes of an OK packet.
    Changes(Changes),
}

/// Follows one response.
#[derive(Clone, Debug)]
pub struct ResponseTracker {
    state: State,
    rest: Rest,
    deprecate_eof: bool,
    /// Column definitions may be omitted, which a flag tells.
    may_omit_definitions: bool,
    /// Those of the statement that was prepared are.
    omits_definitions: bool,
    /// OK packets carry session state changes.
    tracks: bool,
    /// The client asked for a cursor.
    may_open_cursor: bool,
    /// The rows are output parameters.
    output_parameters: bool,
    status: Option<u16>,
    error: Option<u16>,
    multi_result: bool,
    ended_by_eof: bool,
    has_no_warnings: Option<bool>,
    prepared: Option<u32>,
    sends_rows: bool,
    transaction_state: Option<TransactionState>,
}

/// Maximum length of an OK packet's payload up to and including the warning count.
const OK_PREFIX: usize = 1 + 9 + 9 + 2 + 2;

impl ResponseTracker {
    /// Maximum number of bytes at the start of the stream that [`ResponseTracker::next`] reads.
    pub const LOOKAHEAD: usize = match HEADER_LENGTH + OK_PREFIX > Changes::LOOKAHEAD {
        true => HEADER_LENGTH + OK_PREFIX,
        false => Changes::LOOKAHEAD,
    };

    /// A tracker for a response of this kind, before its first packet. `capabilities` are those that client and server
    /// have agreed on.
    pub fn new(response_kind: ResponseKind, capabilities: u64) -> Self {
        let state = match response_kind {
            ResponseKind::Nothing => State::Done,
            ResponseKind::Single | ResponseKind::Endless | ResponseKind::Authentication => {
                State::Single
            }
            ResponseKind::Results | ResponseKind::Cursor => State::Result,
            ResponseKind::Prepared => State::Prepare,
            ResponseKind::Rows => State::Rows,
            ResponseKind::Fields => State::Fields,
        };
        Self {
            state,
            rest: Rest::Nothing,
            deprecate_eof: capabilities & capability::DEPRECATE_EOF != 0,
            omits_definitions: false,
            may_omit_definitions: capabilities & capability::OPTIONAL_RESULTSET_METADATA != 0,
            tracks: capabilities & capability::SESSION_TRACK != 0,
            may_open_cursor: response_kind == ResponseKind::Cursor,
            output_parameters: false,
            status: None,
            error: None,
            multi_result: false,
            ended_by_eof: false,
            has_no_warnings: None,
            prepared: None,
            sends_rows: false,
            transaction_state: None,
        }
    }

    /// Whether the response is complete once the packet that was reported last has passed.
    pub fn is_done(&self) -> bool {
        self.state == State::Done && self.rest == Rest::Nothing
    }

    /// Status flags of the last OK or EOF packet that had any.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The error code, if the response ended with an ERR packet.
    pub fn error(&self) -> Option<u16> {
        self.error
    }

    /// The id of the prepared statement, after COM_STMT_PREPARE has succeeded.
    pub fn prepared(&self) -> Option<u32> {
        self.prepared
    }

    /// Whether the response had more than one result.
    pub fn is_multi_result(&self) -> bool {
        self.multi_result
    }

    /// Whether the last result ended with an EOF packet, which carries no session state changes.
    pub fn is_ended_by_eof(&self) -> bool {
        self.ended_by_eof
    }

    /// Whether the response has a result set.
    pub fn sends_rows(&self) -> bool {
        self.sends_rows
    }

    /// The transaction state that the OK packets of the response reported last, if any did.
    pub fn transaction_state(&self) -> Option<TransactionState> {
        self.transaction_state
    }

    /// Whether the statement left no diagnostics on the server. `None` where the response does not show it: a result
    /// set without warnings may be that of SHOW WARNINGS.
    pub fn has_no_warnings(&self) -> Option<bool> {
        self.has_no_warnings
    }

    /// Call this when the whole packet that was reported last, with any continuation, has been read. `payload` is its
    /// payload.
    pub fn read_whole(&mut self, payload: &[u8]) {
        if let Rest::Changes(mut changes) = self.rest {
            while let Some(front) = payload.get(changes.at()..)
                && !changes.is_over()
            {
                self.read_change(&mut changes, front);
            }
        }
        self.rest = Rest::Nothing;
    }

    /// Reports the packet at the start of `bytes`. Bytes after it are not read.
    pub fn next(&mut self, bytes: &[u8]) -> Next {
        if let Rest::Changes(changes) = self.rest {
            return self.next_change(changes, bytes);
        }
        let Some(header) = Header::decode(bytes) else {
            return Next::Need(HEADER_LENGTH);
        };
        if self.rest == Rest::Packet {
            self.rest = rest_after(header.is_continued());
            return packet(PacketKind::Continuation, header);
        }
        let wanted = HEADER_LENGTH + header.length.min(self.lookahead(header, bytes));
        if bytes.len() < wanted {
            return Next::Need(wanted);
        }
        let payload = &bytes[HEADER_LENGTH..wanted];
        let packet_kind = self.step(header, payload);
        if self.tracks
            && matches!(packet_kind, PacketKind::Ok | PacketKind::RowsEnd)
            && let Some(changes) = Changes::of(payload, header.length)
        {
            self.rest = Rest::Changes(changes);
            return Next::Packet {
                packet_kind,
                length: HEADER_LENGTH + changes.at(),
            };
        }
        self.rest = rest_after(header.is_continued());
        packet(packet_kind, header)
    }

    /// Reports the next part of an OK packet.
    fn next_change(&mut self, mut changes: Changes, bytes: &[u8]) -> Next {
        let wanted = changes.lookahead();
        if bytes.len() < wanted {
            return Next::Need(wanted);
        }
        let before = changes.at();
        self.read_change(&mut changes, bytes);
        self.rest = match changes.is_over() {
            true => rest_after(changes.is_continued()),
            false => Rest::Changes(changes),
        };
        Next::Packet {
            packet_kind: PacketKind::Continuation,
            length: changes.at() - before,
        }
    }

    fn read_change(&mut self, changes: &mut Changes, bytes: &[u8]) {
        let front = &bytes[..bytes.len().min(changes.lookahead())];
        let told = changes.read(front);
        self.transaction_state = told.or(self.transaction_state);
    }

    /// How many bytes of the payload are needed to determine the packet's kind and its status flags.
    fn lookahead(&self, header: Header, bytes: &[u8]) -> usize {
        match (self.state, bytes.get(HEADER_LENGTH)) {
            (
                State::Columns { .. } | State::PreparedColumns { .. } | State::Parameters { .. },
                _,
            ) => 0,
            (State::Rows, Some(first)) if !is_end_of_rows(*first, header) => 1,
            _ => OK_PREFIX,
        }
    }

    fn step(&mut self, header: Header, payload: &[u8]) -> PacketKind {
        let first = payload.first().copied();
        match self.state {
            State::Result => self.first_of_result(payload),
            State::Parameters { left, columns } => {
                self.state = match left {
                    0 | 1 => self.after_parameters(columns),
                    _ => State::Parameters {
                        left: left - 1,
                        columns,
                    },
                };
                PacketKind::Parameter
            }
            State::ParametersEof { columns } => {
                self.state = self.prepared_columns(columns);
                PacketKind::Separator
            }
            State::PreparedColumns { left } => {
                self.state = match left {
                    0 | 1 if self.deprecate_eof => State::Done,
                    0 | 1 => State::PreparedColumnsEof,
                    _ => State::PreparedColumns { left: left - 1 },
                };
                PacketKind::Column
            }
            State::PreparedColumnsEof => {
                self.state = State::Done;
                PacketKind::Separator
            }
            State::Columns { left } => {
                self.state = match left {
                    0 | 1 if self.deprecate_eof => State::Rows,
                    0 | 1 => State::ColumnsEof,
                    _ => State::Columns { left: left - 1 },
                };
                PacketKind::Column
            }
            State::ColumnsEof => match first {
                // MariaDB fills a cursor after it has sent the column definitions, and that may fail.
                Some(reply::ERR) => self.err(payload),
                _ => self.columns_eof(payload),
            },
            State::Rows | State::Fields => match first {
                Some(reply::ERR) => self.err(payload),
                Some(reply::EOF) if header.length < MAX_PAYLOAD => {
                    self.end_of_rows(payload);
                    PacketKind::RowsEnd
                }
                _ if self.state == State::Fields => PacketKind::Column,
                _ => PacketKind::Row,
            },
            State::Prepare => self.prepare_ok(payload),
            State::Single => self.single(payload),
            State::Done => PacketKind::Other,
        }
    }

    fn first_of_result(&mut self, payload: &[u8]) -> PacketKind {
        match payload.first() {
            Some(&reply::OK) => {
                let (status, warnings) =
                    Ok::decode(payload).map_or((0, 1), |ok| (ok.status, ok.warnings));
                self.ended_by_eof = false;
                self.has_no_warnings = Some(warnings == 0);
                self.end_of_result(status);
                PacketKind::Ok
            }
            Some(&reply::ERR) => self.err(payload),
            Some(&reply::LOCAL_INFILE) => PacketKind::LocalInfile,
            _ => {
                let mut reader = Reader::new(payload);
                let left = reader.lenenc().unwrap_or(0);
                self.sends_rows = true;
                self.state = match self.may_omit_definitions && reader.u8() == Ok(0) {
                    true if self.deprecate_eof => State::Rows,
                    true => State::ColumnsEof,
                    false => State::Columns { left },
                };
                PacketKind::ColumnCount
            }
        }
    }

    /// Handles the EOF packet that follows the columns without DEPRECATE_EOF. If the statement opened a cursor, the
    /// response ends here.
    ///
    /// The flag CURSOR_EXISTS alone does not prove that: a cursor inside a routine sets it too. But CALL opens no
    /// cursor for the client, and every result set of a CALL announces another result.
    fn columns_eof(&mut self, payload: &[u8]) -> PacketKind {
        let status = eof_status(payload);
        let flags = status & (status::CURSOR_EXISTS | status::MORE_RESULTS_EXISTS);
        if self.may_open_cursor && flags == status::CURSOR_EXISTS {
            self.end_of_result(status);
            return PacketKind::RowsEnd;
        }
        self.output_parameters = status & status::PS_OUT_PARAMS != 0;
        self.state = State::Rows;
        PacketKind::Separator
    }

    fn end_of_rows(&mut self, payload: &[u8]) {
        let (mut status, warnings) = match Ok::decode(payload) {
            Result::Ok(ok) if self.deprecate_eof => (ok.status, ok.warnings),
            _ => (eof_status(payload), eof_warnings(payload)),
        };
        // MySQL announces the OK packet after output parameters only in the EOF packet before their row.
        if std::mem::take(&mut self.output_parameters) {
            status |= status::MORE_RESULTS_EXISTS;
        }
        if warnings > 0 {
            self.has_no_warnings = Some(false);
        }
        self.ended_by_eof = !self.deprecate_eof;
        self.end_of_result(status);
    }

    fn end_of_result(&mut self, status: u16) {
        self.status = Some(status);
        self.state = match status & status::MORE_RESULTS_EXISTS {
            0 => State::Done,
            _ => {
                self.multi_result = true;
                State::Result
            }
        };
    }

    fn err(&mut self, payload: &[u8]) -> PacketKind {
        let code = reply::Err::decode(payload).map_or(0, |err| err.code);
        if code == 0xFFFF {
            return PacketKind::Progress;
        }
        self.error = Some(code);
        self.has_no_warnings = Some(false);
        self.state = State::Done;
        PacketKind::Err
    }

    fn prepare_ok(&mut self, payload: &[u8]) -> PacketKind {
        if payload.first() != Some(&reply::OK) {
            return self.err(payload);
        }
        let Result::Ok(PrepareOk {
            columns,
            parameters,
            statement_id,
            has_definitions,
        }) = PrepareOk::decode(payload)
        else {
            // When HELP without a topic is prepared, MariaDB sends an OK packet and nothing else.
            self.end_of_result(Ok::decode(payload).map_or(0, |ok| ok.status));
            return PacketKind::Ok;
        };
        self.prepared = Some(statement_id);
        self.omits_definitions = self.may_omit_definitions && !has_definitions;
        self.state = match parameters {
            0 => self.prepared_columns(columns),
            _ if self.omits_definitions => self.after_parameters(columns),
            left => State::Parameters { left, columns },
        };
        PacketKind::PrepareOk
    }

    fn after_parameters(&self, columns: u16) -> State {
        match self.deprecate_eof {
            true => self.prepared_columns(columns),
            false => State::ParametersEof { columns },
        }
    }

    fn prepared_columns(&self, columns: u16) -> State {
        match columns {
            0 => State::Done,
            // The EOF packet is sent all the same.
            _ if self.omits_definitions && !self.deprecate_eof => State::PreparedColumnsEof,
            _ if self.omits_definitions => State::Done,
            left => State::PreparedColumns { left },
        }
    }

    fn single(&mut self, payload: &[u8]) -> PacketKind {
        self.state = State::Done;
        match payload.first() {
            Some(&reply::OK) => {
                self.status = Ok::decode(payload).ok().map(|ok| ok.status);
                PacketKind::Ok
            }
            Some(&reply::ERR) => self.err(payload),
            Some(&reply::EOF) => {
                self.end_of_rows(payload);
                self.state = State::Done;
                PacketKind::RowsEnd
            }
            _ => PacketKind::Other,
        }
    }
}

/// What is missing after the end of a packet.
fn rest_after(is_continued: bool) -> Rest {
    match is_continued {
        true => Rest::Packet,
        false => Rest::Nothing,
    }
}

fn packet(packet_kind: PacketKind, header: Header) -> Next {
    Next::Packet {
        packet_kind,
        length: header.packet_length(),
    }
}

fn is_end_of_rows(first: u8, header: Header) -> bool {
    first == reply::ERR || (first == reply::EOF && header.length < MAX_PAYLOAD)
}

/// Status flags of an EOF packet: `int<1>` header, `int<2>` warnings, `int<2>` status flags.
fn eof_status(payload: &[u8]) -> u16 {
    let mut reader = Reader::new(payload);
    let read = reader.bytes(3).and_then(|_| reader.u16());
    read.unwrap_or(0)
}

fn eof_warnings(payload: &[u8]) -> u16 {
    let mut reader = Reader::new(payload);
    let read = reader.bytes(1).and_then(|_| reader.u16());
    read.unwrap_or(0)
}

#[cfg(test)]
mod tests;
