//! What object-relational mappers send for an increment is slotted, and adds what MySQL would have added.
//!
//! tests/cases/orm.yaml has statements of real libraries, captured by tests/orm/capture (which fetches them; see there).
//! Here they are sent again, to a server directly and to its twin through a proxy.

#[path = "../support/mod.rs"]
mod support;

mod capture;
mod golden;
mod recorder;
mod replay;

use countersink::sandbox::Flavour;

#[test]
fn increments_of_libraries_are_slotted_on_mysql() {
    support::block_on(replay::all(Flavour::MySql));
}

#[test]
fn increments_of_libraries_are_slotted_on_mariadb() {
    support::block_on(replay::all(Flavour::MariaDb));
}

#[test]
#[ignore = "run tests/orm/capture, which fetches the libraries"]
fn capture() {
    support::block_on(capture::capture());
}
