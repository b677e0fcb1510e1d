//! Which server a command connects to, and with which login: from the rules file, the command line, or both.

use std::path::{Path, PathBuf};

use clap::Args;

use super::client::Account;
use super::password;
use crate::config::{self, Address, Config, Problem, Secret};
use crate::counter::control::{self, Control};

/// The rules file unless another is named.
const RULES: &str = "rules.yaml";

/// Why the server or the password is not known.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server was specified.
    #[error(
        "{} is not there to take the server from; name it by --rules, or say --upstream HOST:PORT and --user NAME", file.display()
    )]
    NoServer {
        /// The rules file that does not exist.
        file: PathBuf,
    },
    /// The password could not be read.
    #[error(transparent)]
    Password(#[from] password::Error),
}

/// Arguments that name a server and who logs in.
#[derive(Debug, Args)]
pub(super) struct TargetArguments {
    /// The rules file, for its upstream and control account; rules.yaml unless --upstream and --user are given.
    #[arg(long, value_name = "FILE")]
    pub(super) rules: Option<PathBuf>,
    /// The server, instead of the rules file's `upstream`: HOST:PORT or unix:/path/to/socket.
    #[arg(long, value_name = "ADDRESS", value_parser = Address::parse)]
    pub(super) upstream: Option<Address>,
    /// The user to log in as, instead of the rules file's control account.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The environment variable with that user's password.
    #[arg(
        long,
        value_name = "VARIABLE",
        requires = "user",
        conflicts_with = "password_file"
    )]
    password_env: Option<String>,
    /// The file with that user's password; a line break at its end is ignored.
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
}

/// Where the server was specified.
pub(super) enum Named {
    /// Only on the command line.
    ByArguments(Target),
    /// In a rules file. Values from the command line have replaced those of the file.
    InRules(Box<Config>),
}

impl TargetArguments {
    /// Reads the rules file only if a value from it is needed.
    pub(super) fn find(&self) -> Result<Named, super::Error> {
        let password = password::read(self.password_env.as_deref(), self.password_file.as_deref());
        let password = Secret::new(password.map_err(Error::Password)?.unwrap_or_default());
        if let (None, Some(upstream), Some(user)) = (&self.rules, &self.upstream, &self.user) {
            return Ok(Named::ByArguments(Target {
                upstream: upstream.clone(),
                user: user.clone(),
                password,
            }));
        }
        let mut config = load(self.rules.as_deref())?;
        if let Some(upstream) = &self.upstream {
            config.upstream = upstream.clone().into();
        }
        if let Some(user) = &self.user {
            config.control = config::Account {
                user: user.clone(),
                password,
            };
        }
        Ok(Named::InRules(Box::new(config)))
    }

    /// The file that [`TargetArguments::find`] reads, if it reads one.
    pub(super) fn file(&self) -> &Path {
        self.rules.as_deref().unwrap_or(Path::new(RULES))
    }
}

/// A server and a login for it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub upstream: Address,
    pub user: String,
    pub password: Secret,
}

impl Target {
    /// The account for a login without a default schema.
    pub fn account(self) -> Account {
        Account {
            address: self.upstream,
            user: self.user,
            password: self.password,
            schema: None,
        }
    }

    /// The control account at the server of the rules; of several, at the one that takes writes.
    ///
    /// # Errors
    ///
    /// Which one that is cannot be found out.
    pub async fn of_rules(config: Config) -> Result<Self, control::Error> {
        let upstream = match config.upstream.only() {
            Some(only) => only.clone(),
            None => {
                let control = Control::open(&config).await?;
                let primary = control.route().address();
                control.close().await;
                Address::clone(&primary)
            }
        };
        Ok(Self {
            upstream,
            user: config.control.user,
            password: config.control.password,
        })
    }
}

fn load(file: Option<&Path>) -> Result<Config, super::Error> {
    let name = file.unwrap_or(Path::new(RULES));
    Config::load(name).map_err(|error| match error.problem {
        Problem::Unreadable { .. } if file.is_none() => Error::NoServer {
            file: name.to_owned(),
        }
        .into(),
        _ => super::Error::from(error).in_file(name),
    })
}
