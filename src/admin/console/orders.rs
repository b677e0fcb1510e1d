//! RELOAD, SET RULE .. MODE, DRAIN: what changes rules while the proxy runs.

use std::time::Duration;

use super::handles::Desk;
use super::statement::{Name, Order};
use super::table::{Answer, Code, Column, Refusal, Table, text};
use crate::config::{Mode, Rule, TableName};
use crate::counter::drain::Drain;

/// How long the drain of a table may take. The client waits for it.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

/// What to do where that was not enough.
const REMEDY: &str = "(RELOAD). End the transactions that stay open, as SHOW SESSIONS has them, and say DRAIN again; \
     countersink drain --timeout waits for longer";

/// What RELOAD, SET RULE and DRAIN answer.
pub(super) const ORDER_COLUMNS: [Column; 1] = [text("result", "what has come of it")];

/// Does what was ordered. Tables have their schema by now.
pub(super) async fn obey(order: Order, desk: &Desk) -> Result<Answer, Refusal> {
    let failed = |why: String| Refusal::new(Code::Failed, why);
    match order {
        Order::Reload => {
            tracing::info!("console: RELOAD");
            desk.rules.reload().await.map(told).map_err(failed)
        }
        Order::SetMode { table, mode } => {
            let rule = rule(desk, &table)?;
            let mode = Mode::parse(&mode).ok_or_else(|| {
                Refusal::new(Code::Syntax, "MODE is off, observe or enforce".to_owned())
            })?;
            tracing::info!("console: SET RULE {} MODE {}", rule.table, mode.name());
            let set = desk.rules.set_mode(&rule.table.to_string(), mode).await;
            set.map(told).map_err(failed)
        }
        Order::Drain(name) => {
            if let Some(name) = name {
                let rule = rule(desk, &name)?;
                return drain(desk, &rule).await.map(told).map_err(failed);
            }
            let mut results = Vec::new();
            for rule in &desk.config().rules {
                // Those that are drained are, though another is not.
                let (Ok(result) | Err(result)) = drain(desk, rule).await;
                results.push(vec![result.into()]);
            }
            Ok(Answer::Rows(Table::of(&ORDER_COLUMNS, results)))
        }
    }
}

/// Drains one table; what has come of it, or why nothing.
async fn drain(desk: &Desk, rule: &Rule) -> Result<String, String> {
    let table = &rule.table;
    tracing::info!("console: DRAIN {table}");
    let config = desk.config();
    let tell = |what: &str| tracing::info!("{table}: waiting for {what}");
    let drain = Drain::new(&desk.control, &config, rule, &tell);
    match drain.run(DRAIN_TIMEOUT).await {
        Ok(drained) => Ok(format!("{table}: {drained}")),
        Err(error) => Err(format!("{table}: not drained: {}", error.told(REMEDY))),
    }
}

fn told(result: String) -> Answer {
    Answer::Rows(Table::of(&ORDER_COLUMNS, vec![vec![result.into()]]))
}

/// The rule for a table of this name.
fn rule(desk: &Desk, name: &Name) -> Result<Rule, Refusal> {
    let schema = name.schema.as_deref().unwrap_or_default();
    let named = format!("{schema}.{}", name.table);
    let config = desk.config();
    let tables = config.rules.iter().map(|rule| &rule.table);
    let found = TableName::position(&named, tables).map(|at| config.rules[at].clone());
    found.ok_or_else(|| {
        let message =
            format!("no rule is for {named}; SHOW RULES lists them, in their letter case");
        Refusal::new(Code::NoSuchTable, message)
    })
}
