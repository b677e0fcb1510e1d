//! What becomes of transactions that are lost, to another member of a cluster or to a deadlock that MySQL would not
//! have had: they run again where they may, and the client is told where they may not.

use std::time::{Duration, Instant};

use rand::RngExt;

use crate::session::Session;
use crate::session::error::Error;
use crate::session::exchange::loss;
use crate::session::link::internal::{InternalResponse, is_deadlock};

/// How often a statement in autocommit that was lost to another member is run again. Alone, the client would get the
/// error of the first.
pub(crate) const MOST_LOST: u32 = 50;

/// Begins a client's transaction. It is not spelled as the proxy's own transactions are, which session tracking hides:
/// the client is told of this one. BEGIN would begin a block in MariaDB's Oracle mode.
const BEGIN_AGAIN: &str = "start transaction";

/// The longest pause before that.
const PAUSE: Duration = Duration::from_millis(10);

impl Session {
    /// Begins the client's transaction again that a deadlock over slots has ended. MySQL would have waited for one
    /// lock, the base row's, and met no deadlock, so the client must not hear of it. Only where nothing was done in the
    /// transaction before this statement.
    pub(crate) async fn begins_again(&mut self) -> Result<bool, Error> {
        let Some(left) = self.state.running.may_begin_again.checked_sub(1) else {
            return Ok(false);
        };
        self.state.running.may_begin_again = left;
        self.state.lost = None;
        let begun = self.run_internal(BEGIN_AGAIN).await?;
        Ok(begun.into_result().is_ok())
    }

    /// Whether the transaction holds locks; `None` if nobody can say.
    pub(crate) async fn holds_locks(&mut self) -> Option<bool> {
        let server = self.server.clone()?;
        let since = Instant::now();
        let control = &self.shared.control;
        let holds = control.holds_locks(&server, self.entry.thread_id()).await;
        self.link.asked_elsewhere_since(since);
        holds
    }

    /// Ends the client's transaction, of which the storage engine has lost a part without telling: what is left must
    /// not be committed. The error is the one that the client is told, as at any other loss.
    pub(crate) async fn lose(&mut self) -> Result<Error, Error> {
        self.roll_back_own().await?;
        self.state.lost = Some(loss());
        Ok(Error::Lost)
    }

    /// Waits a moment before what was lost for so many times is tried again, so that the members do not go on in step.
    pub(crate) async fn pause_after_loss(&mut self, lost: u32) {
        self.metrics().count_retried();
        let longest = PAUSE.min(Duration::from_millis(u64::from(lost)));
        let pause = rand::rng().random_range(Duration::ZERO..=longest);
        tokio::time::sleep(pause).await;
    }

    /// Runs a statement that is a transaction of its own, again and again while another member is first, if it may be.
    pub(crate) async fn run_unless_lost(
        &mut self,
        text: &[u8],
        may_run_again: bool,
    ) -> Result<InternalResponse, Error> {
        let mut lost = 0;
        loop {
            match self.run_internal(text).await? {
                InternalResponse::Err(error)
                    if may_run_again && is_deadlock(&error) && lost < MOST_LOST =>
                {
                    lost += 1;
                    self.pause_after_loss(lost).await;
                }
                answer => return Ok(answer),
            }
        }
    }
}
