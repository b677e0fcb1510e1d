//! The server to measure, and who logs in: from the rules file, from the command line, or from both.

use std::path::Path;

use super::Error;
use super::arguments::BenchArguments;
use crate::cli::clients::Account;
use crate::cli::{self, password};
use crate::config::{Address, Config, Problem, Secret, UpstreamTls};

/// Where the rules are unless said otherwise.
const RULES: &str = "rules.yaml";

/// A server and a login.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub upstream: Address,
    pub user: String,
    pub password: Secret,
}

impl Target {
    /// Opens the rules file only if something is to be taken from it.
    pub fn find(arguments: &BenchArguments) -> Result<Self, cli::Error> {
        let password = password::read(
            arguments.password_env.as_deref(),
            arguments.password_file.as_deref(),
        );
        let password = Secret::new(password.map_err(Error::Password)?.unwrap_or_default());
        if let (None, Some(upstream), Some(user)) =
            (&arguments.rules, &arguments.upstream, &arguments.user)
        {
            return Ok(Self {
                upstream: upstream.clone(),
                user: user.clone(),
                password,
            });
        }
        let config = load(arguments.rules.as_deref())?;
        let needs_tls = matches!(config.upstream_tls, UpstreamTls::Required { .. });
        if needs_tls && arguments.upstream.is_none() && !config.upstream.is_local() {
            return Err(Error::OnlyWithTls.into());
        }
        let upstream = arguments.upstream.clone().unwrap_or(config.upstream);
        Ok(match &arguments.user {
            Some(user) => Self {
                upstream,
                user: user.clone(),
                password,
            },
            None => Self {
                upstream,
                user: config.control.user,
                password: config.control.password,
            },
        })
    }

    /// Logs in at the server.
    pub fn direct(&self, schema: Option<&str>) -> Account {
        self.at(&self.upstream, schema)
    }

    /// Logs in at another address of the same accounts: the proxy's.
    pub fn at(&self, address: &Address, schema: Option<&str>) -> Account {
        Account {
            address: address.clone(),
            user: self.user.clone(),
            password: self.password.clone(),
            schema: schema.map(str::to_owned),
        }
    }
}

fn load(file: Option<&Path>) -> Result<Config, cli::Error> {
    let name = file.unwrap_or(Path::new(RULES));
    Config::load(name).map_err(|error| match error.problem {
        Problem::Unreadable { .. } if file.is_none() => Error::NoServer {
            file: name.to_owned(),
        }
        .into(),
        _ => cli::Error::from(error).in_file(name),
    })
}
