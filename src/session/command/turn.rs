//! Keeps the roll-up off statements that wait for no lock.

use tokio::sync::OwnedRwLockReadGuard;

use crate::session::Session;
use crate::sql;

/// The words by which a statement waits for no lock: NOWAIT, SKIP LOCKED.
const WORDS: [&[u8]; 2] = [b"NOWAIT", b"SKIP"];

impl Session {
    /// If a statement may wait for no lock: no row is rolled up by this process until the result is dropped.
    pub(crate) async fn turn_of(&mut self, text: &[u8]) -> Option<OwnedRwLockReadGuard<()>> {
        match WORDS.iter().any(|word| sql::mentions(text, word)) {
            true => Some(self.shared.control.turns().of_statement().await),
            false => None,
        }
    }
}
