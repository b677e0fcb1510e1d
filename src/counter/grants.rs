//! What the control account must be allowed, as statements for a DBA.

use super::quote;
use crate::config::{Config, TableName};

/// GRANTs of exactly what the proxy does to the tables of `config`'s rules; `account` is quoted (`'user'@'host'`).
///
/// TRIGGER is for seeing triggers, nothing makes or fires one.
pub fn for_control(config: &Config, account: &str) -> Vec<String> {
    let rules = config.rules.iter().filter(|rule| rule.has_slots());
    rules
        .flat_map(|rule| {
            [
                format!(
                    "GRANT SELECT, UPDATE, TRIGGER ON {} TO {account};",
                    quote::table(&rule.table)
                ),
                format!(
                    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON {} TO {account};",
                    quote::table(&rule.slot_table)
                ),
            ]
        })
        .collect()
}

/// What an account that writes the hot table needs on the slot table; grants on the whole schema suffice.
pub fn for_clients(slot_table: &TableName) -> String {
    format!(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO ..;",
        quote::table(slot_table)
    )
}
