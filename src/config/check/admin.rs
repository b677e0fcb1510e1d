//! The console's address and account.

use super::Check;
use crate::config::error::{Error, Place, Problem};
use crate::config::raw::{RawAccount, Scalar};
use crate::config::{Admin, Config, PasswordHashes, address};

const PASSWORD: &str = "admin_account.password";

/// What to write where the console has no password.
const REMEDY: &str = "the console (admin) lets nobody in without one; write admin_account: {user: admin, password: \
     \"${COUNTERSINK_ADMIN_PASSWORD}\"}, or delete admin";

impl Check<'_> {
    /// The console needs both an address and an account.
    pub(super) fn admin(
        &self,
        address: Option<Scalar>,
        account: Option<RawAccount>,
    ) -> Result<Option<Admin>, Error> {
        let address = self.field("admin", address, address::port)?;
        let (address, account) = match (address, account) {
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                let text = "is of a console that listens nowhere; write admin: 127.0.0.1:6032, or delete the account";
                return Err(self.error("admin_account", 0, Problem::Together(text)));
            }
            (Some(address), account) => (address, account.unwrap_or_default()),
        };
        let user = self.field("admin_account.user", account.user, |text| {
            match text.value.is_empty() {
                true => Err(Problem::Empty {
                    remedy: "name the console's user, or leave user out for admin",
                }),
                false => Ok(text.value.clone()),
            }
        })?;
        let password = self.field(PASSWORD, account.password, |text| {
            Ok(PasswordHashes::new(&text.value))
        })?;
        Ok(Some(Admin {
            address,
            user: user.unwrap_or_else(|| "admin".to_owned()),
            password: password.ok_or_else(|| self.missing(PASSWORD, REMEDY))?,
        }))
    }
}

/// Refuses a console whose password is empty, which it is without a server where the environment has none.
pub(in crate::config) fn passwords(config: &Config) -> Result<(), Error> {
    match &config.admin {
        Some(admin) if admin.password.is_empty() => Err(Error {
            place: Box::new(Place::field(PASSWORD)),
            problem: Problem::Empty { remedy: REMEDY },
        }),
        _ => Ok(()),
    }
}
