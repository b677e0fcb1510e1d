//! Whether a statement may call a stored routine, which may write what its text does not tell.

use memchr::memchr_iter;

/// What may stand before a parenthesis and is no stored function: keywords, and the built-in functions that are most common.
/// A stored function with such a name is called by its schema and its name.
const KNOWN: &[&str] = &[
    "ABS",
    "ALL",
    "AND",
    "ANY",
    "ANY_VALUE",
    "AS",
    "AVG",
    "BETWEEN",
    "BINARY",
    "BY",
    "CASE",
    "CAST",
    "CEIL",
    "CEILING",
    "CHAR",
    "CHAR_LENGTH",
    "COALESCE",
    "CONCAT",
    "CONCAT_WS",
    "CONNECTION_ID",
    "CONVERT",
    "COUNT",
    "CURDATE",
    "CURRENT_TIMESTAMP",
    "DATABASE",
    "DATE",
    "DATE_ADD",
    "DATE_FORMAT",
    "DATE_SUB",
    "DAY",
    "DECIMAL",
    "DISTINCT",
    "ELSE",
    "EXISTS",
    "FIELD",
    "FLOOR",
    "FOUND_ROWS",
    "FROM",
    "FROM_UNIXTIME",
    "GREATEST",
    "GROUP_CONCAT",
    "HAVING",
    "HEX",
    "IF",
    "IFNULL",
    "IN",
    "INDEX",
    "INTERVAL",
    "INTO",
    "JOIN",
    "JSON_EXTRACT",
    "JSON_UNQUOTE",
    "KEY",
    "LAG",
    "LAST_INSERT_ID",
    "LEAD",
    "LEAST",
    "LEFT",
    "LENGTH",
    "LIKE",
    "LIMIT",
    "LOWER",
    "MAX",
    "MD5",
    "MIN",
    "MOD",
    "MONTH",
    "NOT",
    "NOW",
    "NULLIF",
    "OF",
    "ON",
    "OR",
    "OVER",
    "PARTITION",
    "RANK",
    "REPLACE",
    "RIGHT",
    "ROUND",
    "ROW",
    "ROW_COUNT",
    "ROW_NUMBER",
    "SELECT",
    "SET",
    "SIGN",
    "SOME",
    "SUBSTR",
    "SUBSTRING",
    "SUM",
    "THEN",
    "TRIM",
    "UNION",
    "UNIX_TIMESTAMP",
    "UPPER",
    "USER",
    "USING",
    "VALUES",
    "VARCHAR",
    "VERSION",
    "WHEN",
    "WHERE",
    "XOR",
    "YEAR",
];

/// Whether a text may call one; `false` is certain, but for routines that a view calls. CALL is not looked for.
pub fn may_call_routines(text: &[u8]) -> bool {
    memchr_iter(b'(', text).any(|open| {
        let before = text[..open].trim_ascii_end();
        let is_part = |byte: &u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'`' | b'"' | 0x80..)
        };
        let start = before
            .iter()
            .rposition(|byte| !is_part(byte))
            .map_or(0, |at| at + 1);
        let (rest, name) = before.split_at(start);
        let is_qualified = rest.trim_ascii_end().last() == Some(&b'.');
        let is_known = || {
            KNOWN
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        };
        !name.is_empty() && (is_qualified || !is_known())
    })
}

#[cfg(test)]
mod tests {
    use super::may_call_routines;

    #[test]
    fn what_is_built_in_is_told_from_what_is_stored() {
        for text in [
            "SELECT views FROM posts WHERE id = 1 FOR UPDATE",
            "select count( * ), Max(views) FROM posts WHERE id IN (1, 2) AND (views > 1 OR (likes = 2))",
            "SELECT (SELECT 1), 2 * (3 + 4)",
            "INSERT INTO t VALUES (1), (2)",
            "",
        ] {
            assert!(!may_call_routines(text.as_bytes()), "{text}");
        }
        for text in [
            "SELECT logged(1), views FROM posts",
            "SELECT `logged` (1)",
            "SELECT shop.count(1)",
            "SELECT \"logged\"(1)",
            "SELECT `shop` . `max`(1)",
            "/*! SELECT größe(1) */",
        ] {
            assert!(may_call_routines(text.as_bytes()), "{text}");
        }
    }
}
