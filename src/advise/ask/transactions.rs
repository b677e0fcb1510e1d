//! What transactions run after their updates, from statements in the order in which they ran.

use std::collections::{HashMap, HashSet};

use crate::advise::by_table::variables;
use crate::advise::evidence::Follower;
use crate::sql;

/// A schema, and a text without literals.
type Shape = (Option<String>, String);

/// The transactions so far.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// Thread and transaction of the statement before.
    current: (Option<u64>, Option<u64>),
    updates: Vec<Shape>,
    seen: HashSet<(Shape, String)>,
    /// In how many transactions each UPDATE was seen.
    totals: HashMap<Shape, u64>,
    pairs: HashMap<(Shape, String), u64>,
}

impl Transactions {
    /// The next statement of a transaction.
    pub(super) fn take(
        &mut self,
        transaction: (Option<u64>, Option<u64>),
        schema: Option<String>,
        text: &str,
    ) {
        if transaction != self.current {
            self.current = transaction;
            self.updates.clear();
            self.seen.clear();
        }
        let Some(digest) = sql::digest(text.as_bytes(), &variables(schema.as_deref())) else {
            return;
        };
        let text = digest.text.to_string();
        for update in &self.updates {
            let pair = (update.clone(), text.clone());
            if self.seen.insert(pair.clone()) {
                *self.pairs.entry(pair).or_default() += 1;
            }
        }
        let shape = (schema, text);
        let is_update = shape
            .1
            .get(..6)
            .is_some_and(|verb| verb.eq_ignore_ascii_case("UPDATE"));
        if is_update && !self.updates.contains(&shape) {
            *self.totals.entry(shape.clone()).or_default() += 1;
            self.updates.push(shape);
        }
    }

    pub(super) fn followers(self) -> Vec<Follower> {
        let totals = self.totals;
        let followers = self.pairs.into_iter().map(|((update, text), times)| {
            let total = totals.get(&update).copied().unwrap_or(times);
            Follower {
                share: times as f64 / total.max(1) as f64,
                schema: update.0,
                update: update.1,
                text,
            }
        });
        followers.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_an_update_is_of_its_transaction() {
        let mut transactions = Transactions::default();
        for (transaction, text) in [
            (1, "SELECT views FROM posts WHERE id = 42"),
            (1, "UPDATE posts SET views = views + 1 WHERE id = 42"),
            (1, "SELECT views FROM posts WHERE id = 42"),
            (1, "SELECT views FROM posts WHERE id = 43"),
            (2, "UPDATE posts SET views = views + 1 WHERE id = 7"),
            (3, "SELECT views FROM posts WHERE id = 1"),
        ] {
            transactions.take((Some(5), Some(transaction)), None, text);
        }
        let expected = Follower {
            schema: None,
            update: "UPDATE posts SET views = views + ? WHERE id = ?".to_owned(),
            text: "SELECT views FROM posts WHERE id = ?".to_owned(),
            share: 0.5,
        };
        assert_eq!(transactions.followers(), [expected]);
    }
}
