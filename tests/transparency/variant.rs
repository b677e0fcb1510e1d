//! The kinds of clients that play each session.

use std::fmt;

use countersink::driver::Driver;
use countersink::wire::capability::{
    CONNECT_WITH_DB, DEPRECATE_EOF, FOUND_ROWS, LOCAL_FILES, LONG_PASSWORD, MARIADB_STMT_BULK,
    MULTI_RESULTS, MULTI_STATEMENTS, OPTIONAL_RESULTSET_METADATA, PLUGIN_AUTH,
    PLUGIN_AUTH_LENENC_CLIENT_DATA, PROTOCOL_41, PS_MULTI_RESULTS, QUERY_ATTRIBUTES,
    SECURE_CONNECTION, SESSION_TRACK, TRANSACTIONS,
};
use countersink_sandbox::Flavour;

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// COM_QUERY, parameters as literals.
    Text,
    /// COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_STMT_CLOSE; COM_QUERY where the server prepares no such statement.
    Binary,
    /// The same with a cursor, from which COM_STMT_FETCH takes two rows at a time.
    Cursor,
}

/// A kind of client.
#[derive(Debug)]
pub struct Variant {
    pub protocol: Protocol,
    /// What it asks for besides the basic capabilities.
    more: u64,
}

const BASIC: u64 = LONG_PASSWORD
    | CONNECT_WITH_DB
    | LOCAL_FILES
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE_CONNECTION
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | PLUGIN_AUTH_LENENC_CLIENT_DATA;

const fn variant(protocol: Protocol, more: u64) -> Variant {
    Variant { protocol, more }
}

/// Every pair of a protocol and a capability, on and off, is among them.
pub const ALL: &[Variant] = &[
    variant(Protocol::Text, DEPRECATE_EOF | OPTIONAL_RESULTSET_METADATA),
    variant(
        Protocol::Text,
        SESSION_TRACK | MULTI_STATEMENTS | OPTIONAL_RESULTSET_METADATA,
    ),
    variant(
        Protocol::Text,
        DEPRECATE_EOF | SESSION_TRACK | FOUND_ROWS | MULTI_STATEMENTS | QUERY_ATTRIBUTES,
    ),
    variant(Protocol::Text, FOUND_ROWS),
    variant(
        Protocol::Binary,
        DEPRECATE_EOF | OPTIONAL_RESULTSET_METADATA,
    ),
    variant(
        Protocol::Binary,
        SESSION_TRACK | MULTI_STATEMENTS | OPTIONAL_RESULTSET_METADATA,
    ),
    variant(
        Protocol::Binary,
        DEPRECATE_EOF | SESSION_TRACK | FOUND_ROWS | QUERY_ATTRIBUTES,
    ),
    variant(Protocol::Binary, FOUND_ROWS),
    variant(
        Protocol::Cursor,
        MULTI_STATEMENTS | OPTIONAL_RESULTSET_METADATA,
    ),
    variant(
        Protocol::Cursor,
        DEPRECATE_EOF | SESSION_TRACK | FOUND_ROWS | QUERY_ATTRIBUTES,
    ),
];

/// Of those that may play a session, which is the topic's `number`th: one that sends text and one that prepares, or one
/// of them all where that is slow; and the next ones in the next session.
pub fn in_turn(
    possible: &[&'static Variant],
    number: usize,
    is_slow: bool,
) -> Vec<&'static Variant> {
    let (text, prepared): (Vec<_>, Vec<_>) = possible
        .iter()
        .copied()
        .partition(|variant| variant.protocol == Protocol::Text);
    let groups = match is_slow {
        true => vec![possible.to_vec()],
        false => vec![text, prepared],
    };
    let one_of = |group: Vec<_>| Some(group[number.checked_rem(group.len())?]);
    groups.into_iter().filter_map(one_of).collect()
}

const NAMES: &[(u64, &str)] = &[
    (DEPRECATE_EOF, "DEPRECATE_EOF"),
    (SESSION_TRACK, "SESSION_TRACK"),
    (FOUND_ROWS, "FOUND_ROWS"),
    (MULTI_STATEMENTS, "MULTI_STATEMENTS"),
    (QUERY_ATTRIBUTES, "QUERY_ATTRIBUTES"),
    (OPTIONAL_RESULTSET_METADATA, "OPTIONAL_RESULTSET_METADATA"),
];

impl Variant {
    pub fn capabilities(&self, flavour: Flavour) -> u64 {
        let wanted = (Driver::CAPABILITIES & BASIC) | BASIC & !CONNECT_WITH_DB | self.more;
        match flavour {
            Flavour::MySql => wanted,
            // Only a client that does not pass for one of MySQL's executes in bulk.
            Flavour::MariaDb => wanted & !LONG_PASSWORD | MARIADB_STMT_BULK,
        }
    }

    /// On MariaDB, which has no query attributes, what differs by them alone is played once.
    pub fn is_for(&self, flavour: Flavour) -> bool {
        let plain = self.more & !QUERY_ATTRIBUTES;
        let is_twice = || {
            ALL.iter()
                .any(|other| other.protocol == self.protocol && other.more == plain)
        };
        flavour == Flavour::MySql || plain == self.more || !is_twice()
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.protocol)?;
        for (bit, name) in NAMES {
            if self.more & bit != 0 {
                write!(formatter, " {name}")?;
            }
        }
        Ok(())
    }
}
