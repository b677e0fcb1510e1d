//! RELOAD, SET RULE .. MODE, DRAIN: what changes rules while the proxy runs.

use std::time::Duration;

use super::desk::Desk;
use super::statement::{Name, Order};
use super::table::{Answer, Code, Column, Refusal, Table, text};
use crate::config::{Mode, Rule};
use crate::counter::drain::Drain;

/// How long the drain of a table may take. Who asks for it waits.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

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
            let config = desk.config();
            let rules = match name {
                Some(name) => vec![rule(desk, &name)?],
                None => config.rules.clone(),
            };
            let mut results = Vec::new();
            for rule in &rules {
                tracing::info!("console: DRAIN {}", rule.table);
                let tell = |what: &str| tracing::info!("{}: waiting for {what}", rule.table);
                let drain = Drain::new(&desk.control, &config, rule, &tell);
                let drained = drain.run(DRAIN_TIMEOUT).await;
                let drained = drained.map_err(|why| failed(format!("{}: {why}", rule.table)))?;
                results.push(vec![format!("{}: {drained}", rule.table).into()]);
            }
            Ok(Answer::Rows(Table::of(&ORDER_COLUMNS, results)))
        }
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
    let mut rules = config.rules.iter();
    let found = rules.find(|rule| rule.table.to_string().eq_ignore_ascii_case(&named));
    found.cloned().ok_or_else(|| {
        let message = format!("no rule is for {named}; SHOW RULES lists them");
        Refusal::new(Code::NoSuchTable, message)
    })
}
