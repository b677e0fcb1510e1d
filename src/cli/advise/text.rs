//! The advice as text.

use countersink_terminal::{Paint, number, wrapped};

use super::{Outcome, row};
use crate::advise::{self, Advice, Candidate, Range, Verdict, Worth, read_cost};
use crate::check::Finding;

/// Maximum width of a line, in columns. Text for pasting is not wrapped.
const WIDTH: usize = 110;

/// The column where the text of a line begins.
const INDENT: usize = 12;

/// Maximum number of rows, and of statements, to show for a table.
const SHOWN: usize = 3;

/// The report's lines.
pub(super) fn lines(outcome: &Outcome) -> Vec<String> {
    let mut lines = heading(outcome);
    for candidate in &outcome.candidates {
        lines.push(String::new());
        lines.extend(one(outcome, candidate));
    }
    if outcome.lost >= 0.05 {
        lines.push(String::new());
        lines.push(format!(
            "{:.1} clients wait for rows of tables that are not known.",
            outcome.lost
        ));
    }
    if !outcome.evidence.unseen.is_empty() {
        lines.push(String::new());
        for unseen in &outcome.evidence.unseen {
            lines.extend(part("not seen", &row::whole(unseen)));
        }
    }
    lines.push(String::new());
    lines.extend(closing(outcome));
    lines
}

fn heading(outcome: &Outcome) -> Vec<String> {
    let evidence = &outcome.evidence;
    let title = format!("{} at {}", outcome.server, outcome.base.upstream);
    let looks = evidence
        .looks
        .map_or_else(String::new, |looks| format!(", {looks} looks"));
    let mut lines = vec![
        Paint::Strong.on(&title),
        format!(
            "  watched for {} by {}{looks}",
            number::time(evidence.window),
            evidence.source.name()
        ),
        format!(
            "  {:.1} clients wait for row locks at any time, on average",
            outcome.waiting()
        ),
    ];
    if let Some((waits, time)) = evidence.row_lock_waits {
        let rate = waits as f64 / evidence.window.as_secs_f64().max(1e-3);
        lines.push(format!(
            "  the server counts {rate:.1} waits a second, {} each",
            match u32::try_from(waits) {
                Ok(waits) if waits > 0 => number::time(time / waits),
                _ => "0 ms".to_owned(),
            }
        ));
    }
    lines
}

fn one(outcome: &Outcome, candidate: &Candidate) -> Vec<String> {
    let spot = &candidate.spot;
    let share = 100.0 * spot.waiting / outcome.waiting().max(f64::MIN_POSITIVE);
    let name = row::plain(&spot.table.to_string());
    let waits = format!(
        ": {:.1} clients wait for its rows ({share:.0} %)",
        spot.waiting
    );
    let (paint, verdict) = match &candidate.verdict {
        Verdict::Advised(..) => (Paint::Good, ""),
        Verdict::Ruled(_) => (Paint::Strong, "; there is a rule for it already"),
        Verdict::PassedOver(_) => (Paint::Strong, "; no rule is advised"),
    };
    let mut lines = vec![format!("{}{waits}{verdict}", paint.on(&name))];
    for (row, waiting) in spot.rows.iter().take(SHOWN) {
        let row = row::show(row, candidate);
        lines.extend(part("row", &format!("{row}: {waiting:.1} clients wait")));
    }
    for statement in spot.statements.iter().take(SHOWN) {
        let text = row::plain(&statement.text);
        lines.extend(part(
            "waits",
            &format!("{:.1} by {text}", statement.waiting),
        ));
    }
    match &candidate.verdict {
        Verdict::Advised(advice, worth) => {
            lines.extend(part("gain", &gain(candidate, *worth)));
            lines.extend(part("reads", &reads(candidate, advice)));
        }
        Verdict::Ruled(why) | Verdict::PassedOver(why) => {
            lines.extend(part("why", &row::whole(why)));
        }
    }
    for against in &candidate.against {
        lines.extend(part("against", against));
    }
    for finding in &candidate.findings {
        lines.extend(check(finding));
    }
    lines
}

/// A finding and what to do about it.
fn check(finding: &Finding) -> Vec<String> {
    let (severity, code) = (finding.severity().name(), finding.code.name());
    let mut text = format!("{severity} {code}: {}", finding.reason);
    if !finding.advice.is_empty() {
        text.push_str("; ");
        text.push_str(&finding.advice);
    }
    let mut lines = part("check", &row::whole(&text));
    // These are for pasting, so they are not wrapped.
    let statements = finding.statements.iter();
    let statements = statements.map(|statement| format!("{:INDENT$}{}", "", row::whole(statement)));
    lines.extend(statements);
    lines
}

/// Formats a range, as in `2.9 to 5.5`.
fn range(range: Range) -> String {
    format!("{:.1} to {:.1}", range.low, range.high)
}

fn gain(candidate: &Candidate, worth: Worth) -> String {
    let now = candidate.increments.map_or_else(String::new, |rate| {
        format!("; {rate:.1} increments a second now")
    });
    format!(
        "{} times the increments, if the clients send them, with {:.1} clients at that row at a time{now}",
        range(worth.gain),
        worth.clients
    )
}

fn reads(candidate: &Candidate, advice: &Advice) -> String {
    let often = match candidate.reads {
        Some(reads) => format!("{reads:.1} reads for each increment were seen"),
        None => "how often they come was not seen".to_owned(),
    };
    match advice.slots {
        0 => format!("are left as they are by slots: 0; {often}"),
        _ => format!(
            "of a counter by its key take {} times as long as others through the proxy; {often}",
            range(read_cost())
        ),
    }
}

fn closing(outcome: &Outcome) -> Vec<String> {
    if outcome.advised().next().is_none() {
        let none = match outcome.candidates.is_empty() {
            true => "No rule is advised: nobody waits for the rows of a table.",
            false => "No rule is advised.",
        };
        return vec![none.to_owned()];
    }
    let mut lines = Vec::new();
    if let Some(yaml) = outcome.yaml() {
        let title = match &outcome.file {
            Some(file) => format!("# to add to the counters of {}:", file.display()),
            None => "# rules.yaml:".to_owned(),
        };
        lines.push(Paint::Strong.on(&title));
        lines.extend(yaml.lines().map(str::to_owned));
        lines.push(String::new());
    }
    for (advice, replaced) in outcome.changed() {
        let title = format!(
            "# in the rule of {}, line {}, in place of the lines of these names:",
            row::plain(&advice.table.to_string()),
            replaced.line
        );
        lines.push(Paint::Strong.on(&title));
        lines.extend(advise::settings(advice).lines().map(str::to_owned));
        lines.push(String::new());
    }
    lines.push(match &outcome.file {
        Some(file) => format!("# then: countersink check --rules {}", file.display()),
        None => "# then, with the password in COUNTERSINK_PASSWORD: countersink check --rules rules.yaml"
            .to_owned(),
    });
    lines
}

/// A line with its label, wrapped at spaces.
fn part(name: &str, text: &str) -> Vec<String> {
    wrapped(
        &format!("  {name:<width$}", width = INDENT - 2),
        text,
        WIDTH,
    )
}
