//! What operators have in their hands: rules, commands, the console, the dashboard, metrics, and what is in `docker/`.

#[path = "../support/mod.rs"]
mod support;

mod advise;
mod bench;
mod check;
mod console;
mod dashboard;
mod demo;
mod deployment;
mod explain;
mod metrics;
mod rules;
mod spans;
mod terminal;
