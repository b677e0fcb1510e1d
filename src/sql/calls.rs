//! Whether a statement may call a stored routine, which may write tables that the statement's text does not name.

use memchr::{memchr_iter, memmem};

/// Words that may come before a parenthesis and are not stored functions: keywords, and the most common built-in
/// functions. A stored function with such a name is called by its schema and its name.
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

/// Whether a text may call one, itself or by a view; `false` is certain. CALL is not looked for.
pub fn may_call_routines(text: &[u8]) -> bool {
    !names_one_table(text) || has_calls(text)
}

/// Whether functions are called in a text that may be stored ones; `false` is certain.
pub(super) fn has_calls(text: &[u8]) -> bool {
    memchr_iter(b'(', text).any(|open| is_call(&text[..open]))
}

/// Whether each function that a text calls gives the same for the same row, and does nothing else; `true` is certain,
/// but for views.
pub(super) fn calls_alone(text: &[u8]) -> bool {
    const OF_THE_SESSION: [&[u8]; 3] = [b"LAST_INSERT_ID", b"ROW_COUNT", b"FOUND_ROWS"];
    let upper = text.to_ascii_uppercase();
    let names = |word: &&[u8]| memmem::find(&upper, word).is_some();
    !OF_THE_SESSION.iter().any(names) && !has_calls(text)
}

/// Whether the token before a parenthesis is the name of a function that may be stored.
fn is_call(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    // There may be a name before the comment.
    if before.ends_with(b"*/") {
        return true;
    }
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'`' | b'"' | 0x80..)
    };
    let last_name = |text: &'_ [u8]| {
        let start = text.iter().rposition(|byte| !is_part(byte));
        start.map_or(0, |at| at + 1)
    };
    let (rest, name) = before.split_at(last_name(before));
    let mut rest = rest.trim_ascii_end();
    let is_qualified = rest.last() == Some(&b'.');
    if is_qualified {
        let schema = rest[..rest.len() - 1].trim_ascii_end();
        rest = schema[..last_name(schema)].trim_ascii_end();
    }
    // INSERT INTO posts (id, ..), and SELECT .. PROCEDURE ANALYSE(), MariaDB's only one.
    let word_before = &rest[last_name(rest)..];
    let is_analyse =
        name.eq_ignore_ascii_case(b"ANALYSE") && word_before.eq_ignore_ascii_case(b"PROCEDURE");
    if word_before.eq_ignore_ascii_case(b"INTO") || is_analyse {
        return false;
    }
    let is_known = || {
        let mut known = KNOWN.iter();
        known.any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    !name.is_empty() && (is_qualified || !is_known())
}

/// Whether a statement names only one table, so that it does not name a view besides a hot table; `false` says nothing.
fn names_one_table(text: &[u8]) -> bool {
    let upper = text.to_ascii_uppercase();
    let count = |word: &str| memmem::find_iter(&upper, word).count();
    let has_others = ["JOIN", "USING", "UNION", "EXCEPT", "INTERSECT"]
        .iter()
        .any(|word| count(word) > 0);
    let lists = |part: &[u8]| part.contains(&b',');
    let statement = upper.trim_ascii_start();
    let is_insert = statement.starts_with(b"INSERT") || statement.starts_with(b"REPLACE");
    if is_insert {
        return !has_others && count("SELECT") == 0 && count("TABLE") == 0;
    }
    let update = statement.strip_prefix(b"UPDATE");
    let updated = update.and_then(|rest| Some(&rest[..memmem::find(rest, b"SET")?]));
    if let (Some(updated), 0, false) = (updated, count("SELECT"), has_others) {
        return !lists(updated);
    }
    let is_alone = match (count("SELECT"), memmem::find(&upper, b"FROM")) {
        (0, _) => !lists(&upper),
        (1, Some(from)) => count("FROM") == 1 && !lists(named_by_from(&upper[from..])),
        (1, None) => true,
        _ => false,
    };
    // A query in a statement that writes, or sets, is about another table.
    let is_query = upper.trim_ascii_start().starts_with(b"SELECT") || count("SELECT") == 0;
    !has_others && is_alone && is_query
}

/// The part of a query, in capitals from its FROM on, that surely ends behind the names of its tables.
fn named_by_from(query: &[u8]) -> &[u8] {
    const CLAUSES: [&str; 4] = [" WHERE ", " GROUP BY ", " ORDER BY ", " LIMIT "];
    let ends = CLAUSES
        .iter()
        .filter_map(|clause| memmem::find(query, clause.as_bytes()));
    let named = &query[..ends.min().unwrap_or(query.len())];
    // The word may stand inside a quoted name or a comment.
    let may_be_comment = |byte: &u8| matches!(byte, b'/' | b'#' | b'-' | b'\\');
    let is_inside = named
        .iter()
        .filter(|byte| matches!(byte, b'`' | b'"' | b'\''))
        .fold(None, |quote, byte| match quote {
            None => Some(byte),
            Some(open) if open == byte => None,
            Some(open) => Some(open),
        })
        .is_some();
    match is_inside || named.iter().any(may_be_comment) {
        true => query,
        false => named,
    }
}

#[cfg(test)]
mod tests {
    use super::may_call_routines;

    #[test]
    fn what_is_built_in_is_told_from_what_is_stored() {
        for text in [
            "SELECT views FROM posts WHERE id = 1 FOR UPDATE",
            "select count( * ), Max(views) FROM posts WHERE id IN (1) AND (views > 1 OR (likes = 2))",
            "SELECT 1, 2 * (3 + 4)",
            "UPDATE posts SET views = views * (2) WHERE id = 1",
            "DELETE FROM posts WHERE id = 1",
            "UPDATE posts SET views = GREATEST(views - 1, 0), likes = 2 WHERE id IN (1, 2)",
            "INSERT INTO posts (id, title) VALUES (1, CONCAT('a', 'b')), (2, 'x') ON DUPLICATE KEY UPDATE title = VALUES(title)",
            "replace into `shop` . `posts`(id) values (7)",
            "SELECT views FROM posts WHERE id = 1 procedure ANALYSE()",
            "SELECT views FROM posts ORDER BY views DESC, id LIMIT 1 PROCEDURE ANALYSE()",
            "SELECT views, likes FROM `posts` p where p.id IN (1, 2)",
            "",
        ] {
            assert!(!may_call_routines(text.as_bytes()), "{text}");
        }
        for text in [
            "SELECT logged(1), views FROM posts",
            "SELECT logged/**/(1), views FROM posts",
            "SELECT `logged` (1)",
            "SELECT shop.count(1)",
            "SELECT analyse(1)",
            "SELECT \"logged\"(1)",
            "SELECT `shop` . `max`(1)",
            "/*! SELECT größe(1) */",
            // Any of these may be a view that calls one.
            "SELECT * FROM posts, others WHERE posts.id = 1 FOR UPDATE",
            "SELECT * FROM posts AS ` where `, others",
            "SELECT * FROM posts AS \"`\", others AS ` where `, others",
            "SELECT * FROM posts /* order by */, others",
            "SELECT * FROM posts JOIN others ON 1 FOR UPDATE",
            "SELECT views FROM posts WHERE id IN (SELECT id FROM others)",
            "DO (SELECT views FROM posts)",
            "UPDATE posts, others SET views = 1",
            "UPDATE posts SET views = logged(1), likes = 2",
            "INSERT INTO posts (id) VALUES (logged(1))",
            "INSERT INTO posts (id) SELECT id FROM others",
            "INSERT INTO posts (id) TABLE others",
            "DELETE posts FROM posts JOIN others ON 1",
        ] {
            assert!(may_call_routines(text.as_bytes()), "{text}");
        }
    }
}
