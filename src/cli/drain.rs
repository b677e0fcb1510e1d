//! `countersink drain`: takes rules out of force in every proxy, folds all slots into base and drops the slot tables.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;

use super::{Error, RulesArguments, write};
use crate::config::{Config, DurationRange, Rule, TableName};
use crate::counter::control::Control;
use crate::counter::drain::Drain;

/// What `--help` ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  countersink drain                                 all rules: afterwards the server is as if there had been no proxy
  countersink drain shop.posts                      one of them
  countersink drain --timeout 10m                   waits longer for transactions that stay open

Proxies that run stop using slots, without an error or a pause for their clients, and go on
to pass everything on; they need not be stopped. Then set mode: off in their rules file, or take
the rule out: at its next start a proxy goes by that again.";

/// The range of the time that a table may take.
const TIMEOUT: DurationRange = DurationRange {
    low: (Duration::from_secs(1), "1s"),
    high: (Duration::from_secs(24 * 3600), "24h"),
};

#[derive(Debug, Args)]
pub(super) struct DrainArguments {
    /// The tables, spelled as in the rules; by default all.
    #[arg(value_name = "SCHEMA.TABLE")]
    tables: Vec<String>,
    #[command(flatten)]
    pub(super) file: RulesArguments,
    /// How long each table may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = |text: &str| TIMEOUT.parse(text))]
    timeout: Duration,
}

/// What to do if the time was not enough.
const REMEDY: &str = "(SIGHUP). Try again, with a longer --timeout";

/// Prints a line for each table as soon as it is done, because a later one may fail.
pub(super) async fn drain(config: &Config, arguments: &DrainArguments) -> Result<(), Error> {
    let rules = meant(config, arguments)?;
    let control = Control::open(config).await?;
    let drained = drain_each(&control, config, rules, arguments.timeout).await;
    control.close().await;
    drained
}

async fn drain_each(
    control: &Control,
    config: &Config,
    rules: Vec<&Rule>,
    timeout: Duration,
) -> Result<(), Error> {
    for rule in rules {
        let tell = |what: &str| eprintln!("{}: waiting for {what}", rule.table);
        let done = Drain::new(control, config, rule, &tell).run(timeout);
        let done = done.await.map_err(|error| Error::Drain {
            table: rule.table.to_string(),
            why: error.told(REMEDY),
        })?;
        write(format!("{}: {done}\n", rule.table))?;
    }
    Ok(())
}

/// The rules of the named tables, or all rules, in the order of the file.
fn meant<'a>(config: &'a Config, arguments: &DrainArguments) -> Result<Vec<&'a Rule>, Error> {
    if arguments.tables.is_empty() {
        return Ok(config.rules.iter().collect());
    }
    let tables = config.rules.iter().map(|rule| &rule.table);
    let mut positions = BTreeSet::new();
    for name in &arguments.tables {
        let position = TableName::position(name, tables.clone());
        positions.insert(position.ok_or_else(|| Error::no_rule(name, config))?);
    }
    Ok(positions.into_iter().map(|at| &config.rules[at]).collect())
}
