//! RELOAD, SET RULE .. MODE, DRAIN: what changes rules while the proxy runs.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::desk::Desk;
use super::statement::{Name, Order};
use super::table::{Answer, Code, Column, Refusal, Table, text};
use crate::config::{Config, Mode, Rule, did_you_mean};
use crate::counter::drain::Drain;

/// How long each table may take to be drained.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

/// What RELOAD and SET RULE answer.
pub(super) const RELOAD_COLUMNS: [Column; 1] =
    [text("result", "what has come of it, in a sentence")];

/// What DRAIN answers.
pub(super) const DRAIN_COLUMNS: [Column; 3] = [
    text("schema", "schema of the table"),
    text("table", "the table"),
    text("result", "what has come of it, in a sentence"),
];

/// What changes the rules of a running proxy.
#[async_trait]
pub trait Rulebook: fmt::Debug + Send + Sync {
    /// Reads the rules file again; a sentence about it, or why nothing has changed.
    async fn reload(&self) -> Result<String, String>;

    /// Gives the rule of `schema.table` another mode, until the file is read again; a sentence about it, or why not.
    async fn set_mode(&self, table: &str, mode: Mode) -> Result<String, String>;

    /// How far each rule is in force.
    async fn standings(&self) -> Vec<Standing>;
}

/// How far a rule is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// `schema.table`, as the rule spells it.
    pub table: String,
    /// The mode that it has now.
    pub mode: Mode,
    /// How far it is.
    pub stage: &'static str,
    /// What it waits for, if it does.
    pub waits_for: Option<String>,
}

/// Does what was ordered. Tables have their schema by now.
pub(super) async fn obey(order: Order, desk: &Desk) -> Result<Answer, Refusal> {
    tracing::info!("console: {}", order.name());
    let Some(rules) = &desk.rules else {
        let why = "this proxy's rules are from no file, and stay as they are";
        return Err(Refusal::new(Code::Failed, why));
    };
    let done = match order {
        Order::Reload => rules.reload().await,
        Order::SetMode { table, mode } => {
            let config = desk.config();
            let rule = rule_of(&config, &table)?;
            rules
                .set_mode(&rule.table.to_string(), mode_of(&mode)?)
                .await
        }
        Order::Drain(table) => return drain(desk, table).await,
    };
    match done {
        Ok(sentence) => {
            let rows = vec![vec![sentence.into()]];
            Ok(Answer::Rows(Table::of(&RELOAD_COLUMNS, rows)))
        }
        Err(why) => Err(Refusal::new(Code::Failed, why)),
    }
}

/// Drains one table, or all that have a rule, one after the other.
async fn drain(desk: &Desk, table: Option<Name>) -> Result<Answer, Refusal> {
    let config = desk.config();
    let rules: Vec<&Rule> = match &table {
        Some(table) => vec![rule_of(&config, table)?],
        None => config.rules.iter().collect(),
    };
    let mut rows = Vec::new();
    for rule in rules {
        let tell = |what: &str| tracing::info!("console: DRAIN {}: waits for {what}", rule.table);
        let drained = Drain::new(&desk.control, &config, rule, &tell).run(DRAIN_TIMEOUT);
        let drained = drained.await.map_err(|why| {
            let message = format!("{}: {why}", rule.table);
            Refusal::new(Code::Failed, message)
        })?;
        rows.push(vec![
            rule.table.schema.as_str().into(),
            rule.table.name.as_str().into(),
            drained.into(),
        ]);
    }
    Ok(Answer::Rows(Table::of(&DRAIN_COLUMNS, rows)))
}

/// The rule for a table.
fn rule_of<'a>(config: &'a Config, name: &Name) -> Result<&'a Rule, Refusal> {
    let schema = name.schema.as_deref().unwrap_or_default();
    let named = format!("{schema}.{}", name.table);
    let mut rules = config.rules.iter();
    let found = rules.find(|rule| rule.table.to_string().eq_ignore_ascii_case(&named));
    found.ok_or_else(|| {
        let known: Vec<_> = config
            .rules
            .iter()
            .map(|rule| rule.table.to_string())
            .collect();
        let near = did_you_mean(&named, known.iter().map(String::as_str));
        let message = format!("no rule is for {named}{near}; SHOW RULES lists them");
        Refusal::new(Code::NoSuchTable, message)
    })
}

fn mode_of(name: &str) -> Result<Mode, Refusal> {
    let modes = [Mode::Off, Mode::Observe, Mode::Enforce];
    let found = modes.into_iter().find(|mode| mode.name() == name);
    found.ok_or_else(|| {
        let near = did_you_mean(name, modes.map(Mode::name));
        let message = format!("there is no mode {name}{near}; write off, observe or enforce");
        Refusal::new(Code::Syntax, message)
    })
}
