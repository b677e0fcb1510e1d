//! Explains what is done with a statement: its plan, the SQL that is sent, the locks that it takes, and why.
//!
//! Pure, from the decision that the session acts on, and what is known of the session; the command line, the proxy's
//! own EXPLAIN and the golden cases in `tests/cases` show the same text. The SQL comes from where the session takes it:
//! the plan's templates and [`crate::counter::fold`].

mod fold;
mod increment;
mod locks;
mod other;
mod read;
mod show;

use std::sync::Arc;

use crate::catalog::HotTable;
use crate::reason::Reason;
use crate::sql::plan::Plan;
use crate::sql::template::{Filling, Piece, Template};
use crate::sql::{Circumstances, Decision, decide};

pub use show::{Line, Part, show};

/// What a session knows that changes what a plan comes to.
#[derive(Clone, Debug)]
pub struct Situation {
    /// A transaction is open, or autocommit is off.
    pub in_transaction: bool,
    /// `sql_safe_updates` is on.
    pub safe_updates: bool,
    /// Locking reads lock gaps: REPEATABLE READ or SERIALIZABLE.
    pub locks_gaps: bool,
    /// What the open transaction has incremented in slots.
    pub incremented: Vec<Keys>,
    /// Keys that need no fold in the open transaction: the rows hold the whole values, under its locks.
    pub settled: Vec<Keys>,
    /// Keys of which reads of the open transaction leave slots out.
    pub folded: Vec<Keys>,
}

/// A session in autocommit, with the server's defaults.
impl Default for Situation {
    fn default() -> Self {
        Self {
            in_transaction: false,
            safe_updates: false,
            locks_gaps: true,
            incremented: Vec::new(),
            settled: Vec::new(),
            folded: Vec::new(),
        }
    }
}

impl Situation {
    /// Whether the rows hold the whole values of these keys.
    fn has_settled(&self, keys: &Keys) -> bool {
        self.settled.iter().any(|other| {
            other.table == keys.table
                && (other.predicate.is_none() || other.predicate == keys.predicate)
        })
    }
}

/// Keys of a hot table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The table.
    pub table: Arc<HotTable>,
    /// Predicate over unqualified key columns; `None` for the whole table.
    pub predicate: Option<Vec<u8>>,
}

/// What is done with a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Why it gets this plan; its code names the plan.
    pub reason: Reason,
    /// What may be sent, the usual way first.
    pub ways: Vec<Way>,
    /// What else there is to know, a sentence each.
    pub notes: Vec<String>,
}

/// One of the ways in which a statement may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// When it goes so; empty where there is no other.
    pub when: String,
    /// What is sent, in this order.
    pub sends: Vec<Sent>,
    /// The locks that it takes, in this order.
    pub locks: Vec<String>,
}

/// What is sent to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The client's own statement, byte for byte.
    Original,
    /// A question of the control account's, on a connection of its own, without locks.
    Control(String),
    /// A statement of the proxy's, in which `<slot>` is the slot that the session holds.
    Text(String),
}

impl Sent {
    fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Text(String::from_utf8_lossy(text.as_ref()).into_owned())
    }
}

/// A template's text. The slot is the session's business, and parameters stay question marks.
fn shown(template: &Template) -> String {
    filled(template, &Filling::default())
}

/// The same, with its other holes filled.
fn filled(template: &Template, filling: &Filling<'_>) -> String {
    let parts = template.pieces.split(|piece| *piece == Piece::Slot);
    let parts = parts.map(|pieces| {
        let part = Template {
            pieces: pieces.to_vec(),
        };
        let mut text = Vec::new();
        part.render(filling, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    parts.collect::<Vec<_>>().join("<slot>")
}

impl Way {
    /// The only way: the statement as it came, and whatever it locks.
    fn original() -> Self {
        Self {
            when: String::new(),
            sends: vec![Sent::Original],
            locks: vec![locks::THE_STATEMENTS_OWN.to_owned()],
        }
    }
}

const OBSERVED: &str = "The rule has mode: observe, so the statement passes as it came; this is what enforce would do.";

/// Explains what a session has decided to do.
pub fn explain(decision: &Decision<'_>, situation: &Situation) -> Explanation {
    match decision {
        Decision::Forward(reason) => forwarded(*reason),
        Decision::Write(write) => forwarded(write.reason),
        Decision::Observe(plan) => {
            let mut explanation = explain_plan(plan, situation);
            explanation.notes.insert(0, OBSERVED.to_owned());
            explanation
        }
        Decision::Combine(increment) => increment::explain_base(increment),
        Decision::Batch(row) => other::batch(row),
        Decision::Increment(increment) => increment::explain(increment, situation),
        Decision::Read(read) => read::explain(read, situation),
        Decision::Fold(fold) => fold::explain(fold, situation),
        Decision::Ddl(ddl) => other::ddl(ddl, situation),
        Decision::Shadow(tables) => other::shadow(tables, situation),
        Decision::Prepare => other::prepare(),
        Decision::LockTables(lock) => other::lock_tables(lock),
    }
}

/// Explains a plan, as a session with the server's defaults acts on it.
pub fn explain_plan(plan: &Plan, situation: &Situation) -> Explanation {
    explain(&decide(plan, Circumstances::default()), situation)
}

fn forwarded(reason: Reason) -> Explanation {
    Explanation {
        reason,
        ways: vec![Way::original()],
        notes: Vec::new(),
    }
}

/// `schema.table` of the hot table.
fn base(table: &HotTable) -> String {
    format!("{}.{}", table.schema, table.name)
}

/// `schema.table` of its slot table.
fn slots(table: &HotTable) -> String {
    format!("{}.{}", table.slot_schema, table.slot_name)
}
