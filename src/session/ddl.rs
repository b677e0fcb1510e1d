//! What statements do to hot tables as wholes: DDL, temporary tables in front of them, LOCK TABLES.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::hidden::{Failure, Hidden, failure};
use super::moving::Bound;
use super::state::{Keys, TableLocks, Transaction};
use super::turn::{Done, Original, Turn};
use crate::catalog::HotTable;
use crate::counter::fold;
use crate::sql::Kind;
use crate::sql::plan::{Ddl, Fold, FoldTable, LockTables, Reason};
use crate::wire::reader::Malformed;

impl Session {
    /// Folds, runs the DDL, empties the slots where the rows are gone, and has the catalog read again.
    pub(super) async fn ddl(
        &mut self,
        ddl: &Ddl,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        self.count(Reason::Ddl);
        let tables = ddl.tables.iter();
        let folds: Vec<Bound> = tables
            .map(|table| Keys::whole(Arc::clone(table)).into())
            .collect();
        // After an error only the upstream knows.
        if self.state.status_uncertain {
            self.hidden("DO 0").await?;
        }
        // In an open transaction the DDL itself commits what was folded in it.
        match self.state.in_transaction() {
            true => {
                for bound in folds {
                    match self.fold(&bound).await? {
                        Err(error) if failure(&error) == Failure::TheClients => {
                            return self.answer_err(turn, &error).await;
                        }
                        _ => {}
                    }
                }
            }
            false if folds.is_empty() => {}
            // A table that is not there yet or any more has nothing to fold.
            false => self.fold_and_commit(&folds).await.map(drop)?,
        }
        let done = self.run_original(original, turn).await?;
        if !done.failed {
            if ddl.empties {
                for table in &ddl.tables {
                    self.hidden(fold::empty(table)).await?;
                }
                // With autocommit off that has begun a transaction.
                if self.state.in_transaction() {
                    self.commit_own().await?;
                }
            }
            self.refresh_catalog().await;
        }
        Ok(done)
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
