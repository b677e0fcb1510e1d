//! What a proxy has seen pass, as evidence.
//!
//! It sees no locks. But where the time that statements spent at a row is more than the time that went by, several were at
//! it at once, on average as many as the one is to the other, and all but one of them waited. In a transaction who has the row
//! is no longer at the statement that took it: there all waited, but for the time that the statement takes when nobody does.

use std::time::Duration;

use super::evidence::{Crowd, Evidence, Follower, Row, Source, Statement};
use crate::traffic::{Report, ShapeReport};

/// What a proxy reports.
pub fn evidence(report: &Report) -> Evidence {
    let window = Duration::from_millis(report.milliseconds.max(1));
    let statements = report.shapes.iter().map(|shape| Statement {
        schema: shape.schema.clone(),
        text: shape.text.clone(),
        times: shape.executions,
    });
    Evidence {
        source: Source::Proxy,
        window,
        looks: None,
        statements: statements.collect(),
        are_executions: true,
        crowds: report
            .shapes
            .iter()
            .flat_map(|shape| crowds(shape, window))
            .collect(),
        followers: followers(report),
        row_lock_waits: None,
        unseen: unseen(report),
    }
}

fn crowds(shape: &ShapeReport, window: Duration) -> impl Iterator<Item = Crowd> {
    let in_transaction = shape.in_transaction as f64 / shape.executions.max(1) as f64;
    shape.keys.iter().filter_map(move |key| {
        let over_window = |microseconds: u64| microseconds as f64 / window.as_micros() as f64;
        let at_it = over_window(key.microseconds.saturating_sub(key.error));
        let own = over_window(key.executions.saturating_mul(shape.fastest)).min(1.0);
        let waiting = at_it - (own * in_transaction + (1.0 - in_transaction));
        (waiting > 0.0).then(|| Crowd {
            schema: shape.schema.clone(),
            text: Some(shape.text.clone()),
            table: None,
            row: Some(Row::Compared(key.key.clone())),
            waiting,
            in_transaction: Some(in_transaction),
        })
    })
}

fn followers(report: &Report) -> Vec<Follower> {
    let mut followers = Vec::new();
    for shape in &report.shapes {
        for follows in &shape.follows {
            let mut shapes = report.shapes.iter();
            let update =
                shapes.find(|other| other.text == follows.text && other.schema == shape.schema);
            let Some(update) = update else {
                continue;
            };
            let times = follows.times as f64 / update.executions.max(1) as f64;
            followers.push(Follower {
                schema: shape.schema.clone(),
                update: follows.text.clone(),
                text: shape.text.clone(),
                share: times.min(1.0),
            });
        }
    }
    followers
}

fn unseen(report: &Report) -> Vec<String> {
    let mut unseen = Vec::new();
    if report.unknown > 0 {
        unseen.push(format!(
            "{} executions of statements that had been prepared before the proxy began to look: what they are is not known; \
             have the application connect again, or ask the server itself (without --proxy)",
            report.unknown
        ));
    }
    if report.unread > 0 {
        unseen.push(format!(
            "{} statements whose text was not read: several in one packet, over 16 KiB, with executable comments (/*! .. */), or \
             with a backslash in a session of which the sql_mode is not known",
            report.unread
        ));
    }
    if report.missed > 0 {
        unseen.push(format!(
            "{} statements that were answered at the same moment as another",
            report.missed
        ));
    }
    if report.keys_are_hashed {
        unseen.push(
            "the values of keys: the proxy shows them only where `http` listens on this machine alone (127.0.0.1)"
                .to_owned(),
        );
    }
    unseen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::KeyReport;

    #[test]
    fn who_spends_more_time_than_there_is_waits() {
        let key = |key: &str, microseconds, error| KeyReport {
            key: key.to_owned(),
            executions: 1,
            microseconds,
            error,
        };
        let report = Report {
            milliseconds: 1_000,
            shapes: vec![ShapeReport {
                text: "UPDATE posts SET views = views + ? WHERE id = ?".to_owned(),
                executions: 10,
                in_transaction: 5,
                fastest: 10_000,
                keys: vec![
                    key("id = 42", 8_000_000, 0),
                    key("id = 7", 3_000_000, 2_500_000),
                    key("id = 8", 900_000, 0),
                ],
                ..ShapeReport::default()
            }],
            ..Report::default()
        };
        let evidence = evidence(&report);
        let shown = |crowd: &Crowd| (crowd.row.clone(), (crowd.waiting * 1_000.0).round());
        let shown: Vec<_> = evidence.crowds.iter().map(shown).collect();
        let row = |text: &str| Some(Row::Compared(text.to_owned()));
        // Half of them in transactions; each takes 10 ms of its own, and was executed once.
        assert_eq!(shown, [(row("id = 42"), 7_495.0), (row("id = 8"), 395.0)]);
        assert_eq!(evidence.crowds[0].in_transaction, Some(0.5));
        assert_eq!(evidence.statements[0].times, 10);
    }
}
