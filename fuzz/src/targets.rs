//! The targets, and what a run without libFuzzer must know of them.

use std::path::Path;

use crate::{
    compressed, lexer, login, packets, planner, proxy_header, response_tracker, rules, shapes,
};

/// A target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its binary and of its corpus as well.
    pub name: &'static str,
    /// Panics if an input shows a bug.
    pub check: fn(&[u8]),
    /// How many inputs a bounded run makes.
    pub executions: u64,
    /// Inputs to begin with, made of what the repository has. They are not kept in the corpus.
    pub seeds: fn(&Path) -> Vec<Vec<u8>>,
    /// Words to make inputs of.
    pub words: &'static [&'static str],
}

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target {
        name: "response_tracker",
        check: response_tracker::check,
        executions: 8_000,
        seeds: response_tracker::seeds,
        words: &["\0", "\u{1}\0\0\0", "\u{7f}"],
    },
    Target {
        name: "packets",
        check: packets::check,
        executions: 100_000,
        seeds: |_| packets::seeds(),
        words: &["\0", "caching_sha2_password\0", "sha256_password\0"],
    },
    Target {
        name: "proxy_header",
        check: proxy_header::check,
        executions: 4_000,
        seeds: |_| proxy_header::seeds(),
        words: &["PROXY ", "TCP4 ", "UNKNOWN", "\r\n", "::1 ", "127.0.0.1 "],
    },
    Target {
        name: "compressed",
        check: compressed::check,
        executions: 8_000,
        seeds: |_| compressed::seeds(),
        words: &["\0", "x\u{1}", "\u{1}\0\0\0\0\0\0"],
    },
    Target {
        name: "login",
        check: login::check,
        executions: 4_000,
        seeds: |_| login::seeds(),
        words: &["\0", "caching_sha2_password\0", "\u{1}\u{4}"],
    },
    Target {
        name: "lexer",
        check: lexer::check,
        executions: 8_000,
        seeds: |root| with_choices(&[0], statements(root)),
        words: SQL,
    },
    Target {
        name: "planner",
        check: planner::check,
        executions: 2_000,
        seeds: |root| with_choices(&[0, 0], statements(root)),
        words: SQL,
    },
    Target {
        name: "shapes",
        check: shapes::check,
        executions: 4_000,
        seeds: |root| with_choices(&[0, 0], statements(root)),
        words: SQL,
    },
    Target {
        name: "rules",
        check: rules::check,
        executions: 4_000,
        seeds: rules::seeds,
        words: &[
            "counters:\n",
            "- table: ",
            "columns: ",
            "${PW}",
            "${UNSET}",
            "touch: ",
            "slots: ",
            "mode: ",
            "adopts: ",
            "upstream: ",
            ": ",
            "\n",
            "  ",
            "'",
            "[",
            "{",
        ],
    },
];

/// Words of statements.
const SQL: &[&str] = &[
    "SELECT ",
    "UPDATE ",
    "DELETE FROM ",
    "INSERT INTO ",
    "REPLACE ",
    " SET ",
    " WHERE ",
    " FROM ",
    " GROUP BY ",
    " ORDER BY ",
    " LIMIT 1",
    " FOR UPDATE",
    " UNION ",
    " JOIN ",
    " LEFT JOIN ",
    " USING (id)",
    " HAVING ",
    "WITH a AS (",
    " IN (",
    " EXISTS (",
    " ON DUPLICATE KEY UPDATE ",
    " VALUES (",
    " AS ",
    "COUNT(*)",
    "SUM(",
    "CASE WHEN ",
    " THEN ",
    " END",
    "BETWEEN ",
    "posts",
    "`posts`",
    "shop.posts",
    "hits",
    "tallies",
    "drawn",
    "views",
    "likes",
    "score",
    "id",
    "author_id",
    "views + 1",
    "id = 1",
    "?",
    "@a",
    "*",
    "p.",
    ", ",
    "(",
    ")",
    "'",
    "\"",
    "`",
    ";",
    "--",
    "/*",
    "*/",
    "/*!",
    "\\",
    "\n",
    "DISTINCT ",
    "OVER (",
    "LOCK TABLES ",
    "PREPARE s FROM ",
    "EXPLAIN ",
];

/// The statements of the cases.
fn statements(root: &Path) -> Vec<Vec<u8>> {
    const FILES: [&str; 7] = [
        "increments",
        "orm",
        "reads",
        "section3",
        "traps",
        "writes",
        "without_slots",
    ];
    let mut statements = Vec::new();
    for file in FILES {
        let path = root.join(format!("tests/cases/{file}.yaml"));
        let text = std::fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let given = text.lines().map(str::trim);
        let given =
            given.filter_map(|line| line.trim_start_matches("- ").strip_prefix("statement: "));
        statements.extend(given.map(|given| given.trim_matches('\'').as_bytes().to_vec()));
    }
    statements.sort();
    statements.dedup();
    statements
}

/// These with choices in front.
fn with_choices(choices: &[u8], statements: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let with = |statement: Vec<u8>| [choices, &statement].concat();
    statements.into_iter().map(with).collect()
}
