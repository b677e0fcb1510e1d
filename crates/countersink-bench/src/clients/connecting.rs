//! Connecting to a server that may be full at first.

use std::time::Duration;

use countersink_server_errors::ER_CON_COUNT_ERROR;

use super::Error;
use crate::lent::{Account, Lost};

/// How often to try a full server, and how long to wait between tries: connections of the previous turn may still be
/// closing.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Connects and logs in. Cancel safe.
pub(super) async fn connect<A: Account>(account: &A) -> Result<A::Connection, Error> {
    let mut tries = 1;
    loop {
        match account.connect().await {
            Err(Lost::Login(error)) if error.code == ER_CON_COUNT_ERROR && tries < TRIES => {
                tokio::time::sleep(PAUSE).await;
                tries += 1;
            }
            connected => return connected.map_err(|source| Error::lost(account, source)),
        }
    }
}
