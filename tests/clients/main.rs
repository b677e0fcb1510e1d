//! Who connects: every way to log in, what accounts may do, and what libraries send.

#[path = "../support/mod.rs"]
mod support;

mod login;
mod matrix;
mod orm;
mod privileges;
