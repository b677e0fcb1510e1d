//! Which hot tables the session sees: those in force, except for those that its temporary tables hide.
//!
//! Tables may have been altered past the proxy. An internal statement then names what no longer exists, while the
//! client's own would run. So the tables are read again, and the statement is planned again, once. Nothing has been
//! sent to the client by then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::catalog::{Catalog, HotTable};
use crate::counter::fold;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::error_kind::is_of_the_text;
use crate::session::link::internal::InternalResponse;
use crate::session::reply::Original;
use crate::session::shared::LONGEST_CHANGE;
use crate::session::state::running::Planned;
use crate::session::state::understood::Understood;
use crate::sql::{Kind, TableLocks};

/// How often to look whether the session may act again.
const AGREEMENT: Duration = Duration::from_millis(5);

/// How long it waits for that. The rules need a moment, unless a server that hangs holds them up.
const LONGEST_AGREEMENT: Duration = Duration::from_secs(30);

impl Session {
    /// Looks at the tables again, after an internal statement was refused for a name that does not exist, although the
    /// client's own statement is not. Has the tables read again if no session has done so yet. [`Error::Stale`]: the
    /// statement must be planned again. Ok: that would not help.
    pub(crate) async fn look_again(&mut self, tables: &[Arc<HotTable>]) -> Result<(), Error> {
        let before = self.hot.number;
        let is_first = match self.state.running.planned {
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
        self.state.running.planned = match is_first && in_vain.is_none() {
            true => Planned::Anew,
            false => Planned::ForGood,
        };
        match self.hot.number == before {
            true => Ok(()),
            false => Err(Error::Stale),
        }
    }

    /// Waits for tables that no longer fit their rules to be taken out of force. That takes some steps, and a
    /// statement can wait for them. All statements wait until the same deadline, so that not each of them takes as
    /// long if something is in the way.
    async fn await_change(&mut self, tables: &[Arc<HotTable>], since: Instant) {
        const STEP: Duration = Duration::from_millis(10);
        if self.state.may_have_snapshot() {
            return;
        }
        let deadline = since + LONGEST_CHANGE;
        loop {
            // A step waits until no session acts by the tables of before it, this one included.
            self.see_hot();
            let mut tables = tables.iter();
            let is_changing = tables.any(|table| self.hot.is_changing_by_name(table));
            if !is_changing || Instant::now() >= deadline {
                return;
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// Whether the server refuses the client's own statement for its text, as its tables are now.
    pub(crate) async fn refuses_now(&mut self, original: &Original) -> Result<bool, Error> {
        let Some(text) = self.query_text(original)?.map(<[u8]>::to_vec) else {
            return Ok(false);
        };
        let refusal = self.refusal_of(&text).await?;
        Ok(refusal.is_some_and(|error| is_of_the_text(&error)))
    }

    /// Takes in that DDL may have dropped or renamed a column, or a temporary table that hid a hot one.
    pub(crate) fn after_ddl(&mut self, kind: Kind) {
        if kind == Kind::Ddl {
            self.state.understood = Understood::default();
        }
        self.state.temporary.are_doubted |=
            kind == Kind::Ddl && !self.state.temporary.hide.is_empty();
    }

    /// Asks again which hot tables are hidden, if that is in doubt.
    pub(crate) async fn see_shadows(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.state.temporary.are_doubted) {
            self.state.temporary.hide.clear();
            for table in self.hot.catalog.tables.clone() {
                let question = fold::show_create(&table);
                let is_temporary = match self.insist_on(&question).await? {
                    InternalResponse::Row(row) => matches!(
                        row.get(1),
                        Some(Some(text)) if text.starts_with(b"CREATE TEMPORARY")
                    ),
                    _ => false,
                };
                if is_temporary {
                    self.state.temporary.hide.push(table);
                }
            }
        }
        Ok(())
    }

    /// The hot tables as this session sees them.
    pub(crate) fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::clone(&self.hot.catalog);
        let shadowed = &self.state.temporary.hide;
        catalog.tables.retain(|table| !shadowed.contains(table));
        catalog
    }

    /// Takes in DDL that no plan shows. In an executable comment it may have been about a temporary table.
    pub(crate) async fn catalog_may_have_changed(&mut self, kind: Kind) {
        self.refresh_catalog().await;
        if kind == Kind::Other {
            self.state.temporary.may_exist = true;
            self.state.temporary.doubt();
        }
    }

    /// Has the catalog read again and waits for that, but not for ever: it may be the server that does not respond.
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

    /// Waits until the session may act by the hot tables that it has. A transaction goes on by those that it began
    /// with. False if that takes too long, or the session is to end: it must not act then.
    pub(crate) async fn await_agreement(&mut self) -> bool {
        let begun = Instant::now();
        while !self.shared.lease.may_act(self.hot.number) {
            self.see_hot();
            if self.is_behind || self.shared.lease.may_act(self.hot.number) {
                break;
            }
            if self.entry.is_killed() || begun.elapsed() > LONGEST_AGREEMENT {
                return false;
            }
            tokio::time::sleep(AGREEMENT).await;
        }
        true
    }

    /// Switches to the hot tables that are in force now, if the session may.
    pub(crate) fn see_hot(&mut self) {
        // Under LOCK TABLES, slot tables other than the locked ones would be out of reach. What a transaction has read
        // and written is of the time when it began: there may have been no slot table before, or other slots.
        let is_free =
            self.state.locks.tables == TableLocks::None && !self.state.may_have_snapshot();
        self.is_behind = !is_free && !self.state.mode.bypass;
        if self.is_behind {
            return;
        }
        let before = std::mem::replace(&mut self.hot, self.shared.hot());
        if before.number != self.hot.number {
            self.state.temporary.doubt();
            self.state.understood = Understood::default();
        }
    }
}
