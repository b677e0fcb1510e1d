//! Errors of the clients.

use std::io;

use countersink_server_errors::{
    ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_HOST_NOT_PRIVILEGED,
    ER_SECURE_TRANSPORT_REQUIRED, is_out_of_connections,
};

use crate::lent::{Account, Lost, ServerError};

/// Why a client could not continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A client could not connect, or lost its connection.
    #[error("a client of {address}: {source}{}", remedy(source))]
    Lost {
        /// Address of the server or the proxy.
        address: String,
        /// What went wrong.
        source: Lost,
    },
    /// A statement failed.
    #[error("`{statement}` at {address} failed: {source}")]
    Refused {
        /// Address of the server or the proxy.
        address: String,
        /// The statement.
        statement: String,
        /// The server's error message.
        source: ServerError,
    },
    /// A result does not contain the number that was expected.
    #[error("`{statement}` at {address} was answered by something else than numbers")]
    NoNumber {
        /// Address of the server or the proxy.
        address: String,
        /// The statement.
        statement: String,
    },
}

impl Error {
    pub(super) fn lost(account: &impl Account, source: Lost) -> Self {
        Self::Lost {
            address: account.address(),
            source,
        }
    }

    /// The server's error code, if the server refused a login or a statement.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { source, .. } => Some(source.code),
            Self::Lost {
                source: Lost::Login(source),
                ..
            } => Some(source.code),
            _ => None,
        }
    }
}

/// What to do about it.
fn remedy(error: &Lost) -> &'static str {
    match error {
        Lost::Login(error) => match error.code {
            code if is_out_of_connections(code) => {
                "; take fewer --clients, or raise max_connections (max_user_connections)"
            }
            ER_ACCESS_DENIED_ERROR
            | ER_ACCESS_DENIED_NO_PASSWORD_ERROR
            | ER_HOST_NOT_PRIVILEGED => {
                "; correct the user and the password, or the host of the account"
            }
            ER_SECURE_TRANSPORT_REQUIRED => {
                "; let the account be without REQUIRE SSL, or use the server's unix socket"
            }
            _ => "",
        },
        Lost::Unsupported(_) => {
            "; use an account that is IDENTIFIED WITH caching_sha2_password or mysql_native_password"
        }
        Lost::Write(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                "; start the server, or correct its address"
            }
            _ => "; if it is about open files, take fewer --clients or raise `ulimit -n`",
        },
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(code: u16) -> Error {
        Error::Lost {
            address: "db:3306".into(),
            source: Lost::Login(ServerError {
                code,
                message: "no".into(),
            }),
        }
    }

    #[test]
    fn a_refused_login_says_what_to_do() {
        assert_eq!(login(1040).code(), Some(1040));
        for (code, remedy) in [
            (1040, "fewer --clients"),
            (1045, "correct the user"),
            (3159, "unix socket"),
        ] {
            let text = login(code).to_string();
            assert!(text.contains(remedy), "{text}");
        }
        let text = login(1).to_string();
        assert_eq!(text, "a client of db:3306: login refused: ERROR 1: no");
    }
}
