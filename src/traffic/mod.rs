//! What passes, in bounded memory: shapes of statements, how often and how long they ran, and the rows that they meet
//! most.
//!
//! Nothing is looked at until somebody asks ([`Traffic::look`]), and again once nobody has asked for a while. A session
//! then makes a [`Sighting`] of each statement and hands it in when it is answered.

mod prepared;
mod report;
mod sample;
mod sighting;
mod sketch;

pub use prepared::{Prepared, PreparedName, Read};
pub use report::{FollowReport, KeyReport, Keys, Report, ShapeReport};
pub use sample::Traffic;
pub use sighting::Sighting;
pub use sketch::{Entry, Sketch};
