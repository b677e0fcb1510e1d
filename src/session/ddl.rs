//! What statements do to hot tables as wholes: DDL, temporary tables in front of them, LOCK TABLES.

use std::sync::Arc;

use super::Session;
use super::diagnostics::Diagnostics;
use super::error::Error;
use super::fold::has_messages;
use super::hidden::{Failure, Hidden, failure};
use super::moving::Bound;
use super::state::{Keys, TableLocks, Transaction};
use super::tracked::add_end;
use super::turn::{Done, Held, Original, Turn};
use crate::catalog::HotTable;
use crate::counter::fold::{self, UNLOCK};
use crate::sql::Kind;
use crate::sql::plan::{Ddl, Emptying, Fold, FoldTable, LockTables, Reason};
use crate::wire::reader::Malformed;
use crate::wire::{reply, status};

impl Session {
    /// Folds, runs the DDL, empties the slots where the rows are gone, and has the catalog read again. Then it answers:
    /// whoever hears of it must find the proxy ready.
    pub(super) async fn ddl(
        &mut self,
        ddl: &Ddl,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        self.count(Reason::Ddl);
        // After an error only the upstream knows.
        if self.state.status_uncertain {
            self.hidden("DO 0").await?;
        }
        let held = match self.may_lock_for(ddl, original) {
            true => self.empty_alone(ddl, original, turn).await?,
            false => None,
        };
        let held = match held {
            Some(held) => held,
            None => match self.fold_for_ddl(ddl).await? {
                Err(error) => return self.answer_err(turn, &error).await,
                Ok(()) => self.run_ddl(ddl, original, turn, false).await?,
            },
        };
        if !held.failed {
            self.refresh_catalog().await;
        }
        self.let_go(&held).await
    }

    /// Whether LOCK TABLES in front of the statement ends nothing that the statement would leave: an open transaction that
    /// stays open where the server cannot read the statement or refuses it a cursor, locks of FLUSH TABLES, an XA transaction.
    fn may_lock_for(&self, ddl: &Ddl, original: &Original) -> bool {
        let is_free = !self.state.may_hold_locks && self.state.table_locks == TableLocks::None;
        let ends_transaction = match ddl.emptying {
            Emptying::None => false,
            Emptying::Known => !self.state.in_transaction() || !original.may_open_cursor(),
            Emptying::Unread => !self.state.in_transaction(),
        };
        is_free && ends_transaction && !ddl.tables.is_empty()
    }

    /// Empties tables while nobody else reaches them or their slots: what others add to slots once the statement has ended
    /// belongs to rows that have come behind it, and must not be taken for what was there before. `None`: it cannot be done
    /// so, and has not been done.
    async fn empty_alone(
        &mut self,
        ddl: &Ddl,
        original: &Original,
        turn: Turn,
    ) -> Result<Option<Held>, Error> {
        /// It names other tables, or none may be locked.
        const UNDER_LOCKS: [u16; 3] = [1099, 1100, 1192];
        let was_open = self.state.status & status::IN_TRANS != 0;
        let lock = fold::lock_alone(ddl.tables.clone());
        let locked = match self.hidden(fold::lock_tables(&lock)).await? {
            Hidden::Ok(ok) => ok,
            // What the lock has waited for the statement would have waited for.
            Hidden::Err(error) if failure(&error) == Failure::TheClients => {
                return Ok(Some(Held::refused(turn, error)));
            }
            // All else the server says of the statement itself.
            _ => return Ok(None),
        };
        // Should we be lost in the middle, slots without rows hold nothing.
        let folds: Vec<_> = fold::under_locks(&lock).collect();
        let folded = self.run_all(&folds).await?;
        let mut held = match folded {
            Err(error) if failure(&error) == Failure::TheClients => Held::refused(turn, error),
            _ => self.run_ddl(ddl, original, turn, true).await?,
        };
        if held.failed {
            self.keep_messages(&held, turn).await?;
        }
        if let Hidden::Err(_) = self.insist(UNLOCK).await? {
            return Err(Error::Open);
        }
        // It held no slot and no fold.
        self.state.transaction = Transaction::default();
        if !held.failed {
            if was_open {
                add_end(&mut held.last, &locked);
            }
            return Ok(Some(held));
        }
        let code = reply::Err::decode(&held.last).map_or(0, |error| error.code);
        if UNDER_LOCKS.contains(&code) {
            return Ok(None);
        }
        self.raise_again(&held.last).await?;
        Ok(Some(held))
    }

    /// Folds what the statement's tables have in slots. The inner error is an ERR payload, and the client's.
    async fn fold_for_ddl(&mut self, ddl: &Ddl) -> Result<Result<(), Vec<u8>>, Error> {
        let tables = ddl.tables.iter();
        let folds: Vec<Bound> = tables
            .map(|table| Keys::whole(Arc::clone(table)).into())
            .collect();
        // LOCK TABLES may have been refused.
        if self.state.status_uncertain {
            self.hidden("DO 0").await?;
        }
        if !self.state.in_transaction() {
            if !folds.is_empty() {
                // A table that is not there yet or any more has nothing to fold.
                self.fold_and_commit(&folds).await?.ok();
            }
            return Ok(Ok(()));
        }
        // The DDL itself commits what was folded in the open transaction.
        for bound in folds {
            match self.fold(&bound).await? {
                Err(error) if failure(&error) == Failure::TheClients => return Ok(Err(error)),
                _ => {}
            }
        }
        Ok(Ok(()))
    }

    /// Runs the statement, and empties the slots where the rows are gone. Its answer ends with what is held. `is_locked`: it
    /// runs under locks that are ours.
    async fn run_ddl(
        &mut self,
        ddl: &Ddl,
        original: &Original,
        turn: Turn,
        is_locked: bool,
    ) -> Result<Held, Error> {
        let empties = ddl.emptying != Emptying::None && !ddl.tables.is_empty();
        let held = self
            .run_original_and_hold(original, turn, is_locked)
            .await?;
        if !empties || held.failed {
            return Ok(held);
        }
        self.keep_messages(&held, turn).await?;
        let texts: Vec<_> = ddl.tables.iter().map(|table| fold::empty(table)).collect();
        let texts: Vec<_> = texts.into_iter().map(String::into_bytes).collect();
        // Where they cannot be emptied, they were folded.
        self.run_all(&texts).await?.ok();
        // With autocommit off that has begun a transaction.
        if self.state.in_transaction() {
            self.commit_own().await?;
        }
        Ok(held)
    }

    /// Statements of ours follow, of which the upstream would tell.
    async fn keep_messages(&mut self, held: &Held, turn: Turn) -> Result<(), Error> {
        let messages = match has_messages(&held.last, turn.form) {
            true => self.take_messages().await?,
            false => None,
        };
        self.state.diagnostics = Some(Diagnostics::of(&held.last, messages));
        Ok(())
    }

    /// The statement may make a temporary table with a hot one's name, and fill it from that one.
    pub(super) async fn shadow(
        &mut self,
        tables: &[Arc<HotTable>],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let fold = Fold {
            folds: tables.iter().map(FoldTable::whole).collect(),
            reason: Reason::Shadowed,
        };
        let done = self.fold_then_original(&fold, None, original, turn).await?;
        self.find_shadows(tables.to_vec()).await?;
        Ok(done)
    }

    /// DDL may have dropped or renamed a temporary table that hid a hot one.
    pub(super) async fn after_ddl(&mut self, kind: Kind) -> Result<(), Error> {
        if kind == Kind::Ddl && !self.state.shadowed.is_empty() {
            let tables = std::mem::take(&mut self.state.shadowed);
            self.find_shadows(tables).await?;
        }
        Ok(())
    }

    /// Asks again which hot tables are hidden, where that is in doubt.
    pub(super) async fn see_shadows(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.state.shadows_doubted) {
            self.state.shadowed.clear();
            let tables = self.hot.catalog.tables.clone();
            self.find_shadows(tables).await?;
        }
        Ok(())
    }

    /// Asks the upstream which of these tables are hidden by a temporary one.
    pub(super) async fn find_shadows(&mut self, tables: Vec<Arc<HotTable>>) -> Result<(), Error> {
        for table in tables {
            let question = fold::show_create(&table);
            let is_temporary = match self.insist(question).await? {
                Hidden::Row(row) => matches!(
                    row.get(1),
                    Some(Some(text)) if text.starts_with(b"CREATE TEMPORARY")
                ),
                _ => false,
            };
            if is_temporary && !self.state.shadowed.contains(&table) {
                self.state.shadowed.push(table);
            }
        }
        Ok(())
    }

    /// Locks the slot tables with the hot ones. Under a WRITE lock everything is folded at once, and hot tables are
    /// plain tables until UNLOCK TABLES; under a READ lock they are read as ever.
    pub(super) async fn lock_tables(
        &mut self,
        lock: &LockTables,
        turn: Turn,
    ) -> Result<Done, Error> {
        self.count(Reason::LockTables);
        // OK and ERR read the same in either protocol (MariaDB prepares LOCK TABLES).
        let answer = match self.hidden(fold::lock_tables(lock)).await? {
            Hidden::Ok(ok) => ok,
            Hidden::Err(error) => return self.answer_err(turn, &error).await,
            Hidden::Row(_) => return Err(Malformed.into()),
        };
        // It has committed; what it may have opened since (with autocommit off) holds no slot and no fold.
        self.state.transaction = Transaction::default();
        self.state.table_locks = match lock.write {
            true => TableLocks::Plain,
            false => TableLocks::Read,
        };
        for text in fold::under_locks(lock) {
            self.hidden(text).await?;
        }
        self.answer_ok(turn, answer).await
    }
}
