//! Which parts of the grammar are played.
//!
//! `COUNTERSINK_RULES=all` plays them all, `COUNTERSINK_RULES=own,cold` these beside the basic ones.

use std::sync::OnceLock;

/// All parts, and whether they are played by default.
const RULES: &[(&str, bool)] = &[
    ("basic", true),
    ("roll_up", true),
    ("story", true),
    ("own", true),
    ("cold", true),
    ("related", true),
    ("locking", true),
    ("skipping", true),
    ("characteristics", true),
    ("lock_tables", true),
    ("temporary", true),
    ("ddl", true),
    ("calls", true),
    ("load", true),
    ("sources", true),
    ("multi", true),
    ("spelling", true),
    ("messages", true),
];

/// Whether this part of the grammar is played.
pub fn plays(rule: &str) -> bool {
    static CHOSEN: OnceLock<Vec<&str>> = OnceLock::new();
    CHOSEN.get_or_init(chosen).contains(&rule)
}

/// How often a kind of step of this rule is written, to those of others: more often where it is asked for by name.
pub fn emphasis(rule: &str) -> usize {
    static NAMED: OnceLock<bool> = OnceLock::new();
    let is_named = || std::env::var("COUNTERSINK_RULES").is_ok_and(|text| text != "all");
    match rule != "basic" && *NAMED.get_or_init(is_named) {
        true => 5,
        false => 1,
    }
}

fn chosen() -> Vec<&'static str> {
    let text = std::env::var("COUNTERSINK_RULES").unwrap_or_default();
    let named: Vec<_> = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    let is_known = |name: &&str| *name == "all" || RULES.iter().any(|(rule, _)| rule == name);
    assert!(
        named.iter().all(is_known),
        "COUNTERSINK_RULES={text}: there are {RULES:?}"
    );
    let is_chosen = |(rule, by_default): &&(&str, bool)| match named.as_slice() {
        [] => *by_default,
        some => *rule == "basic" || some.contains(&"all") || some.contains(rule),
    };
    RULES
        .iter()
        .filter(is_chosen)
        .map(|(rule, _)| *rule)
        .collect()
}
