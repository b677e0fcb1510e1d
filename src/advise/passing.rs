//! What a proxy has seen pass, as evidence.
//!
//! It sees no locks. But if statements spent more time at a row than went by, several were at it at once: on average as
//! many as the ratio of the two times, and all but one of them waited. In a transaction the client that holds the row
//! is no longer in the statement that took it. There all of them waited, except for the time that the statement takes
//! when there is no wait.

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
        unseen: unseen(report, window),
    }
}

fn crowds(shape: &ShapeReport, window: Duration) -> impl Iterator<Item = Crowd> {
    let in_transaction = shape.in_transaction as f64 / shape.executions.max(1) as f64;
    let crowd = move |row: Row, microseconds: u64, executions: u64| {
        let own = share(executions.saturating_mul(shape.fastest), window).min(1.0);
        let waiting = share(microseconds, window) - (own * in_transaction + (1.0 - in_transaction));
        (waiting > 0.0).then(|| Crowd {
            schema: shape.schema.clone(),
            text: Some(shape.text.clone()),
            table: None,
            row: Some(row),
            waiting,
            in_transaction: Some(in_transaction),
        })
    };
    let at_rows = shape.keys.iter().filter_map(move |key| {
        let row = Row::Compared(key.key.clone());
        let microseconds = key.microseconds.saturating_sub(key.error);
        crowd(row, microseconds, key.executions)
    });
    // All of them meet at all rows, as they would at one.
    let of_all = is_of_all_rows(&shape.text).then_some(shape.rowless);
    let at_all = of_all.and_then(|microseconds| crowd(Row::All, microseconds, shape.executions));
    at_rows.chain(at_all)
}

/// This time divided by that of the window: how many clients were at the row, on average.
fn share(microseconds: u64, window: Duration) -> f64 {
    microseconds as f64 / window.as_micros() as f64
}

fn is_update(text: &str) -> bool {
    let verb = text.get(..7);
    verb.is_some_and(|verb| verb.eq_ignore_ascii_case("UPDATE "))
}

/// Whether it is an UPDATE that always takes all rows of a table, or always the same ones. Digests have no literals,
/// and names that look like these words are quoted.
fn is_of_all_rows(text: &str) -> bool {
    let narrows = |word: &str| {
        let words = ["WHERE", "JOIN", "STRAIGHT_JOIN"];
        words.iter().any(|other| word.eq_ignore_ascii_case(other))
    };
    is_update(text) && !text.split_whitespace().any(narrows)
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

/// The UPDATEs that several clients run at a time, on rows that are not known.
fn rowless(report: &Report, window: Duration) -> Option<String> {
    let shapes = report.shapes.iter();
    let shapes = shapes.filter(|shape| is_update(&shape.text) && !is_of_all_rows(&shape.text));
    let clients = |shape: &ShapeReport| share(shape.rowless, window);
    let all: f64 = shapes.clone().map(clients).sum();
    let most = shapes.max_by_key(|shape| shape.rowless)?;
    (all > 1.0).then(|| {
        format!(
            "the rows of UPDATEs at which {all:.1} clients are at any time, for they compare more than columns with single values, as \
             {}; ask the server itself (without --proxy)",
            most.text
        )
    })
}

fn unseen(report: &Report, window: Duration) -> Vec<String> {
    let mut unseen: Vec<String> = rowless(report, window).into_iter().collect();
    if report.unknown > 0 {
        unseen.push(format!(
            "{} executions of statements that had been prepared before the proxy began to look, or are too many: what they are is \
             not known; have the application connect again, or ask the server itself (without --proxy)",
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

    fn without_rows(text: &str) -> Evidence {
        evidence(&Report {
            milliseconds: 1_000,
            shapes: vec![ShapeReport {
                text: text.to_owned(),
                executions: 10,
                microseconds: 8_000_000,
                rowless: 8_000_000,
                fastest: 10_000,
                ..ShapeReport::default()
            }],
            ..Report::default()
        })
    }

    #[test]
    fn who_updates_all_rows_waits_for_the_others_who_do() {
        let evidence = without_rows("UPDATE hits SET cnt = cnt + ?");
        let [crowd] = &evidence.crowds[..] else {
            panic!("{evidence:?}");
        };
        assert_eq!(crowd.row, Some(Row::All));
        assert!((crowd.waiting - 7.0).abs() < 1e-9 && evidence.unseen.is_empty());
    }

    #[test]
    fn updates_of_rows_that_are_not_known_are_said_not_to_be_seen() {
        for text in [
            "UPDATE hits SET cnt = cnt + ? WHERE id IN (...)",
            "UPDATE hits JOIN pages ON hits.page = pages.id SET cnt = cnt + ?",
        ] {
            let evidence = without_rows(text);
            assert!(evidence.crowds.is_empty(), "{evidence:?}");
            let [unseen] = &evidence.unseen[..] else {
                panic!("{evidence:?}");
            };
            assert!(
                unseen.contains("8.0 clients") && unseen.contains(text),
                "{unseen}"
            );
        }
        let evidence = without_rows("INSERT INTO hits VALUES (...)");
        assert!(evidence.crowds.is_empty() && evidence.unseen.is_empty());
    }

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
