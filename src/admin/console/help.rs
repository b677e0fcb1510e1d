//! What SHOW HELP lists besides SHOW itself.

/// A statement for SHOW HELP.
pub(super) struct Help {
    pub(super) statement: &'static str,
    pub(super) about: &'static str,
}

/// The statements besides SHOW.
pub(super) const HELP: [Help; 11] = [
    help(
        "EXPLAIN <statement>",
        "what the proxy would do with a statement, in the schema that USE names; nothing is run",
    ),
    help(
        "ROLLUP [<table>]",
        "moves what slots hold into the base rows now",
    ),
    help(
        "KILL <session id>",
        "closes a session, as MySQL's KILL does; its open transaction is rolled back",
    ),
    help(
        "PAUSE",
        "clients that connect wait; those that are connected go on",
    ),
    help(
        "RESUME",
        "clients that connect are served again, those first that have waited",
    ),
    help(
        "SHUTDOWN",
        "stops the proxy as SIGTERM does: open transactions have drain_timeout to end",
    ),
    help("RELOAD", "reads rules.yaml again"),
    help(
        "SET RULE <table> MODE <mode>",
        "off, observe or enforce, until the rules are read again",
    ),
    help(
        "DRAIN [<table>]",
        "rewrites no more, and moves all slots into the base rows",
    ),
    help(
        "USE <schema>",
        "the schema for EXPLAIN and for tables that are named without one",
    ),
    help(
        "HELP",
        "this list; in `mysql`, whose own HELP this is, write SHOW HELP",
    ),
];

const fn help(statement: &'static str, about: &'static str) -> Help {
    Help { statement, about }
}
