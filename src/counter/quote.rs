//! Names and texts as SQL writes them.

use crate::config::TableName;

/// `` `name` ``.
pub(super) fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `` `schema`.`table` ``.
pub(super) fn table(table: &TableName) -> String {
    format!("{}.{}", name(&table.schema), name(&table.name))
}

/// `'text'`, under any sql_mode: backslashes are the caller's to avoid.
pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
