//! What a workload consists of.

use rand::rngs::SmallRng;

use crate::session::{Interrupted, Session};

/// Transactions, the rows that they work on, and what must be true of these at the end.
pub trait Workload: Clone + Send + Sync + 'static {
    /// A transaction with its inputs, which stay the same when it is tried again.
    type Task: Send + Sync;

    /// What its schemas are named after.
    const NAME: &'static str;

    /// The names of its kinds of transactions.
    const KINDS: &'static [&'static str];

    /// Names and definitions of its tables.
    const TABLES: &'static [(&'static str, &'static str)];

    /// What is run, in one line.
    fn title(&self) -> String;

    /// Fills the tables, which are there and empty, in the session's schema.
    fn load(&self, session: &mut Session) -> impl Future<Output = Result<(), Interrupted>> + Send;

    /// The `counters` of rules.yaml for the tables in this schema.
    fn rules(&self, schema: &str) -> String;

    /// The next transaction of client number `client`, counted from 0.
    fn draw(&self, client: usize, random: &mut SmallRng) -> Self::Task;

    /// The position of its kind among [`Self::KINDS`].
    fn kind(task: &Self::Task) -> usize;

    /// Runs it once, up to COMMIT or ROLLBACK.
    fn play(
        &self,
        task: &Self::Task,
        session: &mut Session,
    ) -> impl Future<Output = Result<Done, Interrupted>> + Send;

    /// What must be true at the end of a schema in which all this was acknowledged.
    fn checks(&self, acknowledged: &Acknowledged) -> Vec<Check>;
}

/// A transaction that ended as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Not, where the transaction is one that rolls itself back.
    pub is_committed: bool,
    /// By how much it has raised the counters, which is up to the workload.
    pub counted: u64,
}

impl Done {
    /// It is committed.
    pub fn counting(counted: u64) -> Self {
        Self {
            is_committed: true,
            counted,
        }
    }
}

/// What the server has said is done.
#[derive(Clone, Debug)]
pub struct Acknowledged {
    /// Committed transactions by kind.
    pub committed: Vec<u64>,
    /// The sum of [`Done::counted`].
    pub counted: u64,
}

impl Acknowledged {
    pub fn nothing(kinds: usize) -> Self {
        Self {
            committed: vec![0; kinds],
            counted: 0,
        }
    }

    pub fn count(&mut self, kind: usize, done: Done) {
        if done.is_committed {
            self.committed[kind] += 1;
            self.counted += done.counted;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (sum, count) in self.committed.iter_mut().zip(&other.committed) {
            *sum += count;
        }
        self.counted += other.counted;
    }
}

/// A query of one number, and what it must be.
pub struct Check {
    pub what: &'static str,
    pub query: String,
    pub expected: i64,
}

impl Check {
    /// The query counts what is wrong.
    pub fn none(what: &'static str, query: &str) -> Self {
        Self {
            what,
            query: query.to_owned(),
            expected: 0,
        }
    }
}
