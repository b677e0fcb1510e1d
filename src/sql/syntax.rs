//! A statement's syntax tree, with byte offsets where sqlparser keeps lines and columns.

use std::borrow::Cow;
use std::ops::Range;

use sqlparser::ast::{Ident, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserOptions};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Whitespace, Word};

use crate::sql::dialect::SessionDialect;
use crate::sql::lexer::{Lexer, TokenKind};
use crate::sql::plan::{Reason, SessionVariables};

/// Longest text that is parsed. The parser's own walks recurse once per operator, so its input must be bounded.
const MAX_BYTES: usize = 16 * 1024;
/// Most tokens that are parsed; see [`MAX_BYTES`].
const MAX_TOKENS: usize = 2_000;

/// Deepest nesting that is parsed. Measured on a stack of 2 MiB: 50 levels fit when optimised; without
/// optimisation frames are so large that derived tables overflow it at 20.
const MAX_DEPTH: usize = if cfg!(debug_assertions) { 16 } else { 50 };

/// A parsed statement.
#[derive(Debug)]
pub(super) struct Syntax {
    pub(super) statement: Statement,
    /// The significant tokens of the text, those left out before parsing too.
    pub(super) tokens: Vec<Lexeme>,
    /// LOW_PRIORITY, IGNORE, QUICK and the like, which were left out before parsing.
    pub(super) has_modifier: bool,
}

/// A token of sqlparser's, and where it is in the text.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) range: Range<usize>,
}

impl Lexeme {
    /// Whether it is this keyword, not quoted.
    pub(super) fn is(&self, keyword: Keyword) -> bool {
        matches!(&self.token, Token::Word(word) if word.keyword == keyword && word.quote_style.is_none())
    }
}

/// Parses one statement, or says why not.
pub(super) fn parse(text: &[u8], variables: &SessionVariables) -> Result<Syntax, Reason> {
    if text.len() > MAX_BYTES {
        return Err(Reason::TooLong);
    }
    let dialect = SessionDialect::new(variables);
    // As Latin-1 each byte is one character, so that columns count bytes.
    let decoded = match std::str::from_utf8(text) {
        Ok(ascii) if ascii.is_ascii() => Cow::Borrowed(ascii),
        _ => Cow::Owned(text.iter().copied().map(char::from).collect()),
    };
    let mut tokens = Tokenizer::new(&dialect, &decoded)
        .with_unescape(false)
        .tokenize_with_location()
        .map_err(|_| Reason::NotParsed)?;
    locate_by_offset(&mut tokens, text).ok_or(Reason::NotParsed)?;
    // The parser would step over it at each look ahead.
    tokens.retain(|token| !is_space(&token.token));
    if tokens.len() > MAX_TOKENS {
        return Err(Reason::TooLong);
    }
    if !agrees_with_lexer(&tokens, text, variables) {
        return Err(Reason::NotParsed);
    }
    let mut lexemes = Vec::with_capacity(tokens.len());
    let significant = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)));
    lexemes.extend(significant.map(|token| Lexeme {
        token: token.token.clone(),
        range: offsets(token.span),
    }));
    let has_modifier = drop_modifiers(&mut tokens);
    replace_share_mode(&mut tokens);
    drop_variables(&mut tokens);
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(MAX_DEPTH)
        .with_options(ParserOptions::new().with_unescape(false))
        .with_tokens_with_locations(tokens);
    let mut statements = parser.parse_statements().map_err(|_| Reason::NotParsed)?;
    // It stops before END, as of a block, whatever comes then.
    let is_whole = parser.peek_token_ref().token == Token::EOF;
    match (statements.pop(), statements.is_empty() && is_whole) {
        (Some(statement), true) => Ok(Syntax {
            statement,
            tokens: lexemes,
            has_modifier,
        }),
        _ => Err(Reason::NotParsed),
    }
}

/// Where an identifier is in the text; `None` if sqlparser does not know.
pub(super) fn range(ident: &Ident) -> Option<Range<usize>> {
    (ident.span.start.line == 1).then(|| offsets(ident.span))
}

/// Byte offsets of a span, after [`locate_by_offset`].
pub(super) fn offsets(span: Span) -> Range<usize> {
    let offset = |location: Location| {
        usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX)
    };
    offset(span.start)..offset(span.end)
}

fn is_space(token: &Token) -> bool {
    matches!(
        token,
        Token::Whitespace(Whitespace::Space | Whitespace::Newline | Whitespace::Tab)
    )
}

/// Puts byte offsets (from 1, in line 1) in place of lines and columns. `None` if the tokens leave a gap.
fn locate_by_offset(tokens: &mut [TokenWithSpan], text: &[u8]) -> Option<()> {
    let line_ends = memchr::memchr_iter(b'\n', text);
    let line_starts: Vec<_> = [0]
        .into_iter()
        .chain(line_ends.map(|end| end + 1))
        .collect();
    let mut expected = 0;
    for token in tokens {
        let mut located = [0_u64; 2];
        for (slot, location) in located.iter_mut().zip([token.span.start, token.span.end]) {
            let line = usize::try_from(location.line.checked_sub(1)?).ok()?;
            let column = usize::try_from(location.column.checked_sub(1)?).ok()?;
            let offset = line_starts.get(line)? + column;
            *slot = u64::try_from(offset).ok()?;
        }
        let [start, end] = located;
        if start != expected || end < start {
            return None;
        }
        expected = end;
        token.span = Span {
            start: Location {
                line: 1,
                column: start + 1,
            },
            end: Location {
                line: 1,
                column: end + 1,
            },
        };
    }
    (u64::try_from(text.len()).ok()? == expected).then_some(())
}

/// Whether this project's lexer sees the same strings, quoted identifiers, variables, comments and placeholders.
///
/// A token that begins or ends elsewhere than the server thinks could hide a part of the statement;
/// two readings that agree make that unlikely.
fn agrees_with_lexer(tokens: &[TokenWithSpan], text: &[u8], variables: &SessionVariables) -> bool {
    let theirs = tokens
        .iter()
        .filter(|token| is_enclosing(&token.token))
        .map(|token| offsets(token.span));
    let ours = Lexer::new(text, variables)
        .filter(|token| match token.kind {
            TokenKind::Quoted
            | TokenKind::String
            | TokenKind::Comment
            | TokenKind::Hint
            | TokenKind::Variable
            | TokenKind::Placeholder => true,
            // 0x1F and x'1F' are one kind of token to sqlparser.
            TokenKind::Number => token.of(text).starts_with(b"0x"),
            _ => false,
        })
        .map(|token| token.start..token.end);
    ours.eq(theirs)
}

fn is_enclosing(token: &Token) -> bool {
    match token {
        // `INTO@v` is one word to sqlparser.
        Token::Word(word) => word.quote_style.is_some() || word.value.contains('@'),
        Token::Whitespace(
            Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
        ) => true,
        Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::SingleQuotedByteStringLiteral(_)
        | Token::DoubleQuotedByteStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::Placeholder(_) => true,
        _ => false,
    }
}

/// Drops the modifiers after a leading INSERT, REPLACE, UPDATE, DELETE: the parser knows at most one of them (and takes
/// LOW_PRIORITY for a table's name).
fn drop_modifiers(tokens: &mut Vec<TokenWithSpan>) -> bool {
    const VERBS: [Keyword; 4] = [
        Keyword::INSERT,
        Keyword::REPLACE,
        Keyword::UPDATE,
        Keyword::DELETE,
    ];
    const MODIFIERS: [&str; 5] = [
        "LOW_PRIORITY",
        "HIGH_PRIORITY",
        "DELAYED",
        "QUICK",
        "IGNORE",
    ];
    let is_significant = |token: &TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let Some(verb) = tokens.iter().position(is_significant) else {
        return false;
    };
    if !matches!(&tokens[verb].token, Token::Word(word) if VERBS.contains(&word.keyword)) {
        return false;
    }
    let mut dropped = false;
    while let Some(next) = tokens[verb + 1..].iter().position(is_significant) {
        let next = verb + 1 + next;
        let is_modifier = matches!(&tokens[next].token, Token::Word(word)
            if word.quote_style.is_none() && MODIFIERS.iter().any(|name| word.value.eq_ignore_ascii_case(name)));
        if !is_modifier {
            break;
        }
        tokens.remove(next);
        dropped = true;
    }
    dropped
}

/// Shows the parser FOR SHARE where the text says LOCK IN SHARE MODE, which it does not know.
fn replace_share_mode(tokens: &mut Vec<TokenWithSpan>) {
    const SPELLING: [&str; 4] = ["LOCK", "IN", "SHARE", "MODE"];
    for at in 0.. {
        match tokens.get(at) {
            Some(token) if is_word(&token.token, SPELLING[0]) => {}
            Some(_) => continue,
            None => return,
        }
        let words: Vec<usize> = (at..tokens.len())
            .filter(|&index| !matches!(tokens[index].token, Token::Whitespace(_)))
            .take(SPELLING.len())
            .collect();
        let spelled = words.len() == SPELLING.len()
            && words
                .iter()
                .zip(SPELLING)
                .all(|(&index, spelling)| is_word(&tokens[index].token, spelling));
        if spelled {
            tokens[words[0]].token = keyword("FOR", Keyword::FOR);
            tokens[words[1]].token = keyword("SHARE", Keyword::SHARE);
            tokens.remove(words[3]);
            tokens.remove(words[2]);
        }
    }
}

/// Drops `INTO @variable, ..`, which does not change what a query reads; the parser knows one variable, and only before
/// FROM. If it is not allowed in its place, the server says so, because the text that is sent still has it.
fn drop_variables(tokens: &mut Vec<TokenWithSpan>) {
    let significant: Vec<usize> = (0..tokens.len())
        .filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_)))
        .collect();
    let token = |at: usize| significant.get(at).map(|&at| &tokens[at].token);
    let is_variable =
        |at: usize| matches!(token(at), Some(Token::Word(word)) if is_user_variable(word));
    let is_into = |at: usize| token(at).is_some_and(|token| is_word(token, "INTO"));
    let Some(into) = (0..significant.len()).find(|&at| is_into(at) && is_variable(at + 1)) else {
        return;
    };
    let mut end = into + 2;
    while token(end) == Some(&Token::Comma) && is_variable(end + 1) {
        end += 2;
    }
    for &at in significant[into..end].iter().rev() {
        tokens.remove(at);
    }
}

/// `@name`, not `@@name`.
fn is_user_variable(word: &Word) -> bool {
    word.quote_style.is_none() && word.value.starts_with('@') && !word.value.starts_with("@@")
}

fn is_word(token: &Token, spelling: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(spelling))
}

fn keyword(value: &str, keyword: Keyword) -> Token {
    Token::Word(Word {
        value: value.to_owned(),
        quote_style: None,
        keyword,
    })
}
