//! Logs in after logins that were broken off.
//!
//! Servers count handshakes that were broken off by the host that they came from, which is the proxy's for all clients,
//! and at max_connect_errors refuse that host (1129) until FLUSH HOSTS. A client that leaves is turned into a failed
//! login (`session::connect`). But a client may also send something at which the server itself breaks off: a response
//! of the wrong length, truncated attributes, a plugin that it lacks. One successful login clears the count.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::counter::control::Control;

/// The minimum time between two logins. With max_connect_errors = 100, the default, this is enough for 5,000 such
/// clients a second.
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
