//! What all workloads are told: how many clients, how long, on what.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, ValueEnum};
use countersink_sandbox::Flavour;

/// How a workload is run.
#[derive(Clone, Debug, Args)]
pub struct Course {
    /// Rounds; in each, every target has one turn.
    #[arg(long, default_value = "5")]
    pub rounds: NonZeroUsize,
    /// Length of a turn, such as 8s or 500ms.
    #[arg(long, default_value = "8s", value_parser = duration)]
    pub turn: Duration,
    /// Clients, each of which has one transaction at a time.
    #[arg(long, default_value_t = 32)]
    pub clients: usize,
    /// How long a client waits before each statement, as if a network were in between.
    #[arg(long, default_value = "0ms", value_parser = duration)]
    pub pause: Duration,
    /// The server.
    #[arg(long, value_enum, default_value_t = Kind::Mysql)]
    pub kind: Kind,
}

/// What the rules say beside tables and columns.
#[derive(Clone, Debug, Args)]
pub struct RuleOptions {
    /// The rules' `rest`: `auto` or `never`.
    #[arg(long, value_parser = ["auto", "never"], default_value = "auto")]
    rest: String,
    /// The rules' `slots`.
    #[arg(long, default_value_t = 64)]
    slots: u16,
}

/// A family of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    Mysql,
    Mariadb,
}

impl Kind {
    pub fn flavour(self) -> Flavour {
        match self {
            Self::Mysql => Flavour::MySql,
            Self::Mariadb => Flavour::MariaDb,
        }
    }
}

impl fmt::Display for RuleOptions {
    /// As rules.yaml has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slots: {}, rest: {}", self.slots, self.rest)
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "clients: {}, rounds: {}, turns of {:?}",
            self.clients, self.rounds, self.turn
        )?;
        match self.pause.is_zero() {
            true => Ok(()),
            false => write!(f, ", {:?} before each statement", self.pause),
        }
    }
}

/// A number with the unit `ms` or `s`.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s').unwrap_or_default(), 1000),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "a duration is written like 8s or 500ms".to_owned())?;
    Ok(Duration::from_millis(number * unit))
}
