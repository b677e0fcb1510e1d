//! What a command can fail of, and its exit code.

use std::path::{Path, PathBuf};

use crate::config::{Config, Place, line_suffix};
use crate::{catalog, config, counter, server};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// With the rules file that it is about.
    #[error("{}: {source}", file.display())]
    InFile {
        /// The rules file.
        file: PathBuf,
        /// What is wrong.
        source: Box<Error>,
    },
    /// rules.yaml itself.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The control account has no connection.
    #[error(transparent)]
    Control(#[from] counter::control::Error),
    /// A table does not fit its rule.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// A slot table cannot be had.
    #[error("{place}{problem}{}", line_suffix(place.line))]
    Provision {
        /// The rule.
        place: Box<Place>,
        /// Why.
        problem: Box<counter::provision::Problem>,
    },
    /// A roll-up.
    #[error("roll-up of {table}: {source}")]
    RollUp {
        /// The hot table.
        table: String,
        /// Why.
        source: counter::rollup::Error,
    },
    /// A drain.
    #[error("drain of {table}: {why}")]
    Drain {
        /// The hot table.
        table: String,
        /// Why it did not come to an end.
        why: String,
    },
    /// A table was named that no rule is for.
    #[error("no rule is for {table}{near}; write it as the rules file does")]
    NoRule {
        /// As it was named.
        table: String,
        /// One that may be meant, or nothing.
        near: String,
    },
    /// The listener.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The HTTP port, or the console's.
    #[error(transparent)]
    Admin(#[from] crate::admin::Error),
    /// The log filter cannot be read.
    #[error("{variable}: {why}; write a level (error, warn, info, debug, trace) or target=level")]
    LogFilter {
        /// The environment variable.
        variable: &'static str,
        /// Why.
        why: String,
    },
    /// The log has no such form.
    #[error("COUNTERSINK_LOG_FORMAT: `{0}` is no form of the log; write human or json")]
    LogFormat(String),
    /// The server could not be asked.
    #[error(transparent)]
    Check(#[from] crate::check::Error),
    /// The report could not be written.
    #[error("cannot write to standard output: {0}")]
    Output(std::io::Error),
    /// The explanation.
    #[error(transparent)]
    Explain(#[from] super::explain::Error),
    /// The demo.
    #[error(transparent)]
    Demo(#[from] countersink_bench::demo::Error),
    /// Which server.
    #[error(transparent)]
    Target(#[from] super::target::Error),
    /// The advice.
    #[error(transparent)]
    Advise(#[from] super::advise::Error),
    /// The benchmark.
    #[error(transparent)]
    Bench(#[from] countersink_bench::bench::Error),
    /// The benchmark's clients do not get in.
    #[error(transparent)]
    OnlyWithTls(#[from] super::bench::OnlyWithTls),
    /// The proxy is not healthy.
    #[error(transparent)]
    Health(#[from] super::health::Error),
    /// A manual page.
    #[error(transparent)]
    Man(#[from] super::man::Error),
    /// No threads.
    #[error("cannot start: {source}")]
    Runtime {
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    /// With the name of the rules file before it.
    #[must_use]
    pub fn in_file(self, file: &Path) -> Self {
        Self::InFile {
            file: file.to_owned(),
            source: Box::new(self),
        }
    }

    /// A failure of provisioning, with the place of the rule that asked for the table.
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

    /// No rule of the file is for this table.
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

    /// 2 for what an operator corrects in rules.yaml, on the command line or in the tables; 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        use counter::provision::Problem as Provision;
        match self {
            Self::InFile { source, .. } => source.exit_code(),
            Self::Config(_)
            | Self::LogFilter { .. }
            | Self::LogFormat(_)
            | Self::NoRule { .. }
            | Self::OnlyWithTls(_)
            | Self::Target(_) => 2,
            Self::Control(error) if error.is_configuration() => 2,
            Self::Explain(error) => error.exit_code(),
            Self::Demo(error) => error.exit_code(),
            Self::Bench(error) => error.exit_code(),
            Self::Health(error) => error.exit_code(),
            Self::Man(super::man::Error::NoCommand(_)) => 2,
            Self::Advise(error) => error.exit_code(),
            Self::Control(_)
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
