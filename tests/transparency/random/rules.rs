//! Which parts of the grammar are played.
//!
//! All of them; with `COUNTERSINK_RULES=own,cold` these beside the basic ones.

use std::sync::OnceLock;

/// All parts.
const RULES: &[&str] = &[
    "basic",
    "roll_up",
    "story",
    "own",
    "cold",
    "related",
    "locking",
    "skipping",
    "characteristics",
    "lock_tables",
    "temporary",
    "ddl",
    "calls",
    "load",
    "sources",
    "multi",
    "executed",
    "spelling",
    "messages",
    "bulk",
    "quoted",
];

/// Whether this part of the grammar is played.
pub fn plays(rule: &str) -> bool {
    static CHOSEN: OnceLock<Vec<&str>> = OnceLock::new();
    CHOSEN.get_or_init(chosen).contains(&rule)
}

/// How often a kind of step of this rule is written, to those of others: more often where it is asked for by name.
pub fn emphasis(rule: &str) -> usize {
    static NAMED: OnceLock<bool> = OnceLock::new();
    let is_named = || std::env::var("COUNTERSINK_RULES").is_ok();
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
    assert!(
        named.iter().all(|name| RULES.contains(name)),
        "COUNTERSINK_RULES={text}: there are {RULES:?}"
    );
    let is_chosen = |rule: &&&str| named.is_empty() || **rule == "basic" || named.contains(*rule);
    RULES.iter().filter(is_chosen).copied().collect()
}
