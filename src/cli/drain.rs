//! `countersink drain`: takes rules out of force in every proxy, moves slots into the rows, drops the slot tables.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;

use super::{Error, RulesArguments};
use crate::config::{Config, DurationRange, Rule};
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

/// How long a table may take to be drained.
const TIMEOUT: DurationRange = DurationRange {
    low: (Duration::from_secs(1), "1s"),
    high: (Duration::from_secs(24 * 3600), "24h"),
};

#[derive(Debug, Args)]
pub(super) struct DrainArguments {
    /// The tables, as the rules spell them; all unless given.
    #[arg(value_name = "SCHEMA.TABLE")]
    tables: Vec<String>,
    #[command(flatten)]
    pub(super) file: RulesArguments,
    /// How long each table may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = |text: &str| TIMEOUT.parse(text))]
    timeout: Duration,
}

/// What to print: a line for each table.
pub(super) async fn drain(config: &Config, arguments: &DrainArguments) -> Result<String, Error> {
    let control = Control::open(config).await?;
    let text = text(&control, config, arguments).await;
    control.close().await;
    text
}

async fn text(
    control: &Control,
    config: &Config,
    arguments: &DrainArguments,
) -> Result<String, Error> {
    for name in &arguments.tables {
        let mut rules = config.rules.iter();
        if !rules.any(|rule| is_named(rule, name)) {
            let table = name.clone();
            return Err(Error::Drain {
                table,
                why: "no rule is for it; write it as the rules file does".to_owned(),
            });
        }
    }
    let is_meant = |rule: &&Rule| {
        let mut names = arguments.tables.iter();
        arguments.tables.is_empty() || names.any(|name| is_named(rule, name))
    };
    let mut text = String::new();
    for rule in config.rules.iter().filter(is_meant) {
        let tell = |what: &str| eprintln!("{}: waiting for {what}", rule.table);
        let done = Drain::new(control, config, rule, &tell).run(arguments.timeout);
        let done = done.await.map_err(|why| Error::Drain {
            table: rule.table.to_string(),
            why,
        })?;
        writeln!(text, "{}: {done}", rule.table).expect("a String takes all");
    }
    Ok(text)
}

fn is_named(rule: &Rule, name: &str) -> bool {
    rule.table.to_string().eq_ignore_ascii_case(name)
}
