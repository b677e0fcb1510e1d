//! Where the clauses and the select items of a query block are in the text.
//!
//! The syntax tree knows where identifiers are, but not where an expression ends; tokens do.

use std::ops::Range;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use crate::sql::syntax::Lexeme;

/// A clause of a query block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Clause {
    Items,
    From,
    Where,
    GroupBy,
    Having,
    Window,
    OrderBy,
    /// LIMIT, INTO, FOR UPDATE ..
    Tail,
}

/// The clauses of a block.
#[derive(Clone, Debug)]
pub(super) struct Clauses {
    starts: Vec<(usize, Clause)>,
    /// Where the block ends.
    end: usize,
    /// The select items, in order.
    pub(super) items: Vec<Range<usize>>,
}

impl Clauses {
    /// The clauses of the block whose SELECT is at offset `select_at`.
    pub(super) fn of(tokens: &[Lexeme], select_at: usize) -> Self {
        let first = tokens.partition_point(|token| token.range.start <= select_at);
        let tokens = &tokens[first..];
        let mut clauses = Self {
            starts: vec![(select_at, Clause::Items)],
            end: tokens.last().map_or(select_at, |token| token.range.end),
            items: Vec::new(),
        };
        let mut item: Option<Range<usize>> = None;
        let mut depth = 0_usize;
        for (index, token) in tokens.iter().enumerate() {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => {
                    clauses.end = token.range.start;
                    break;
                }
                Token::RParen => depth -= 1,
                Token::SemiColon => break,
                _ => {}
            }
            if depth == 0 {
                if is_end(token) && !is_behind_dot(tokens, index) {
                    clauses.end = token.range.start;
                    break;
                }
                if let Some(clause) = clause(tokens, index) {
                    clauses.starts.push((token.range.start, clause));
                }
            }
            if clauses.starts.len() > 1 {
                continue;
            }
            match token.token {
                Token::Comma if depth == 0 => clauses.close_item(&mut item),
                _ if item.is_none() && clauses.items.is_empty() && is_modifier(token) => {}
                _ => item.get_or_insert(token.range.clone()).end = token.range.end,
            }
        }
        clauses.close_item(&mut item);
        clauses
    }

    fn close_item(&mut self, item: &mut Option<Range<usize>>) {
        self.items.extend(item.take());
    }

    /// The block's text, with what is nested in it.
    pub(super) fn range(&self) -> Range<usize> {
        self.starts[0].0..self.end
    }

    /// Where a condition on rows may be added: after the word WHERE, if there is one, and where its condition (or FROM)
    /// ends.
    pub(super) fn filter(&self) -> (Option<usize>, usize) {
        let last = |clause| self.starts.iter().rposition(|(_, other)| *other == clause);
        let filter = last(Clause::Where);
        let before = filter.or_else(|| last(Clause::From)).unwrap_or(0);
        let next = self.starts.get(before + 1);
        let word = filter.map(|index| self.starts[index].0 + "WHERE".len());
        (word, next.map_or(self.end, |(start, _)| *start))
    }

    /// The clause that an offset of the block is in.
    pub(super) fn at(&self, offset: usize) -> Clause {
        self.starts
            .iter()
            .rev()
            .find(|(start, _)| *start <= offset)
            .map_or(Clause::Items, |(_, clause)| *clause)
    }
}

/// The clause that begins with this token.
fn clause(tokens: &[Lexeme], index: usize) -> Option<Clause> {
    let Token::Word(word) = &tokens[index].token else {
        return None;
    };
    if word.quote_style.is_some() || is_behind_dot(tokens, index) || is_in_index_hint(tokens, index)
    {
        return None;
    }
    match word.keyword {
        Keyword::FROM => Some(Clause::From),
        Keyword::WHERE => Some(Clause::Where),
        Keyword::GROUP => Some(Clause::GroupBy),
        Keyword::HAVING => Some(Clause::Having),
        Keyword::WINDOW => Some(Clause::Window),
        Keyword::ORDER => Some(Clause::OrderBy),
        Keyword::LIMIT | Keyword::INTO | Keyword::FOR | Keyword::LOCK | Keyword::PROCEDURE => {
            Some(Clause::Tail)
        }
        _ => None,
    }
}

fn is_behind_dot(tokens: &[Lexeme], index: usize) -> bool {
    index > 0 && tokens[index - 1].token == Token::Period
}

/// `USE INDEX FOR ORDER BY (..)`: not the clauses of these names.
fn is_in_index_hint(tokens: &[Lexeme], index: usize) -> bool {
    let names_index = |back: usize| {
        index
            .checked_sub(back)
            .is_some_and(|at| tokens[at].is(Keyword::INDEX) || tokens[at].is(Keyword::KEY))
    };
    let follows_for = index > 0 && tokens[index - 1].is(Keyword::FOR) && names_index(2);
    follows_for || (tokens[index].is(Keyword::FOR) && names_index(1))
}

/// A set operator: what follows is another block.
fn is_end(token: &Lexeme) -> bool {
    use Keyword::{EXCEPT, INTERSECT, MINUS, UNION};
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none()
        && matches!(word.keyword, UNION | EXCEPT | INTERSECT | MINUS))
}

/// DISTINCT and the other words between SELECT and its items.
fn is_modifier(token: &Lexeme) -> bool {
    const MODIFIERS: [&str; 10] = [
        "ALL",
        "DISTINCT",
        "DISTINCTROW",
        "HIGH_PRIORITY",
        "STRAIGHT_JOIN",
        "SQL_SMALL_RESULT",
        "SQL_BIG_RESULT",
        "SQL_BUFFER_RESULT",
        "SQL_NO_CACHE",
        "SQL_CALC_FOUND_ROWS",
    ];
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none()
        && MODIFIERS.iter().any(|modifier| word.value.eq_ignore_ascii_case(modifier)))
}
