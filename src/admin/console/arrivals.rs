//! Clients that are logging in to the console. Anyone who can connect takes a place among them, so nobody keeps it:
//! when there are too many, the one that came first goes. A login takes a moment, unless nothing is said or a password
//! is being guessed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Maximum number of clients that are logging in.
const MOST: usize = 16;

/// Those that are logging in, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Arrivals(Mutex<VecDeque<Waiting>>);

#[derive(Debug)]
struct Waiting {
    id: u32,
    _stay: oneshot::Sender<()>,
}

/// A client that is logging in, until this is dropped.
#[derive(Debug)]
pub(super) struct Arrival {
    all: Arc<Arrivals>,
    id: u32,
    stay: oneshot::Receiver<()>,
}

impl Arrivals {
    /// Takes in the client with this connection id.
    pub(super) fn enter(self: &Arc<Self>, id: u32) -> Arrival {
        let (sender, stay) = oneshot::channel();
        let mut waiting = self.waiting();
        if waiting.len() >= MOST {
            // Its receiver learns of it, because nothing was sent.
            waiting.pop_front();
        }
        waiting.push_back(Waiting { id, _stay: sender });
        Arrival {
            all: Arc::clone(self),
            id,
            stay,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrival {
    /// The client's connection id.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Waits until the client has to make room for another.
    pub(super) async fn makes_room(&mut self) {
        let _ = (&mut self.stay).await;
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.all.waiting().retain(|waiting| waiting.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    #[tokio::test]
    async fn the_first_makes_room() {
        let all = Arc::new(Arrivals::default());
        let mut there: Vec<_> = (0..16).map(|id| all.enter(id)).collect();
        there.remove(3);
        there.push(all.enter(16));
        for one in &mut there {
            assert_eq!(one.stay.try_recv(), Err(TryRecvError::Empty), "{one:?}");
        }
        assert_eq!(all.waiting().len(), MOST, "nobody had to");
        let _last = all.enter(17);
        there[0].makes_room().await;
        assert_eq!(all.waiting().front().map(|first| first.id), Some(1));
        there.clear();
        assert_eq!(all.waiting().len(), 1);
    }
}
