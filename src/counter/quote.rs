//! Names and texts as SQL writes them.

use crate::config::TableName;

/// `` `name` ``.
pub(super) fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `` `schema`.`table` ``.
pub(super) fn table(table: &TableName) -> String {
    pair(&table.schema, &table.name)
}

/// `` `schema`.`table` ``.
pub(super) fn pair(schema: &str, table: &str) -> String {
    format!("{}.{}", name(schema), name(table))
}

/// `'text'`, under any sql_mode: backslashes are the caller's to avoid.
pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
