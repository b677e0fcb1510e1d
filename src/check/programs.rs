//! Findings about what runs inside the server: views, routines, events, triggers of other tables.

use super::code::Code;
use super::evidence::{Kind, Program};
use super::finding::Finding;
use crate::catalog::HotTable;
use crate::config::Rule;

/// Those that name the table and one of its counters.
pub(super) fn findings(rule: &Rule, table: &HotTable, programs: &[Program]) -> Vec<Finding> {
    let found = programs
        .iter()
        .filter_map(|program| Some((program, counter(table, program)?)));
    found
        .map(|(program, counter)| finding(rule, program, &counter))
        .collect()
}

fn finding(rule: &Rule, program: &Program, counter: &str) -> Finding {
    let (code, kind) = match program.kind {
        Kind::View => (Code::ViewMentionsCounter, "view"),
        Kind::Procedure => (Code::RoutineMentionsCounter, "procedure"),
        Kind::Function => (Code::RoutineMentionsCounter, "function"),
        Kind::Event => (Code::EventMentionsCounter, "event"),
        Kind::Trigger => (Code::TriggerMentionsCounter, "trigger"),
    };
    let reason = format!(
        "the {kind} `{}`.`{}` names {} and {counter}, and runs inside the server: it sees the base rows without what is \
         in slots",
        program.schema, program.name, rule.table
    );
    let advice = match program.kind {
        Kind::View => {
            "read the table itself through the proxy, or live with a value that is late by the roll-up"
        }
        _ => {
            "let the application run its statements through the proxy; an increment by it (c = c + n) is safe as it is"
        }
    };
    Finding::new(code, Some(&rule.table), reason).advice(advice)
}

/// The counter that the program names along with the table: `` `views` ``, or `*` for all.
fn counter(table: &HotTable, program: &Program) -> Option<String> {
    let tokens = tokens(&program.body);
    let (schema, name) = (table.schema.to_lowercase(), table.name.to_lowercase());
    let at_home = program.schema.to_lowercase() == schema;
    let names_table = |at: usize| match at.checked_sub(2).map(|before| &tokens[before..at]) {
        Some([Token::Word(qualifier), Token::Symbol('.')]) => *qualifier == schema,
        _ => at_home,
    };
    let is_table =
        |(at, token): (usize, &Token)| *token == Token::Word(name.clone()) && names_table(at);
    if !tokens.iter().enumerate().any(is_table) {
        return None;
    }
    let is_all = |pair: &[Token]| match pair {
        [Token::Symbol('.'), Token::Symbol('*')] => true,
        [Token::Word(word), Token::Symbol('*')] => {
            ["select", "distinct", "all"].contains(&word.as_str())
        }
        _ => false,
    };
    let mut names = table
        .counters
        .iter()
        .map(|counter| &table.columns[counter.column].name);
    let named = names.find(|name| tokens.contains(&Token::Word(name.to_lowercase())));
    named
        .map(|name| format!("`{name}`"))
        .or_else(|| tokens.windows(2).any(is_all).then(|| "`*`".to_owned()))
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A name or a word, in lower case.
    Word(String),
    Symbol(char),
}

/// Words and symbols of a body. Comments and strings are read as well: a string may be prepared.
fn tokens(body: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut letters = body.chars().peekable();
    while let Some(letter) = letters.next() {
        let mut word = String::new();
        if letter == '`' {
            while let Some(letter) = letters.next() {
                match letter {
                    '`' if letters.next_if_eq(&'`').is_none() => break,
                    letter => word.push(letter),
                }
            }
        } else if is_of_a_word(letter) {
            word.push(letter);
            while let Some(letter) = letters.next_if(|letter| is_of_a_word(*letter)) {
                word.push(letter);
            }
        } else if !letter.is_whitespace() {
            tokens.push(Token::Symbol(letter));
            continue;
        }
        if !word.is_empty() {
            tokens.push(Token::Word(word.to_lowercase()));
        }
    }
    tokens
}

fn is_of_a_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Changers, Column, Counter, Domain};

    fn posts() -> HotTable {
        let domain = Domain::Integer {
            bytes: 4,
            unsigned: false,
        };
        HotTable {
            schema: "shop".to_owned(),
            name: "posts".to_owned(),
            slot_schema: "shop".to_owned(),
            slot_name: "posts_slots".to_owned(),
            columns: ["id", "Views"]
                .map(|name| Column {
                    name: name.to_owned(),
                    ..Column::default()
                })
                .to_vec(),
            primary_key: vec![0],
            counters: vec![Counter {
                column: 1,
                domain,
                bounds: None,
            }],
            touches: Vec::new(),
            unique_keys: None,
            changed_by: Changers::default(),
            cascades: Vec::new(),
            has_triggers: false,
            slots: 1,
            rollup: std::time::Duration::ZERO,
            may_rest: false,
            is_gated: false,
            adopted: None,
        }
    }

    #[test]
    fn a_body_is_found_when_it_names_table_and_counter() {
        for (schema, body, expected) in [
            (
                "shop",
                "select `shop`.`posts`.`views` AS `v` from `shop`.`posts`",
                Some("`Views`"),
            ),
            ("shop", "UPDATE Posts SET VIEWS=VIEWS+1", Some("`Views`")),
            ("blog", "UPDATE shop . posts SET views = 0", Some("`Views`")),
            (
                "shop",
                "SET @s = 'SELECT views FROM posts'",
                Some("`Views`"),
            ),
            ("shop", "INSERT INTO log SELECT * FROM posts", Some("`*`")),
            (
                "shop",
                "INSERT INTO log SELECT p.* FROM posts p",
                Some("`*`"),
            ),
            ("shop", "SELECT COUNT(*) FROM posts", None),
            ("shop", "SELECT id * 2 FROM posts", None),
            ("shop", "SELECT reviews FROM posts", None),
            ("shop", "SELECT views FROM posts_old", None),
            ("shop", "SELECT views FROM `my posts`", None),
            ("blog", "SELECT views FROM posts", None),
            ("shop", "SELECT views FROM blog.posts", None),
            ("shop", "SELECT `po``sts`, views FROM t", None),
        ] {
            let program = Program {
                kind: Kind::Procedure,
                schema: schema.to_owned(),
                name: "p".to_owned(),
                body: body.to_owned(),
            };
            assert_eq!(
                counter(&posts(), &program).as_deref(),
                expected,
                "{schema}: {body}"
            );
        }
    }
}
