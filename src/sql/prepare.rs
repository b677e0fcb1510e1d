//! SQL syntax for prepared statements: PREPARE, EXECUTE, EXECUTE IMMEDIATE (MariaDB) and DEALLOCATE PREPARE.

use crate::sql::is_off;
use crate::sql::lexer::{Lexer, Token, TokenKind};
use crate::sql::mention::mentions;
use crate::sql::plan::SessionVariables;
use crate::sql::template::space_between;
use crate::sql::words::Words;

/// A statement of this syntax, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `PREPARE name FROM source`
    Prepare {
        /// In lower case, for case does not count; `None`: not certain.
        name: Option<String>,
        /// Where its text comes from.
        source: Source,
        /// It carries the comment that switches rewriting off.
        off: bool,
    },
    /// `EXECUTE name [USING ..]`
    Execute {
        /// As for PREPARE.
        name: Option<String>,
        /// Its parameters.
        using: Using,
    },
    /// `EXECUTE IMMEDIATE source [USING ..]`
    Immediate {
        /// Where its text comes from.
        source: Source,
        /// Its parameters.
        using: Using,
    },
    /// `{DEALLOCATE | DROP} PREPARE name`
    Deallocate {
        /// As for PREPARE.
        name: Option<String>,
    },
}

/// Where the text of a prepared statement comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The value of a string literal.
    Literal(Vec<u8>),
    /// A user variable, as it is written.
    Variable(Vec<u8>),
    /// An expression (MariaDB) that gives the same value when it is computed twice, as it is written.
    Expression(Vec<u8>),
    /// Anything else.
    Unknown,
}

/// The user variables of `USING`, as they are written; `None` when there is anything else among them.
pub type Using = Option<Vec<Vec<u8>>>;

/// Takes a statement of this syntax apart; `None` if it is another one.
pub fn command(text: &[u8], variables: &SessionVariables) -> Option<Command> {
    let mut words = Words::new(text, variables);
    // In such a character set, ASCII bytes are what they seem only if there are no other bytes.
    let certain = !variables.unsafe_character_set || text.is_ascii();
    let command = if words.accept("PREPARE") {
        let name = name(&mut words);
        let source = match words.accept("FROM") {
            true => source(&mut words, text, variables),
            false => Source::Unknown,
        };
        let source = match is_at_end(&mut words) {
            true => source,
            // It is misspelt.
            false => Source::Unknown,
        };
        let off = is_off(text, variables);
        Command::Prepare { name, source, off }
    } else if words.accept_all(&["EXECUTE", "IMMEDIATE"]) {
        let source = source(&mut words, text, variables);
        let using = using(words, text);
        Command::Immediate { source, using }
    } else if words.accept("EXECUTE") {
        let name = name(&mut words);
        let using = using(words, text);
        Command::Execute { name, using }
    } else if words.accept_all(&["DEALLOCATE", "PREPARE"]) || words.accept_all(&["DROP", "PREPARE"])
    {
        let name = name(&mut words);
        Command::Deallocate { name }
    } else {
        return None;
    };
    Some(match certain {
        true => command,
        false => command.uncertain(),
    })
}

impl Command {
    /// The same statement with nothing known of it.
    fn uncertain(self) -> Self {
        let (name, using, source) = (None, None, Source::Unknown);
        match self {
            Self::Prepare { off, .. } => Self::Prepare { name, source, off },
            Self::Execute { .. } => Self::Execute { name, using },
            Self::Immediate { .. } => Self::Immediate { source, using },
            Self::Deallocate { .. } => Self::Deallocate { name },
        }
    }
}

/// Whether a text that is not read further may execute a prepared statement.
pub fn may_execute(text: &[u8]) -> bool {
    mentions(text, b"EXECUTE")
}

/// The placeholders of a statement; `None` where a comment that may be executed could hold more.
pub fn placeholders(text: &[u8], variables: &SessionVariables) -> Option<usize> {
    let mut count = 0;
    for token in Lexer::new(text, variables) {
        match token.kind {
            TokenKind::ExecutableComment => return None,
            TokenKind::Placeholder => count += 1,
            _ => {}
        }
    }
    Some(count)
}

/// The text with its placeholders filled in, in order.
pub fn filled(text: &[u8], literals: &[Vec<u8>], variables: &SessionVariables) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut literals = literals.iter();
    let mut follows_literal = false;
    for token in Lexer::new(text, variables) {
        let literal = match token.kind {
            TokenKind::Placeholder => literals.next(),
            _ => None,
        };
        let piece = literal.map_or(token.of(text), Vec::as_slice);
        if literal.is_some() || follows_literal {
            let space = space_between(out.last().copied(), piece.first().copied());
            out.extend_from_slice(space.as_bytes());
        }
        out.extend_from_slice(piece);
        follows_literal = literal.is_some();
    }
    out
}

/// Whether the columns of a SELECT have the types that its preparation promised, whatever its parameters are: the
/// parameters come after its only FROM, so no column is made of them.
pub fn promises_hold(text: &[u8], variables: &SessionVariables) -> bool {
    let tokens = significant(text, variables);
    let is = |token: &Token, word: &str| {
        token.kind == TokenKind::Word && token.of(text).eq_ignore_ascii_case(word.as_bytes())
    };
    let first = tokens
        .iter()
        .position(|token| token.kind == TokenKind::Placeholder);
    let Some(first) = first else {
        return true;
    };
    let count = |word: &str| tokens.iter().filter(|token| is(token, word)).count();
    count("SELECT") == 1
        && count("FROM") == 1
        && ["UNION", "VALUES", "ROW", "TABLE", "ROLLUP"]
            .iter()
            .all(|word| count(word) == 0)
        && tokens[..first].iter().any(|token| is(token, "FROM"))
}

/// Whether the text has a placeholder after LIMIT or OFFSET, where a value must be a number.
pub fn limits_by_parameter(text: &[u8], variables: &SessionVariables) -> bool {
    let mut words = Words::new(text, variables);
    words.skip_past("LIMIT")
        && words
            .rest()
            .iter()
            .any(|token| token.kind == TokenKind::Placeholder)
}

fn significant(text: &[u8], variables: &SessionVariables) -> Vec<Token> {
    Lexer::new(text, variables)
        .filter(Token::is_significant)
        .collect()
}

/// A statement's name. Beyond ASCII, the server's collation decides which names are one.
fn name(words: &mut Words<'_>) -> Option<String> {
    let name = words.identifier()?;
    name.is_ascii().then(|| name.to_ascii_lowercase())
}

fn source(words: &mut Words<'_>, text: &[u8], variables: &SessionVariables) -> Source {
    let rest = words.rest();
    let is_end = |token: &Token| {
        token.of(text) == b";"
            || (token.kind == TokenKind::Word && token.of(text).eq_ignore_ascii_case(b"USING"))
    };
    let end = rest.iter().position(is_end).unwrap_or(rest.len());
    let tokens = rest[..end].to_vec();
    for _ in &tokens {
        words.next();
    }
    match &tokens[..] {
        [] => Source::Unknown,
        [only] if only.kind == TokenKind::String => {
            match unquoted(only.of(text), variables.no_backslash_escapes) {
                Some(literal) => Source::Literal(literal),
                None => Source::Unknown,
            }
        }
        [only] if is_user_variable(only, text) => Source::Variable(only.of(text).to_vec()),
        [first, ..] if is_repeatable(&tokens, text) => {
            let end = tokens.last().map_or(first.end, |last| last.end);
            Source::Expression(text[first.start..end].to_vec())
        }
        _ => Source::Unknown,
    }
}

/// Whether an expression gives the same value each time, and does nothing else: strings, numbers and user variables,
/// and functions that depend on their arguments alone.
fn is_repeatable(tokens: &[Token], text: &[u8]) -> bool {
    const FUNCTIONS: [&str; 14] = [
        "CONCAT",
        "CONCAT_WS",
        "COALESCE",
        "IF",
        "IFNULL",
        "NULLIF",
        "LEFT",
        "RIGHT",
        "LOWER",
        "UPPER",
        "REPLACE",
        "SUBSTR",
        "SUBSTRING",
        "TRIM",
    ];
    tokens.iter().all(|token| {
        let spelled = token.of(text);
        match token.kind {
            TokenKind::String | TokenKind::Number => true,
            TokenKind::Variable => is_user_variable(token, text),
            TokenKind::Punctuation => matches!(spelled, b"(" | b")" | b","),
            TokenKind::Word => {
                let mut functions = FUNCTIONS.iter();
                functions.any(|name| spelled.eq_ignore_ascii_case(name.as_bytes()))
                    && text.get(token.end) == Some(&b'(')
            }
            _ => false,
        }
    })
}

fn is_user_variable(token: &Token, text: &[u8]) -> bool {
    token.kind == TokenKind::Variable && !token.of(text).starts_with(b"@@")
}

/// `[USING @a [, @b] ..]`, to the end of the statement.
fn using(mut words: Words<'_>, text: &[u8]) -> Using {
    let mut user_variables = Vec::new();
    if words.accept("USING") {
        loop {
            let variable = words.next()?;
            if !is_user_variable(&variable, text) {
                return None;
            }
            user_variables.push(variable.of(text).to_vec());
            if !words.accept_mark(b',') {
                break;
            }
        }
    }
    is_at_end(&mut words).then_some(user_variables)
}

/// Whether nothing follows but semicolons, which the server takes for nothing.
fn is_at_end(words: &mut Words<'_>) -> bool {
    while words.accept_mark(b';') {}
    words.peek().is_none()
}

/// The value of a string literal; `None` if it has a prefix or no end.
fn unquoted(literal: &[u8], no_backslash_escapes: bool) -> Option<Vec<u8>> {
    let (&quote, rest) = literal.split_first()?;
    if !matches!(quote, b'\'' | b'"') {
        return None;
    }
    let (&last, inner) = rest.split_last()?;
    if last != quote {
        return None;
    }
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if !no_backslash_escapes => match bytes.next()? {
                b'0' => text.push(0),
                b'b' => text.push(8),
                b'n' => text.push(b'\n'),
                b'r' => text.push(b'\r'),
                b't' => text.push(b'\t'),
                b'Z' => text.push(0x1A),
                // They keep their backslash, for LIKE.
                wildcard @ (b'%' | b'_') => text.extend_from_slice(&[b'\\', wildcard]),
                other => text.push(other),
            },
            byte if byte == quote => {
                bytes.next().filter(|&second| second == quote)?;
                text.push(quote);
            }
            byte => text.push(byte),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Command> {
        command(text.as_bytes(), &SessionVariables::default())
    }

    fn literal(text: &[u8]) -> Source {
        Source::Literal(text.to_vec())
    }

    fn prepare(name: &str, source: Source) -> Option<Command> {
        Some(Command::Prepare {
            name: Some(name.to_owned()),
            source,
            off: false,
        })
    }

    #[test]
    fn texts_come_from_literals_and_variables() {
        assert_eq!(
            read("PREPARE Get FROM 'SELECT 1'"),
            prepare("get", literal(b"SELECT 1"))
        );
        assert_eq!(
            read(r"prepare `a b` from 'it''s \'\n\%\\\q';"),
            prepare("a b", literal(b"it's '\n\\%\\q"))
        );
        assert_eq!(
            read("PREPARE s FROM \"a\"\"b'c\""),
            prepare("s", literal(b"a\"b'c"))
        );
        assert_eq!(
            read("PREPARE s FROM @sql"),
            prepare("s", Source::Variable(b"@sql".to_vec()))
        );
        for repeatable in [
            "CONCAT('a', @b)",
            "'a' 'b'",
            "replace(@a, 'b', IF(@c, 1, 2))",
        ] {
            let text = format!("PREPARE s FROM {repeatable} ;;");
            let source = Source::Expression(repeatable.as_bytes().to_vec());
            assert_eq!(read(&text), prepare("s", source), "{repeatable}");
        }
        for other in [
            "CONCAT('a', UUID())",
            "CONCAT ('a')",
            "CONCAT(@a := 'b')",
            "(SELECT 'a')",
            "shop.concat('a')",
            "@@version",
            "@a.b",
            "N'a'",
            "'a",
        ] {
            let text = format!("PREPARE s FROM {other}");
            assert_eq!(read(&text), prepare("s", Source::Unknown), "{other}");
        }
        let plain = SessionVariables {
            no_backslash_escapes: true,
            ..SessionVariables::default()
        };
        assert_eq!(
            command(br"PREPARE s FROM '\n'", &plain),
            prepare("s", literal(br"\n"))
        );
    }

    #[test]
    fn values_come_from_user_variables() {
        let execute = |using: &[&str]| {
            Some(Command::Execute {
                name: Some("s".to_owned()),
                using: Some(using.iter().map(|name| name.as_bytes().to_vec()).collect()),
            })
        };
        assert_eq!(read("EXECUTE S"), execute(&[]));
        assert_eq!(read("EXECUTE s USING @a, @B;"), execute(&["@a", "@B"]));
        let unknown = |text: &str| match read(text) {
            Some(Command::Execute { using, .. }) => using.is_none(),
            _ => false,
        };
        assert!(unknown("EXECUTE s USING 5"));
        assert!(unknown("EXECUTE s USING @a.b"));
        assert!(unknown("EXECUTE s USING @@version"));
        assert!(unknown("EXECUTE s, t"));
        assert_eq!(
            read("EXECUTE IMMEDIATE 'SELECT ?' USING @a"),
            Some(Command::Immediate {
                source: literal(b"SELECT ?"),
                using: Some(vec![b"@a".to_vec()]),
            })
        );
        assert_eq!(
            read("DROP PREPARE s"),
            Some(Command::Deallocate {
                name: Some("s".to_owned())
            })
        );
        assert_eq!(read("DROP TABLE s"), None);
    }

    #[test]
    fn placeholders_are_filled_in_order() {
        let variables = SessionVariables::default();
        let literals = [b"1".to_vec(), b"'?'".to_vec()];
        let text = b"SELECT '?', ? /* ? */, ?";
        assert_eq!(placeholders(text, &variables), Some(2));
        assert_eq!(
            filled(text, &literals, &variables),
            b"SELECT '?', 1 /* ? */, '?'"
        );
        assert_eq!(placeholders(b"SELECT ? /*! + ? */", &variables), None);
    }

    #[test]
    fn names_beyond_ascii_are_not_ours_to_compare() {
        assert_eq!(
            read("DEALLOCATE PREPARE é"),
            Some(Command::Deallocate { name: None })
        );
        let gbk = SessionVariables {
            unsafe_character_set: true,
            ..SessionVariables::default()
        };
        assert_eq!(
            command(b"EXECUTE s USING @\x81\x5c", &gbk),
            Some(Command::Execute {
                name: None,
                using: None
            })
        );
    }

    #[test]
    fn columns_are_as_promised_unless_made_of_parameters() {
        let holds = |text: &str| promises_hold(text.as_bytes(), &SessionVariables::default());
        assert!(holds("SELECT views + 1 FROM posts"));
        assert!(holds("SELECT views FROM posts WHERE id = ? LIMIT ?"));
        assert!(!holds("SELECT views + ? FROM posts"));
        assert!(!holds("SELECT ? UNION SELECT views FROM posts"));
        assert!(!holds("SELECT x FROM (SELECT views + ? AS x FROM posts) t"));
        let limits =
            |text: &str| limits_by_parameter(text.as_bytes(), &SessionVariables::default());
        assert!(limits("SELECT views FROM posts LIMIT 1 OFFSET ?"));
        assert!(!limits("SELECT views FROM posts WHERE id = ? LIMIT 1"));
    }
}
