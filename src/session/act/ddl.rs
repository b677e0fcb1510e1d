//! What statements do to hot tables as a whole: DDL, temporary tables that hide them, LOCK TABLES.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::{fold, withdrawal};
use crate::session::Session;
use crate::session::act::fold::COMMIT;
use crate::session::act::fold_slots::{AsOwn, Bound};
use crate::session::error::Error;
use crate::session::error_kind::{is_access_denied, is_syntax_error, is_without_slots};
use crate::session::interrupted::INTERRUPTED;
use crate::session::link::internal::{Failure, InternalResponse, Row, failure};
use crate::session::reply::{
    HeldResponse, Original, Replied, ReplyContext, error_payload, has_messages,
};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::transaction::{Keys, Transaction};
use crate::sql::TableLocks;
use crate::sql::plan::{Ddl, Fold, FoldTable, LockTables, Reason};
use crate::wire::error_code::{
    ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, ER_NOT_SUPPORTED_YET, ER_USER_LOCK_DEADLOCK,
};
use crate::wire::reader::Malformed;
use crate::wire::reply;

/// The error of a lock wait that timed out, as the client's own statement would report it.
const WAITED: (u16, &str, &str) = (
    ER_LOCK_WAIT_TIMEOUT,
    "HY000",
    "Lock wait timeout exceeded; try restarting transaction",
);

/// Whether a user lock cannot be had, because the session that holds it waits for this one.
fn is_deadlock(error: &[u8]) -> bool {
    const DEADLOCKS: [u16; 2] = [ER_LOCK_DEADLOCK, ER_USER_LOCK_DEADLOCK];
    reply::Err::decode(error).is_ok_and(|error| DEADLOCKS.contains(&error.code))
}

/// The number in a row that a query of the proxy's has returned.
fn number(row: &Row) -> Option<u64> {
    std::str::from_utf8(row.first()?.as_ref()?)
        .ok()?
        .parse()
        .ok()
}

/// The error for what would empty slots under LOCK TABLES, where other members of a cluster write these tables: Galera
/// hangs for ever when a change of a table arrives that is locked and written.
fn refused_in_cluster(tables: &[Arc<HotTable>]) -> Option<Vec<u8>> {
    let table = tables.iter().find(|table| table.is_gated)?;
    let message = format!(
        "{0}.{1} is a hot table of a cluster with several writers; take its rule out of force first: countersink drain {0}.{1}",
        table.schema, table.name
    );
    Some(error_payload((ER_NOT_SUPPORTED_YET, "42000", &message)))
}

/// User locks that a session holds while its DDL runs.
type Locks = Vec<String>;

impl Session {
    /// Folds the tables, or withdraws their slot tables, runs the DDL, and has the catalog read again. The client gets
    /// its response only then: once a client knows that the DDL is done, the proxy must be ready for it.
    pub(crate) async fn ddl(
        &mut self,
        ddl: &Ddl,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        self.count(Reason::Ddl);
        if ddl.withdraws_slots
            && let Some(error) = refused_in_cluster(&ddl.tables)
        {
            return self.reply_err(context, &error).await;
        }
        // After an error only the upstream knows whether a transaction is open.
        self.settle_doubt().await?;
        let mut mark = None;
        let mut locks = Locks::new();
        let may_withdraw = match self.may_withdraw_for(ddl, original).await? {
            Ok(may_withdraw) => may_withdraw,
            Err(error) => return self.reply_err(context, &error).await,
        };
        let refused = if may_withdraw {
            if self.state.in_transaction() {
                // The statement would commit the transaction in any case, and the transaction may hold locks that the
                // withdrawal waits for.
                if let Err(error) = self.run_internal(COMMIT).await?.into_result() {
                    return self.reply_err(context, &error).await;
                }
            }
            self.withdraw(&ddl.tables, &mut locks).await?.err()
        } else {
            // The statement may be refused, and the transaction go on with its snapshot.
            if let (true, Some(table)) = (self.state.in_transaction(), ddl.tables.first()) {
                mark = self.mark(table).await?;
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
        self.release(&held).await
    }

    /// Whether slot tables are to be withdrawn for a statement, and may be. They may if no locks of this session are
    /// waited for then, and if the statement ends the open transaction in any case. The inner error is an ERR payload
    /// for the client.
    async fn may_withdraw_for(
        &mut self,
        ddl: &Ddl,
        original: &Original,
    ) -> Result<Result<bool, Vec<u8>>, Error> {
        let is_free = self.state.locks.tables == TableLocks::None;
        if !ddl.withdraws_slots || ddl.tables.is_empty() || !is_free {
            return Ok(Ok(false));
        }
        if !self.state.in_transaction() {
            return Ok(Ok(true));
        }
        // A READ ONLY transaction is no exception: the server commits it before it refuses anything.
        self.is_understood(original).await
    }

    /// Withdraws the slot tables of these tables until the locks are released. The inner error is an ERR payload for
    /// the client, whose statement must not run.
    async fn withdraw(
        &mut self,
        tables: &[Arc<HotTable>],
        locks: &mut Locks,
    ) -> Result<Result<(), Vec<u8>>, Error> {
        /// The timeout, in seconds, of a session that may itself hold what is waited for (FLUSH TABLES WITH READ
        /// LOCK). The server refuses its DDL then.
        const SHORT: u64 = 5;
        let is_doubtful = self.state.locks.may_hold_others;
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
                // The withdrawal waits for the tables, perhaps as long again.
                let lock = withdrawal.lock.clone();
                match self.take_lock(&lock, seconds.saturating_mul(2)).await? {
                    Ok(()) => {
                        self.insist(withdrawal::release(&lock)).await?;
                        withdrawal.finish().await
                    }
                    // This session may hold what is waited for (FLUSH TABLES WITH READ LOCK). The server refuses its
                    // DDL then.
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
            // Another server has taken the place of the one where the slots are.
            _ if error.is_replaced() => return Ok(Err(error_payload(INTERRUPTED))),
            // Not even the hot table exists. The server will report that for the client's statement.
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
            // On MariaDB, GET_LOCK that is killed returns NULL rather than an error.
            InternalResponse::Row(row) if row.first() == Some(&None) => {
                Err(error_payload(INTERRUPTED))
            }
            _ => Err(error_payload(WAITED)),
        })
    }

    /// Folds the slots of the statement's tables. The inner error is an ERR payload for the client.
    async fn fold_for_ddl(&mut self, ddl: &Ddl) -> Result<Result<(), Vec<u8>>, Error> {
        let tables = ddl.tables.iter();
        let folds: Vec<Bound> = tables
            .map(|table| Keys::whole(Arc::clone(table)).into())
            .collect();
        if !self.state.in_transaction() {
            if !folds.is_empty() {
                // A table that does not exist, not yet or no longer, has nothing to fold.
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

    /// Keeps the diagnostics of the statement, before internal statements run on which the upstream would report
    /// instead.
    async fn keep_messages(
        &mut self,
        held: &HeldResponse,
        context: ReplyContext,
    ) -> Result<(), Error> {
        let messages = match has_messages(&held.last, context.response_kind) {
            true => self.take_messages().await?,
            false => None,
        };
        self.state.diagnostics = Some(Diagnostics::of(&held.last, messages));
        Ok(())
    }

    /// Runs a statement that may create a temporary table with a hot table's name, and fill it from these tables.
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
        let done = match self.state.locks.tables {
            TableLocks::None => {
                self.fold_then_original(&fold, None, original, context)
                    .await?
            }
            // A fold would begin with START TRANSACTION, which ends LOCK TABLES.
            _ => self.run_original(original, context).await?,
        };
        // Whether the table is hidden is asked when the next statement names it: the client may ask for this
        // statement's warnings before.
        self.state.temporary.are_doubted |= !done.failed;
        Ok(done)
    }

    /// Locks the slot tables together with the hot ones. Under a WRITE lock everything is folded at once, and the hot
    /// table is a plain table until UNLOCK TABLES. Under a READ lock it is read with its slots as always.
    pub(crate) async fn lock_tables(
        &mut self,
        lock: &LockTables,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        /// How often, and for how many seconds each time, to wait for slot tables that are withdrawn.
        const MOST_TRIES: usize = 5;
        const WAIT: u64 = 50;
        self.count(Reason::LockTables);
        if let Some(error) = refused_in_cluster(&lock.written) {
            return self.reply_err(context, &error).await;
        }
        // MySQL refuses to open a cursor for LOCK TABLES.
        if original.may_open_cursor() && !self.hot.catalog.mariadb {
            return self.run_original(original, context).await;
        }
        if let Some(flush) = &lock.flush {
            // Where tables are locked already, FLUSH TABLES is refused, and they stay locked.
            if self.state.locks.tables != TableLocks::None {
                return self.run_original(original, context).await;
            }
            if let Err(error) = self.run_internal(flush).await?.into_result() {
                return self.reply_err(context, &error).await;
            }
        }
        // OK and ERR packets are the same in both protocols (MariaDB can prepare LOCK TABLES).
        let mut locked = self.run_internal(fold::lock_tables(lock)).await?;
        if matches!(&locked, InternalResponse::Err(error) if !is_syntax_error(error)) {
            // The locks of before are released first.
            self.state.locks.tables = TableLocks::None;
        }
        for _ in 0..MOST_TRIES {
            if !matches!(&locked, InternalResponse::Err(error) if is_without_slots(error)) {
                break;
            }
            // DDL may have withdrawn the slot tables. Wait for its end, as the client's statement would wait for the
            // metadata lock.
            for table in &lock.tables {
                let name = withdrawal::lock_name(table);
                if let Err(error) = self.take_lock(&name, WAIT).await? {
                    return self.reply_err(context, &error).await;
                }
                self.insist(withdrawal::release(&name)).await?;
            }
            self.shared.refresh().await;
            locked = self.run_internal(fold::lock_tables(lock)).await?;
        }
        let answer = match locked {
            InternalResponse::Ok(ok) => ok,
            // The message would quote the text that the proxy has added. The statement has done nothing.
            InternalResponse::Err(error) if is_syntax_error(&error) => {
                return self.run_original(original, context).await;
            }
            // The slot tables are gone, because a counter of the rule was renamed: there is nothing to fold.
            InternalResponse::Err(error) if is_without_slots(&error) => {
                let done = self.run_original(original, context).await?;
                if !done.failed {
                    self.state.transaction = Transaction::default();
                    self.state.locks.tables = TableLocks::Plain;
                }
                return Ok(done);
            }
            InternalResponse::Err(error) => return self.reply_err(context, &error).await,
            InternalResponse::Row(_) => return Err(Malformed.into()),
        };
        // LOCK TABLES has committed. A transaction that it may have opened since (with autocommit off) holds no slot
        // and no fold.
        self.state.transaction = Transaction::default();
        self.state.locks.tables = match lock.written.len() == lock.tables.len() {
            true => TableLocks::Plain,
            false => TableLocks::Read,
        };
        let folds: Vec<_> = fold::under_locks(lock).collect();
        match self.run_all(&folds).await? {
            Ok(_) if folds.is_empty() => {}
            Ok(_) => self.state.diagnostics = Some(Diagnostics::of_none()),
            // Who may not write the counters sees them as under a lock for reading.
            Err(error) if is_access_denied(&error) => {
                self.state.locks.tables = TableLocks::Read;
                self.state.diagnostics = Some(Diagnostics::of_none());
            }
            Err(error) => {
                // Under the locks, base would pass for the whole value.
                if let InternalResponse::Err(_) = self.insist("UNLOCK TABLES").await? {
                    return Err(Error::Open);
                }
                self.state.locks.tables = TableLocks::None;
                self.report_alone(&error).await?;
                return self.reply_err(context, &error).await;
            }
        }
        self.reply_ok(context, answer).await
    }
}
