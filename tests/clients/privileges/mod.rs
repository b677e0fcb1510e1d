//! Rights: what an account may do through the proxy is what it may do directly, to the letter of each refusal and to
//! the row.
//!
//! `matrix` makes an account for each combination of column, table, schema and global rights and has it run each
//! statement; `changes` changes rights in mid-session, through the proxy and past it. Both compare each answer and each
//! effect with those of a plain server. The matrix is printed: accounts by statements.
//!
//! `COUNTERSINK_ACCOUNT=text` plays only the accounts whose names contain `text`.

mod account;
mod changes;
mod matrix;
mod stage;
mod statement;
