//! The way in, to a server that may be full at first.

use std::time::Duration;

use countersink_server_errors::ER_CON_COUNT_ERROR;

use super::Error;
use crate::lent::{Account, Lost};

/// How often a full server is asked again, and how long that is waited for each time: connections of the turn before may
/// still be on their way out.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// A client that has logged in. Cancel safe.
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
