//! Findings about slot tables, and about rules that have none.

use super::code::Code;
use super::evidence::{Evidence, Seen};
use super::finding::Finding;
use super::problem;
use crate::config::{Mode, Rule};
use crate::counter::provision::State;
use crate::counter::quote;

/// What provisioning would do.
pub(super) fn findings(rule: &Rule, seen: &Seen) -> Option<Finding> {
    let slots = &rule.slot_table;
    let made = "`countersink provision` and `serve` do that, if the control account may";
    let about = |code, reason: String| Finding::new(code, Some(&rule.table), reason).advice(made);
    match seen.slots.as_ref()? {
        State::Verified => None,
        State::Missing(_) if seen.lacks_schema => {
            let reason =
                format!("there is no schema for the slot table {slots}, or none can be seen");
            let create = format!("CREATE DATABASE {}", quote::name(&slots.schema));
            let finding = Finding::new(Code::NoSlotSchema, Some(&rule.table), reason);
            Some(
                finding
                    .advice("make it, or name another with slot_table")
                    .statements([create]),
            )
        }
        State::Missing(create) => {
            let reason = format!("the slot table {slots} is not there yet and will be made");
            Some(about(Code::SlotTableMissing, reason).statements([create.clone()]))
        }
        State::Lacks(alter) => {
            let reason = format!("the slot table {slots} lacks columns, which will be added");
            Some(about(Code::SlotTableLacks, reason).statements([alter.clone()]))
        }
        State::Outdated(statements) => {
            let reason = format!(
                "the slot table {slots} does not fit {} any more; it holds nothing and will be made anew",
                rule.table
            );
            Some(about(Code::SlotTableOutdated, reason).statements(statements.clone()))
        }
        State::Refused(problem) => problem::of_slots(problem, rule),
    }
}

/// About a rule that does not rewrite.
pub(super) fn unserved(rule: &Rule, evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    if rule.mode == Mode::Observe {
        let text = "mode: observe: statements are counted by what would become of them, and pass as they came";
        findings.push(Finding::new(Code::ModeObserve, Some(&rule.table), text));
    }
    let values = evidence
        .unserved
        .iter()
        .find(|(index, _)| *index == rule.index);
    match values {
        Some(_) if rule.slots > 0 => {
            let text = format!(
                "slots hold values; reads add them up, and increments go to the row, until the proxy has moved them into {}",
                rule.table
            );
            findings.push(Finding::new(Code::SlotsToEmpty, Some(&rule.table), text));
        }
        values => findings.extend(values.and_then(|(_, problem)| problem::of_slots(problem, rule))),
    }
    findings
}
