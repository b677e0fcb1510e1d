//! Roll-ups, and statements that wait for no lock, take turns.
//!
//! A roll-up holds a row for some milliseconds, which a client only notices as a short wait. SKIP LOCKED would leave
//! the row out, though, and NOWAIT would fail, where MySQL has no lock at all. So no transaction of a roll-up runs
//! while such a statement does, as far as the sessions of this process are concerned.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio::time::Instant;

/// How long a roll-up waits for its turn. Then it goes on without: such statements may never end, one after the other,
/// and a client may never read the response to one.
const PATIENCE: Duration = Duration::from_millis(250);

/// How often it looks whether it may. It does not queue, for statements behind it would have to wait for those before
/// it.
const GLANCE: Duration = Duration::from_millis(1);

/// Whose turn it is.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    lock: Arc<RwLock<()>>,
}

impl Turns {
    /// A statement that waits for no lock runs until this is dropped. Waits for a transaction of a roll-up to end.
    pub async fn of_statement(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.lock).read_owned().await
    }

    /// A transaction of a roll-up runs until this is dropped.
    pub async fn of_roll_up(&self) -> Option<OwnedRwLockWriteGuard<()>> {
        let until = Instant::now() + PATIENCE;
        loop {
            match Arc::clone(&self.lock).try_write_owned() {
                Ok(turn) => return Some(turn),
                Err(_) if Instant::now() >= until => return None,
                Err(_) => tokio::time::sleep(GLANCE).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn is_ready(future: std::pin::Pin<&mut impl Future>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        matches!(future.poll(&mut context), Poll::Ready(_))
    }

    #[tokio::test(start_paused = true)]
    async fn a_roll_up_waits_for_statements_and_not_for_ever() {
        let turns = Turns::default();
        let one = turns.of_statement().await;
        let another = turns.of_statement().await;
        {
            let mut roll_up = pin!(turns.of_roll_up());
            assert!(!is_ready(roll_up.as_mut()));
            // It holds no other statement up meanwhile.
            drop(turns.of_statement().await);
            drop((one, another));
            assert!(roll_up.await.is_some());
        }
        let _endless = turns.of_statement().await;
        assert!(turns.of_roll_up().await.is_none());
    }

    #[tokio::test]
    async fn a_statement_waits_for_a_roll_up() {
        let turns = Turns::default();
        let roll_up = turns.of_roll_up().await.expect("nobody else is there");
        let mut statement = pin!(turns.of_statement());
        assert!(!is_ready(statement.as_mut()));
        drop(roll_up);
        statement.await;
    }
}
