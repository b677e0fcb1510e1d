//! The advice as JSON. docs/advise.md describes the fields.

use serde::Serialize;

use super::{Outcome, row};
use crate::advise::{Candidate, PredictedPlan, Verdict, read_cost};
use crate::check::Finding;

/// Incremented when a field changes.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    server: &'a str,
    source: &'static str,
    seconds: f64,
    looks: Option<u64>,
    waiting: f64,
    waiting_elsewhere: f64,
    unseen: &'a [String],
    tables: Vec<TableDocument<'a>>,
    rules_yaml: Option<String>,
}

#[derive(Serialize)]
struct TableDocument<'a> {
    table: String,
    verdict: &'static str,
    why: Option<&'a str>,
    rule: Option<RuleDocument<'a>>,
    waiting: f64,
    rows: Vec<RowDocument>,
    statements: Vec<StatementDocument<'a>>,
    gain: Option<GainDocument>,
    increments_per_second: Option<f64>,
    reads_per_increment: Option<f64>,
    read_cost: Option<[f64; 2]>,
    in_transaction: Option<f64>,
    mixed: f64,
    plans: Vec<PlanDocument>,
    against: &'a [String],
    findings: Vec<FindingDocument<'a>>,
}

#[derive(Serialize)]
struct RuleDocument<'a> {
    columns: &'a [String],
    touch: &'a [String],
    slots: u16,
    /// The line of the table's existing rule.
    replaces_line: Option<u64>,
}

#[derive(Serialize)]
struct RowDocument {
    row: String,
    waiting: f64,
}

#[derive(Serialize)]
struct StatementDocument<'a> {
    text: &'a str,
    waiting: f64,
}

#[derive(Serialize)]
struct GainDocument {
    low: f64,
    high: f64,
    clients: f64,
}

#[derive(Serialize)]
struct PlanDocument {
    reason: &'static str,
    per_second: Option<f64>,
    waiting: f64,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    severity: &'static str,
    code: &'static str,
    reason: &'a str,
    advice: &'a str,
    statements: &'a [String],
}

/// The advice as one JSON object.
pub(super) fn text(outcome: &Outcome) -> String {
    let evidence = &outcome.evidence;
    let document = Document {
        format: FORMAT,
        server: &outcome.server,
        source: evidence.source.name(),
        seconds: evidence.window.as_secs_f64(),
        looks: evidence.looks,
        waiting: outcome.waiting(),
        waiting_elsewhere: outcome.lost,
        unseen: &evidence.unseen,
        tables: outcome
            .candidates
            .iter()
            .map(|candidate| table(outcome, candidate))
            .collect(),
        rules_yaml: outcome.yaml(),
    };
    serde_json::to_string_pretty(&document).expect("plain data can be written")
}

fn table<'a>(outcome: &Outcome, candidate: &'a Candidate) -> TableDocument<'a> {
    let (verdict, why, advised) = match &candidate.verdict {
        Verdict::Advised(advice, worth) => ("advised", None, Some((advice, worth))),
        Verdict::Ruled(why) => ("ruled", Some(why.as_str()), None),
        Verdict::PassedOver(why) => ("passed-over", Some(why.as_str()), None),
    };
    let spot = &candidate.spot;
    let cost = read_cost();
    TableDocument {
        table: spot.table.to_string(),
        verdict,
        why,
        rule: advised.map(|(advice, _)| RuleDocument {
            columns: &advice.columns,
            touch: &advice.touch,
            slots: advice.slots,
            replaces_line: advice.replaces.map(|replaced| replaced.line),
        }),
        waiting: spot.waiting,
        rows: spot
            .rows
            .iter()
            .take(10)
            .map(|(found, waiting)| RowDocument {
                row: row::show(found, candidate),
                waiting: *waiting,
            })
            .collect(),
        statements: spot
            .statements
            .iter()
            .map(|statement| StatementDocument {
                text: &statement.text,
                waiting: statement.waiting,
            })
            .collect(),
        gain: advised.map(|(_, worth)| GainDocument {
            low: worth.gain.low,
            high: worth.gain.high,
            clients: worth.clients,
        }),
        increments_per_second: candidate.increments,
        reads_per_increment: candidate.reads,
        read_cost: advised
            .filter(|(advice, _)| advice.slots > 0)
            .map(|_| [cost.low, cost.high]),
        in_transaction: spot.in_transaction,
        mixed: candidate.mixed,
        plans: candidate
            .fates
            .iter()
            .map(|fate| plan(outcome, fate))
            .collect(),
        against: &candidate.against,
        findings: candidate.findings.iter().map(finding).collect(),
    }
}

fn plan(outcome: &Outcome, fate: &PredictedPlan) -> PlanDocument {
    let evidence = &outcome.evidence;
    let rate = fate.times as f64 / evidence.window.as_secs_f64().max(1e-3);
    PlanDocument {
        reason: fate.reason.code(),
        per_second: evidence.are_executions.then_some(rate),
        waiting: fate.waiting,
    }
}

fn finding(finding: &Finding) -> FindingDocument<'_> {
    FindingDocument {
        severity: finding.severity().name(),
        code: finding.code.name(),
        reason: &finding.reason,
        advice: &finding.advice,
        statements: &finding.statements,
    }
}
