//! SHOW SESSIONS, PLANS, REASONS, STATS, LOG: the proxy itself.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::macros::format_description;

use super::super::handles::Desk;
use super::super::table::{Value, integer, seconds, text};
use super::Report;
use crate::explain::{Situation, explain_plan};
use crate::metrics::Fault;
use crate::reason::Reason;
use crate::session::KeptPlan;
use crate::sql::{Lexer, TokenKind};

/// So many plans are shown at the most.
const MOST_PLANS: usize = 1000;

/// So much of a plan's statement is shown, in letters.
const MOST_OF_A_STATEMENT: usize = 500;

pub(super) const SESSIONS: Report = Report {
    name: "SESSIONS",
    about: "who is connected, and at what",
    columns: &[
        integer(
            "id",
            "the id that the client sees, and the server's own: what KILL takes",
        ),
        text("user", "user name"),
        text("client", "address and port of the client"),
        text(
            "schema",
            "the current schema, as far as the proxy knows: a `USE` inside a text is seen at the next statement on a hot table",
        ),
        seconds("connected", "since the login"),
        integer(
            "in_transaction",
            "1 when a transaction was open behind the last statement, or autocommit is off",
        ),
        text(
            "command",
            "the command at hand, as SHOW PROCESSLIST calls it; `Sleep` between two, `Killed` when it is to close",
        ),
        seconds(
            "command_time",
            "since the command began, or the last answer",
        ),
        integer("commands", "commands since the login"),
        text(
            "reason",
            "why the last statement got its plan: a code of SHOW REASONS",
        ),
    ],
    rows: |desk| {
        let sessions = desk.shared.sessions.now().into_iter().map(|session| {
            vec![
                u64::from(session.id).into(),
                session.user.into(),
                session.client.to_string().into(),
                session.schema.into(),
                session.connected.into(),
                Value::truth(session.in_transaction),
                session.command.into(),
                session.command_time.into(),
                session.commands.into(),
                session.reason.map(Reason::code).into(),
            ]
        });
        sessions.collect()
    },
};

pub(super) const SENTINEL: Report = Report {
    name: "SENTINEL",
    about: "who has changed counters past the proxy, the last ones first",
    columns: &[
        text("time", "when, by the server's clock, in UTC"),
        text("table", "the hot table"),
        text(
            "change",
            "`update` of a counter, `delete` of a row, or a `statement` that names the table, where the binary log has no rows",
        ),
        text("key", "whose row it was; NULL for a statement"),
        integer(
            "thread",
            "the server's thread that did it, as SHOW PROCESSLIST has it while it is connected",
        ),
    ],
    rows: |desk| {
        let findings = desk.shared.sentinel.all().into_iter().rev();
        findings
            .map(|finding| {
                let (schema, name) = finding.table;
                vec![
                    iso(finding.at).into(),
                    format!("{schema}.{name}").into(),
                    finding.kind.to_string().into(),
                    finding.key.as_deref().into(),
                    u64::from(finding.thread).into(),
                ]
            })
            .collect()
    },
};

pub(super) const PLANS: Report = Report {
    name: "PLANS",
    about: "plans that are kept; a thousand of them at the most",
    columns: &[
        text("schema", "the current schema that it was planned under"),
        text("reason", "what becomes of it: a code of SHOW REASONS"),
        text(
            "statement",
            "the statement with `?` for each literal; cut after 500 letters",
        ),
    ],
    rows: |desk| {
        let (plans, _) = desk.shared.hot().kept_plans(MOST_PLANS);
        let mut rows: Vec<_> = plans.iter().map(plan_row).collect();
        rows.sort_by_key(|row| row.last().and_then(Value::shown));
        // Some differ by their literals alone.
        rows.dedup();
        rows
    },
};

fn plan_row(kept: &KeptPlan) -> Vec<Value> {
    vec![
        kept.variables.schema.clone().into(),
        explain_plan(&kept.plan, &Situation::default())
            .reason
            .code()
            .into(),
        without_literals(kept).into(),
    ]
}

/// The statement with `?` for strings and numbers, and without comments, which may contain anything.
fn without_literals(kept: &KeptPlan) -> String {
    let mut shown = String::new();
    for token in Lexer::new(&kept.text, &kept.variables) {
        match token.kind {
            TokenKind::String | TokenKind::Number => shown.push('?'),
            TokenKind::Comment | TokenKind::ExecutableComment | TokenKind::Hint => {}
            TokenKind::Space => shown.push(' '),
            _ => shown.push_str(&String::from_utf8_lossy(token.of(&kept.text))),
        }
    }
    let cut = shown.trim().char_indices().nth(MOST_OF_A_STATEMENT);
    match cut {
        Some((end, _)) => format!("{}..", &shown.trim()[..end]),
        None => shown.trim().to_owned(),
    }
}

pub(super) const REASONS: Report = Report {
    name: "REASONS",
    about: "statements by what became of them and why",
    columns: &[
        text("reason", "the code, as metrics and EXPLAIN have it"),
        integer("statements", "how many since the proxy has started"),
        text("why", "the reason in a sentence"),
    ],
    rows: |desk| {
        let counted = desk.shared.metrics.statements();
        let reasons = Reason::ALL.into_iter().map(|reason| {
            vec![
                reason.code().into(),
                counted.get(&reason).copied().unwrap_or_default().into(),
                reason.why().into(),
            ]
        });
        reasons.collect()
    },
};

pub(super) const STATS: Report = Report {
    name: "STATS",
    about: "counts of the whole proxy",
    columns: &[
        text("name", "what is counted"),
        integer("value", "how many"),
        text("about", "what that is"),
    ],
    rows: stats,
};

fn stats(desk: &Desk) -> Vec<Vec<Value>> {
    let metrics = &desk.shared.metrics;
    let (batches, combined) = metrics.combined();
    let (_, plans) = desk.shared.hot().kept_plans(0);
    let statements = metrics.statements().values().sum();
    [
        ("uptime", desk.started.elapsed().as_secs(), "seconds since the proxy has started"),
        ("paused", u64::from(desk.shared.sessions.is_paused()), "1 while clients that connect have to wait"),
        ("sessions", metrics.sessions(), "clients that are connected"),
        ("connections", metrics.connections(), "clients that have connected"),
        ("refused_connections", metrics.all_refused(), "clients that did not come to be logged in"),
        ("lost_by_client", metrics.lost(Fault::Client), "sessions whose client went in the middle of a command"),
        ("lost_by_upstream", metrics.lost(Fault::Upstream), "sessions whose server went in the middle of a command"),
        ("lost_by_proxy", metrics.lost(Fault::Proxy), "sessions that the proxy ended in the middle of a command for want of its own disk"),
        ("statements", statements, "statements that were counted by a reason"),
        ("batches", batches, "statements and transactions that wrote the increments of several clients"),
        ("combined_increments", combined, "the increments in them"),
        ("waiting_increments", metrics.waiting(), "increments that wait now to be written with others"),
        ("rollup_transactions", metrics.roll_ups(), "transactions of roll-ups"),
        ("rollup_slot_rows", metrics.rolled_up(), "slot rows that they have moved"),
        ("rollup_orphans", metrics.orphans(), "slot rows that were deleted because their rows were no more"),
        ("rollup_adopted_rows", metrics.adopted(), "slot rows written by the application itself that they have moved"),
        ("rollup_failures", metrics.failed_roll_ups(), "roll-ups that failed, and were tried again"),
        ("rollup_drift", metrics.drifted(), "roll-ups that would have changed a value, and were rolled back: none, unless there is a bug"),
        ("traced_statements", metrics.traced(), "statements whose spans a collector has taken"),
        ("untraced_statements", metrics.untraced(), "statements whose spans were dropped, because no collector took them in time"),
        ("plans", u64::try_from(plans).unwrap_or(u64::MAX), "plans that are kept"),
    ]
    .into_iter()
    .map(|(name, value, about)| vec![name.into(), value.into(), about.into()])
    .collect()
}

pub(super) const LOG: Report = Report {
    name: "LOG",
    about: "the last thousand records of the log, the oldest first",
    columns: &[
        text("time", "when, in UTC"),
        text("level", "`ERROR`, `WARN` or `INFO`; more is not kept"),
        text("target", "the part of the program"),
        text("message", "what happened; never a statement's text"),
    ],
    rows: |desk| {
        let records = desk.log.records().into_iter().map(|record| {
            vec![
                iso(record.time).into(),
                record.level.as_str().into(),
                record.target.into(),
                record.text.into(),
            ]
        });
        records.collect()
    },
};

/// A time in UTC, to the millisecond.
fn iso(time: SystemTime) -> Option<String> {
    let form =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    OffsetDateTime::from(time).format(&form).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::sql::plan::{Plan, SessionVariables};

    #[test]
    fn plans_show_no_literal() {
        let kept = |text: &str| KeptPlan {
            variables: SessionVariables::default(),
            text: text.as_bytes().to_vec(),
            plan: Arc::new(Plan::Forward(Reason::NotHot)),
        };
        let text = "UPDATE /* secret */ t SET v = v + 17 WHERE k = 'sec''ret' AND j = x'5ec' /*+ secret */ AND `l` = ? -- secret";
        assert_eq!(
            without_literals(&kept(text)),
            "UPDATE  t SET v = v + ? WHERE k = ? AND j = ?  AND `l` = ?"
        );
        let long = format!("SELECT {}", "ü".repeat(1000));
        let shown = without_literals(&kept(&long));
        assert_eq!(shown.chars().count(), MOST_OF_A_STATEMENT + 2);
    }

    #[test]
    fn times_are_in_utc() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        assert_eq!(iso(time).as_deref(), Some("2023-11-14T22:13:20.123Z"));
    }
}
