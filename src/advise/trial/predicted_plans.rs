//! What would be done with the statements that were seen.

use std::collections::HashMap;

use crate::advise::by_table::{Spot, variables};
use crate::advise::evidence::{Evidence, Follower};
use crate::catalog::Catalog;
use crate::config::TableName;
use crate::reason::Reason;
use crate::sql;

/// What is done with statements, and with how many.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedPlan {
    /// What, and why.
    pub reason: Reason,
    /// How often they run; see [`Evidence::are_executions`].
    pub times: u64,
    /// How many clients wait by them, on average.
    pub waiting: f64,
}

impl PredictedPlan {
    /// Whether they no longer wait for the row.
    pub fn gains(&self) -> bool {
        matches!(self.reason, Reason::Slotted | Reason::Combined)
    }

    /// Whether they read counters, and have to add up.
    pub fn reads(&self) -> bool {
        matches!(self.reason, Reason::Summed | Reason::SummedLocked)
    }

    /// Whether they have to move slots into rows first.
    pub fn folds(&self) -> bool {
        self.reason.code().starts_with("folded:")
    }
}

/// What is done with all statements on the table, those for which most clients wait first.
pub(super) fn of(
    evidence: &Evidence,
    spot: &Spot,
    table: &TableName,
    catalog: &Catalog,
    schemas: &HashMap<String, String>,
) -> Vec<PredictedPlan> {
    let mut fates: Vec<PredictedPlan> = Vec::new();
    let mut add = |schema: Option<&str>, text: &str, times: u64, waiting: f64| {
        let Some(reason) = planned(schema, text, table, catalog, schemas) else {
            return;
        };
        match fates.iter_mut().find(|fate| fate.reason == reason) {
            Some(fate) => {
                fate.times += times;
                fate.waiting += waiting;
            }
            None => fates.push(PredictedPlan {
                reason,
                times,
                waiting,
            }),
        }
    };
    for statement in &evidence.statements {
        add(
            statement.schema.as_deref(),
            &statement.text,
            statement.times,
            0.0,
        );
    }
    for waiting in &spot.statements {
        add(waiting.schema.as_deref(), &waiting.text, 0, waiting.waiting);
    }
    fates.sort_by(|left, right| {
        let by_waiting = right.waiting.total_cmp(&left.waiting);
        by_waiting.then_with(|| right.times.cmp(&left.times))
    });
    fates
}

/// In which share of the transactions with an increment of the table it is read or written once more, which then takes
/// the row's own lock.
pub(super) fn mixed(
    evidence: &Evidence,
    table: &TableName,
    catalog: &Catalog,
    schemas: &HashMap<String, String>,
) -> f64 {
    let reason = |schema: Option<&str>, text: &str| planned(schema, text, table, catalog, schemas);
    let is_mixed = |follower: &&Follower| {
        let schema = follower.schema.as_deref();
        let update = reason(schema, &follower.update);
        let adds = matches!(update, Some(Reason::Slotted | Reason::Combined));
        adds && reason(schema, &follower.text).is_some_and(|reason| {
            let writes = !follower.text.to_lowercase().starts_with("select");
            matches!(reason, Reason::Summed | Reason::SummedLocked)
                || reason.code().starts_with("folded:")
                || (reason == Reason::NoCounter && writes)
        })
    };
    let mixed = evidence.followers.iter().filter(is_mixed);
    mixed.map(|follower| follower.share).fold(0.0, f64::max)
}

/// The reason for the plan of a statement that names the table; none for others.
fn planned(
    schema: Option<&str>,
    text: &str,
    table: &TableName,
    catalog: &Catalog,
    schemas: &HashMap<String, String>,
) -> Option<Reason> {
    let lower = text.to_lowercase();
    // Most statements are on other tables.
    lower.contains(&table.name.to_lowercase()).then_some(())?;
    let schema = schema.or_else(|| Some(schemas.get(&table.name)?.as_str()));
    let plan = sql::plan(whole(text).as_bytes(), &variables(schema), catalog);
    match plan.reason() {
        Reason::NotHot => None,
        reason => Some(reason),
    }
}

/// A list that a digest leaves out is one of one.
fn whole(digest: &str) -> String {
    digest.replace("(...)", "(?)")
}
