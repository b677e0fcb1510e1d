//! One pass over a statement's tokens, which copies its text and leaves the literals out that may be lifted.

use crate::sql::lexer::{Lexer, Token, TokenKind};
use crate::sql::plan::SessionVariables;
use crate::sql::planner::names_like_ours;
use crate::sql::shape::{Literal, LiteralKind, Shape};

/// Longer texts are not parsed, or cost more than their plan.
const MOST_BYTES: usize = 16 * 1024;

/// The maximum number of literals of a shape.
const MOST_LITERALS: usize = 256;

/// How many tokens before the next one matter: `name`, `=`, `-`.
const BEFORE: usize = 3;

/// A pass over a text.
pub(super) struct Lift<'a> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    shape: &'a mut Shape,
    /// The text up to here is in the shape.
    copied: usize,
    clause: Clause,
    /// Parentheses that are open.
    depth: usize,
    /// The depth inside the list of an IN, while nothing but that is open.
    list: Option<usize>,
    /// The significant tokens before this one, the last one first.
    before: [Seen; BEFORE],
    /// What has been lifted last, as long as nothing but space has followed. What follows may make more of it than it
    /// is.
    fresh: bool,
}

/// Which part of the statement it is, as far as literals may be lifted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Clause {
    /// Before SET or WHERE.
    Head,
    Set,
    Where,
    /// GROUP BY, ORDER BY, LIMIT and whatever else follows.
    Tail,
}

/// What is remembered of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    Name,
    In,
    Mark(u8),
    /// `-`, and where it ends: it is the sign of what begins there.
    Minus(usize),
    Constant,
}

/// Why there is no shape: something in the text may mean more than it shows.
struct Unclear;

impl<'a> Lift<'a> {
    /// A pass over an UPDATE or a SELECT; `None` for other statements.
    pub(super) fn new(
        text: &'a [u8],
        variables: &SessionVariables,
        shape: &'a mut Shape,
    ) -> Option<Self> {
        if variables.unsafe_character_set || text.len() > MOST_BYTES {
            return None;
        }
        let mut lexer = Lexer::new(text, variables);
        let first = lexer.find(Token::is_significant)?;
        let verb = first.of(text);
        let is_known = verb.eq_ignore_ascii_case(b"UPDATE") || verb.eq_ignore_ascii_case(b"SELECT");
        is_known.then_some(Self {
            text,
            lexer,
            shape,
            copied: 0,
            clause: Clause::Head,
            depth: 0,
            list: None,
            before: [Seen::Nothing; BEFORE],
            fresh: false,
        })
    }

    /// Goes over the text; false when it has no shape.
    pub(super) fn run(mut self) -> bool {
        while let Some(token) = self.lexer.next() {
            if self.token(&token).is_err() {
                return false;
            }
        }
        self.shape.text.extend_from_slice(&self.text[self.copied..]);
        true
    }

    fn token(&mut self, token: &Token) -> Result<(), Unclear> {
        let seen = match token.kind {
            TokenKind::Space | TokenKind::Comment => return Ok(()),
            TokenKind::Word => self.word(token)?,
            TokenKind::Quoted => Seen::Name,
            TokenKind::Punctuation => self.mark(token)?,
            TokenKind::Number | TokenKind::String => {
                if self.fresh {
                    // 'a' 'b' is one string.
                    return Err(Unclear);
                }
                self.constant(token)?
            }
            TokenKind::Placeholder
            | TokenKind::Variable
            | TokenKind::ExecutableComment
            | TokenKind::Hint => return Err(Unclear),
        };
        self.fresh &= seen == Seen::Constant;
        self.before = [seen, self.before[0], self.before[1]];
        Ok(())
    }

    /// Notes which clause a keyword opens. After a dot it is a name.
    fn word(&mut self, token: &Token) -> Result<Seen, Unclear> {
        if self.before[0] == Seen::Mark(b'.') {
            return Ok(Seen::Name);
        }
        match keyword(token.of(self.text)) {
            Keyword::None => {}
            Keyword::In if self.before[0] == Seen::Name => return Ok(Seen::In),
            Keyword::In => {}
            // Another query block.
            Keyword::Query => return Err(Unclear),
            Keyword::Opens(clause) if self.depth == 0 => self.clause = self.clause.max(clause),
            Keyword::Opens(_) => {}
        }
        Ok(Seen::Name)
    }

    fn mark(&mut self, token: &Token) -> Result<Seen, Unclear> {
        let mark = self.text[token.start];
        match mark {
            // Something may follow that is another statement; a variable's quoted name.
            b';' if !self.ends_behind(token.end) => return Err(Unclear),
            b'@' => return Err(Unclear),
            b'(' => {
                self.depth += 1;
                self.list = (self.before[0] == Seen::In).then_some(self.depth);
            }
            b')' => {
                self.depth = self.depth.saturating_sub(1);
                self.list = None;
            }
            b'-' => return Ok(Seen::Minus(token.end)),
            _ => {}
        }
        Ok(Seen::Mark(mark))
    }

    fn ends_behind(&self, at: usize) -> bool {
        self.text[at..].iter().all(u8::is_ascii_whitespace)
    }

    /// Lifts a number or a string, if its place allows that.
    fn constant(&mut self, token: &Token) -> Result<Seen, Unclear> {
        let Some((start, kind)) = self.may_lift(token) else {
            return Ok(Seen::Constant);
        };
        if self.shape.literals.len() == MOST_LITERALS {
            return Err(Unclear);
        }
        let text = &mut self.shape.text;
        text.extend_from_slice(&self.text[self.copied..start]);
        text.push(b'?');
        self.copied = token.end;
        let place = start..token.end;
        self.shape.literals.push(Literal { place, kind });
        self.fresh = true;
        Ok(Seen::Constant)
    }

    /// Where the literal that ends with this token begins, and what it is; `None` if it has to stay.
    fn may_lift(&self, token: &Token) -> Option<(usize, LiteralKind)> {
        if matches!(self.clause, Clause::Head | Clause::Tail) || self.goes_on(token.end) {
            return None;
        }
        let kind = kind_of(token.of(self.text), token.kind)?;
        let [last, second, third] = self.before;
        if self.opens_constant(last, second) {
            return Some((token.start, kind));
        }
        match last {
            // It belongs to the number: to a parameter it could not be added.
            Seen::Minus(end) if end == token.start && self.opens_constant(second, third) => {
                (kind != LiteralKind::Text).then_some((end - 1, LiteralKind::Number))
            }
            Seen::Minus(_) | Seen::Mark(b'+') if self.clause == Clause::Set => {
                let is_operand = matches!(second, Seen::Name | Seen::Mark(b')'));
                (is_operand && kind == LiteralKind::Digits).then_some((token.start, kind))
            }
            _ => None,
        }
    }

    /// Whether a constant after these (the last one first) is all that a column is compared with, or set to.
    fn opens_constant(&self, last: Seen, second: Seen) -> bool {
        match last {
            Seen::Mark(b'=') => second == Seen::Name,
            Seen::Mark(b'(') => second == Seen::In,
            Seen::Mark(b',') => self.list == Some(self.depth) && second == Seen::Constant,
            _ => false,
        }
    }

    /// Whether the text at this offset could be read as a part of the literal before it, or of a placeholder there.
    fn goes_on(&self, at: usize) -> bool {
        let next = self.text.get(at);
        next.is_some_and(|&next| {
            !matches!(
                next,
                b' ' | b'\t'..=b'\r' | b')' | b',' | b';' | b'+' | b'-' | b'/'
            )
        })
    }
}

/// What a word means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keyword {
    None,
    In,
    /// A query, or a part of one that has several blocks.
    Query,
    Opens(Clause),
}

/// The meaning of a word that is not quoted. Length and first letter show which keyword it may be: most words are none.
fn keyword(word: &[u8]) -> Keyword {
    let first = word.first().map_or(0, u8::to_ascii_lowercase);
    let (keyword, meaning): (&[u8], _) = match (word.len(), first) {
        (2, b'i') => (b"IN", Keyword::In),
        (3, b's') => (b"SET", Keyword::Opens(Clause::Set)),
        (5, b'w') => (b"WHERE", Keyword::Opens(Clause::Where)),
        (3, b'f') => (b"FOR", Keyword::Opens(Clause::Tail)),
        (4, b'l') => (b"LOCK", Keyword::Opens(Clause::Tail)),
        (4, b'i') => (b"INTO", Keyword::Opens(Clause::Tail)),
        (5, b'g') => (b"GROUP", Keyword::Opens(Clause::Tail)),
        (5, b'o') => (b"ORDER", Keyword::Opens(Clause::Tail)),
        (5, b'l') => (b"LIMIT", Keyword::Opens(Clause::Tail)),
        (5, b'f') => (b"FETCH", Keyword::Opens(Clause::Tail)),
        (6, b'h') => (b"HAVING", Keyword::Opens(Clause::Tail)),
        (6, b'o') => (b"OFFSET", Keyword::Opens(Clause::Tail)),
        (6, b'w') => (b"WINDOW", Keyword::Opens(Clause::Tail)),
        (7, b'q') => (b"QUALIFY", Keyword::Opens(Clause::Tail)),
        (9, b'p') => (b"PROCEDURE", Keyword::Opens(Clause::Tail)),
        (9, b'r') => (b"RETURNING", Keyword::Opens(Clause::Tail)),
        (4, b'w') => (b"WITH", Keyword::Query),
        (5, b't') => (b"TABLE", Keyword::Query),
        (5, b'u') => (b"UNION", Keyword::Query),
        (6, b'e') => (b"EXCEPT", Keyword::Query),
        (6, b's') => (b"SELECT", Keyword::Query),
        (6, b'v') => (b"VALUES", Keyword::Query),
        (9, b'i') => (b"INTERSECT", Keyword::Query),
        _ => return Keyword::None,
    };
    match word.eq_ignore_ascii_case(keyword) {
        true => meaning,
        false => Keyword::None,
    }
}

/// What a constant is, if it is plain.
fn kind_of(constant: &[u8], kind: TokenKind) -> Option<LiteralKind> {
    if kind == TokenKind::String {
        // A prefix, or `"`, or a quote or backslash inside: not plain.
        let inner = constant.strip_prefix(b"'")?.strip_suffix(b"'")?;
        return is_plain_text(inner).then_some(LiteralKind::Text);
    }
    let digits = constant.iter().take_while(|byte| byte.is_ascii_digit());
    let whole = digits.count();
    match constant.get(whole..) {
        Some([]) => Some(LiteralKind::Digits),
        Some([b'.', fraction @ ..]) => {
            let is_plain = !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit);
            (is_plain && whole > 0).then_some(LiteralKind::Number)
        }
        _ => None,
    }
}

/// Whether a string is only a value, and contains nothing that the planner would act on wherever it is: text that shows
/// how the client spells names (no UTF-8), or a name like the proxy's own.
fn is_plain_text(inner: &[u8]) -> bool {
    memchr::memchr3(b'\'', b'"', b'\\', inner).is_none()
        && std::str::from_utf8(inner).is_ok()
        && !names_like_ours(inner)
}
