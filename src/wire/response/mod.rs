//! Walks the answer to a command packet by packet, by header and first bytes alone
//! (manual: "Text Protocol", "Binary Protocol").
//!
//! The tracker never holds bytes. It is shown the front of the upstream's stream at each packet boundary and
//! says what that packet is and whether the answer ends with it. What it says does not depend on how many bytes are
//! there beyond those that it asks for.

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

/// What a packet of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// OK that ends a result; carries status flags.
    Ok,
    /// ERR; ends the answer.
    Err,
    /// The upstream asks the client for a local file; the answer goes on after the client has sent it.
    LocalInfile,
    /// MariaDB's progress report.
    Progress,
    /// Number of columns.
    ColumnCount,
    /// Definition of a column.
    Column,
    /// Definition of a statement's parameter.
    Parameter,
    /// EOF between definitions and what follows them.
    Separator,
    /// A row.
    Row,
    /// EOF, or the OK that replaces it, behind the rows.
    RowsEnd,
    /// First packet of the answer to COM_STMT_PREPARE.
    PrepareOk,
    /// A single packet of another form (statistics).
    Other,
    /// Goes on with what was told before: a packet that continues another, or a part of an OK packet.
    Continuation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first packet of a result.
    Result,
    /// So many definitions, then the next state's business.
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

/// What [`ResponseTracker::next`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At least so many bytes must be there to tell, at most [`ResponseTracker::LOOKAHEAD`].
    Need(usize),
    /// A packet.
    Packet {
        /// What it is.
        packet_kind: PacketKind,
        /// How far the stream is told, in bytes: header and payload. An OK packet with session state changes is told in
        /// parts, its fixed part first.
        length: usize,
    },
}

/// What is still to come of what was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// The packet that continues it.
    Packet,
    /// The session state changes of an OK packet.
    Changes(Changes),
}

/// Walks one answer.
#[derive(Clone, Debug)]
pub struct ResponseTracker {
    state: State,
    rest: Rest,
    deprecate_eof: bool,
    /// OK packets tell of changes of the session's state.
    tracks: bool,
    /// The client has asked for a cursor.
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

/// Bytes of an OK payload up to and with the warning count, at most.
const OK_PREFIX: usize = 1 + 9 + 9 + 2 + 2;

impl ResponseTracker {
    /// Bytes at the front of the stream that [`ResponseTracker::next`] looks at, at most.
    pub const LOOKAHEAD: usize = match HEADER_LENGTH + OK_PREFIX > Changes::LOOKAHEAD {
        true => HEADER_LENGTH + OK_PREFIX,
        false => Changes::LOOKAHEAD,
    };

    /// Starts at the first packet of an answer of this form, between peers with these capabilities.
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

    /// Whether the answer is complete once the last packet told has passed.
    pub fn is_done(&self) -> bool {
        self.state == State::Done && self.rest == Rest::Nothing
    }

    /// Status flags of the last OK or EOF that had some.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The error code, when the answer ended in an ERR packet.
    pub fn error(&self) -> Option<u16> {
        self.error
    }

    /// The id of the statement that has been prepared.
    pub fn prepared(&self) -> Option<u32> {
        self.prepared
    }

    /// Whether the answer had more than one result.
    pub fn is_multi_result(&self) -> bool {
        self.multi_result
    }

    /// Whether the last result ended in an EOF packet, which tells nothing of the session's state.
    pub fn is_ended_by_eof(&self) -> bool {
        self.ended_by_eof
    }

    /// Whether it has a result set.
    pub fn sends_rows(&self) -> bool {
        self.sends_rows
    }

    /// What its OK packets have said of the transaction last, if they have said something.
    pub fn transaction_state(&self) -> Option<TransactionState> {
        self.transaction_state
    }

    /// Whether the server is left without messages of the statement; `None` where the answer does not tell: rows
    /// without a warning may be those of SHOW WARNINGS.
    pub fn has_no_warnings(&self) -> Option<bool> {
        self.has_no_warnings
    }

    /// Says that the caller has read the packet told last whole, with what continues it: its payload.
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

    /// Tells what the packet at the front of `bytes` is. Bytes beyond it are not looked at.
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

    /// The next part of an OK packet.
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

    /// How much of the payload must be seen to tell what the packet is and to take its status flags.
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
                self.state = Self::prepared_columns(columns);
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
                // MariaDB fills a cursor when it has told the columns, and that may fail.
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
                let left = Reader::new(payload).lenenc().unwrap_or(0);
                self.sends_rows = true;
                self.state = State::Columns { left };
                PacketKind::ColumnCount
            }
        }
    }

    /// Without DEPRECATE_EOF an EOF follows the columns. With a cursor it ends the answer.
    ///
    /// The flag alone does not tell of a cursor: that of a routine sets it as well. But no cursor is opened for CALL,
    /// and all result sets of a CALL announce another result.
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
        // MySQL announces the OK that follows output parameters in the EOF before their row alone.
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
        }) = PrepareOk::decode(payload)
        else {
            // MariaDB answers the preparation of a HELP without a topic by an OK that ends there.
            self.end_of_result(Ok::decode(payload).map_or(0, |ok| ok.status));
            return PacketKind::Ok;
        };
        self.prepared = Some(statement_id);
        self.state = match parameters {
            0 => Self::prepared_columns(columns),
            left => State::Parameters { left, columns },
        };
        PacketKind::PrepareOk
    }

    fn after_parameters(&self, columns: u16) -> State {
        match self.deprecate_eof {
            true => Self::prepared_columns(columns),
            false => State::ParametersEof { columns },
        }
    }

    fn prepared_columns(columns: u16) -> State {
        match columns {
            0 => State::Done,
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

/// What is to come after the end of a packet.
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

/// EOF: `int<1>` header, `int<2>` warnings, `int<2>` status flags.
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
