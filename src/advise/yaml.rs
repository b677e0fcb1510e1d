//! The rules as rules.yaml has them, ready to paste.

use std::fmt::Write;

use super::trial::Advice;
use crate::config::{Address, TableName};

/// The beginning of a new rules file: the server's address, and the control account.
pub fn head(upstream: &Address, user: &str) -> String {
    format!(
        "upstream: {}\ncontrol:\n  user: {}\n  password: ${{COUNTERSINK_PASSWORD}}\n",
        scalar(&upstream.to_string()),
        scalar(user)
    )
}

/// The list of counters.
pub fn counters<'a>(advice: impl IntoIterator<Item = &'a Advice>) -> String {
    let mut text = "counters:\n".to_owned();
    for advice in advice {
        let written = writeln!(text, "  - table: {}", scalar(&table(&advice.table)));
        debug_assert!(written.is_ok(), "a text takes everything");
        text.push_str(&settings(advice));
    }
    text
}

/// What a rule says of its table; of one that the table has, the lines that may change.
pub fn settings(advice: &Advice) -> String {
    let names = |columns: &[String]| {
        let names: Vec<String> = columns.iter().map(|name| scalar(name)).collect();
        names.join(", ")
    };
    let mut text = format!("    columns: [{}]\n", names(&advice.columns));
    if !advice.touch.is_empty() {
        text.push_str(&format!("    touch: [{}]\n", names(&advice.touch)));
    }
    text.push_str(&format!("    slots: {}\n", advice.slots));
    if advice.replaces.is_some_and(|replaced| replaced.is_off) {
        text.push_str("    mode: enforce\n");
    }
    text
}

/// `schema.table`, either in backquotes if it needs them.
fn table(table: &TableName) -> String {
    let part = |name: &str| match name.contains(['.', '`']) {
        true => format!("`{}`", name.replace('`', "``")),
        false => name.to_owned(),
    };
    format!("{}.{}", part(&table.schema), part(&table.name))
}

/// A scalar that is surely a text with these letters, to YAML and to the substitution of variables.
fn scalar(text: &str) -> String {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._:/-".contains(letter);
    let begins = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
    let means_more =
        WORDS.iter().any(|word| word.eq_ignore_ascii_case(text)) || text.ends_with(':');
    match begins && !means_more && text.chars().all(is_plain) {
        true => text.to_owned(),
        // JSON's strings are YAML's.
        false => serde_json::Value::from(text.replace('$', "$$")).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Config;

    fn advice(schema: &str, name: &str, columns: &[&str], touch: &[&str]) -> Advice {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Advice {
            table: TableName {
                schema: schema.to_owned(),
                name: name.to_owned(),
            },
            columns: owned(columns),
            touch: owned(touch),
            slots: 32,
            replaces: None,
        }
    }

    fn read(user: &str, advice: &[Advice]) -> Config {
        let upstream = Address::parse("127.0.0.1:3306").expect("an address");
        let text = head(&upstream, user) + &counters(advice);
        Config::from_str(&text, &|_| Some("secret".to_owned()))
            .unwrap_or_else(|error| panic!("{error} in\n{text}"))
    }

    #[test]
    fn it_reads_as_people_write_it() {
        let text = counters([
            &advice("shop", "posts", &["views", "likes"], &["updated_at"]),
            &advice("shop", "authors", &["n"], &[]),
        ]);
        assert_eq!(
            text,
            "counters:
  - table: shop.posts
    columns: [views, likes]
    touch: [updated_at]
    slots: 32
  - table: shop.authors
    columns: [\"n\"]
    slots: 32
"
        );
        assert_eq!(
            read("root", &[advice("shop", "posts", &["views"], &[])]).rules[0].slots,
            32
        );
    }

    proptest! {
        #[test]
        fn any_name_is_read_as_it_was_meant(
            schema in "[ -~\u{e9}]{1,20}[a-z`.$#]",
            name in "[ -~]{0,20}[a-z{}$\"']",
            column in "[ -~]{0,20}[a-z]",
            user in "[ -~]{1,20}",
        ) {
            prop_assume!(!["sys", "mysql"].contains(&schema.as_str()));
            let config = read(&user, &[advice(&schema, &name, &[&column], &[])]);
            prop_assert_eq!(&config.rules[0].table.schema, &schema);
            prop_assert_eq!(&config.rules[0].table.name, &name);
            prop_assert_eq!(&config.rules[0].columns, &vec![column]);
            prop_assert_eq!(&config.control.user, &user);
        }
    }
}
