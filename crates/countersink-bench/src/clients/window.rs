//! The time in which a load is measured. It begins when all clients are at work, and has a fixed length.
//!
//! The first statements of a session cost more than the others, because caches are cold and a proxy has yet to learn
//! about the session. Where a turn lasts only a few statements, they would measure connecting rather than working.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// A window, shared by the clients of a turn.
#[derive(Debug)]
pub(super) struct Window {
    length: Duration,
    /// Clients that have not had a response yet.
    waiting: AtomicUsize,
    all_at_work: Notify,
    begin: OnceLock<Instant>,
}

/// The position of a moment relative to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    Within,
    After,
}

impl Window {
    pub fn new(length: Duration, clients: usize) -> Self {
        Self {
            length,
            waiting: AtomicUsize::new(clients),
            all_at_work: Notify::new(),
            begin: OnceLock::new(),
        }
    }

    /// Records that a client has had its first response.
    pub fn at_work(&self) {
        if self.waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.all_at_work.notify_one();
        }
    }

    /// Begins the window when all clients are at work, but no later than after its own length: some rows are so hot
    /// that clients wait very long for their first response.
    pub async fn open(&self) {
        // Whichever comes first.
        let all = self.all_at_work.notified();
        tokio::time::timeout(self.length, all).await.ok();
        self.begin.get_or_init(Instant::now);
    }

    pub fn when(&self, moment: Instant) -> When {
        match self.begin.get() {
            Some(begin) if moment >= *begin + self.length => When::After,
            Some(begin) if moment >= *begin => When::Within,
            _ => When::Before,
        }
    }

    /// How much of the window has elapsed.
    pub fn elapsed(&self) -> Duration {
        let elapsed = self.begin.get().map_or(Duration::ZERO, Instant::elapsed);
        elapsed.min(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn it_begins_when_all_are_at_work() {
        let window = Window::new(LENGTH, 2);
        let early = Instant::now();
        window.at_work();
        assert_eq!(window.when(early), When::Before);
        window.at_work();
        window.open().await;
        let now = Instant::now();
        assert_eq!(window.when(early), When::Before);
        assert_eq!(window.when(now), When::Within);
        assert_eq!(window.when(now + LENGTH), When::After);
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_wait_for_the_last_for_ever() {
        let window = Window::new(LENGTH, 2);
        window.at_work();
        window.open().await;
        assert_eq!(window.when(Instant::now()), When::Within);
    }
}
