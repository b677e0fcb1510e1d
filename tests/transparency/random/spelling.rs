//! The same statements, spelled otherwise: without spaces, with comments, several in one packet.

use super::dice::Dice;
use super::grammar::Writer;
use super::subject::Subject;
use crate::case::{Action, Step};

/// What may stand before a statement, and after it.
const AROUND: &[(&str, &str)] = &[
    ("", " /* done */"),
    ("/* it */ ", ""),
    ("  ", "  "),
    ("", ";"),
    ("", "; /* done */"),
    ("", " -- done"),
    ("/*!50000 ", " */"),
    ("", " # done"),
    ("/* a; b */", "; -- done"),
    ("(", ")"),
    ("", ";;"),
    ("\t", "\u{a0}"),
];

/// How an integer is written as a string.
const QUOTES: &[(&str, &str)] = &[
    ("'", "'"),
    ("'", "'"),
    ("'", "'"),
    ("'0", "'"),
    ("'", ".0'"),
];

impl Writer {
    /// Spells the statements otherwise that have been written since there were so many steps.
    pub(super) fn spell_otherwise(&mut self, dice: &mut Dice<'_>, before: usize) {
        let how = dice.roll(3);
        let (head, tail) = AROUND[dice.roll(AROUND.len())];
        let takes_locks = |text: &str| text.starts_with("LOCK") || text.starts_with("UNLOCK");
        let mut statements = self.statements_since(before);
        // Without it the sequence would go by the clock, and servers differ by a second.
        let sets_time = |text: &str| text.starts_with("SET timestamp");
        // The observer goes by the first word of the others.
        statements.retain(|statement| !takes_locks(&statement.text) && !sets_time(&statement.text));
        // A SELECT that is refused for its spelling leaves open what FOUND_ROWS() tells; and of a question that stands
        // in an executable comment as a whole the proxy reads nothing, which is a limit.
        let in_comment = head.starts_with("/*!");
        if tail == "\u{a0}" || tail == ";;" || in_comment {
            statements.retain(|statement| !statement.text.contains("FOUND_ROWS"));
        }
        if in_comment {
            let asks =
                |text: &str| text.contains("ROW_COUNT()") || text.contains("@@warning_count");
            statements.retain(|statement| !asks(&statement.text));
        }
        for statement in statements {
            if how != 1 {
                statement.text = without_spaces(&statement.text);
            }
            if how != 0 {
                statement.text = format!("{head}{}{tail}", statement.text);
            }
        }
    }

    /// Writes integers as strings where statements that have been written since compare keys with them, as drivers do
    /// that send every parameter as text. Some strings are not the text of the integer.
    pub(super) fn quote_keys(&mut self, dice: &mut Dice<'_>, before: usize) {
        let (head, tail) = QUOTES[dice.roll(QUOTES.len())];
        for statement in self.statements_since(before) {
            let Some((start, rest)) = statement.text.split_once("id = ") else {
                continue;
            };
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, after) = rest.split_at(length);
            if length > 0 && !after.starts_with('.') {
                statement.text = format!("{start}id = {head}{digits}{tail}{after}");
            }
        }
    }

    /// Two or three statements in one packet.
    pub(super) fn several_statements(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let before = self.written();
        for _ in 0..2 + dice.roll(2) {
            match dice.roll(8) {
                0..3 => self.update(dice, subject),
                3..5 => self.select(dice, subject),
                5 => self.transaction(dice, subject),
                6 => self.set_cold(dice, subject),
                _ => self.about_the_session(dice, subject),
            }
        }
        let mut texts = Vec::new();
        for Step { action, .. } in self.take_back(before) {
            if let Action::Statement(statement) = action {
                texts.push(statement.with_literals());
            }
        }
        let (_, tail) = AROUND[dice.roll(AROUND.len())];
        let between = dice.pick(&[";", "; ", " ; /* next */ ", ";\n"]);
        self.plain(&(texts.join(between) + tail));
    }
}

/// The text with its words in backquotes, where they are names of the world's, and no space that is not needed.
fn without_spaces(text: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for word in text.split(' ') {
        let was_quoted = quoted;
        quoted ^= word.matches('\'').count() % 2 == 1;
        let is_name = |word: &str| NAMES.contains(&word);
        let spelled = match was_quoted || !is_name(word) {
            true => word.to_owned(),
            false => format!("`{word}`"),
        };
        let closed = |byte: Option<char>| byte.is_none_or(|byte| "`'(),=<>*+".contains(byte));
        let needs = was_quoted || !(closed(out.chars().last()) || closed(spelled.chars().next()));
        if needs {
            out.push(' ');
        }
        out.push_str(&spelled);
    }
    out
}

const NAMES: &[&str] = &[
    "posts",
    "hits",
    "balances",
    "widths",
    "articles",
    "topics",
    "daily",
    "prices",
    "stock",
    "threads",
    "medals",
    "authors",
    "id",
    "views",
    "likes",
    "score",
    "n",
    "amount",
    "spent",
    "opens",
    "replies",
    "title",
    "path",
    "author_id",
    "sold",
    "price",
];
