//! Logs in after logins that came to nothing.
//!
//! Servers count handshakes that were broken off by the host that they came from, which is the proxy's for all clients,
//! and at max_connect_errors refuse that host (1129) until FLUSH HOSTS. A client that leaves is turned into a failed
//! login (`session::connect`), but what it sends may also be such that the server itself breaks off: an answer of the
//! wrong length, attributes cut short, a plugin that it lacks. One login that goes through clears the count.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::counter::control::Control;

/// The least time between two logins. At max_connect_errors = 100, the default, this bears 5,000 such clients a second.
const PAUSE: Duration = Duration::from_millis(20);

/// Logs in with the control account when asked to, once for all requests since the last login. Runs until it is
/// dropped.
pub(super) async fn keep(asked: Arc<Notify>, control: Control) {
    loop {
        asked.notified().await;
        if let Err(error) = control.log_in_anew().await {
            tracing::warn!("cannot log in after a client that could not: {error}");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
