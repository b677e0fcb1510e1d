//! Where plans are made: on the session's thread if that is quick, and on a thread apart if other sessions would have
//! to wait.

use std::future::pending;
use std::panic::resume_unwind;

use tokio::task::spawn_blocking;

/// The longest text that is planned on the session's own thread, in bytes. A parse takes about 0.1 µs for each byte,
/// and the other sessions of the thread wait meanwhile.
const LONGEST: usize = 16 * 1024;

/// Whether a text of this length is planned on a thread apart.
pub(crate) fn is_long(text: &[u8]) -> bool {
    text.len() > LONGEST
}

/// Runs work that takes long on a thread apart.
pub(crate) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(made) => made,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime ends, and this task with it.
            Err(_) => pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn apart_is_not_here() {
        let there = apart(|| thread::current().id()).await;
        assert_ne!(there, thread::current().id());
    }

    #[tokio::test]
    #[should_panic(expected = "as it was")]
    async fn a_panic_is_passed_on() {
        apart(|| panic!("as it was")).await
    }
}
