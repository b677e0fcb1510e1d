//! What is said of a candidate.

use super::{Candidate, MANY_READS, PredictedPlan};
use crate::advise::by_table::Spot;
use crate::advise::evidence::Source;
use crate::catalog::Examined;
use crate::check::{Code, Finding, Severity};
use crate::config::Mode;
use crate::sql::Sets;

/// What a table without a column that is added to is waited for.
pub(super) fn no_counter(spot: &Spot) -> String {
    let named = |columns: Vec<String>| columns.join(", ");
    let sequences = spot.columns(Sets::Sequence);
    let upserted = spot.columns_of_upserts(Sets::Sum);
    let mut set = spot.columns(Sets::Constant);
    set.extend(spot.columns(Sets::Other));
    if !sequences.is_empty() {
        return format!(
            "{} is a sequence, handed out by LAST_INSERT_ID(), and slots cannot give each client a value of its own. With a rule \
             that names it, clients that draw in autocommit share a commit while the table rests; what that gains is not \
             estimated here, `countersink bench --work sequence` measures it",
            named(sequences)
        );
    }
    if !upserted.is_empty() {
        return format!(
            "{} is added to by INSERT .. ON DUPLICATE KEY UPDATE, which has to run on the row itself, for it may be the one that \
             inserts it. With a rule that names it, upserts of one row in autocommit share a commit while the table rests; what \
             that gains is not estimated here, `countersink bench --work upsert` measures it",
            named(upserted)
        );
    }
    if !set.is_empty() {
        return format!(
            "{} is set to values that are not itself plus a constant, so there is nothing to add up; have fewer clients write the \
             row, or let it be many rows",
            named(set)
        );
    }
    "no UPDATE that waits for it adds a constant to a column".to_owned()
}

/// Why the table cannot be hot.
pub(super) fn why_not(examined: &Examined) -> Option<String> {
    let problems: Vec<String> = examined.problems.iter().map(ToString::to_string).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

pub(super) fn not_slotted(fates: &[PredictedPlan]) -> String {
    let heaviest = fates
        .iter()
        .max_by(|left, right| left.waiting.total_cmp(&right.waiting));
    match heaviest {
        Some(fate) => format!(
            "what waits for it would not go to slots ({}): {} While the table rests, writes of one row in autocommit share a \
             commit all the same: `countersink explain` says which",
            fate.reason.code(),
            fate.reason.why()
        ),
        None => "what waits for it is not understood".to_owned(),
    }
}

/// Why clients wait for a table that has a rule.
pub(super) fn ruled(mode: Mode, source: Source) -> String {
    match (mode, source) {
        (Mode::Observe, _) => {
            "its mode is observe: statements are planned and counted, and pass as they came; `mode: enforce` in the rules file acts"
        }
        (_, Source::Proxy) => {
            "the rule acts: the proxy sees no locks, and increments that are combined, or written to slots, take their time too; \
             without --proxy the server is asked who waits"
        }
        _ => "they wait all the same: countersink explain says what becomes of these statements",
    }
    .to_owned()
}

/// Why `serve` would refuse the rule, where no statement mends it.
pub(super) fn unmended(findings: &[Finding]) -> Option<String> {
    let mut errors = findings.iter().filter(|finding| is_error(finding));
    let error = errors.find(|finding| finding.statements.is_empty())?;
    let advice = match error.advice.as_str() {
        "" => String::new(),
        advice => format!("; {advice}"),
    };
    Some(format!(
        "serve would refuse the rule: {}{advice}",
        error.reason
    ))
}

fn is_error(finding: &Finding) -> bool {
    finding.severity() == Severity::Error
}

/// What `check` says is worth telling before there is a rule: not that the slot table is missing, nor how the command
/// is run.
pub(super) fn is_worth_telling(finding: &Finding) -> bool {
    !matches!(
        finding.code,
        Code::SlotTableMissing | Code::TouchColumn | Code::ClientGrantsUnseen
    )
}

/// The cap: a power of two that has room for twice the clients that are at the row on average.
pub(super) fn slots(candidate: &Candidate) -> u16 {
    let many_reads = candidate.reads.is_some_and(|reads| reads > MANY_READS);
    let in_autocommit = candidate
        .spot
        .in_transaction
        .is_some_and(|share| share < 0.1);
    if many_reads && in_autocommit {
        return 0;
    }
    let clients = candidate.spot.clients();
    let caps = [16, 32, 64, 128];
    let enough = |cap: &u16| f64::from(*cap) >= 2.0 * clients;
    caps.into_iter().find(enough).unwrap_or(256)
}

/// What speaks against a rule, of what was seen. `seconds` is how long, where executions were counted.
pub(super) fn against(candidate: &Candidate, seconds: Option<f64>) -> Vec<String> {
    let mut against = Vec::new();
    if let Some(reads) = candidate.reads.filter(|reads| *reads > MANY_READS) {
        let slots = match slots(candidate) {
            0 => {
                "; so slots: 0, which combines increments on the row itself and leaves reads alone"
            }
            _ => {
                "; with slots: 0 reads are left alone, and increments in autocommit combined on the row itself"
            }
        };
        against.push(format!(
            "its counters are read {reads:.0} times for each increment{slots}"
        ));
    }
    let folded = candidate.fates.iter().filter(|fate| fate.folds());
    for fate in folded {
        let often = match seconds {
            Some(seconds) => format!("{:.1} statements a second", fate.times as f64 / seconds),
            None => "some statements".to_owned(),
        };
        against.push(format!(
            "while slots are in use, {often} would move them into the row first ({}), which is slower than without a rule: {}",
            fate.reason.code(),
            fate.reason.why()
        ));
    }
    let mut errors = candidate
        .findings
        .iter()
        .filter(|finding| is_error(finding));
    if errors.any(|finding| !finding.statements.is_empty()) {
        against
            .push("serve refuses the rule until the statements under `check` have run".to_owned());
    }
    if candidate
        .spot
        .in_transaction
        .is_some_and(|share| share >= 0.1)
    {
        against.push(
            "increments come in transactions: one that also reads the counter, or writes the row otherwise, takes the row's own \
             lock as it does now, and gains nothing"
                .to_owned(),
        );
    }
    against
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serve_refuses_and_no_statement_mends_speaks_against_a_rule() {
        let finding = |code, statements: &[&str]| Finding {
            code,
            table: None,
            reason: "it is so".to_owned(),
            advice: "do that".to_owned(),
            statements: statements.iter().map(|&text| text.to_owned()).collect(),
        };
        let mended = finding(Code::ControlGrants, &["GRANT SELECT ON a.b TO c;"]);
        let warning = finding(Code::BinlogFormat, &[]);
        assert_eq!(unmended(&[mended.clone(), warning]), None);
        let why = unmended(&[mended, finding(Code::NotASlotTable, &[])]);
        let why = why.expect("an error");
        assert_eq!(why, "serve would refuse the rule: it is so; do that");
    }
}
