//! The server that a command asks itself, and who logs in: from the rules file, from the command line, or from both.

use std::path::{Path, PathBuf};

use clap::Args;

use super::client::Account;
use super::password;
use crate::config::{self, Address, Config, Problem, Secret};

/// Where the rules are unless said otherwise.
const RULES: &str = "rules.yaml";

/// Which server is not known, or with which password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody said which server.
    #[error(
        "{} is not there to take the server from; name it by --rules, or say --upstream HOST:PORT and --user NAME", file.display()
    )]
    NoServer {
        /// The file that was looked for.
        file: PathBuf,
    },
    /// There is no password.
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
    /// Who logs in, instead of the rules file's control account.
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
    /// The file with that user's password; one line break at its end is none of it.
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
}

/// Where the server was named.
pub(super) enum Named {
    /// On the command line alone.
    ByArguments(Target),
    /// In a rules file, in which what the command line says has taken the place of what stood there.
    InRules(Box<Config>),
}

impl TargetArguments {
    /// Opens the rules file only if something is to be taken from it.
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
            config.upstream = upstream.clone();
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

/// A server and a login.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub upstream: Address,
    pub user: String,
    pub password: Secret,
}

impl Target {
    /// Logs in at the server, without a current schema.
    pub fn account(self) -> Account {
        Account {
            address: self.upstream,
            user: self.user,
            password: self.password,
            schema: None,
        }
    }
}

impl From<Config> for Target {
    fn from(config: Config) -> Self {
        Self {
            upstream: config.upstream,
            user: config.control.user,
            password: config.control.password,
        }
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
