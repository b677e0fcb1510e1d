//! A statement joins a batch, and one of the sessions in it writes them all.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::counter::combine::{Answer, Call, Entered, Group, GroupName, Outcome};
use crate::net::ReadError;
use crate::session::Session;
use crate::session::act::batch_outcome::BatchOutcome;
use crate::session::act::candidate::Candidate;
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::reply::Replied;
use crate::session::state::combining::Combining;
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::info_text::InfoText;
use crate::sql::TableLocks;
use crate::sql::plan::Reason;
use crate::wire::capability;
use crate::wire::reply::Ok as OkPacket;
use crate::wire::response::{ResponseKind, ResponseTracker};

/// A session that has not heard from its upstream for this long pings it first: servers close connections that are
/// idle, after a second at the earliest.
const SILENCE: Duration = Duration::from_millis(500);

/// Asks for everything besides its text that decides what an increment does, and how the server responds to it, when
/// another session writes it.
const MYSQL_QUESTION: &str = "SELECT @@SESSION.session_track_gtids = 'OFF' AND @@SESSION.session_track_state_change = 0 \
     AND @@SESSION.session_track_transaction_info = 'OFF', \
     ABS(@@SESSION.timestamp - UNIX_TIMESTAMP(SYSDATE(6))) < 1, HEX(CURRENT_USER()), HEX(CURRENT_ROLE()), HEX(DATABASE()), \
     @@SESSION.sql_mode, @@SESSION.character_set_client, @@SESSION.character_set_connection, \
     @@SESSION.collation_connection, @@SESSION.character_set_results, @@SESSION.time_zone, @@SESSION.lc_messages, \
     @@SESSION.sql_safe_updates, @@SESSION.foreign_key_checks, @@SESSION.unique_checks, @@SESSION.sql_log_bin, \
     @@SESSION.binlog_format, @@SESSION.binlog_row_image, @@SESSION.binlog_rows_query_log_events, \
     @@SESSION.gtid_next, @@SESSION.transaction_isolation, @@SESSION.transaction_read_only, \
     @@SESSION.innodb_lock_wait_timeout, @@SESSION.lock_wait_timeout, @@SESSION.sql_big_selects, \
     @@SESSION.sql_notes, @@SESSION.sql_warnings, @@SESSION.max_error_count LIMIT 1";

const MARIADB_QUESTION: &str = "SELECT @@SESSION.session_track_state_change = 0 \
     AND @@SESSION.session_track_transaction_info = 'OFF' \
     AND @@SESSION.session_track_system_variables NOT LIKE '%last_gtid%' \
     AND @@SESSION.session_track_system_variables NOT LIKE '%*%', \
     ABS(@@SESSION.timestamp - UNIX_TIMESTAMP(SYSDATE(6))) < 1, HEX(CURRENT_USER()), HEX(CURRENT_ROLE()), HEX(DATABASE()), \
     @@SESSION.sql_mode, @@SESSION.character_set_client, @@SESSION.character_set_connection, \
     @@SESSION.collation_connection, @@SESSION.character_set_results, @@SESSION.time_zone, @@SESSION.lc_messages, \
     @@SESSION.sql_safe_updates, @@SESSION.foreign_key_checks, @@SESSION.unique_checks, @@SESSION.sql_log_bin, \
     @@SESSION.binlog_format, @@SESSION.binlog_row_image, @@SESSION.binlog_annotate_row_events, \
     @@SESSION.gtid_domain_id, @@SESSION.gtid_seq_no, @@SESSION.server_id, @@SESSION.skip_replication, \
     @@SESSION.tx_isolation, @@SESSION.tx_read_only, @@SESSION.innodb_lock_wait_timeout, \
     @@SESSION.lock_wait_timeout, @@SESSION.max_statement_time, @@SESSION.sql_big_selects, \
     @@SESSION.sql_notes, @@SESSION.sql_warnings, @@SESSION.max_error_count, \
     (SELECT VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME = 'NOTE_VERBOSITY') LIMIT 1";

/// How often a statement enters a batch: a slot row may turn out to be missing, or closed; a row may be missing, so
/// that one statement at a time runs; a statement that stood for others may have changed something after all.
const ROUNDS: usize = 8;

impl Session {
    /// Writes a statement together with others. Returns `None` if it must be written by itself.
    pub(crate) async fn combine(
        &mut self,
        group: &Arc<Group>,
        candidate: &Candidate<'_>,
    ) -> Result<Option<Replied>, Error> {
        for _ in 0..ROUNDS {
            let mut member = candidate.member.clone();
            member.span = self.link.timing.span.map(|span| span.own);
            if member.table.is_keyless() && self.shared.meets_several_rows(member.work.shape()) {
                return Ok(None);
            }
            member
                .work
                .forget_repeats(|shape| self.shared.run_one_by_one(shape));
            let slots = &self.shared.slots;
            let is_known = member.table.slots > 0 && {
                let first = slots.first(&member.table);
                slots.knows(&member.table, &member.key.slot_row, first)
            };
            let call = match group.enter(member, is_known) {
                Entered::Lead(batch) => Call::Lead(batch),
                Entered::Wait(called) => {
                    if !self.state.last.has_no_warnings {
                        // The upstream would still have them when the client asks about this statement.
                        self.insist("DO 0").await?;
                    }
                    self.await_call(called).await?
                }
            };
            let outcome = match call {
                Call::Done(outcome, traced) => {
                    self.link.timing.traced = traced;
                    outcome
                }
                Call::Lead(batch) => match Box::pin(self.lead(batch, candidate)).await? {
                    BatchOutcome::Answered(done) => return Ok(Some(done)),
                    BatchOutcome::Written(outcome) => outcome,
                },
            };
            match outcome {
                Outcome::Committed(answer) => {
                    return self.combined(candidate, &answer).await.map(Some);
                }
                Outcome::Failed(answer) => {
                    return self.refused_together(candidate, &answer).await.map(Some);
                }
                Outcome::Lost => return Err(Error::Batch),
                Outcome::NotWritten => {}
            }
        }
        Ok(None)
    }

    /// The group that the session's next statement may be combined in. `None` if it must not be combined. `sets_time`:
    /// it may set the statement's present.
    pub(crate) async fn group(&mut self, sets_time: bool) -> Result<Option<Arc<Group>>, Error> {
        if !self.is_clean() || *self.state.info() == InfoText::Unknown {
            return Ok(None);
        }
        if let Combining::Unknown = self.state.combining {
            self.ask_for_group().await?;
        }
        let Combining::With {
            group,
            has_own_time,
        } = &self.state.combining
        else {
            return Ok(None);
        };
        if sets_time && !has_own_time {
            return Ok(None);
        }
        let group = Arc::clone(group);
        if self.link.heard.elapsed() >= SILENCE {
            self.ping().await?;
        }
        Ok(Some(group))
    }

    /// Whether nothing in this session alone affects what its next increment does, or the response to it.
    fn is_clean(&self) -> bool {
        let state = &self.state;
        state.last.has_autocommit()
            && !state.in_transaction()
            && !state.last.leaves_doubt
            && state.locks.tables == TableLocks::None
            && state.temporary.hide.is_empty()
            && !state.one_shot.is_set()
            && !state.takes_no_slots()
            && state.tracked.is_at_rest()
            && !state.locks.may_hold_others
    }

    /// Asks the upstream which group the session belongs to.
    async fn ask_for_group(&mut self) -> Result<(), Error> {
        let question = match self.hot.catalog.mariadb {
            true => MARIADB_QUESTION,
            false => MYSQL_QUESTION,
        };
        let answer = self.insist(question).await?;
        let is_true = |value: &Option<Vec<u8>>| value.as_deref() == Some(b"1");
        self.state.combining = match answer {
            InternalResponse::Row(mut row) if row.len() > 2 && is_true(&row[0]) => {
                let has_own_time = is_true(&row[1]);
                let name = GroupName {
                    server: self.server.clone(),
                    variables: row.split_off(2),
                    capabilities: self.link.capabilities & !capability::SSL,
                };
                Combining::With {
                    group: self.shared.groups.group(name),
                    has_own_time,
                }
            }
            // An older server lacks some of the variables.
            _ => Combining::Alone,
        };
        Ok(())
    }

    /// Waits to be called. An upstream that closes meanwhile (KILL) ends the session; its increment may be written all
    /// the same, like that of a statement which is killed too late. To the server a session that waits is idle, so the
    /// session pings it now and then.
    async fn await_call(&mut self, mut called: oneshot::Receiver<Call>) -> Result<Call, Error> {
        let shared = Arc::clone(&self.shared);
        let _waiting = shared.metrics.count_waiting();
        let since = Instant::now();
        let mut signs = ResponseTracker::new(ResponseKind::Nothing, self.link.capabilities);
        let mut next_sign = pin!(tokio::time::sleep(SILENCE));
        loop {
            // The response to a ping must be read before anything else is sent.
            while !signs.is_done() && !self.link.upstream.buffered().is_empty() {
                self.link.read_packet(&mut signs, &mut Vec::new()).await?;
                self.observe(&signs);
            }
            tokio::select! {
                biased;
                // The leader always sends an outcome. If it ever did not, nobody would know whether the increment was
                // written.
                call = &mut called, if signs.is_done() => {
                    self.link.combining_since(since);
                    return Ok(call.unwrap_or(Call::Done(Outcome::Lost, None)));
                }
                read = self.link.upstream.fill(), if !self.link.upstream.is_full() => {
                    if read.map_err(Error::upstream)? == 0 {
                        return Err(Error::Upstream(ReadError::Closed));
                    }
                }
                () = &mut next_sign, if signs.is_done() => {
                    self.link.write_ping().await?;
                    signs = ResponseTracker::new(ResponseKind::Single, self.link.capabilities);
                    next_sign.as_mut().reset(tokio::time::Instant::now() + SILENCE);
                }
            }
        }
    }

    /// Sends the client the error of a statement that another session has run.
    async fn refused_together(
        &mut self,
        candidate: &Candidate<'_>,
        answer: &Answer,
    ) -> Result<Replied, Error> {
        self.count_combined(candidate);
        match &answer.messages {
            Some(messages) => {
                let messages = Some(messages.to_vec());
                self.state.diagnostics = Some(Diagnostics::of(&answer.payload, messages));
            }
            None => {
                self.state.diagnostics = Some(Diagnostics::of_an_error());
                self.raise_again(&answer.payload).await?;
            }
        }
        self.reply_err(candidate.context, &answer.payload).await
    }

    /// Sends the client the response to a statement that another session may have written.
    async fn combined(
        &mut self,
        candidate: &Candidate<'_>,
        answer: &Answer,
    ) -> Result<Replied, Error> {
        self.count_combined(candidate);
        if candidate.member.work.sets_last_insert_id() {
            let id = OkPacket::decode(&answer.payload)?.last_insert_id;
            self.state.last_insert_id_due = Some(id);
        }
        // The upstream would report on another statement.
        let messages = answer.messages.as_ref().map(|messages| messages.to_vec());
        self.state.diagnostics = Some(Diagnostics::of(&answer.payload, messages));
        self.reply_ok(candidate.context, answer.payload.to_vec())
            .await
    }

    /// Counts an increment of slots that its batch has completed. Other statements are counted when they come.
    pub(crate) fn count_combined(&mut self, candidate: &Candidate<'_>) {
        if let Some(slotting) = candidate.slotting {
            self.count_increment(Reason::Slotted, &slotting.increment.table);
        }
    }
}
