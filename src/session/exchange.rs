//! What the session does over its link, and what it learns from each response.

use std::sync::{Arc, Mutex};

use crate::counter::combine::Batch;
use crate::counter::fold::{BEGIN, COMMIT, ROLLBACK};
use crate::counter::unpoisoned;
use crate::metrics::Metrics;
use crate::net::PacketStream;
use crate::reason::Reason;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::definitions::Agreement;
use crate::session::link::internal::{
    InternalResponse, Row, is_deadlock, is_interrupted, is_outgrown,
};
use crate::session::link::rewrite::{ResponseContext, Rewrite, Rewritten};
use crate::sql::Kind;
use crate::wire::command::{self, encode_query, encode_statement_command};
use crate::wire::error_code::{ER_CHECKREAD, ER_LOCK_DEADLOCK};
use crate::wire::packet::{HEADER_LENGTH, Header};
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::response::{ResponseKind, ResponseTracker};
use crate::wire::{capability, status};

/// How much of a statement too long to be held is looked at to find what it is about, in bytes.
const HEAD: usize = 64 * 1024;

/// The batch of a session that writes only its own increment, until the server has responded.
pub(crate) type Alone = Arc<Mutex<Option<Batch>>>;

/// How often a statement of the proxy's own is run that a KILL QUERY interrupts.
pub(crate) const MOST_TRIES: u8 = 20;

impl Session {
    /// Forwards the whole command at the front of the client's stream, and returns the sequence id of its last packet.
    /// Not cancel safe.
    pub(crate) async fn pass_command(&mut self) -> Result<u8, Error> {
        self.prepare_upstream().await?;
        self.link.pass_command().await
    }

    /// Forwards the upstream's response as it comes. Not cancel safe.
    pub(crate) async fn pass_response(
        &mut self,
        response_kind: ResponseKind,
    ) -> Result<ResponseTracker, Error> {
        let tells = self.link.capabilities & capability::SESSION_TRACK != 0
            && !self.state.tracked.is_passed_on();
        if tells && response_kind != ResponseKind::Nothing {
            return Box::pin(self.pass_response_with_state(response_kind)).await;
        }
        let tracker = self.link.pass_response(response_kind).await?;
        self.link.answered.is_whole = true;
        let adds = self.state.running.adds_with(tracker.sends_rows());
        self.state.tracked.see_passed(&tracker, adds);
        self.observe(&tracker);
        Ok(tracker)
    }

    /// Forwards a response, when the server has reported to internal statements what the client must be told about its
    /// transaction.
    async fn pass_response_with_state(
        &mut self,
        response_kind: ResponseKind,
    ) -> Result<ResponseTracker, Error> {
        let header = loop {
            if let Some(header) = Header::decode(self.link.upstream.buffered()) {
                break header;
            }
            self.link.await_upstream().await?;
        };
        let rewrite = Rewrite {
            sequence_id: header.sequence_id,
            ..Rewrite::default()
        };
        Ok(self.pass_rewritten(response_kind, rewrite).await?.tracker)
    }

    /// Forwards the upstream's response, rewritten. Not cancel safe.
    pub(crate) async fn pass_rewritten(
        &mut self,
        response_kind: ResponseKind,
        rewrite: Rewrite<'_>,
    ) -> Result<Rewritten, Error> {
        let may_discard = rewrite
            .columns
            .as_ref()
            .is_some_and(|columns| columns.are_needed);
        let context = ResponseContext {
            tracked: self.state.tracked,
            adds: self.state.running.access.state,
            following: self.following.clone(),
        };
        let ended = self
            .link
            .pass_rewritten(response_kind, rewrite, context)
            .await?;
        let is_discarded = may_discard && ended.agreement == Some(Agreement::Not);
        self.link.answered.is_whole = ended.held.is_none() && !is_discarded;
        // What is held is the client's.
        self.link.rolled_back = None;
        let tracker = &ended.tracker;
        self.state.tracked = ended.tracked;
        if tracker.is_ended_by_eof() || tracker.error().is_some() {
            let adds = self.state.running.adds_with(tracker.sends_rows());
            self.state.tracked.see_unreported(tracker, adds);
        }
        self.observe(tracker);
        Ok(ended)
    }

    /// Writes a packet to the client.
    pub(crate) async fn send_packet(
        &mut self,
        sequence_id: u8,
        payload: &[u8],
    ) -> Result<u8, Error> {
        // Other sessions must not wait for a client that does not read.
        self.land_alone();
        self.link.send_packet(sequence_id, payload).await
    }

    /// Makes the last packet of the client's response report what the client's own statements have done to its
    /// transaction, unless the packet is an ERR or an EOF.
    pub(crate) fn report_transaction(&mut self, payload: &mut Vec<u8>) -> Result<(), Error> {
        let tells = match payload.first() {
            Some(&reply::OK) => true,
            Some(&reply::EOF) => self.link.capabilities & capability::DEPRECATE_EOF != 0,
            _ => false,
        };
        if tells && self.link.capabilities & capability::SESSION_TRACK != 0 {
            let status = OkPacket::decode(payload)?.status;
            self.state
                .tracked
                .report(payload, status, self.state.running.access.state);
        }
        Ok(())
    }

    /// Runs one internal statement and takes its response in.
    pub(crate) async fn run_internal(
        &mut self,
        text: impl AsRef<[u8]>,
    ) -> Result<InternalResponse, Error> {
        let text = text.as_ref();
        let begins = text.starts_with(BEGIN.as_bytes());
        if begins {
            self.state.tracked.begin_own();
        }
        if begins || text == ROLLBACK.as_bytes() {
            self.state.lost = None;
        }
        self.write_query(text).await?;
        let answer = self.read_internal().await?;
        let ends = text == COMMIT.as_bytes() || text == ROLLBACK.as_bytes();
        if ends && matches!(answer, InternalResponse::Ok(_)) {
            self.state.tracked.end_own();
        }
        Ok(answer)
    }

    /// Does the same for a query, and for the end of a transaction, of the proxy's own: it runs again if it is
    /// interrupted. KILL QUERY is meant for a statement of the client's, and has no effect when none runs.
    pub(crate) async fn insist(
        &mut self,
        text: impl AsRef<[u8]>,
    ) -> Result<InternalResponse, Error> {
        let mut answer = self.run_internal(&text).await?;
        for _ in 1..MOST_TRIES {
            if !matches!(&answer, InternalResponse::Err(error) if is_interrupted(error)) {
                break;
            }
            answer = self.run_internal(&text).await?;
        }
        Ok(answer)
    }

    /// Runs a query of the proxy's that names hot tables, as [`Session::insist`] does.
    pub(crate) async fn insist_on(&mut self, text: &str) -> Result<InternalResponse, Error> {
        let own = self.begin_names(text.as_bytes()).await?;
        let answer = self.insist(text).await;
        self.end_names(own).await?;
        answer
    }

    /// The session's `character_set_client`, if names in this text of the proxy's, which is UTF-8, would be others in
    /// it. The session's variables must be known. Where a hot table has such a name, folds have no predicates of the
    /// client's, in another character set.
    pub(crate) fn other_names_in(&self, text: &[u8]) -> Option<&str> {
        let variables = self.state.variables.as_ref()?;
        let own = variables.of_texts.other_characters.as_deref()?;
        let differs = !text.is_ascii() && self.hot.has_names_beyond_ascii;
        differs.then_some(own)
    }

    /// Has the server read names in this text as the catalog has them, until [`Session::end_names`].
    pub(crate) async fn begin_names(&mut self, text: &[u8]) -> Result<Option<String>, Error> {
        let own = self.other_names_in(text).map(str::to_owned);
        if own.is_some()
            && let InternalResponse::Err(error) = self.insist(set_character_set("utf8mb4")).await?
        {
            // The transaction may be lost, which is told.
            self.state.lost.get_or_insert(error);
            return Err(Error::Lost);
        }
        Ok(own)
    }

    pub(crate) async fn end_names(&mut self, own: Option<String>) -> Result<(), Error> {
        match own {
            Some(own) => self.set_back(&set_character_set(&own)).await,
            None => Ok(()),
        }
    }

    /// Sets a variable to the session's own value. If that is refused, the session ends: it would go on with another.
    pub(crate) async fn set_back(&mut self, text: &str) -> Result<(), Error> {
        // A transaction that is gone does not matter to it. The server may tell that here.
        let mut lost = self.state.lost.take();
        for _ in 0..MOST_TRIES {
            let set = self.insist(text).await?;
            lost = lost.or(self.state.lost.take());
            match set {
                InternalResponse::Err(error) if is_deadlock(&error) => {}
                InternalResponse::Err(_) => break,
                _ => {
                    self.state.lost = lost;
                    return Ok(());
                }
            }
        }
        Err(Error::Open)
    }

    /// Has the server say whether a transaction is open, where an error has left that in doubt.
    pub(crate) async fn settle_doubt(&mut self) -> Result<(), Error> {
        if self.state.last.leaves_doubt {
            self.insist("DO 0").await?;
        }
        Ok(())
    }

    /// Rolls back a transaction of the proxy's own. If that is refused, the session ends, and the transaction with the
    /// connection.
    pub(crate) async fn roll_back_own(&mut self) -> Result<(), Error> {
        match self.insist(ROLLBACK).await? {
            InternalResponse::Err(_) => Err(Error::Open),
            _ => Ok(()),
        }
    }

    /// Sends one statement.
    pub(crate) async fn write_query(&mut self, text: &[u8]) -> Result<(), Error> {
        let mut out = Vec::new();
        encode_query(&mut out, text, self.link.capabilities);
        self.write_upstream(&out).await
    }

    /// Writes commands to the upstream.
    pub(crate) async fn write_upstream(&mut self, packets: &[u8]) -> Result<(), Error> {
        self.prepare_upstream().await?;
        self.link.write_upstream(packets).await
    }

    /// Takes in the response to an internal COM_QUERY.
    pub(crate) async fn read_internal(&mut self) -> Result<InternalResponse, Error> {
        let (response, tracker) = self.link.read_internal().await?;
        self.observe_internal(&tracker);
        Ok(response)
    }

    /// Takes in the response to an internal query: at most this many of its first rows. The inner error is an ERR
    /// payload.
    pub(crate) async fn read_internal_rows(
        &mut self,
        most: usize,
    ) -> Result<Result<Vec<Row>, Vec<u8>>, Error> {
        let (rows, tracker) = self.link.read_internal_rows(most).await?;
        self.observe_internal(&tracker);
        Ok(rows)
    }

    /// Does what must be done before anything else is sent.
    async fn prepare_upstream(&mut self) -> Result<(), Error> {
        // An error that was read, and that nobody has taken in.
        if let Some(error) = self.link.rolled_back.take() {
            self.take_loss(error);
        }
        // To a command without a response nobody could be told.
        if self.link.owes_loss && !self.link.is_unanswered {
            self.link.owes_loss = false;
            Box::pin(self.ping()).await?;
            self.take_silent_loss();
        }
        if self.state.lost.is_some() {
            return Err(Error::Lost);
        }
        // The server may have closed the connection after a packet that was too large.
        if self.link.owes_refusal() {
            Box::pin(self.ping()).await?;
            self.link.forget_refusal();
        }
        if let Some(id) = self.state.last_insert_id_due.take() {
            let text = format!("DO LAST_INSERT_ID({id})");
            Box::pin(self.insist(text)).await?;
        }
        Ok(())
    }

    /// Closes a statement that the proxy has prepared.
    pub(crate) async fn close_statement(&mut self, id: u32) -> Result<(), Error> {
        if self.doubts_transaction() {
            self.ping().await?;
        }
        let mut close = Vec::new();
        encode_statement_command(&mut close, command::STMT_CLOSE, id);
        self.write_upstream(&close).await?;
        self.note_close();
        Ok(())
    }

    /// Takes in that COM_STMT_CLOSE has been sent. It has no response, so a transaction that was open before may have
    /// been lost without a word: that is asked before anything else is sent.
    pub(crate) fn note_close(&mut self) {
        let last = &self.state.last;
        let is_open = last.is_in_transaction() && !last.leaves_doubt;
        self.link.owes_loss |= is_open && self.may_lose_silently();
    }

    /// Whether nobody knows if a transaction is open, and so if COM_STMT_CLOSE could lose it: an error before may have
    /// ended it.
    pub(crate) fn doubts_transaction(&self) -> bool {
        let last = &self.state.last;
        let is_told = self.state.lost.is_some();
        last.is_in_transaction() && last.leaves_doubt && !is_told && self.may_lose_silently()
    }

    /// Whether the session's transaction may be lost without a word, behind COM_STMT_CLOSE.
    pub(crate) fn may_lose_silently(&self) -> bool {
        !self.state.mode.bypass && self.shared.control.tells_losses_to_nobody()
    }

    /// Notes that the transaction is lost, as if the server had told it, where the response just read shows that it is
    /// no longer there.
    pub(crate) fn take_silent_loss(&mut self) {
        let last = &self.state.last;
        if !last.is_in_transaction() && last.error.is_none() {
            self.state.observe(None, Some(ER_LOCK_DEADLOCK));
            self.state.lost.get_or_insert_with(loss);
        }
    }

    /// Shows the upstream that the connection is in use, and shows the session that the connection is alive.
    pub(crate) async fn ping(&mut self) -> Result<(), Error> {
        let tracker = self.link.ping().await?;
        self.observe_internal(&tracker);
        Ok(())
    }

    /// Takes in how a response ended.
    pub(crate) fn observe(&mut self, tracker: &ResponseTracker) {
        let ended = |status| status & status::IN_TRANS == 0;
        let transaction = &self.state.transaction;
        if tracker.status().is_some_and(ended)
            && tracker.error().is_none()
            && !transaction.proves_nothing
        {
            for shape in &transaction.shapes {
                self.shared.learn_pure(*shape);
            }
        }
        // SHOW WARNINGS and GET DIAGNOSTICS leave the diagnostics that they report.
        if let Some(has_no_warnings) = tracker.has_no_warnings()
            && self.state.running.kind != Kind::Show
        {
            self.state.last.has_no_warnings = has_no_warnings;
        }
        self.state.observe(tracker.status(), tracker.error());
        self.link.timing.error = tracker.error();
    }

    /// Does the same as [`Session::observe`] for the response to an internal statement.
    pub(crate) fn observe_internal(&mut self, tracker: &ResponseTracker) {
        self.state.tracked.see_internal(tracker);
        self.note_loss(tracker);
        let told = self.link.timing.error;
        self.observe(tracker);
        self.link.timing.error = told;
    }

    /// In a cluster with several writers, any statement may be answered that its transaction is gone, because another
    /// member was first; and MariaDB rolls a transaction back whose snapshot is outgrown by what it would lock. Whoever
    /// has sent the statement may not care about its errors, so the loss is noted: nothing else is sent then, which
    /// would run without the transaction, until the client has been told.
    fn note_loss(&mut self, tracker: &ResponseTracker) {
        if let Some(error) = self.link.rolled_back.take()
            && tracker.error().is_some()
        {
            self.take_loss(error);
        }
    }

    fn take_loss(&mut self, error: Vec<u8>) {
        let may_come_unheard = is_outgrown(&error) || self.shared.control.has_several_writers();
        if self.state.last.is_in_transaction() && may_come_unheard {
            self.state.lost = Some(self.of_hot_table(error));
        }
    }

    /// The error of an internal statement as the client gets it: it may name a slot table where the client's own
    /// statement would have met the same at the hot table.
    pub(crate) fn of_hot_table(&self, error: Vec<u8>) -> Vec<u8> {
        let Ok(err) = reply::Err::decode(&error) else {
            return error;
        };
        if err.code != ER_CHECKREAD {
            return error;
        }
        let message = String::from_utf8_lossy(err.message);
        let named = self.hot.catalog.tables.iter().find_map(|table| {
            let slots = format!("'{}'", table.slot_name);
            let is_it = message.contains(&slots);
            is_it.then(|| message.replace(&slots, &format!("'{}'", table.name)))
        });
        let Some(message) = named else {
            return error;
        };
        let mut of_hot_table = Vec::new();
        reply::Err {
            message: message.as_bytes(),
            ..err
        }
        .encode(&mut of_hot_table);
        of_hot_table
    }

    /// Counts a statement by the reason for its plan.
    pub(crate) fn count(&mut self, reason: Reason) {
        self.link.timing.reason = Some(reason);
        self.entry.reasons(reason);
        self.metrics().count(reason);
    }

    /// Where statements are counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Buffers the whole command at the front. Returns false if it is too long for that.
    pub(crate) async fn buffer_command(&mut self) -> Result<bool, Error> {
        self.buffer_up_to(PacketStream::USUAL_PEEK).await
    }

    /// Buffers the whole command at the front, which is a statement's text. Returns false if it is too long for that,
    /// by the rules file. Such a text is longer than a command that is all values: what it names shows only in the
    /// whole of it.
    pub(crate) async fn buffer_statement(&mut self) -> Result<bool, Error> {
        if self.buffer_command().await? {
            return Ok(true);
        }
        let most = usize::try_from(self.place.memory().statement).unwrap_or(usize::MAX);
        self.buffer_up_to(most.min(PacketStream::LARGEST_PEEK))
            .await
    }

    /// Buffers the whole command at the front if that is one packet of at most so many bytes.
    async fn buffer_up_to(&mut self, most: usize) -> Result<bool, Error> {
        let header = self
            .link
            .client
            .peek_header()
            .await
            .map_err(Error::Client)?;
        let length = header.packet_length();
        if length > most || header.is_continued() {
            return Ok(false);
        }
        let filled = self.link.client.fill_to(length).await;
        filled.map_err(Error::Client)?;
        Ok(true)
    }

    /// The payload of the command at the front, which is buffered whole.
    pub(crate) fn command_payload(&self) -> &[u8] {
        let buffered = self.link.client.buffered();
        let header = Header::decode(buffered).expect("a command is buffered");
        &buffered[HEADER_LENGTH..header.packet_length()]
    }

    /// The kind of the response to the command at the front, of which the first [`ResponseKind::LOOKAHEAD`] bytes are
    /// buffered.
    pub(crate) fn command_response_kind(&self) -> ResponseKind {
        let buffered = self.link.client.buffered();
        let header = Header::decode(buffered).expect("a command's header is buffered");
        let end = header.packet_length().min(buffered.len());
        ResponseKind::of(&buffered[HEADER_LENGTH..end])
    }

    /// Buffers the first bytes of a command too long to be held.
    pub(crate) async fn buffer_head(&mut self) -> Result<(), Error> {
        self.link.client.fill_to(HEAD).await.map_err(Error::Client)
    }

    /// Lets the other sessions go on: the server has responded to the increment that this session has written by
    /// itself, if there is one.
    pub(crate) fn land_alone(&mut self) {
        if let Some(alone) = self.alone.take() {
            self.give_slots_back();
            drop(unpoisoned(&alone).take());
        }
    }

    /// Gives the slots back. In autocommit nothing holds a slot after the response, even if that is an error. When the
    /// batch ends it calls the next session, which must find the lowest slot free.
    pub(crate) fn give_slots_back(&mut self) {
        self.state.transaction.leases.clear();
    }
}

/// The error by which a client is told that its transaction is lost, where the server has not told it.
pub(crate) fn loss() -> Vec<u8> {
    let mut error = Vec::new();
    reply::Err {
        code: ER_LOCK_DEADLOCK,
        sql_state: b"40001",
        message: b"Deadlock found when trying to get lock; try restarting transaction",
    }
    .encode(&mut error);
    error
}

fn set_character_set(name: &str) -> String {
    format!("SET SESSION character_set_client = {name}")
}
