//! The `countersink` command.

fn main() {}
