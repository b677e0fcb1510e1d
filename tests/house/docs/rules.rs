//! docs/rules.md and what the program accepts.

use std::collections::BTreeSet;

use countersink::config::{Config, Error, Problem};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag};

use crate::docs::page::Page;

/// No key, and near to none.
const NONE: &str = "qqqqqqqqqqqqqqqq: 1";

/// What the page says of a key.
#[derive(Debug, Default)]
struct Key {
    /// `drain_timeout`, `control.user`, `counters[].slots`.
    name: String,
    kind: String,
    default: Option<String>,
    is_required: bool,
    range: Option<(String, String)>,
    reloads: Option<bool>,
}

impl Key {
    fn is_mapping(&self) -> bool {
        self.kind == "mapping"
    }
}

#[test]
fn every_key_is_documented_and_no_other() {
    let there: BTreeSet<_> = accepted("", &|text| format!("{text}\n"));
    assert!(there.contains("counters[].slots"), "{there:?}");
    let told: BTreeSet<_> = keys().into_iter().map(|key| key.name).collect();
    assert_eq!(there, told);
}

#[test]
fn every_key_says_its_default_and_whether_a_reload_applies_it() {
    for key in keys() {
        let said = key.default.is_some() || key.is_required || key.is_mapping();
        let without = facts_of(&key.name).contains(&"no default".to_owned());
        assert!(said != without, "{key:?}");
        let reloads = [
            "counters",
            "bypass",
            "drain_timeout",
            "idle_timeout",
            "max_",
            "memory",
            "reserved_connections",
        ];
        let reloads = reloads.iter().any(|one| key.name.starts_with(one));
        assert_eq!(key.reloads, Some(reloads), "{}", key.name);
    }
}

#[test]
fn defaults_are_those_of_the_program() {
    for key in keys() {
        if let Some(default) = &key.default {
            let plain = with(needed_by(&key.name)).expect("what is required is there");
            let said = with(&[needed_by(&key.name), &[(&key.name, default)]].concat())
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(said, plain, "{}", key.name);
        }
    }
}

#[test]
fn required_keys_are_missed_and_no_other() {
    for key in keys() {
        if [
            "upstream",
            "counters",
            "counters[].table",
            "counters[].columns",
        ]
        .contains(&&*key.name)
        {
            assert!(key.is_required, "{}", key.name);
            let error = without(&key.name).expect_err(&key.name);
            assert!(matches!(error.problem, Problem::Missing { .. }), "{error}");
        } else {
            assert!(!key.is_required, "{}", key.name);
        }
    }
}

#[test]
fn ranges_are_those_of_the_program() {
    let mut checked = 0;
    for key in keys() {
        let is_measured = ["duration", "number", "size"].contains(&&*key.kind);
        assert_eq!(key.range.is_some(), is_measured, "{}", key.name);
        let Some((low, high)) = key.range else {
            continue;
        };
        for inside in [&low, &high] {
            let read = with(&[needed_by(&key.name), &[(&key.name, inside)]].concat());
            assert!(read.is_ok(), "{} {inside}: {read:?}", key.name);
        }
        // Sizes have no unit below this.
        let step = if key.kind == "size" { 1 << 10 } else { 1 };
        let outside = [
            amount(&low).checked_sub(step),
            amount(&high).checked_add(step),
        ];
        for outside in outside.into_iter().flatten() {
            let text = match &*key.kind {
                "duration" => format!("{outside}ms"),
                "size" => format!("{}KiB", outside >> 10),
                _ => outside.to_string(),
            };
            let read = with(&[needed_by(&key.name), &[(&key.name, &text)]].concat());
            assert!(read.is_err(), "{} {text}", key.name);
        }
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn words_to_choose_from_are_known() {
    let mut known = 0;
    for key in keys() {
        let words = key.kind.split('`').skip(1).step_by(2);
        for word in words {
            let refused = with(&[(&key.name, word)]).err();
            let unknown = refused.filter(|error| matches!(error.problem, Problem::Choice { .. }));
            assert!(unknown.is_none(), "{unknown:?}");
            known += 1;
        }
    }
    assert!(known > 0);
}

#[test]
fn examples_can_be_read() {
    let page = page();
    let mut is_example = false;
    let mut read = 0;
    for (event, _) in page.events() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                is_example = &*language == "yaml";
            }
            Event::Text(example) if is_example => {
                let config = parse(&completed(&example));
                assert!(config.is_ok(), "{:?}:\n{example}", config.err());
                read += 1;
                is_example = false;
            }
            _ => {}
        }
    }
    assert!(read > 0);
}

/// With what is required and not there.
fn completed(example: &str) -> String {
    let has = |key: &str| example.lines().any(|line| line.starts_with(key));
    let mut whole = example.to_owned();
    if !has("upstream:") && !has("upstreams:") {
        whole.push_str("upstream: db:3306\n");
    }
    if !has("counters:") {
        whole.push_str("counters:\n- {table: shop.posts, columns: [views]}\n");
    }
    whole
}

fn page() -> Page {
    Page::read("docs/rules.md")
}

/// The facts below the heading of each key.
fn keys() -> Vec<Key> {
    let page = page();
    let sections = page.sections();
    let keys = sections
        .iter()
        .filter(|section| section.level == HeadingLevel::H3);
    let keys: Vec<_> = keys.map(|section| key(&section.title)).collect();
    assert!(!keys.is_empty());
    keys
}

fn facts_of(name: &str) -> Vec<String> {
    let page = page();
    let section = page.sections().into_iter().find(|one| one.title == name);
    let section = section.unwrap_or_else(|| panic!("no section {name}"));
    let line = page.text[section.body].trim_start().lines().next();
    let facts = line.unwrap_or_default().split(" · ");
    facts.map(str::to_owned).collect()
}

fn key(name: &str) -> Key {
    let mut key = Key {
        name: name.to_owned(),
        ..Key::default()
    };
    for fact in facts_of(name) {
        let quoted = |text: &str| Some(text.strip_prefix('`')?.strip_suffix('`')?.to_owned());
        if let Some(kind) = fact
            .strip_prefix('*')
            .and_then(|fact| fact.strip_suffix('*'))
        {
            key.kind = kind.to_owned();
        } else if let Some(default) = fact.strip_prefix("default ") {
            key.default = Some(quoted(default).expect("a default in backquotes"));
        } else if let Some((low, high)) = fact.split_once(" to ") {
            key.range = quoted(low).zip(quoted(high));
        } else {
            match fact.as_str() {
                "required" => key.is_required = true,
                "no default" => {}
                "reload" => key.reloads = Some(true),
                "restart" => key.reloads = Some(false),
                _ => panic!("{name}: {fact:?} is no fact of a key"),
            }
        }
    }
    key
}

/// Milliseconds of a duration, bytes of a size, or a number.
fn amount(text: &str) -> u64 {
    let digits = text.trim_end_matches(|letter: char| letter.is_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        other => panic!("{other} is no unit"),
    };
    digits.parse::<u64>().expect("a number") * unit
}

/// The keys that are accepted where `around` puts a text, with those below them; the program tells when it meets one
/// that is none.
fn accepted(prefix: &str, around: &dyn Fn(&str) -> String) -> BTreeSet<String> {
    let Some(names) = said_to_be_keys(&around(NONE)) else {
        return BTreeSet::new();
    };
    let mut keys = BTreeSet::new();
    for name in names {
        let path = format!("{prefix}{name}");
        let below = accepted(&format!("{path}."), &|text| {
            around(&format!("{name}: {{{text}}}"))
        });
        let listed = accepted(&format!("{path}[]."), &|text| {
            around(&format!("{name}: [{{{text}}}]"))
        });
        keys.extend(below);
        keys.extend(listed);
        keys.insert(path);
    }
    keys
}

fn said_to_be_keys(text: &str) -> Option<Vec<String>> {
    let Problem::Yaml { message } = parse(text).expect_err(text).problem else {
        return None;
    };
    let (_, names) = message.split_once("is not a setting here; write one of ")?;
    Some(names.split(", ").map(str::to_owned).collect())
}

/// What must be said besides for a key to mean something.
fn needed_by(name: &str) -> &'static [(&'static str, &'static str)] {
    match name.split_once('.') {
        Some(("admin_account", _)) => &[
            ("admin", "127.0.0.1:6032"),
            ("admin_account.password", "secret"),
        ],
        Some(("tls", "client_certificate")) => &[("tls.ca", "ca.pem")],
        Some(("reserved_connections", "connections")) => &[("reserved_connections.users", "[dba]")],
        _ => &[],
    }
}

/// What is required, and these.
fn with(settings: &[(&str, &str)]) -> Result<Config, Error> {
    let mut top = vec![("upstream", "db:3306".to_owned())];
    let mut rule = vec![("table", "shop.posts"), ("columns", "[views]")];
    let mut counters = None;
    for (name, value) in settings {
        match (name.strip_prefix("counters[]."), name.split_once('.')) {
            (Some(name), _) => {
                rule.retain(|(other, _)| *other != name);
                rule.push((name, value));
            }
            (None, Some((mapping, key))) => {
                let below = match top.iter().position(|(other, _)| *other == mapping) {
                    Some(there) => top.remove(there).1 + ", ",
                    None => String::new(),
                };
                let below = below.replace(['{', '}'], "");
                top.push((mapping, format!("{{{below}{key}: {value}}}")));
            }
            (None, None) if *name == "counters" => counters = Some((*value).to_owned()),
            (None, None) => {
                top.retain(|(other, _)| other != name);
                top.push((name, (*value).to_owned()));
            }
        }
    }
    let rule: Vec<_> = rule
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let counters = counters.unwrap_or_else(|| format!("[{{{}}}]", rule.join(", ")));
    let top = top.iter().map(|(name, value)| format!("{name}: {value}\n"));
    // First, so that the rule stands on the same line whatever else there is.
    parse(&(format!("counters: {counters}\n") + &top.collect::<String>()))
}

/// What is required but for this.
fn without(name: &str) -> Result<Config, Error> {
    let text = match name {
        "upstream" => "counters: [{table: shop.posts, columns: [views]}]\n",
        "counters" => "upstream: db:3306\n",
        "counters[].table" => "upstream: db:3306\ncounters: [{columns: [views]}]\n",
        "counters[].columns" => "upstream: db:3306\ncounters: [{table: shop.posts}]\n",
        _ => panic!("{name}"),
    };
    parse(text)
}

fn parse(text: &str) -> Result<Config, Error> {
    Config::from_str(text, &|_| None)
}
