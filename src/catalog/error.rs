//! Why a rule and the upstream do not fit together.

use crate::config::{Place, line_suffix};

/// What is wrong with a rule, seen from the upstream.
#[derive(Debug, thiserror::Error)]
#[error("{place}{problem}{}", line_suffix(place.line))]
pub struct Error {
    /// The rule and the field.
    pub place: Box<Place>,
    /// What, with the remedy.
    pub problem: Problem,
}

impl Problem {
    /// Whether key and counters are unchanged, but the table has something that slots do not go with.
    pub fn is_beside_counters(&self) -> bool {
        matches!(
            self,
            Self::Engine { .. }
                | Self::InUniqueIndex { .. }
                | Self::InForeignKey { .. }
                | Self::GeneratedFrom { .. }
                | Self::IndexFrom { .. }
                | Self::Masked { .. }
                | Self::UpdateTrigger { .. }
                | Self::TriggersUnseen { .. }
        )
    }
}

/// What is wrong, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// No such table, or the control account may not see it.
    #[error(
        "no table {table} can be seen{hint} If it exists, let the control account see it: {grant}"
    )]
    NoTable {
        /// `schema.table`.
        table: String,
        /// A near name, and the end of the sentence.
        hint: String,
        /// The GRANT.
        grant: String,
    },
    /// Accounts of the proxy's own user of the operating system, over a unix socket.
    #[error(
        "{accounts} log in by {plugin} as the operating system's user {user}, which over a unix socket is the proxy's for every client; give them a plugin with a password, run the proxy as a user without such an account, or name a TCP address as upstream"
    )]
    SocketAccounts {
        /// The plugin.
        plugin: &'static str,
        /// The accounts, quoted, with commas.
        accounts: String,
        /// The user's name.
        user: String,
    },
    /// The server is no MariaDB and no Percona Server.
    #[error(
        "the server does not know the PROXY protocol (it has no proxy_protocol_networks), and would take its headers for broken packets; take proxy_protocol.send out of the rules, or name a MariaDB server or a Percona Server"
    )]
    NoProxyProtocol,
    /// The server takes headers from nobody.
    #[error(
        "the server takes the PROXY protocol's headers from nobody; add the proxy's address to proxy_protocol_networks there, or take proxy_protocol.send out of the rules"
    )]
    NoProxyNetworks,
    /// A catalog file without the table.
    #[error(
        "{table} is not in the catalog file, which has {known}; write it anew with --save-catalog"
    )]
    NotInSnapshot {
        /// `schema.table`.
        table: String,
        /// The tables that are.
        known: String,
    },
    /// A view, a sequence, a system-versioned table.
    #[error("{table} is a {kind}, and only a plain table can be hot; {remedy}")]
    NotATable {
        /// `schema.table`.
        table: String,
        /// What it is.
        kind: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Another storage engine.
    #[error(
        "{table} is stored in {engine}, which has no row locks to spread; convert it: ALTER TABLE {table} ENGINE = InnoDB"
    )]
    Engine {
        /// `schema.table`.
        table: String,
        /// Its engine.
        engine: String,
    },
    /// No such column.
    #[error("{table} has no column `{column}`{hint}")]
    NoColumn {
        /// `schema.table`.
        table: String,
        /// The column.
        column: String,
        /// A near name, or the names that there are.
        hint: String,
    },
    /// Not a number.
    #[error(
        "`{column}` is {kind}, which cannot be counted in; a counter is an integer (SMALLINT to BIGINT) or a DECIMAL"
    )]
    NotNumeric {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// FLOAT or DOUBLE.
    #[error(
        "`{column}` is {kind}, whose sums depend on the order in which they are rounded; make it DECIMAL or BIGINT"
    )]
    Approximate {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// A touch column that is no time.
    #[error(
        "`{column}` is {kind}; a touch column tells when a row was changed: name a DATETIME or TIMESTAMP"
    )]
    NotATime {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// ZEROFILL.
    #[error("`{column}` is ZEROFILL, and a sum has no leading zeros to show; make it {without}")]
    Zerofill {
        /// The column.
        column: String,
        /// The same type without it.
        without: String,
    },
    /// A generated column.
    #[error("`{column}` is a generated column and cannot be incremented; name a stored one")]
    Generated {
        /// The column.
        column: String,
    },
    /// AUTO_INCREMENT.
    #[error("`{column}` is AUTO_INCREMENT; MySQL itself counts in it")]
    AutoIncrement {
        /// The column.
        column: String,
    },
    /// Part of the primary key.
    #[error("`{column}` is part of the primary key, and a key cannot be a counter; leave it out")]
    InPrimaryKey {
        /// The column.
        column: String,
    },
    /// Part of a unique index.
    #[error(
        "`{column}` is in the unique index `{index}`, which could not see what is in slots; drop the index or leave the column out"
    )]
    InUniqueIndex {
        /// The column.
        column: String,
        /// The index.
        index: String,
    },
    /// Part of a foreign key.
    #[error(
        "`{column}` is in the foreign key `{key}`, and a reference cannot be a counter; leave it out"
    )]
    InForeignKey {
        /// The column.
        column: String,
        /// The foreign key.
        key: String,
    },
    /// No primary key, for a rule with slots.
    #[error(
        "{table} has no primary key, by which slots find their row; add one, or set slots: 0 if the table has one row only"
    )]
    NoPrimaryKey {
        /// `schema.table`.
        table: String,
    },
    /// A primary key over the beginning of a column.
    #[error(
        "the primary key of {table} holds only the beginning of `{column}`; make it hold the whole column"
    )]
    PrefixKey {
        /// `schema.table`.
        table: String,
        /// The column.
        column: String,
    },
    /// Hand-written slots of a table whose rows are known by something else than a number.
    #[error(
        "hand-written slots are adopted by a primary key of one integer column, and that of {table} is another; leave adopts out"
    )]
    AdoptedKey {
        /// `schema.table`.
        table: String,
    },
    /// A column that the server shows otherwise than it is, by a masking policy (MySQL since 9.7).
    #[error(
        "`{column}` of {table} has a masking policy, and slots would show what it hides; drop the policy, or take the table out of the rules"
    )]
    Masked {
        /// `schema.table`.
        table: String,
        /// The column.
        column: String,
    },
    /// A generated column computed from a counter.
    #[error(
        "the generated column `{generated}` is computed from `{column}`, and could not see what is in slots; drop it, or leave `{column}` out"
    )]
    GeneratedFrom {
        /// The generated column.
        generated: String,
        /// The counter.
        column: String,
    },
    /// An index over an expression with a counter.
    #[error(
        "the index `{index}` is computed from `{column}`, and could not see what is in slots; drop it, or leave `{column}` out"
    )]
    IndexFrom {
        /// The index.
        index: String,
        /// The counter.
        column: String,
    },
    /// A trigger for UPDATE.
    #[error(
        "the trigger `{trigger}` runs at every UPDATE of {table}, but an increment in a slot is none; drop it, or take the table out of the rules"
    )]
    UpdateTrigger {
        /// `schema.table`.
        table: String,
        /// The trigger.
        trigger: String,
    },
    /// The control account would not be shown the triggers.
    #[error("the control account may not see whether {table} has triggers; allow it: {grant}")]
    TriggersUnseen {
        /// `schema.table`.
        table: String,
        /// The GRANT.
        grant: String,
    },
    /// A database that speaks MySQL's protocol and is not MySQL.
    #[error("the server is {engine}, which {why}; name a MySQL or MariaDB server as upstream")]
    OtherEngine {
        /// Its name.
        engine: &'static str,
        /// What it does otherwise.
        why: &'static str,
    },
    /// A server that ignores CHECK.
    #[error(
        "the server is {server} {version}, which does not enforce CHECK constraints; use MySQL 8.0.16 or MariaDB 10.2.1, or later"
    )]
    TooOld {
        /// `MySQL` or `MariaDB`.
        server: &'static str,
        /// Its version.
        version: String,
    },
    /// MariaDB with check_constraint_checks off.
    #[error(
        "the server has check_constraint_checks off, so nothing would keep slots within bounds; switch it on: SET GLOBAL check_constraint_checks = ON"
    )]
    ChecksOff,
    /// Two rules for one table, which differ only in letter case.
    #[error(
        "counters[{first}] is a rule for the same table (the server ignores letter case); put the columns of both into one rule"
    )]
    SameTable {
        /// The earlier rule.
        first: usize,
    },
    /// A query of the proxy's failed.
    #[error("cannot read {what} from the server: {source}")]
    Query {
        /// What was asked for.
        what: &'static str,
        /// Why.
        source: mysql_async::Error,
    },
}
