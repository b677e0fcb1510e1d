//! The client's commands.

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
mod sql_prepared;
mod statement;
