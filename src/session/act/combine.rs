//! An increment joins a batch, and one of the sessions in it writes them all.

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
use crate::session::state::combining::Combining;
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::info_text::InfoText;
use crate::sql::TableLocks;
use crate::wire::capability;
use crate::wire::response::{ResponseKind, ResponseTracker};

/// A session that has not heard from its upstream for this long pings it first: servers close connections that are
/// idle, after a second at the earliest.
const SILENCE: Duration = Duration::from_millis(500);

/// Asks for everything besides its text that decides what an increment does, and how the server responds to it, when
/// another session writes it.
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
    /// Writes an increment together with others. Returns `None` if it must be written by itself.
    pub(crate) async fn combine(
        &mut self,
        slotting: &Slotting<'_>,
    ) -> Result<Option<Replied>, Error> {
        let Some((group, addition)) = self.addition(slotting).await? else {
            return Ok(None);
        };
        // It is tried once more if the slot row turned out to be missing, or closed.
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
                    return self.reply_err(slotting.context, &error).await.map(Some);
                }
                Outcome::Lost => return Err(Error::Batch),
                Outcome::NotWritten => {}
            }
        }
        Ok(None)
    }

    /// What the increment adds, and the group that it may be combined in. `None` if it must not be combined.
    async fn addition(
        &mut self,
        slotting: &Slotting<'_>,
    ) -> Result<Option<(Arc<Group>, Addition)>, Error> {
        let increment = slotting.increment;
        let (Some(slot_row), Some(amounts)) = (&slotting.slot_row, slotting.amounts) else {
            return Ok(None);
        };
        if !increment.may_combine || !self.is_clean() || *self.state.info() == InfoText::Unknown {
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
            && state.last.has_no_warnings
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

    /// Sends the client the response to an increment that another session may have written.
    async fn combined(&mut self, slotting: &Slotting<'_>, ok: &[u8]) -> Result<Replied, Error> {
        self.count_combined(slotting);
        // The upstream would report on another statement.
        self.state.diagnostics = Some(Diagnostics::of(ok, None));
        self.reply_ok(slotting.context, ok.to_vec()).await
    }
}
