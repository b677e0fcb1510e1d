//! An increment waits for others of its kind, and is written with them by one of their sessions.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::counter::combine::{Addition, Call, CombineKey, Entered, Group, GroupName, Outcome};
use crate::net::ReadError;
use crate::session::Session;
use crate::session::act::batch_leader::BatchOutcome;
use crate::session::act::slot::Slotting;
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::reply::Replied;
use crate::session::state::TableLocks;
use crate::session::state::combining::Combining;
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::info_text::InfoText;
use crate::wire::response::{ResponseKind, ResponseTracker};
use crate::wire::{capability, status};

/// A session whose upstream has not been heard for so long asks it for a sign first: servers close connections that
/// nobody uses, after a second at the earliest.
const SILENCE: Duration = Duration::from_millis(500);

/// All that decides what an increment does and answers when another session writes it, beside its text.
const MYSQL_QUESTION: &str = "SELECT @@SESSION.session_track_gtids = 'OFF' AND @@SESSION.session_track_state_change = 0 \
     AND @@SESSION.session_track_transaction_info = 'OFF', \
     ABS(@@SESSION.timestamp - UNIX_TIMESTAMP(SYSDATE(6))) < 1, CURRENT_USER(), CURRENT_ROLE(), DATABASE(), \
     @@SESSION.sql_mode, @@SESSION.character_set_client, @@SESSION.character_set_connection, \
     @@SESSION.collation_connection, @@SESSION.character_set_results, @@SESSION.time_zone, @@SESSION.lc_messages, \
     @@SESSION.sql_safe_updates, @@SESSION.foreign_key_checks, @@SESSION.unique_checks, @@SESSION.sql_log_bin, \
     @@SESSION.binlog_format, @@SESSION.binlog_row_image, @@SESSION.binlog_rows_query_log_events, \
     @@SESSION.gtid_next, @@SESSION.transaction_isolation, @@SESSION.transaction_read_only, \
     @@SESSION.innodb_lock_wait_timeout, @@SESSION.lock_wait_timeout, @@SESSION.sql_big_selects";

const MARIADB_QUESTION: &str = "SELECT @@SESSION.session_track_state_change = 0 \
     AND @@SESSION.session_track_transaction_info = 'OFF' \
     AND @@SESSION.session_track_system_variables NOT LIKE '%last_gtid%' \
     AND @@SESSION.session_track_system_variables NOT LIKE '%*%', \
     ABS(@@SESSION.timestamp - UNIX_TIMESTAMP(SYSDATE(6))) < 1, CURRENT_USER(), CURRENT_ROLE(), DATABASE(), \
     @@SESSION.sql_mode, @@SESSION.character_set_client, @@SESSION.character_set_connection, \
     @@SESSION.collation_connection, @@SESSION.character_set_results, @@SESSION.time_zone, @@SESSION.lc_messages, \
     @@SESSION.sql_safe_updates, @@SESSION.foreign_key_checks, @@SESSION.unique_checks, @@SESSION.sql_log_bin, \
     @@SESSION.binlog_format, @@SESSION.binlog_row_image, @@SESSION.binlog_annotate_row_events, \
     @@SESSION.gtid_domain_id, @@SESSION.gtid_seq_no, @@SESSION.server_id, @@SESSION.skip_replication, \
     @@SESSION.tx_isolation, @@SESSION.tx_read_only, @@SESSION.innodb_lock_wait_timeout, \
     @@SESSION.lock_wait_timeout, @@SESSION.max_statement_time, @@SESSION.sql_big_selects";

impl Session {
    /// Writes an increment together with others. `None`: it has to be written by itself.
    pub(crate) async fn combine(
        &mut self,
        slotting: &Slotting<'_>,
    ) -> Result<Option<Replied>, Error> {
        let Some((group, addition)) = self.addition(slotting).await? else {
            return Ok(None);
        };
        // Once more, when the slot row turned out not to be there, or closed.
        for _ in 0..2 {
            let table = &addition.increment.table;
            let slots = &self.shared.slots;
            let is_known = slots.knows(table, &addition.key.slot_row, slots.first(table));
            let call = match group.enter(addition.clone(), is_known) {
                Entered::Lead(batch) => Call::Lead(batch),
                Entered::Wait(called) => self.await_call(called).await?,
            };
            let outcome = match call {
                Call::Done(outcome) => outcome,
                Call::Lead(batch) => match self.lead(batch, slotting).await? {
                    BatchOutcome::Answered(done) => return Ok(Some(done)),
                    BatchOutcome::Written(outcome) => outcome,
                },
            };
            match outcome {
                Outcome::Committed(ok) => return self.combined(slotting, &ok).await.map(Some),
                Outcome::Failed(error) => {
                    self.count_combined(slotting);
                    self.state.diagnostics = Some(Diagnostics::of_an_error());
                    self.raise_again(&error).await?;
                    return self.answer_err(slotting.context, &error).await.map(Some);
                }
                Outcome::Lost => return Err(Error::Batch),
                Outcome::NotWritten => {}
            }
        }
        Ok(None)
    }

    /// What the increment adds, and to whose; `None` when it may not be added to others.
    async fn addition(
        &mut self,
        slotting: &Slotting<'_>,
    ) -> Result<Option<(Arc<Group>, Addition)>, Error> {
        let increment = slotting.increment;
        let (Some(slot_row), Some(amounts)) = (&slotting.slot_row, slotting.amounts) else {
            return Ok(None);
        };
        if !increment.may_combine || !self.is_clean() || self.state.info == InfoText::Unknown {
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
        if !has_own_time && !increment.table.touches.is_empty() {
            return Ok(None);
        }
        let group = Arc::clone(group);
        if self.link.heard.elapsed() >= SILENCE {
            self.ping().await?;
        }
        let addition = Addition {
            key: Arc::new(CombineKey {
                shape: increment.shape,
                times: increment.times.clone(),
                slot_row: slot_row.clone(),
            }),
            increment: Arc::clone(increment),
            parameters: slotting.parameters.to_vec(),
            amounts: amounts.to_vec(),
        };
        Ok(Some((group, addition)))
    }

    /// Whether nothing of this session's own has to do with what its next increment does and answers.
    fn is_clean(&self) -> bool {
        let state = &self.state;
        state.status & status::AUTOCOMMIT != 0
            && !state.in_transaction()
            && !state.status_uncertain
            && state.table_locks == TableLocks::None
            && state.shadowed.is_empty()
            && !state.one_shot.is_set()
            && !state.checks_disabled
            && state.has_no_warnings
            && state.tracked.is_at_rest()
            && !state.may_hold_locks
    }

    /// Asks the upstream what the session has in common with others.
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
            // An older server has not got all of the variables.
            _ => Combining::Alone,
        };
        Ok(())
    }

    /// Waits to be called. An upstream that closes meanwhile (KILL) ends the session; its increment may be written all
    /// the same, as one that is killed late is. To the server a session that waits is idle, so it gives a sign now and
    /// then.
    async fn await_call(&mut self, mut called: oneshot::Receiver<Call>) -> Result<Call, Error> {
        let shared = Arc::clone(&self.shared);
        let _waiting = shared.metrics.count_waiting();
        let since = Instant::now();
        let mut signs = ResponseTracker::new(ResponseKind::Nothing, self.link.capabilities);
        let mut next_sign = pin!(tokio::time::sleep(SILENCE));
        loop {
            // A sign is answered before anything else is said there.
            while !signs.is_done() && !self.link.upstream.buffered().is_empty() {
                self.link.read_packet(&mut signs, &mut Vec::new()).await?;
                self.observe(&signs);
            }
            tokio::select! {
                biased;
                // A sender never goes without a word; should it, nobody knows what became of the increment.
                call = &mut called, if signs.is_done() => {
                    self.link.combining_since(since);
                    return Ok(call.unwrap_or(Call::Done(Outcome::Lost)));
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

    /// Answers for an increment that another session may have written.
    async fn combined(&mut self, slotting: &Slotting<'_>, ok: &[u8]) -> Result<Replied, Error> {
        self.count_combined(slotting);
        // The upstream would tell of another statement.
        self.state.diagnostics = Some(Diagnostics::of(ok, None));
        self.answer_ok(slotting.context, ok.to_vec()).await
    }
}
