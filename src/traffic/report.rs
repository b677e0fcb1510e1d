//! What has been seen, for programs: `GET /traffic.json`.

use std::hash::{BuildHasher, RandomState};

use serde::{Deserialize, Serialize};

/// What has passed since sampling began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// [`Report::FORMAT`]; changes when a field does.
    pub format: u32,
    /// How long statements have been looked at, in milliseconds.
    pub milliseconds: u64,
    /// Statements that were not counted, for several came at the same moment.
    pub missed: u64,
    /// Executions of statements that had been prepared before, of which no text is known.
    pub unknown: u64,
    /// Statements whose text was not read: too long, or it may mean something else to the server.
    pub unread: u64,
    /// Values of keys are not shown: the port is not for this machine alone.
    pub keys_are_hashed: bool,
    /// The shapes in which most time was spent, the first one most.
    pub shapes: Vec<ShapeReport>,
}

impl Report {
    /// The only one so far.
    pub const FORMAT: u32 = 1;
}

/// Statements that differ in their literals alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeReport {
    /// The schema in which the sessions were, as far as it is known.
    pub schema: Option<String>,
    /// The text without literals.
    pub text: String,
    /// How often.
    pub executions: u64,
    /// How often within a transaction.
    pub in_transaction: u64,
    /// For how long in all, from the command to the end of its answer.
    pub microseconds: u64,
    /// The fastest of them.
    pub fastest: u64,
    /// For how long of that time it is not known at which row.
    pub rowless: u64,
    /// Updates that its transactions had run before it.
    pub follows: Vec<FollowReport>,
    /// The rows in which a twentieth of that time or more was spent.
    pub keys: Vec<KeyReport>,
}

/// An UPDATE before a statement in its transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowReport {
    /// The text of the UPDATE without literals.
    pub text: String,
    /// How often.
    pub times: u64,
}

/// A row that is met often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyReport {
    /// `id = 42`, or a number in its place.
    pub key: String,
    /// How often, since it is among the heaviest.
    pub executions: u64,
    /// For how long in all; `error` of it perhaps in other rows.
    pub microseconds: u64,
    /// See `microseconds`.
    pub error: u64,
}

/// How the values of keys are shown: they are the users' data.
#[derive(Clone, Debug)]
pub enum Keys {
    /// As they are: for requests from this machine.
    Shown,
    /// As a number that only this process can compute, so that nobody can guess a value and check it.
    Hashed(RandomState),
}

impl Keys {
    /// By a secret that goes with what is returned.
    pub fn hashed() -> Self {
        Self::Hashed(RandomState::new())
    }

    pub(super) fn are_hashed(&self) -> bool {
        matches!(self, Self::Hashed(_))
    }

    pub(super) fn show(&self, key: &str) -> String {
        match self {
            Self::Shown => key.to_owned(),
            Self::Hashed(secret) => format!("#{:016x}", secret.hash_one(key)),
        }
    }
}
