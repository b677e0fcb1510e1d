//! Which counters are hot, and what the proxy would make of them: the rule to add, what it gains and what it costs.
//!
//! `ask` watches a server without the proxy, and `passing` reads what a proxy has seen pass; both give [`Evidence`].
//! `spot` groups it by table. `trial` tries a rule for each table without switching it on: the catalog says whether the
//! table can be hot, and the planner what would be done with the statements that were seen. `estimate` says what that
//! is worth.

mod ask;
mod by_table;
mod estimate;
mod evidence;
mod passing;
mod trial;
mod yaml;

pub use ask::{Error, watch};
pub use by_table::{NAMED, Spot};
pub use estimate::{Range, Worth, gain, gain_of_many_rows, read_cost};
pub use evidence::{Crowd, Evidence, Follower, Row, Source, Statement};
pub use passing::evidence as of_traffic;
pub use trial::{Advice, Candidate, PredictedPlan, Replaced, Verdict, advise};
pub use yaml::{counters, head, settings};
