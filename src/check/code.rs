//! What can be found, under names that stay: docs/check.md has the list, and a test keeps the two in step.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// `serve` would refuse to start, or values could go wrong.
    Error,
    /// It works, but slower or with something out of the proxy's sight.
    Warning,
    /// Good to know.
    Notice,
}

impl Severity {
    /// Its name: `error`, `warning`, `notice`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])+ $code:ident, $name:literal, $severity:ident;)+) => {
        /// What a finding is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $($(#[$doc])+ $code,)+ }

        impl Code {
            /// All that there are.
            pub const ALL: &[Self] = &[$(Self::$code),+];

            /// Its name, by which programs know it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => $name,)+ }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Self::$code => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    /// The server does not enforce CHECK.
    ServerVersion, "server-version", Error;
    /// Neither MySQL nor MariaDB.
    OtherEngine, "other-engine", Error;
    /// MariaDB with check_constraint_checks off.
    ChecksOff, "checks-off", Error;
    /// Accounts of the proxy's own user of the operating system, over a unix socket.
    SocketAccounts, "socket-accounts", Error;
    /// Headers of the PROXY protocol are to be sent, and the server does not take them.
    ProxyProtocol, "proxy-protocol", Error;
    /// The server is a replica, or closed for writes.
    ReadOnly, "read-only", Warning;
    /// No such table can be seen.
    NoTable, "no-table", Error;
    /// A view, a sequence, a system-versioned table.
    NotATable, "not-a-table", Error;
    /// Two rules for one table.
    SameTable, "same-table", Error;
    /// Another storage engine.
    Engine, "engine", Error;
    /// No primary key.
    NoPrimaryKey, "no-primary-key", Error;
    /// A primary key over the beginning of a column.
    PrefixKey, "prefix-key", Error;
    /// Hand-written slots that no key of the table can refer to.
    AdoptedKey, "adopted-key", Error;
    /// A trigger for UPDATE on the hot table.
    UpdateTrigger, "update-trigger", Error;
    /// No such column.
    NoColumn, "no-column", Error;
    /// A counter that is no number.
    NotNumeric, "not-numeric", Error;
    /// A FLOAT or DOUBLE counter.
    Approximate, "approximate", Error;
    /// A ZEROFILL counter.
    Zerofill, "zerofill", Error;
    /// A touch column that is no time.
    NotATime, "not-a-time", Error;
    /// A generated column as a counter.
    Generated, "generated-counter", Error;
    /// An AUTO_INCREMENT column as a counter.
    AutoIncrement, "auto-increment", Error;
    /// A column of the primary key as a counter.
    InPrimaryKey, "counter-in-primary-key", Error;
    /// A column of a unique index as a counter.
    InUniqueIndex, "counter-in-unique-index", Error;
    /// A column of a foreign key as a counter.
    InForeignKey, "counter-in-foreign-key", Error;
    /// A generated column computed from a counter.
    GeneratedFrom, "computed-from-counter", Error;
    /// An index computed from a counter.
    IndexFrom, "index-from-counter", Error;
    /// A column with a masking policy.
    Masked, "masked-column", Error;
    /// The control account lacks a privilege.
    ControlGrants, "control-grants", Error;
    /// Another table has the slot table's name.
    NotASlotTable, "not-a-slot-table", Error;
    /// There is no schema for the slot table.
    NoSlotSchema, "no-slot-schema", Error;
    /// The slot table differs from what the hot table needs, and is not empty.
    SlotTableDrift, "slot-table-drift", Error;
    /// Slots hold values of a counter that the rule no longer names.
    ForgottenCounter, "forgotten-counter", Error;
    /// Slots hold values, and their rule has none.
    UnservedValues, "unserved-values", Error;
    /// An account may use the hot table and not its slot table.
    ClientGrants, "client-grants", Warning;
    /// A foreign key deletes rows of the hot table, or changes their keys, perhaps out of sight.
    Cascade, "cascade", Notice;
    /// An index on a counter.
    CounterIndexed, "counter-indexed", Warning;
    /// A CHECK names a counter.
    CounterChecked, "counter-checked", Warning;
    /// A counter's type is too narrow to be slotted.
    CounterNarrow, "counter-narrow", Warning;
    /// Values of a counter are beyond half of its type's range.
    Headroom, "headroom", Warning;
    /// The roll-up cannot name the table's keys.
    KeyNotNamed, "key-not-named", Warning;
    /// Hand-written slots that cannot be adopted.
    Adopted, "adopted", Warning;
    /// A view reads a counter.
    ViewMentionsCounter, "view-mentions-counter", Warning;
    /// A stored procedure or function uses a counter.
    RoutineMentionsCounter, "routine-mentions-counter", Warning;
    /// An event uses a counter.
    EventMentionsCounter, "event-mentions-counter", Warning;
    /// Another table's trigger uses a counter.
    TriggerMentionsCounter, "trigger-mentions-counter", Warning;
    /// The server has no SKIP LOCKED.
    NoSkipLocked, "no-skip-locked", Warning;
    /// binlog_format is STATEMENT.
    BinlogFormat, "binlog-format", Warning;
    /// The sentinel cannot tell who writes past the proxy.
    Sentinel, "sentinel", Warning;
    /// The server is in a cluster of which several members take writes.
    MultiWriter, "multi-writer", Error;
    /// The server's clock is not this machine's.
    Clock, "clock", Warning;
    /// The server is in a group of which one member takes writes.
    SinglePrimary, "single-primary", Notice;
    /// MariaDB's clients verify the server's certificate, and the proxy has one of its own.
    OwnCertificate, "own-certificate", Notice;
    /// The slot table is not there yet.
    SlotTableMissing, "slot-table-missing", Notice;
    /// The slot table lacks columns.
    SlotTableLacks, "slot-table-lacks-columns", Notice;
    /// The slot table differs from what the hot table needs, and is empty.
    SlotTableOutdated, "slot-table-outdated", Notice;
    /// A column changes by itself with each increment.
    TouchColumn, "touch-column", Notice;
    /// The table is partitioned.
    Partitioned, "partitioned", Notice;
    /// The rule is understood and not served.
    ModeObserve, "mode-observe", Notice;
    /// Slots hold values, and their rule does not rewrite.
    SlotsToEmpty, "slots-to-empty", Notice;
    /// The values of a counter were not looked at.
    HeadroomUnseen, "headroom-unseen", Notice;
    /// The control account may not see other accounts' grants.
    ClientGrantsUnseen, "client-grants-unseen", Notice;
    /// The control account may not see all views, routines, triggers and events.
    ProgramsUnseen, "programs-unseen", Notice;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_there_is_one_for_each() {
        for code in Code::ALL {
            let name = code.name();
            let is_kebab = name
                .split('-')
                .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
            assert!(is_kebab, "{name}");
            let same = Code::ALL.iter().filter(|other| other.name() == name);
            assert_eq!(same.count(), 1, "{name}");
        }
    }

    /// The table of docs/check.md: code and severity of each line.
    #[test]
    fn the_page_has_every_code_with_its_severity_and_no_other() {
        let page = include_str!("../../docs/check.md");
        let mut listed: Vec<(String, String)> = page
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| `")?.split(" | ");
                let code = cells.next()?.strip_suffix('`')?;
                Some((code.to_owned(), cells.next()?.to_owned()))
            })
            .collect();
        let pair = |code: &Code| (code.name().to_owned(), code.severity().name().to_owned());
        let mut known: Vec<_> = Code::ALL.iter().map(pair).collect();
        listed.sort();
        known.sort();
        assert_eq!(listed, known);
    }
}
