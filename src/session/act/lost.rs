//! Statements that are lost to another member of a cluster, and run again.

use std::time::Duration;

use rand::RngExt;

use crate::session::Session;

/// How often a statement in autocommit that was lost to another member is run again. Alone, the client would get the
/// error of the first.
pub(crate) const MOST_LOST: u32 = 50;

/// The longest pause before that.
const PAUSE: Duration = Duration::from_millis(10);

impl Session {
    /// Waits a moment before what was lost for so many times is tried again, so that the members do not go on in step.
    pub(crate) async fn pause_after_loss(&mut self, lost: u32) {
        self.metrics().count_retried();
        let longest = PAUSE.min(Duration::from_millis(u64::from(lost)));
        let pause = rand::rng().random_range(Duration::ZERO..=longest);
        tokio::time::sleep(pause).await;
    }
}
