//! The client's commands: each file finds the plan of a command's statement, and has `act` do what the plan says.

pub(crate) mod beside;
mod bulk;
mod by_shape;
mod diagnostics_statements;
mod execute;
mod execution;
mod explain;
mod pass;
mod prepared;
mod query;
mod sampling;
mod several;
mod span;
mod sql_prepared;
mod statement;
mod turn;
