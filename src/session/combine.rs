//! An increment waits for others of its kind, and is written with them by one of their sessions.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Session;
use super::as_update::InfoText;
use super::error::Error;
use super::increment::Slotting;
use super::leading::Led;
use super::link::internal::InternalResponse;
use super::state::TableLocks;
use super::state::diagnostics::Diagnostics;
use super::turn::Done;
use crate::counter::combine::{Addition, Call, CombineKey, Entered, Group, GroupName, Outcome};
use crate::net::ReadError;
use crate::reason::Reason;
use crate::sql::{Kind, mentions};
use crate::wire::response::{ResponseKind, ResponseTracker};
use crate::wire::{capability, status};

/// A batch that is away for longer waits for a lock, perhaps, and others need not wait for its lane.
const PATIENCE: Duration = Duration::from_millis(50);

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

/// Whose increments a session's own may be added to.
#[derive(Debug)]
pub(super) enum Combining {
    /// The upstream has not been asked since something may have changed it.
    Unknown,
    /// Nobody's.
    Alone,
    /// Those of its group.
    With {
        group: Arc<Group>,
        /// The session's time is the server's: SET timestamp is not in force.
        has_own_time: bool,
    },
}

impl Session {
    /// Writes an increment together with others. `None`: it has to be written by itself.
    pub(super) async fn combine(&mut self, slotting: &Slotting<'_>) -> Result<Option<Done>, Error> {
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
                    Led::Answered(done) => return Ok(Some(done)),
                    Led::Written(outcome) => outcome,
                },
            };
            match outcome {
                Outcome::Committed(ok) => return self.combined(slotting, &ok).await.map(Some),
                Outcome::Failed(error) => {
                    self.count_combined(slotting);
                    self.state.diagnostics = Some(Diagnostics::of_an_error());
                    self.raise_again(&error).await?;
                    return self.answer_err(slotting.turn, &error).await.map(Some);
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
            && !state.unguarded
            && state.is_quiet
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
                    facts: row.split_off(2),
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

    /// Counts an increment that is through with its batch.
    pub(super) fn count_combined(&mut self, slotting: &Slotting<'_>) {
        // One of a table without slots is counted already.
        if slotting.increment.table.slots > 0 {
            self.count_increment(Reason::Slotted, &slotting.increment.table);
        }
    }

    /// Answers for an increment that another session may have written.
    async fn combined(&mut self, slotting: &Slotting<'_>, ok: &[u8]) -> Result<Done, Error> {
        self.count_combined(slotting);
        // The upstream would tell of another statement.
        self.state.diagnostics = Some(Diagnostics::of(ok, None));
        self.answer_ok(slotting.turn, ok.to_vec()).await
    }
}

/// Runs what a batch waits for. `late` is called when that takes long.
pub(super) async fn patiently<T>(running: impl Future<Output = T>, late: impl FnOnce()) -> T {
    let mut running = pin!(running);
    tokio::select! {
        biased;
        done = &mut running => return done,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    late();
    running.await
}

impl Session {
    /// Takes in a statement that may take locks which are no table's, open a transaction that no flag tells of, or make
    /// a temporary table. Judged by its words, for it may stand behind another, or be prepared.
    pub(super) fn note_locks(&mut self, kind: Kind, may_lock: bool) {
        self.state.may_hold_locks |= may_lock || kind == Kind::Call;
        // The text of a statement that is prepared in SQL need not have been seen.
        self.state.may_have_temporary |= may_lock || matches!(kind, Kind::Call | Kind::Execute);
    }
}

/// Whether the words of a text may take such locks, or make a temporary table.
pub(super) fn may_take_locks(text: &[u8], kind: Kind, may_be_several: bool) -> bool {
    // A temporary table may hide one without slots.
    const WORDS: [&[u8]; 4] = [b"FLUSH", b"XA", b"BACKUP", b"TEMPORARY"];
    let is_plain = !matches!(
        kind,
        Kind::Show | Kind::Other | Kind::Prepare | Kind::Set { .. } | Kind::Ddl
    );
    if is_plain && !(may_be_several && memchr::memchr(b';', text).is_some()) {
        return false;
    }
    WORDS.iter().any(|word| mentions(text, word))
}
