//! What the control account must be allowed, as statements for a DBA.

use super::{held_locks, quote, registry};
use crate::config::{Config, TableName};

/// What the control account needs on a hot table. TRIGGER is for seeing triggers, nothing makes or fires one.
pub(crate) const ON_HOT_TABLE: &[&str] = &["SELECT", "UPDATE", "TRIGGER"];

/// What the control account, and each that writes the hot table, needs on a slot table.
pub(crate) const ON_SLOT_TABLE: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE"];

/// What the control account needs on a table of hand-written slots.
pub(crate) const ON_ADOPTED_TABLE: &[&str] = &["SELECT", "UPDATE"];

/// What the control account also needs, to make a slot table and to change it with its hot table.
pub(crate) const TO_MAKE_SLOT_TABLE: &[&str] = &["CREATE", "ALTER", "DROP"];

/// What it needs on the table of proxies, and to make that, where the members of a cluster all take writes.
pub(crate) const ON_REGISTRY: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"];

/// The GRANT for the sentinel. A server grants these for all of its tables, or not at all.
pub(crate) fn for_sentinel(account: &str) -> String {
    format!("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {account};")
}

/// The GRANT for the table of proxies. The account makes the schema as well, if nobody has.
pub(crate) fn for_registry(account: &str) -> String {
    let schema = quote::name(&registry::table().schema);
    format!(
        "GRANT {} ON {schema}.* TO {account};",
        ON_REGISTRY.join(", ")
    )
}

/// The GRANT to see which locks sessions hold, in a group with several primaries.
pub(crate) fn to_see_locks(account: &str) -> String {
    grant(&["SELECT"], &held_locks::table(), account)
}

/// GRANTs of exactly what the proxy does to the tables of `config`'s rules; `account` is quoted (`'user'@'host'`).
pub fn for_control(config: &Config, account: &str) -> Vec<String> {
    let rules = config.rules.iter().filter(|rule| rule.has_slots());
    let on_slots = [ON_SLOT_TABLE, TO_MAKE_SLOT_TABLE].concat();
    let mut grants = Vec::new();
    let mut on_schemas = Vec::new();
    for rule in rules {
        grants.push(grant(ON_HOT_TABLE, &rule.table, account));
        grants.push(grant(&on_slots, &rule.slot_table, account));
        let adopted = rule.adopts.iter();
        let on_adopted = adopted.map(|adopted| grant(ON_ADOPTED_TABLE, &adopted.table, account));
        grants.extend(on_adopted);
        for table in [&rule.slot_table, &rule.table] {
            let on_schema = to_lock(table, account);
            if !on_schemas.contains(&on_schema) {
                on_schemas.push(on_schema);
            }
        }
    }
    grants.extend(on_schemas);
    grants.extend(config.sentinel.map(|_| for_sentinel(account)));
    grants
}

/// What else a drain needs, which locks the slot table before it drops it, and DDL, for which both tables are locked.
/// MySQL grants that only on whole schemas.
pub(crate) fn to_lock(table: &TableName, account: &str) -> String {
    let schema = quote::name(&table.schema);
    format!("GRANT LOCK TABLES ON {schema}.* TO {account};")
}

/// What an account that writes the hot table needs on the slot table; grants on the whole schema suffice.
pub fn for_clients(slot_table: &TableName) -> String {
    grant(ON_SLOT_TABLE, slot_table, "..")
}

/// GRANT of `privileges` on `table`.
pub(crate) fn grant(privileges: &[&str], table: &TableName, account: &str) -> String {
    let (privileges, table) = (privileges.join(", "), quote::table(table));
    format!("GRANT {privileges} ON {table} TO {account};")
}
