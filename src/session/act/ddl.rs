//! What statements do to hot tables as wholes: DDL, temporary tables in front of them, LOCK TABLES.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::{fold, withdrawal};
use crate::session::Session;
use crate::session::act::fold::COMMIT;
use crate::session::act::fold_slots::{AsOwn, Bound};
use crate::session::error::Error;
use crate::session::error_kind::{is_syntax_error, is_without_slots};
use crate::session::link::internal::{Failure, InternalResponse, Row, failure};
use crate::session::reply::{
    HeldResponse, Original, Replied, ReplyContext, error_payload, has_messages,
};
use crate::session::state::TableLocks;
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::transaction::{Keys, Transaction};
use crate::sql::plan::{Ddl, Fold, FoldTable, LockTables, Reason};
use crate::wire::error_code::{
    ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, ER_QUERY_INTERRUPTED, ER_USER_LOCK_DEADLOCK,
};
use crate::wire::reader::Malformed;
use crate::wire::{reply, status};

/// A lock that was waited for in vain, as the statement itself would have it.
const WAITED: (u16, &str, &str) = (
    ER_LOCK_WAIT_TIMEOUT,
    "HY000",
    "Lock wait timeout exceeded; try restarting transaction",
);

/// A statement that was killed.
const INTERRUPTED: (u16, &str, &str) = (
    ER_QUERY_INTERRUPTED,
    "70100",
    "Query execution was interrupted",
);

/// Whether a user lock is not to be had, as the session that would wait is waited for.
fn is_deadlock(error: &[u8]) -> bool {
    const DEADLOCKS: [u16; 2] = [ER_LOCK_DEADLOCK, ER_USER_LOCK_DEADLOCK];
    reply::Err::decode(error).is_ok_and(|error| DEADLOCKS.contains(&error.code))
}

/// The number that a question has been answered by.
fn number(row: &Row) -> Option<u64> {
    std::str::from_utf8(row.first()?.as_ref()?)
        .ok()?
        .parse()
        .ok()
}

/// User locks that a session holds while its DDL runs.
type Locks = Vec<String>;

impl Session {
    /// Folds, or takes slots away, runs the DDL, and has the catalog read again. Then it answers: whoever hears of it
    /// must find the proxy ready.
    pub(crate) async fn ddl(
        &mut self,
        ddl: &Ddl,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        self.count(Reason::Ddl);
        // After an error only the upstream knows.
        if self.state.status_uncertain {
            self.run_internal("DO 0").await?;
        }
        let mut mark = None;
        let mut locks = Locks::new();
        let may_withdraw = match self.may_withdraw_for(ddl, original).await? {
            Ok(may_withdraw) => may_withdraw,
            Err(error) => return self.answer_err(context, &error).await,
        };
        let refused = if may_withdraw {
            if self.state.in_transaction() {
                // The statement would commit it, and it may hold locks that are waited for.
                if let Err(error) = self.run_internal(COMMIT).await?.into_result() {
                    return self.answer_err(context, &error).await;
                }
            }
            self.withdraw(&ddl.tables, &mut locks).await?.err()
        } else {
            // It may be refused, and the transaction go on with its snapshot.
            if self.state.in_transaction() {
                mark = self.mark().await?;
            }
            self.fold_for_ddl(ddl).await?.err()
        };
        let held = match refused {
            Some(error) => HeldResponse::refused(context, error),
            None => self.run_original_and_hold(original, context, false).await?,
        };
        if let (true, Some(mark)) = (held.failed, mark) {
            self.undo_folds(mark, &held.last, context.response_kind)
                .await?;
        }
        if !locks.is_empty() {
            self.keep_messages(&held, context).await?;
            for lock in &locks {
                self.insist(withdrawal::release(lock)).await?;
            }
        }
        if !held.failed || !locks.is_empty() {
            self.refresh_catalog().await;
        }
        if held.failed && !locks.is_empty() {
            self.raise_again(&held.last).await?;
        }
        self.let_go(&held).await
    }

    /// Whether slots are to be taken away for a statement, and may be: nothing of this session's own is waited for
    /// then, and the statement ends its open transaction in any case. The inner error is an ERR payload, and the
    /// client's.
    async fn may_withdraw_for(
        &mut self,
        ddl: &Ddl,
        original: &Original,
    ) -> Result<Result<bool, Vec<u8>>, Error> {
        let is_free = self.state.table_locks == TableLocks::None;
        if !ddl.withdraws_slots || ddl.tables.is_empty() || !is_free {
            return Ok(Ok(false));
        }
        if !self.state.in_transaction() {
            return Ok(Ok(true));
        }
        // One that may only read is no exception: it is committed before anything is refused.
        self.is_understood(original).await
    }

    /// Takes the slots of these tables away, until the locks are released. The inner error is an ERR payload, and the
    /// client's: its statement is not to run.
    async fn withdraw(
        &mut self,
        tables: &[Arc<HotTable>],
        locks: &mut Locks,
    ) -> Result<Result<(), Vec<u8>>, Error> {
        /// Of a session that may itself hold what is waited for (FLUSH TABLES WITH READ LOCK): then the server refuses
        /// DDL.
        const SHORT: u64 = 5;
        let is_doubtful = self.state.may_hold_locks;
        let seconds = match self.run_internal(withdrawal::PATIENCE).await? {
            InternalResponse::Row(row) if is_doubtful => number(&row).unwrap_or(1).clamp(1, SHORT),
            InternalResponse::Row(row) => number(&row).unwrap_or(1).max(1),
            InternalResponse::Err(error) => return Ok(Err(error)),
            InternalResponse::Ok(_) => return Err(Malformed.into()),
        };
        let names: BTreeSet<_> = tables
            .iter()
            .map(|table| withdrawal::lock_name(table))
            .collect();
        for name in names {
            if let Err(error) = self.take_lock(&name, seconds).await? {
                return Ok(Err(error));
            }
            locks.push(name);
        }
        for table in tables {
            self.shared.slots.forget_all(table);
        }
        let session = self.entry.thread_id();
        let begun = self.shared.withdraw(tables, session, seconds).await;
        let outcome = match begun {
            Ok(withdrawal) => {
                // The tables may have to be waited for as long again.
                let lock = withdrawal.lock.clone();
                match self.take_lock(&lock, seconds.saturating_mul(2)).await? {
                    Ok(()) => {
                        self.insist(withdrawal::release(&lock)).await?;
                        withdrawal.finish().await
                    }
                    // This session may hold what is waited for (FLUSH TABLES WITH READ LOCK): then the server refuses
                    // its DDL.
                    Err(error) => {
                        withdrawal.cancel().await;
                        return Ok(match is_doubtful || is_deadlock(&error) {
                            true => Ok(()),
                            false => Err(error),
                        });
                    }
                }
            }
            Err(error) => Err(error),
        };
        let Err(error) = outcome else {
            return Ok(Ok(()));
        };
        match error.of_server().map(error_payload) {
            Some(payload) if failure(&payload) == Failure::TheClients && !is_doubtful => {
                return Ok(Err(payload));
            }
            // Not even the hot table is there: the server will say so of the statement.
            _ if error.is_missing_table() => {}
            _ => tracing::warn!("slots stay in use while DDL runs: {error}"),
        }
        Ok(Ok(()))
    }

    /// Takes a user lock. The inner error is an ERR payload.
    async fn take_lock(&mut self, name: &str, seconds: u64) -> Result<Result<(), Vec<u8>>, Error> {
        let answer = self.run_internal(withdrawal::lock(name, seconds)).await?;
        Ok(match answer {
            InternalResponse::Row(row) if number(&row) == Some(1) => Ok(()),
            InternalResponse::Err(error) => Err(error),
            // MariaDB is killed without an error.
            InternalResponse::Row(row) if row.first() == Some(&None) => {
                Err(error_payload(INTERRUPTED))
            }
            _ => Err(error_payload(WAITED)),
        })
    }

    /// Folds what the statement's tables have in slots. The inner error is an ERR payload, and the client's.
    async fn fold_for_ddl(&mut self, ddl: &Ddl) -> Result<Result<(), Vec<u8>>, Error> {
        let tables = ddl.tables.iter();
        let folds: Vec<Bound> = tables
            .map(|table| Keys::whole(Arc::clone(table)).into())
            .collect();
        if !self.state.in_transaction() {
            if !folds.is_empty() {
                // A table that is not there yet or any more has nothing to fold.
                self.fold_and_commit(&folds).await?.ok();
            }
            return Ok(Ok(()));
        }
        // The DDL itself commits what was folded in the open transaction.
        for bound in folds {
            match self.fold(&bound, AsOwn::No).await? {
                Err(error) if failure(&error) == Failure::TheClients => return Ok(Err(error)),
                _ => {}
            }
        }
        Ok(Ok(()))
    }

    /// Statements of ours follow, of which the upstream would tell.
    async fn keep_messages(
        &mut self,
        held: &HeldResponse,
        context: ReplyContext,
    ) -> Result<(), Error> {
        let messages = match has_messages(&held.last, context.response_kind) {
            true => {
                let ours = status::IN_TRANS | status::IN_TRANS_READONLY;
                self.take_messages(ours).await?
            }
            false => None,
        };
        self.state.diagnostics = Some(Diagnostics::of(&held.last, messages));
        Ok(())
    }

    /// The statement may make a temporary table with a hot one's name, and fill it from these.
    pub(crate) async fn shadow(
        &mut self,
        tables: &[Arc<HotTable>],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let fold = Fold::new(
            tables.iter().map(FoldTable::whole).collect(),
            Reason::Shadowed,
        );
        let done = match self.state.table_locks {
            TableLocks::None => {
                self.fold_then_original(&fold, None, original, context)
                    .await?
            }
            // Which START TRANSACTION would end.
            _ => self.run_original(original, context).await?,
        };
        // It is asked when the next statement names one, for this one's messages may be asked for before.
        self.state.shadows_doubted |= !done.failed;
        Ok(done)
    }

    /// Locks the slot tables with the hot ones. Under a WRITE lock everything is folded at once, and the hot table is a
    /// plain one until UNLOCK TABLES; under a READ lock it is read as ever.
    pub(crate) async fn lock_tables(
        &mut self,
        lock: &LockTables,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        /// How often, and for how many seconds, slots are waited for.
        const MOST_TRIES: usize = 5;
        const WAIT: u64 = 50;
        self.count(Reason::LockTables);
        // MySQL refuses a cursor.
        if original.may_open_cursor() && !self.hot.catalog.mariadb {
            return self.run_original(original, context).await;
        }
        if let Some(flush) = &lock.flush {
            // Where tables are locked already it is refused, and they stay so.
            if self.state.table_locks != TableLocks::None {
                return self.run_original(original, context).await;
            }
            if let Err(error) = self.run_internal(flush).await?.into_result() {
                return self.answer_err(context, &error).await;
            }
        }
        // OK and ERR read the same in either protocol (MariaDB prepares LOCK TABLES).
        let mut locked = self.run_internal(fold::lock_tables(lock)).await?;
        for _ in 0..MOST_TRIES {
            if !matches!(&locked, InternalResponse::Err(error) if is_without_slots(error)) {
                break;
            }
            // DDL has slots away, perhaps: its end is waited for, as its metadata lock would be.
            for table in &lock.tables {
                let name = withdrawal::lock_name(table);
                if let Err(error) = self.take_lock(&name, WAIT).await? {
                    return self.answer_err(context, &error).await;
                }
                self.insist(withdrawal::release(&name)).await?;
            }
            self.shared.refresh().await;
            locked = self.run_internal(fold::lock_tables(lock)).await?;
        }
        let answer = match locked {
            InternalResponse::Ok(ok) => ok,
            // The message would quote what we have added. The statement has done nothing.
            InternalResponse::Err(error) if is_syntax_error(&error) => {
                return self.run_original(original, context).await;
            }
            // The slots are gone, as a counter of the rule has another name: there is nothing to fold.
            InternalResponse::Err(error) if is_without_slots(&error) => {
                let done = self.run_original(original, context).await?;
                if !done.failed {
                    self.state.transaction = Transaction::default();
                    self.state.table_locks = TableLocks::Plain;
                }
                return Ok(done);
            }
            InternalResponse::Err(error) => return self.answer_err(context, &error).await,
            InternalResponse::Row(_) => return Err(Malformed.into()),
        };
        // It has committed; what it may have opened since (with autocommit off) holds no slot and no fold.
        self.state.transaction = Transaction::default();
        self.state.table_locks = match lock.written.len() == lock.tables.len() {
            true => TableLocks::Plain,
            false => TableLocks::Read,
        };
        for text in fold::under_locks(lock) {
            self.run_internal(text).await?;
        }
        self.answer_ok(context, answer).await
    }
}
