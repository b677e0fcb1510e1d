//! Names and texts as SQL writes them.

use crate::catalog::HotTable;
use crate::config::TableName;

/// `` `name` ``.
pub(crate) fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `` `schema`.`table` ``.
pub(crate) fn table(table: &TableName) -> String {
    pair(&table.schema, &table.name)
}

/// `` `schema`.`table` ``.
pub(crate) fn pair(schema: &str, table: &str) -> String {
    format!("{}.{}", name(schema), name(table))
}

/// The columns of a table's primary key, in key order.
pub(crate) fn keys(table: &HotTable) -> Vec<String> {
    let keys = table.primary_key.iter();
    keys.map(|&key| name(&table.columns[key].name)).collect()
}

/// `'text'`, under any sql_mode: backslashes are the caller's to avoid.
pub(crate) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
