//! Where clients connect, and as whom.

use std::time::Duration;

use super::Error;
use crate::config::{Address, Secret};
use crate::driver::{self, Driver, Login};
use crate::net::dial;
use crate::wire::error_code::ER_CON_COUNT_ERROR;

/// How often a full server is asked again, and how long that is waited for each time: connections of the turn before may
/// still be on their way out.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// An address with a login.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Account {
    pub address: Address,
    pub user: String,
    pub password: Secret,
    /// The current schema.
    pub schema: Option<String>,
}

impl Account {
    /// Connects as any client would. Cancel safe.
    pub async fn connect(&self) -> Result<Driver, Error> {
        let mut tries = 1;
        loop {
            match self.try_connect().await {
                Err(driver::Error::Login(error))
                    if error.code == ER_CON_COUNT_ERROR && tries < TRIES =>
                {
                    tokio::time::sleep(PAUSE).await;
                    tries += 1;
                }
                connected => return connected.map_err(|source| self.lost(source)),
            }
        }
    }

    async fn try_connect(&self) -> Result<Driver, driver::Error> {
        let transport = dial(&self.address).await?;
        let login = Login {
            schema: self.schema.as_deref(),
            is_local: self.address.is_local(),
            ..Login::new(&self.user, self.password.reveal())
        };
        Driver::connect(transport, &login).await
    }

    pub(super) fn lost(&self, source: driver::Error) -> Error {
        Error::Lost {
            address: self.address.to_string(),
            source,
        }
    }
}
