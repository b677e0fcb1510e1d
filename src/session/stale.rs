//! Tables that were altered past the proxy: a text of ours names what is no more, and the client's own would run. Then
//! the tables are read again, and the statement is planned anew, once. Nothing has gone to the client by then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Session;
use super::error::Error;
use super::refusal::is_of_the_text;
use super::turn::Original;
use crate::catalog::HotTable;

/// How a statement stands that may have been planned by tables as they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Planned {
    /// Whoever runs it does not plan it anew.
    #[default]
    ForGood,
    /// It can be planned anew.
    Once,
    /// It has been planned anew.
    Anew,
}

impl Session {
    /// A text of ours was refused for a name that is not there, though the client's own is not. Has the tables read
    /// again where nobody has yet. [`Error::Stale`]: the statement is to be planned anew. Ok: that helps nothing.
    pub(super) async fn look_again(&mut self, tables: &[Arc<HotTable>]) -> Result<(), Error> {
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
    pub(super) async fn refuses_now(&mut self, original: &Original) -> Result<bool, Error> {
        let Some(text) = self.query_text(original)?.map(<[u8]>::to_vec) else {
            return Ok(false);
        };
        let refusal = self.refusal_of(&text).await?;
        Ok(refusal.is_some_and(|error| is_of_the_text(&error)))
    }
}
