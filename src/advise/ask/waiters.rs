//! The waiting clients of all looks, put together.

use std::collections::HashMap;

use crate::advise::by_table::variables;
use crate::advise::evidence::{Crowd, Row, Statement};
use crate::config::TableName;
use crate::sql::{self, Place};

/// The maximum number of kinds of waiters, and of running statements, that are kept.
const MOST_KINDS: usize = 10_000;

/// A client that waits for a row lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiter {
    pub(super) schema: Option<String>,
    pub(super) statement: Option<String>,
    pub(super) table: Option<TableName>,
    pub(super) row: Option<Row>,
    /// In a transaction that stays open after the statement; none if it is not known.
    pub(super) in_transaction: Option<bool>,
}

/// What distinguishes kinds of waiters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    schema: Option<String>,
    text: Option<String>,
    table: Option<TableName>,
    row: Option<Row>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    times: u64,
    in_transaction: u64,
    known: u64,
}

/// All that were seen at the looks so far.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    looks: u64,
    kinds: HashMap<Kind, Seen>,
    running: HashMap<(Option<String>, String), u64>,
}

impl Waiters {
    /// A look.
    pub(super) fn take(&mut self, waiters: Vec<Waiter>) {
        self.looks += 1;
        for waiter in waiters {
            let in_transaction = waiter.in_transaction;
            let mut kind = kind(waiter);
            if self.kinds.len() >= MOST_KINDS && !self.kinds.contains_key(&kind) {
                kind.row = None;
                if !self.kinds.contains_key(&kind) {
                    continue;
                }
            }
            let seen = self.kinds.entry(kind).or_default();
            seen.times += 1;
            seen.known += u64::from(in_transaction.is_some());
            seen.in_transaction += u64::from(in_transaction == Some(true));
        }
    }

    /// The statements that run at a look, each with its schema.
    pub(super) fn glimpse(&mut self, running: &[(Option<String>, String)]) {
        for (schema, text) in running {
            let Some(digest) = digest(schema.as_deref(), text) else {
                continue;
            };
            let kind = (schema.clone(), digest.text.to_string());
            if self.running.len() < MOST_KINDS || self.running.contains_key(&kind) {
                *self.running.entry(kind).or_default() += 1;
            }
        }
    }

    pub(super) fn looks(&self) -> u64 {
        self.looks
    }

    pub(super) fn crowds(&self) -> Vec<Crowd> {
        let looks = self.looks.max(1) as f64;
        let crowds = self.kinds.iter().map(|(kind, seen)| Crowd {
            schema: kind.schema.clone(),
            text: kind.text.clone(),
            table: kind.table.clone(),
            row: kind.row.clone(),
            waiting: seen.times as f64 / looks,
            in_transaction: (seen.known > 0)
                .then(|| seen.in_transaction as f64 / seen.known as f64),
        });
        crowds.collect()
    }

    /// How often statements were found running.
    pub(super) fn glimpsed(&self) -> Vec<Statement> {
        let running = self
            .running
            .iter()
            .map(|((schema, text), times)| Statement {
                schema: schema.clone(),
                text: text.clone(),
                times: *times,
            });
        running.collect()
    }
}

/// The row is the one that the lock is on; where the server does not say, the one that the statement compares.
fn kind(waiter: Waiter) -> Kind {
    let Waiter {
        schema,
        statement,
        table,
        row,
        ..
    } = waiter;
    let statement = statement.as_deref();
    let digest = statement.and_then(|text| digest(schema.as_deref(), text));
    let compared = || {
        let compared = compared(statement?, digest.as_ref()?)?;
        Some(Row::Compared(compared))
    };
    Kind {
        row: row.or_else(compared),
        text: digest.as_ref().map(|digest| digest.text.to_string()),
        schema,
        table,
    }
}

/// Of the session that runs it nothing more is known: what is a literal there must be one here.
fn digest(schema: Option<&str>, text: &str) -> Option<sql::Digest> {
    let same = sql::reads_the_same(text.as_bytes());
    same.then(|| sql::digest(text.as_bytes(), &variables(schema)))
        .flatten()
}

fn compared(text: &str, digest: &sql::Digest) -> Option<String> {
    let compared = digest
        .compared
        .iter()
        .map(|compared| match &compared.place {
            Place::Literal(place) => Some(format!(
                "{} = {}",
                compared.column,
                text.get(place.clone())?
            )),
            Place::Parameter(_) => None,
        });
    let compared: Option<Vec<String>> = compared.collect();
    compared
        .filter(|all| !all.is_empty())
        .map(|all| all.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(id: u32, in_transaction: Option<bool>) -> Waiter {
        Waiter {
            schema: Some("shop".to_owned()),
            statement: Some(format!(
                "UPDATE posts SET views = views + 1 WHERE id = {id}"
            )),
            in_transaction,
            ..Waiter::default()
        }
    }

    #[test]
    fn waiters_are_counted_on_average() {
        let mut waiters = Waiters::default();
        waiters.take(vec![
            waiter(42, Some(true)),
            waiter(42, Some(false)),
            waiter(7, None),
        ]);
        waiters.take(vec![waiter(42, Some(true))]);
        let mut crowds = waiters.crowds();
        crowds.sort_by(|left, right| right.waiting.total_cmp(&left.waiting));
        let [most, least] = &crowds[..] else {
            panic!("{crowds:?}");
        };
        assert_eq!(most.row, Some(Row::Compared("id = 42".to_owned())));
        assert!((most.waiting - 1.5).abs() < 1e-9 && (least.waiting - 0.5).abs() < 1e-9);
        assert!((most.in_transaction.expect("known") - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(least.in_transaction, None);
        assert_eq!(
            most.text.as_deref(),
            Some("UPDATE posts SET views = views + ? WHERE id = ?")
        );
    }

    #[test]
    fn a_statement_that_may_be_read_otherwise_is_not_shown() {
        let mut waiters = Waiters::default();
        let text = r"UPDATE files SET path = 'C:\' WHERE owner = 'alice smith'";
        waiters.take(vec![Waiter {
            statement: Some(text.to_owned()),
            ..waiter(1, None)
        }]);
        let crowds = waiters.crowds();
        assert_eq!((&crowds[0].text, &crowds[0].row), (&None, &None));
    }

    #[test]
    fn memory_is_bounded() {
        let mut waiters = Waiters::default();
        for id in 0..MOST_KINDS + 100 {
            let id = u32::try_from(id).expect("few");
            waiters.take(vec![waiter(id, None)]);
        }
        assert_eq!(waiters.crowds().len(), MOST_KINDS);
    }
}
