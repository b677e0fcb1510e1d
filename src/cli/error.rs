//! Errors of the commands, and their exit codes.

use std::path::{Path, PathBuf};

use crate::config::{Config, Place, line_suffix};
use crate::{catalog, config, counter, server};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error that concerns a rules file.
    #[error("{}: {source}", file.display())]
    InFile {
        /// The rules file.
        file: PathBuf,
        /// What is wrong in it.
        source: Box<Error>,
    },
    /// rules.yaml is wrong.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The control account cannot connect.
    #[error(transparent)]
    Control(#[from] counter::control::Error),
    /// A table does not fit its rule.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// Slots do not go with the server.
    #[error("{}{source}", Place::field("upstream"))]
    Unfit {
        /// Why, with the remedy.
        source: counter::unfit::Unfit,
    },
    /// The server does not say whether it is a member of a cluster.
    #[error("cannot ask the server for its cluster: {0}")]
    Cluster(mysql_async::Error),
    /// The proxies could not hear each other.
    #[error("other proxies: {0}")]
    Agreement(#[from] counter::agreement::Error),
    /// A slot table cannot be provided.
    #[error("{place}{problem}{}", line_suffix(place.line))]
    Provision {
        /// The rule that needs it.
        place: Box<Place>,
        /// What went wrong.
        problem: Box<counter::provision::Problem>,
    },
    /// Slot tables are to be made on a replica.
    #[error(
        "the server is read-only; run this on its source, from which slot tables are replicated"
    )]
    Replica,
    /// The server does not say whether it is read-only.
    #[error("cannot ask the server whether it is read-only: {0}")]
    ReadOnly(mysql_async::Error),
    /// A roll-up failed.
    #[error("roll-up of {table}: {source}")]
    RollUp {
        /// The hot table.
        table: String,
        /// What went wrong.
        source: counter::rollup::Error,
    },
    /// A drain was not finished.
    #[error("drain of {table}: {why}")]
    Drain {
        /// The hot table.
        table: String,
        /// What prevented it.
        why: String,
    },
    /// The command line names a table that has no rule.
    #[error("no rule is for {table}{near}; write it as the rules file does")]
    NoRule {
        /// The name on the command line.
        table: String,
        /// A similar name that may be meant, or an empty text.
        near: String,
    },
    /// The proxy could not listen.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The HTTP port or the console could not listen.
    #[error(transparent)]
    Admin(#[from] crate::admin::Error),
    /// The log filter is invalid.
    #[error("{variable}: {why}; write a level (error, warn, info, debug, trace) or target=level")]
    LogFilter {
        /// The environment variable.
        variable: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such log format.
    #[error("COUNTERSINK_LOG_FORMAT: `{0}` is no form of the log; write human or json")]
    LogFormat(String),
    /// `check` could not query the server.
    #[error(transparent)]
    Check(#[from] crate::check::Error),
    /// Standard output could not be written.
    #[error("cannot write to standard output: {0}")]
    Output(std::io::Error),
    /// `explain` failed.
    #[error(transparent)]
    Explain(#[from] super::explain::Error),
    /// `demo` failed.
    #[error(transparent)]
    Demo(#[from] countersink_bench::demo::Error),
    /// It is not clear which server is meant, or with which password.
    #[error(transparent)]
    Target(#[from] super::target::Error),
    /// `advise` failed.
    #[error(transparent)]
    Advise(#[from] super::advise::Error),
    /// `bench` failed.
    #[error(transparent)]
    Bench(#[from] countersink_bench::bench::Error),
    /// The benchmark's clients cannot connect.
    #[error(transparent)]
    OnlyWithTls(#[from] super::bench::OnlyWithTls),
    /// The proxy is not healthy.
    #[error(transparent)]
    Health(#[from] super::health::Error),
    /// `man` failed.
    #[error(transparent)]
    Man(#[from] super::man::Error),
    /// The runtime's threads could not be started.
    #[error("cannot start: {source}")]
    Runtime {
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// Prefixes the error with the name of the rules file.
    #[must_use]
    pub fn in_file(self, file: &Path) -> Self {
        Self::InFile {
            file: file.to_owned(),
            source: Box::new(self),
        }
    }

    /// An error of provisioning, with the place of the rule that asked for the table.
    pub(super) fn provision(error: counter::provision::Error, config: &Config) -> Self {
        let counter::provision::Error { table, problem } = error;
        let same = |rule: &&config::Rule| {
            rule.table.to_string().to_lowercase() == table.to_string().to_lowercase()
        };
        let exact = config.rules.iter().find(|rule| rule.table == table);
        let place = exact
            .or_else(|| config.rules.iter().find(same))
            .map(|rule| rule.place("slot_table"))
            .unwrap_or_default();
        Self::Provision {
            place: Box::new(place),
            problem: Box::new(problem),
        }
    }

    /// There is no rule for this table in the file.
    pub(super) fn no_rule(table: &str, config: &Config) -> Self {
        let known: Vec<_> = config
            .rules
            .iter()
            .map(|rule| rule.table.to_string())
            .collect();
        Self::NoRule {
            table: table.to_owned(),
            near: config::did_you_mean(table, known.iter().map(String::as_str)),
        }
    }

    /// Whether waiting may help: the server is not there yet, or has just gone, or a session has a slot table in use.
    pub fn may_pass(&self) -> bool {
        use counter::provision::Problem as Provision;
        match self {
            Self::InFile { source, .. } => source.may_pass(),
            Self::Control(error) => !error.is_configuration(),
            Self::Catalog(error) => is_of_the_connection(&error.problem),
            Self::Agreement(error) => !error.is_configuration(),
            Self::ReadOnly(error) | Self::Cluster(error) => {
                matches!(error, mysql_async::Error::Io(_))
            }
            Self::Provision { problem, .. } => match &**problem {
                Provision::NoConnection { source } => !source.is_configuration(),
                Provision::InUse { .. } | Provision::Withdrawn { .. } => true,
                Provision::Agreement(error) => !error.is_configuration(),
                Provision::Failed { source, .. } => matches!(source, mysql_async::Error::Io(_)),
                Provision::Catalog(problem) => is_of_the_connection(problem),
                _ => false,
            },
            _ => false,
        }
    }

    /// 2 for errors to correct in rules.yaml, on the command line or in the tables; 1 for all others.
    pub fn exit_code(&self) -> u8 {
        use counter::provision::Problem as Provision;
        match self {
            Self::InFile { source, .. } => source.exit_code(),
            Self::Config(_)
            | Self::LogFilter { .. }
            | Self::LogFormat(_)
            | Self::NoRule { .. }
            | Self::Unfit { .. }
            | Self::OnlyWithTls(_)
            | Self::Target(_) => 2,
            Self::Control(error) if error.is_configuration() => 2,
            Self::Agreement(error) if error.is_configuration() => 2,
            Self::Explain(error) => error.exit_code(),
            Self::Demo(error) => error.exit_code(),
            Self::Bench(error) => error.exit_code(),
            Self::Health(error) => error.exit_code(),
            Self::Man(super::man::Error::NoCommand(_)) => 2,
            Self::Advise(error) => error.exit_code(),
            Self::Control(_)
            | Self::Agreement(_)
            | Self::Replica
            | Self::ReadOnly(_)
            | Self::Cluster(_)
            | Self::Check(_)
            | Self::Output(_)
            | Self::Man(_)
            | Self::Runtime { .. }
            | Self::RollUp { .. }
            | Self::Drain { .. }
            | Self::Admin(_) => 1,
            Self::Server(error) => match error {
                server::Error::Listen { .. } | server::Error::Threads { .. } => 1,
                server::Error::File { .. } | server::Error::Tls(_) => 2,
            },
            Self::Catalog(catalog::Error {
                problem: catalog::Problem::Query { .. },
                ..
            }) => 1,
            Self::Catalog(_) => 2,
            Self::Provision { problem, .. } => match **problem {
                Provision::Failed { .. }
                | Provision::NoConnection { .. }
                | Provision::Catalog(_) => 1,
                _ => 2,
            },
        }
    }
}

fn is_of_the_connection(problem: &catalog::Problem) -> bool {
    use mysql_async::Error::Io;
    matches!(problem, catalog::Problem::Query { source: Io(_), .. })
}
