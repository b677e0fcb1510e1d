//! Tables that were altered past the proxy: a text of ours names what is no more, and the client's own would run. Then
//! the tables are read again, and the statement is planned anew, once. Nothing has gone to the client by then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::catalog::{Catalog, HotTable};
use crate::counter::fold;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::error_kind::is_of_the_text;
use crate::session::link::internal::InternalResponse;
use crate::session::reply::Original;
use crate::session::state::understood::Understood;
use crate::session::state::{Planned, TableLocks};
use crate::sql::Kind;

impl Session {
    /// A text of ours was refused for a name that is not there, though the client's own is not. Has the tables read
    /// again where nobody has yet. [`Error::Stale`]: the statement is to be planned anew. Ok: that helps nothing.
    pub(crate) async fn look_again(&mut self, tables: &[Arc<HotTable>]) -> Result<(), Error> {
        let before = self.hot.number;
        let is_first = match self.state.planned {
            Planned::ForGood => return Ok(()),
            Planned::Once => true,
            Planned::Anew => {
                self.shared.was_in_vain(before);
                false
            }
        };
        let in_vain = self.shared.in_vain(before);
        if let Some(since) = in_vain {
            self.await_change(tables, since).await;
        } else if self.shared.hot().number == before {
            self.refresh_catalog().await;
        } else {
            self.see_hot();
        }
        self.state.planned = match is_first && in_vain.is_none() {
            true => Planned::Anew,
            false => Planned::ForGood,
        };
        match self.hot.number == before {
            true => Ok(()),
            false => Err(Error::Stale),
        }
    }

    /// Tables that no longer fit their rules are on their way out. That takes some steps, and a statement can wait for
    /// them; but not each for as long, should something be in their way.
    async fn await_change(&mut self, tables: &[Arc<HotTable>], since: Instant) {
        const MOST: Duration = Duration::from_secs(1);
        const STEP: Duration = Duration::from_millis(10);
        let shared = Arc::clone(&self.shared);
        let is_changing = |table: &Arc<HotTable>| shared.hot().is_changing_by_name(table);
        let settled = async {
            while tables.iter().any(is_changing) {
                tokio::time::sleep(STEP).await;
            }
        };
        if !self.state.may_have_snapshot() {
            let deadline = (since + MOST).into();
            tokio::time::timeout_at(deadline, settled).await.ok();
            self.see_hot();
        }
    }

    /// Whether the server refuses the client's statement itself for its text, as its tables are now.
    pub(crate) async fn refuses_now(&mut self, original: &Original) -> Result<bool, Error> {
        let Some(text) = self.query_text(original)?.map(<[u8]>::to_vec) else {
            return Ok(false);
        };
        let refusal = self.refusal_of(&text).await?;
        Ok(refusal.is_some_and(|error| is_of_the_text(&error)))
    }

    /// DDL may have dropped or renamed a temporary table that hid a hot one, or a column.
    pub(crate) fn after_ddl(&mut self, kind: Kind) {
        if kind == Kind::Ddl {
            self.state.understood = Understood::default();
        }
        self.state.shadows_doubted |= kind == Kind::Ddl && !self.state.shadowed.is_empty();
    }

    /// Asks again which hot tables are hidden, where that is in doubt.
    pub(crate) async fn see_shadows(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.state.shadows_doubted) {
            self.state.shadowed.clear();
            for table in self.hot.catalog.tables.clone() {
                let question = fold::show_create(&table);
                let is_temporary = match self.insist(question).await? {
                    InternalResponse::Row(row) => matches!(
                        row.get(1),
                        Some(Some(text)) if text.starts_with(b"CREATE TEMPORARY")
                    ),
                    _ => false,
                };
                if is_temporary {
                    self.state.shadowed.push(table);
                }
            }
        }
        Ok(())
    }

    /// The hot tables as this session sees them.
    pub(crate) fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::clone(&self.hot.catalog);
        let shadowed = &self.state.shadowed;
        catalog.tables.retain(|table| !shadowed.contains(table));
        catalog
    }

    /// DDL has run that no plan tells of. In an executable comment it may have been about a temporary table.
    pub(crate) async fn catalog_may_have_changed(&mut self, kind: Kind) {
        self.refresh_catalog().await;
        if kind == Kind::Other {
            self.state.may_have_temporary = true;
            self.state.doubt_shadows();
        }
    }

    /// Has the catalog read again and waits for it, but not for ever: it may be the server that does not answer.
    pub(crate) async fn refresh_catalog(&mut self) {
        const MOST: Duration = Duration::from_secs(5);
        let since = Instant::now();
        if tokio::time::timeout(MOST, self.shared.refresh())
            .await
            .is_err()
        {
            tracing::warn!("the tables have not been read again within {MOST:?} after DDL");
        }
        self.link.asked_elsewhere_since(since);
        self.see_hot();
    }

    /// Acts by the hot tables as they are now, if it may.
    pub(crate) fn see_hot(&mut self) {
        // Under LOCK TABLES other slot tables than those that are locked would be out of reach. What a transaction has
        // read and written is of the time when it began, before which there may have been no slot table, or other
        // slots.
        let is_free = self.state.table_locks == TableLocks::None && !self.state.may_have_snapshot();
        self.is_behind = !is_free && !self.state.bypass;
        if self.is_behind {
            return;
        }
        let before = std::mem::replace(&mut self.hot, self.shared.hot());
        if before.number != self.hot.number {
            self.state.doubt_shadows();
            self.state.understood = Understood::default();
        }
    }
}
