//! Passes a response on packet by packet, and removes the traces of the proxy's statements from it: column
//! definitions, row layouts, status flags, sequence ids.

use std::sync::Arc;

use super::Link;
use super::definitions::{Agreement, Definitions};
use super::spool::Spool;
use super::tracked::hide_transaction;
use super::transaction_state::Tracked;
use crate::session::error::Error;
use crate::sql::{Following, quoting};
use crate::wire::column::{Column, RowEncoder, Sent, is_changed, is_narrower};
use crate::wire::error_code::{ER_NEED_REPREPARE, ER_PARSE_ERROR};
use crate::wire::materialized::materialized;
use crate::wire::packet::{HEADER_LENGTH, Header, encode_packet};
use crate::wire::reader::{Malformed, Reader};
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::response::{Next, PacketKind, ResponseKind, ResponseTracker};
use crate::wire::session_state::TransactionState;
use crate::wire::{capability, status};

/// Responses are gathered into writes of about this size, in bytes.
const WRITE: usize = 16 * 1024;

/// The most memory that one row may take if it must be held whole to be re-encoded, in bytes.
const LARGEST_ROW: usize = 64 * 1024 * 1024;

/// What to change in a response.
#[derive(Debug, Default)]
pub struct Rewrite<'a> {
    /// Sequence id of the first packet toward the client: 1, unless another response went before.
    pub sequence_id: u8,
    /// Status flags to clear.
    pub clear_status: u16,
    /// Status flags to set.
    pub set_status: u16,
    /// Column definitions that the client must see.
    pub columns: Option<Promised<'a>>,
    /// Rows come in the binary protocol.
    pub binary: bool,
    /// The layout of a cursor's rows, which come without definitions.
    pub rows: Option<RowEncoder>,
    /// Hold the response's last packet back.
    pub hold_last: bool,
    /// Hold the rest of it back as well, as far as there is room.
    pub spools: bool,
    /// Hold an ERR with one of these codes back.
    pub hold_errors: &'static [u16],
    /// The transaction is the proxy's own: what session tracking reports about it is not for the client.
    pub hide_transaction: bool,
    /// The ids of the rewritten statement and of the client's, in case an error names the first.
    pub renamed: Option<(u32, u32)>,
}

/// The column definitions of the client's own statement.
#[derive(Clone, Copy, Debug)]
pub struct Promised<'a> {
    pub definitions: &'a Definitions,
    /// Whether the values are right only if these are: a response without definitions cannot be compared with them.
    pub are_needed: bool,
}

impl Rewrite<'_> {
    /// Whether nothing is to be sent to the upstream after this response: no COMMIT of the proxy's, no further
    /// statement.
    fn ends_the_command(&self) -> bool {
        !self.hold_last && self.set_status & status::MORE_RESULTS_EXISTS == 0
    }
}

/// What the session knows, and the response must report.
#[derive(Debug)]
pub struct ResponseContext {
    /// The client's transaction.
    pub tracked: Tracked,
    /// What the statement does to tables in it.
    pub adds: TransactionState,
    /// What follows the statement in its packet.
    pub following: Option<Arc<Following>>,
}

/// How a rewritten response ended.
#[derive(Debug)]
pub struct Rewritten {
    pub tracker: ResponseTracker,
    /// The client's transaction, as it was reported to the client.
    pub tracked: Tracked,
    /// Sequence id of the next packet toward the client.
    pub sequence_id: u8,
    /// Payload of the last packet, if it is held back.
    pub held: Option<Vec<u8>>,
    /// What must be sent before that packet.
    pub spool: Option<Spool>,
    /// Layout of the rows, for the fetches that follow.
    pub rows: Option<RowEncoder>,
    /// Whether the columns that were sent go with [`Rewrite::columns`]. `None` if no columns were sent.
    pub agreement: Option<Agreement>,
    /// A row did not fit [`Rewrite::columns`], and the client was sent an error in its place.
    pub is_refused: bool,
}

/// The state of a response that is being rewritten.
struct Rewriting<'a> {
    rewrite: Rewrite<'a>,
    out: Vec<u8>,
    sequence_id: u8,
    sent: Vec<Sent>,
    /// The columns that the client sees in their place, in the binary protocol.
    shown: Vec<Column>,
    /// Which columns the client sees in a narrower character set, in the text protocol of MySQL.
    narrower: Vec<bool>,
    is_changed: bool,
    agreement: Option<Agreement>,
    is_refused: bool,
    capabilities: u64,
    context: ResponseContext,
    /// Its EOF packets are those of a result set.
    has_results: bool,
    sends_rows: bool,
    held: Option<Vec<u8>>,
    spool: Option<Spool>,
}

impl Link {
    /// Forwards the upstream's response, rewritten. Not cancel safe.
    pub async fn pass_rewritten(
        &mut self,
        response_kind: ResponseKind,
        rewrite: Rewrite<'_>,
        context: ResponseContext,
    ) -> Result<Rewritten, Error> {
        let mut tracker = ResponseTracker::new(response_kind, self.capabilities);
        let mut rewriting = Rewriting {
            sequence_id: rewrite.sequence_id,
            spool: rewrite.spools.then(Spool::default),
            rewrite,
            out: Vec::with_capacity(WRITE),
            sent: Vec::new(),
            shown: Vec::new(),
            narrower: Vec::new(),
            is_changed: false,
            agreement: None,
            is_refused: false,
            capabilities: self.capabilities,
            context,
            has_results: response_kind != ResponseKind::Prepared,
            sends_rows: false,
            held: None,
        };
        let mut payload = Vec::new();
        while !tracker.is_done() {
            match tracker.next(self.upstream.buffered()) {
                Next::Need(_) => {
                    if !rewriting.is_undecided() {
                        self.flush(&mut rewriting).await?;
                    }
                    match rewriting.rewrite.ends_the_command() {
                        true => self.await_upstream().await?,
                        false => self.await_upstream_only().await?,
                    }
                }
                Next::Packet { length, .. } if rewriting.is_discarded() => {
                    self.skip_upstream(length).await?;
                }
                Next::Packet { packet_kind, .. } if rewriting.must_own(packet_kind) => {
                    let read = self.upstream.read_payload(&mut payload, LARGEST_ROW).await;
                    read.map_err(Error::Upstream)?;
                    tracker.read_whole(&payload);
                    rewriting.apply(packet_kind, &mut payload, tracker.is_done())?;
                }
                Next::Packet { packet_kind, .. } => {
                    self.renumber(&mut rewriting).await?;
                    if packet_kind == PacketKind::LocalInfile {
                        self.flush(&mut rewriting).await?;
                        self.send_spooled(rewriting.spool.take()).await?;
                        self.pass_local_file_renumbered(&mut rewriting).await?;
                    }
                }
            }
            if rewriting.out.len() >= WRITE && !rewriting.is_undecided() {
                self.flush(&mut rewriting).await?;
            }
        }
        self.flush(&mut rewriting).await?;
        self.has_answered(rewriting.sequence_id);
        if let Some(held) = &rewriting.held {
            self.note_refusal(held);
        }
        Ok(Rewritten {
            tracker,
            tracked: rewriting.context.tracked,
            sequence_id: rewriting.sequence_id,
            held: rewriting.held,
            spool: rewriting.spool,
            rows: rewriting.rewrite.rows,
            agreement: rewriting.agreement,
            is_refused: rewriting.is_refused,
        })
    }

    /// Writes a packet to the client.
    pub async fn send_packet(&mut self, sequence_id: u8, payload: &[u8]) -> Result<u8, Error> {
        let mut out = Vec::with_capacity(HEADER_LENGTH + payload.len());
        let next = encode_packet(&mut out, sequence_id, payload);
        self.client.write(&out).await.map_err(Error::client)?;
        self.has_answered(next);
        self.answered.is_whole = true;
        Ok(next)
    }

    async fn flush(&mut self, rewriting: &mut Rewriting<'_>) -> Result<(), Error> {
        if rewriting.out.is_empty() {
            return Ok(());
        }
        if let Some(spool) = &mut rewriting.spool {
            if let Err(error) = spool.take(&mut rewriting.out).await {
                // From here on, the response goes out at the client's pace.
                tracing::warn!(
                    "an answer is too large to be kept until its locks are released: {error}"
                );
                self.send_spooled(rewriting.spool.take()).await?;
            }
            return Ok(());
        }
        self.client
            .write(&rewriting.out)
            .await
            .map_err(Error::client)?;
        rewriting.out.clear();
        Ok(())
    }

    /// Reads this many bytes from the upstream, and discards them.
    pub async fn skip_upstream(&mut self, mut left: usize) -> Result<(), Error> {
        while left > 0 {
            let filled = self.upstream.fill_to(1).await;
            filled.map_err(Error::Upstream)?;
            let part = left.min(self.upstream.buffered().len());
            self.upstream.consume(part);
            left -= part;
        }
        Ok(())
    }

    /// Forwards the packet at the front under the next sequence id.
    async fn renumber(&mut self, rewriting: &mut Rewriting<'_>) -> Result<(), Error> {
        let header = self.upstream.peek_header().await.map_err(Error::Upstream)?;
        rewriting.header(header.length);
        self.upstream.consume(HEADER_LENGTH);
        let mut left = header.length;
        while left > 0 {
            let filled = self.upstream.fill_to(1).await;
            filled.map_err(Error::Upstream)?;
            let part = left.min(self.upstream.buffered().len());
            rewriting
                .out
                .extend_from_slice(&self.upstream.buffered()[..part]);
            self.upstream.consume(part);
            left -= part;
            if rewriting.out.len() >= WRITE {
                self.flush(rewriting).await?;
            }
        }
        Ok(())
    }

    /// Forwards the file of LOAD DATA LOCAL under other sequence ids: the client numbers its packets on from the
    /// request that it got, while the upstream expects them to follow its own.
    async fn pass_local_file_renumbered(
        &mut self,
        rewriting: &mut Rewriting<'_>,
    ) -> Result<(), Error> {
        let mut payload = Vec::new();
        let mut upstream_sequence_id = 2_u8;
        loop {
            let read = self.client.read_payload(&mut payload, LARGEST_ROW).await;
            let sequence_id = read.map_err(Error::Client)?;
            self.has_answered(sequence_id.wrapping_add(1));
            let mut out = Vec::with_capacity(HEADER_LENGTH + payload.len());
            upstream_sequence_id = encode_packet(&mut out, upstream_sequence_id, &payload);
            self.upstream.write(&out).await.map_err(Error::NotSent)?;
            if payload.is_empty() {
                rewriting.sequence_id = sequence_id.wrapping_add(1);
                return Ok(());
            }
        }
    }
}

impl Rewriting<'_> {
    /// Whether a packet of this kind must be read whole to be changed.
    fn must_own(&self, packet_kind: PacketKind) -> bool {
        match packet_kind {
            PacketKind::Ok
            | PacketKind::Err
            | PacketKind::RowsEnd
            | PacketKind::Separator
            | PacketKind::ColumnCount => true,
            PacketKind::Column => self.rewrite.columns.is_some(),
            PacketKind::Row => self.rewrite.rows.is_some(),
            _ => false,
        }
    }

    /// Whether the column definitions are not complete yet, so that nothing may be sent to the client.
    fn is_undecided(&self) -> bool {
        self.rewrite.columns.is_some() && self.agreement.is_none()
    }

    /// Whether the client must not see the rest of the response.
    fn is_discarded(&self) -> bool {
        self.is_refused || self.agreement == Some(Agreement::Not)
    }

    fn header(&mut self, length: usize) {
        let header = Header {
            length,
            sequence_id: self.sequence_id,
        };
        self.out.extend_from_slice(&header.encode());
        self.sequence_id = self.sequence_id.wrapping_add(1);
    }

    fn packet(&mut self, payload: &[u8]) {
        self.sequence_id = encode_packet(&mut self.out, self.sequence_id, payload);
    }

    fn apply(
        &mut self,
        packet_kind: PacketKind,
        payload: &mut Vec<u8>,
        last: bool,
    ) -> Result<(), Error> {
        match packet_kind {
            PacketKind::ColumnCount => return self.column_count(payload),
            PacketKind::Column => return self.column(payload),
            PacketKind::Row => return self.row(payload),
            PacketKind::Ok | PacketKind::RowsEnd | PacketKind::Separator => {
                let (clear, set) = (self.rewrite.clear_status, self.rewrite.set_status);
                patch_status(payload, clear, set);
                let is_eof = packet_kind == PacketKind::Separator
                    || (packet_kind == PacketKind::RowsEnd
                        && self.capabilities & capability::DEPRECATE_EOF == 0);
                match self.capabilities & capability::SESSION_TRACK != 0 {
                    true if is_eof && self.has_results => {
                        self.flag_what_is_due(packet_kind, payload)
                    }
                    true if !is_eof => self.report_transaction(payload)?,
                    _ => {}
                }
            }
            PacketKind::Err => {
                if let Some(renamed) = self.rewrite.renamed {
                    rename(payload, renamed);
                }
                if let Some(following) = &self.context.following {
                    quote(payload, following);
                }
            }
            _ => {}
        }
        let is_held_error = packet_kind == PacketKind::Err
            && reply::Err::decode(payload)
                .is_ok_and(|err| self.rewrite.hold_errors.contains(&err.code));
        match last && (self.rewrite.hold_last || is_held_error) {
            true => self.held = Some(std::mem::take(payload)),
            false => self.packet(payload),
        }
        Ok(())
    }

    fn report_transaction(&mut self, payload: &mut Vec<u8>) -> Result<(), Error> {
        if self.rewrite.hide_transaction {
            hide_transaction(payload);
            return Ok(());
        }
        let adds = match self.sends_rows {
            true => self.context.adds.with(TransactionState::ROWS_SENT),
            false => self.context.adds,
        };
        let status = OkPacket::decode(payload)?.status;
        self.context.tracked.report(payload, status, adds);
        Ok(())
    }

    /// Corrects a flag of EOF packets: on MariaDB it says that a change of the transaction has yet to be reported, but
    /// changes by internal statements are not for the client.
    fn flag_what_is_due(&self, packet_kind: PacketKind, payload: &mut [u8]) {
        let adds = match packet_kind {
            PacketKind::RowsEnd => self.context.adds.with(TransactionState::ROWS_SENT),
            _ => self.context.adds,
        };
        match self.context.tracked.is_due(adds) {
            Some(true) => patch_status(payload, 0, status::SESSION_STATE_CHANGED),
            Some(false) => patch_status(payload, status::SESSION_STATE_CHANGED, 0),
            None => {}
        }
    }

    /// Takes in the number of columns. The rewritten statement must have as many as the client was promised, and define
    /// them, or nothing in its response can be trusted.
    fn column_count(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut reader = Reader::new(payload);
        let count = reader.lenenc()?;
        let omits =
            self.capabilities & capability::OPTIONAL_RESULTSET_METADATA != 0 && reader.u8()? == 0;
        self.sends_rows = true;
        self.sent.clear();
        self.shown.clear();
        self.narrower.clear();
        match self.rewrite.columns {
            Some(promised) if omits && !promised.are_needed => {
                self.rewrite.columns = None;
                self.packet(payload);
            }
            Some(promised) if omits || promised.definitions.columns.len() as u64 != count => {
                self.discard();
            }
            _ => self.packet(payload),
        }
        Ok(())
    }

    /// Discards what has been gathered, and what is still to come.
    fn discard(&mut self) {
        self.agreement = Some(Agreement::Not);
        self.out.clear();
        self.sequence_id = self.rewrite.sequence_id;
    }

    /// Replaces a column definition by the one that the client got, or would get, when it prepares the original. Even
    /// a column that the rewriting left alone may come back with other flags: a key that a subquery refers to loses
    /// NOT_NULL (MySQL 9.7).
    fn column(&mut self, payload: &[u8]) -> Result<(), Error> {
        let Some(Promised { definitions, .. }) = self.rewrite.columns else {
            return Ok(());
        };
        let position = self.sent.len();
        let promised = definitions.columns.get(position).ok_or(Malformed)?;
        self.sent.push(Sent::decode(payload, self.capabilities)?);
        if definitions.is_fresh() {
            self.is_changed |= is_changed(payload, promised, self.capabilities)?;
        }
        let shown = match &definitions.kinds {
            Some(kinds) => materialized(promised, payload, kinds.of(position))?,
            None => None,
        };
        let shown = shown.as_deref().unwrap_or(promised);
        if self.rewrite.binary {
            self.shown.push(Column::decode(shown, self.capabilities)?);
        } else if definitions.kinds.is_some() {
            let is_narrower = is_narrower(shown, payload, self.capabilities)?;
            self.narrower.push(is_narrower);
        }
        self.packet(shown);
        if self.sent.len() < definitions.columns.len() {
            return Ok(());
        }
        self.rewrite.rows = match self.rewrite.binary {
            true => self.row_encoder(),
            false => RowEncoder::of_text(std::mem::take(&mut self.narrower)),
        };
        let sent = std::mem::take(&mut self.sent);
        let agreement = definitions.compare(sent, self.is_changed);
        match agreement {
            Agreement::Not => self.discard(),
            agreement => self.agreement = Some(agreement),
        }
        Ok(())
    }

    /// How rows of the columns that were sent are laid out under those that the client sees.
    fn row_encoder(&self) -> Option<RowEncoder> {
        let pair = |column: Column| (column.field_type, column.flags);
        let shown: Vec<_> = self.shown.iter().map(|shown| pair(*shown)).collect();
        let sent: Vec<_> = self.sent.iter().map(|sent| pair(sent.column)).collect();
        RowEncoder::new(&sent, &shown)
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), Error> {
        let Some(rows) = &self.rewrite.rows else {
            return Ok(());
        };
        let mut row = Vec::with_capacity(payload.len());
        match rows.encode(payload, &mut row) {
            Ok(()) => self.packet(&row),
            // The client must not get another value, and has the definitions already.
            Err(Malformed) => {
                self.packet(&prepare_again());
                self.is_refused = true;
            }
        }
        Ok(())
    }
}

/// MySQL's own ERR for a statement whose tables have changed too often while it ran.
pub fn prepare_again() -> Vec<u8> {
    let mut payload = Vec::new();
    reply::Err {
        code: ER_NEED_REPREPARE,
        sql_state: b"HY000",
        message: b"Prepared statement needs to be re-prepared",
    }
    .encode(&mut payload);
    payload
}

/// Makes a syntax error quote what follows in the packet as well.
fn quote(payload: &mut Vec<u8>, following: &Following) {
    let error = reply::Err::decode(payload);
    let Some(error) = error.ok().filter(|error| error.code == ER_PARSE_ERROR) else {
        return;
    };
    if let Some(message) = quoting(error.message, following) {
        let mut quoted = Vec::new();
        reply::Err {
            message: &message,
            ..error
        }
        .encode(&mut quoted);
        *payload = quoted;
    }
}

/// Puts the client's statement id into an error's message, which has the id in parentheses.
fn rename(payload: &mut Vec<u8>, (ours, theirs): (u32, u32)) {
    let (ours, theirs) = (format!("({ours})"), format!("({theirs})"));
    let position = payload
        .windows(ours.len())
        .position(|window| window == ours.as_bytes());
    if let Some(at) = position {
        payload.splice(at..at + ours.len(), theirs.into_bytes());
    }
}

/// Changes the status flags of an OK packet, or of an EOF packet of the old form.
pub fn patch_status(payload: &mut [u8], clear: u16, set: u16) {
    let is_old_eof = payload.first() == Some(&reply::EOF) && payload.len() == 5;
    let at = match is_old_eof {
        true => 3,
        false => match OkPacket::decode(payload) {
            Ok(ok) => payload.len() - ok.tail.len() - 4,
            Err(Malformed) => return,
        },
    };
    let status = u16::from_le_bytes([payload[at], payload[at + 1]]) & !clear | set;
    payload[at..at + 2].copy_from_slice(&status.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_clients_statement() {
        let mut error = b"\xff\x8d\x05#HY000The statement (12) has no open cursor.".to_vec();
        rename(&mut error, (12, 3456));
        assert!(error.ends_with(b"The statement (3456) has no open cursor."));
    }

    #[test]
    fn status_flags_change_in_ok_and_in_both_forms_of_eof() {
        let mut ok = vec![0, 0xFC, 1, 2, 0, 0x03, 0x00, 0, 0, b'i'];
        patch_status(&mut ok, 0x0001, 0x0008);
        assert_eq!(ok, [0, 0xFC, 1, 2, 0, 0x0A, 0x00, 0, 0, b'i']);
        let mut old = vec![0xFE, 0, 0, 0x03, 0x00];
        patch_status(&mut old, 0x0001, 0);
        assert_eq!(old, [0xFE, 0, 0, 0x02, 0x00]);
        let mut new = vec![0xFE, 0, 0, 0x03, 0x00, 0, 0];
        patch_status(&mut new, 0x0001, 0);
        assert_eq!(new, [0xFE, 0, 0, 0x02, 0x00, 0, 0]);
    }
}
