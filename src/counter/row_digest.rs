//! Digests of rows, which show whether a row has changed. The same row has the same digest in every session, and before
//! and behind every SET: whatever its time zone, its sql_mode and its character sets.

use super::quote;
use crate::catalog::Column;

/// An expression that gives a digest of these columns.
pub fn digest<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    let columns: Vec<_> = columns.map(bytes).collect();
    format!(
        "SHA2(CONVERT(CONCAT_WS(',', {}) USING ascii), 256)",
        columns.join(", ")
    )
}

/// The bytes of a value in hexadecimal. CONCAT makes text of numbers, where HEX would round them.
fn bytes(column: &Column) -> String {
    let name = quote::name(&column.name);
    let definition = column.definition.to_ascii_lowercase();
    let word = definition
        .split(|byte: char| !byte.is_ascii_alphanumeric())
        .next();
    let value = match word.unwrap_or_default() {
        // Shown in the session's time zone.
        "timestamp" => format!("CONVERT(CONCAT(UNIX_TIMESTAMP({name})) USING ascii)"),
        // With spaces at its end, or without, by the sql_mode.
        "char" => format!("RTRIM({name})"),
        // Text of these is in `character_set_connection`.
        "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "decimal"
        | "numeric" | "float" | "double" | "year" | "date" | "datetime" | "time" | "uuid"
        | "inet4" | "inet6" => {
            format!("CONVERT(CONCAT({name}) USING ascii)")
        }
        _ => format!("CONCAT({name})"),
    };
    format!("COALESCE(HEX({value}), '-')")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_the_same_in_every_session() {
        let column = |name: &str, definition: &str| Column {
            name: name.to_owned(),
            definition: definition.to_owned(),
            invisible: false,
            nullable: false,
            on_update_now: false,
            auto_increment: false,
        };
        let columns = [
            column("at", "timestamp(3)"),
            column("code", "CHAR(3) CHARACTER SET latin1"),
            column("price", "decimal(8,2)"),
            column("title", "varchar(60) CHARACTER SET utf8mb4"),
        ];
        assert_eq!(
            digest(columns.iter()),
            "SHA2(CONVERT(CONCAT_WS(',', \
             COALESCE(HEX(CONVERT(CONCAT(UNIX_TIMESTAMP(`at`)) USING ascii)), '-'), \
             COALESCE(HEX(RTRIM(`code`)), '-'), \
             COALESCE(HEX(CONVERT(CONCAT(`price`) USING ascii)), '-'), \
             COALESCE(HEX(CONCAT(`title`)), '-')) USING ascii), 256)"
        );
    }
}
