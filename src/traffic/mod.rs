//! What passes, in bounded memory: shapes of statements, how often and for how long they ran, and the rows that they
//! use most.
//!
//! Nothing is sampled until somebody asks ([`Traffic::look`]), and sampling ends when nobody has asked for a while.
//! While it lasts, a session makes a [`Sighting`] of each statement and hands it in with the response.

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
