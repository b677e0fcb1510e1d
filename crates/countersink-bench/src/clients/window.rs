//! The time that a load is measured for: it begins when all clients are at work, and ends at a fixed length.
//!
//! A session's first statements cost more than all others (caches are cold, and a proxy has yet to learn about the
//! session), which would tell of connecting, not of working, where a turn is a few statements long.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// A window, shared by the clients of a turn.
#[derive(Debug)]
pub(super) struct Window {
    length: Duration,
    /// Clients that have not had an answer yet.
    waiting: AtomicUsize,
    all_at_work: Notify,
    begin: OnceLock<Instant>,
}

/// Where a moment stands to the window.
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

    /// A client has had its first answer.
    pub fn at_work(&self) {
        if self.waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.all_at_work.notify_one();
        }
    }

    /// Begins when all clients are at work, at the latest after the window's own length: some rows are so hot that
    /// clients wait longer for a first answer than anybody wants to.
    pub async fn open(&self) {
        // Either will do.
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

    /// How much of it is over.
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
