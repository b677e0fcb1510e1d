//! Who connects: every way to log in, what accounts may do, what libraries send, and applications.

#[path = "../support/mod.rs"]
mod support;

mod applications;
mod login;
mod matrix;
mod orm;
mod privileges;
