//! Which primary keys a predicate confines a statement to.

use sqlparser::ast::{
    BinaryOperator, DataType, Expr, TimezoneInfo, TypedString, UnaryOperator, Value, ValueWithSpan,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use crate::sql::context::{Context, bare, quoted};
use crate::sql::integer_column::IntegerColumn;
use crate::sql::plan::{KeyParameter, Scope};
use crate::sql::predicate::{Target, conjuncts};
use crate::sql::syntax;
use crate::sql::template::{Piece, Template};

/// A constant that a key column is compared with.
#[derive(Clone, Debug)]
pub(super) struct KeyValue {
    pub(super) text: Template,
    pub(super) kind: KeyValueKind,
}

/// What is known of the constant's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyValueKind {
    Integer,
    OtherNumber,
    /// `DATE '..'` and its kin.
    Temporal,
    Text,
    Bytes,
    Parameter(u16),
}

impl KeyValue {
    /// Whether it is a string that means an integer to this column.
    fn is_one_of(&self, integers: IntegerColumn) -> bool {
        match self.text.pieces.as_slice() {
            [Piece::Text(literal)] => integers.unquoted(literal).is_some(),
            _ => false,
        }
    }
}

/// The constant that an expression is, if its text can be used in another statement.
pub(super) fn key_value(context: &Context<'_>, expr: &Expr) -> Option<KeyValue> {
    match bare(expr) {
        Expr::Value(value) => constant(context, value),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => {
            let Expr::Value(
                value @ ValueWithSpan {
                    value: Value::Number(..),
                    ..
                },
            ) = bare(expr)
            else {
                return None;
            };
            let magnitude = constant(context, value)?;
            let mut text = Template::text("-");
            text.append(&magnitude.text);
            Some(KeyValue { text, ..magnitude })
        }
        _ => None,
    }
}

fn constant(context: &Context<'_>, value: &ValueWithSpan) -> Option<KeyValue> {
    let range = syntax::offsets(value.span);
    let text = context.slice(range.clone());
    match &value.value {
        Value::Number(..) => {
            let kind = match text.iter().all(u8::is_ascii_digit) {
                true => KeyValueKind::Integer,
                false => KeyValueKind::OtherNumber,
            };
            Some(KeyValue {
                text: Template::text(text),
                kind,
            })
        }
        Value::SingleQuotedString(_) | Value::DoubleQuotedString(_) => {
            let inner = text.get(1..text.len().checked_sub(1)?)?;
            let is_simple = !inner
                .iter()
                .any(|byte| matches!(byte, b'\\' | b'\'' | b'"'));
            let mut literal = vec![b'\''];
            literal.extend_from_slice(inner);
            literal.push(b'\'');
            (is_simple && !has_neighbour(context, range.start, range.end)).then(|| KeyValue {
                text: Template::text(literal),
                kind: KeyValueKind::Text,
            })
        }
        // X'..' and 0x..: bytes, and a number to a column of numbers.
        Value::HexStringLiteral(_) => {
            (!has_neighbour(context, range.start, range.end)).then(|| KeyValue {
                text: Template::text(text),
                kind: KeyValueKind::Bytes,
            })
        }
        Value::Placeholder(_) => {
            let position = context.parameter(range.start)?;
            let mut text = Template::default();
            text.push(Piece::Parameter(position));
            Some(KeyValue {
                text,
                kind: KeyValueKind::Parameter(position),
            })
        }
        _ => None,
    }
}

/// Whether the string is one of several (`'a' 'b'` is one string to the server), or has a character set before it.
fn has_neighbour(context: &Context<'_>, start: usize, end: usize) -> bool {
    let tokens = &context.syntax.tokens;
    let Some(at) = tokens
        .iter()
        .position(|token| token.range.start == start && token.range.end == end)
    else {
        return true;
    };
    let is_string = |token: &Token| {
        matches!(
            token,
            Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)
        )
    };
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    let is_introducer =
        |token: &Token| matches!(token, Token::Word(word) if word.value.starts_with('_'));
    before.is_some_and(|token| is_string(&token.token) || is_introducer(&token.token))
        || tokens
            .get(at + 1)
            .is_some_and(|token| is_string(&token.token))
}

/// The constant that an expression is: one that [`key_value`] knows, or a literal of a date or time (manual: "Date and
/// Time Literals"), which is neither a number to add nor a value as a column stores it, but can be compared.
fn compared(context: &Context<'_>, expr: &Expr) -> Option<KeyValue> {
    let Expr::TypedString(TypedString {
        data_type,
        value,
        uses_odbc_syntax: false,
    }) = bare(expr)
    else {
        return key_value(context, expr);
    };
    let name = match data_type {
        DataType::Date => "DATE ",
        DataType::Time(None, TimezoneInfo::None) => "TIME ",
        DataType::Timestamp(None, TimezoneInfo::None) => "TIMESTAMP ",
        _ => return None,
    };
    let mut text = Template::text(name);
    text.append(&constant(context, value)?.text);
    Some(KeyValue {
        text,
        kind: KeyValueKind::Temporal,
    })
}

/// What a conjunct says of a key column.
struct KeyTest {
    column: usize,
    values: Vec<KeyValue>,
    is_list: bool,
}

fn key_test(context: &Context<'_>, target: &Target<'_>, conjunct: &Expr) -> Option<KeyTest> {
    let key_column = |expr: &Expr| {
        target
            .column_of(context, expr)
            .filter(|column| target.table.primary_key.contains(column))
    };
    match conjunct {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => {
            let (column, value) = match key_column(left) {
                Some(column) => (column, right),
                None => (key_column(right)?, left),
            };
            Some(KeyTest {
                column,
                values: vec![compared(context, value)?],
                is_list: false,
            })
        }
        Expr::InList {
            expr,
            list,
            negated: false,
        } => {
            let column = key_column(expr)?;
            let values = list
                .iter()
                .map(|value| compared(context, value))
                .collect::<Option<_>>()?;
            Some(KeyTest {
                column,
                values,
                is_list: true,
            })
        }
        _ => None,
    }
}

/// The keys that a predicate confines a statement to.
pub(super) fn scope(context: &Context<'_>, target: &Target<'_>, predicate: Option<&Expr>) -> Scope {
    let tests: Vec<KeyTest> = predicate
        .filter(|_| has_familiar_precedence(context))
        .map(conjuncts)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|conjunct| key_test(context, target, conjunct))
        .collect();
    let tests_in_key_order: Option<Vec<&KeyTest>> = target
        .table
        .primary_key
        .iter()
        .map(|&column| tests.iter().find(|test| test.column == column))
        .collect();
    match tests_in_key_order {
        Some(tests) => Scope::Keys(key_predicate(target, &tests)),
        None => Scope::Table,
    }
}

/// Whether the parser groups the statement's operators as the server does: `||` is OR to MySQL and binds looser than
/// AND, as does XOR; with one of these in the text, a conjunct of the parser's need not be one of the server's.
pub(super) fn has_familiar_precedence(context: &Context<'_>) -> bool {
    !context.syntax.tokens.iter().any(|token| {
        matches!(
            token.token,
            Token::StringConcat | Token::Overlap | Token::Assignment | Token::ExclamationMark
        ) || token.is(Keyword::XOR)
    })
}

/// The predicate that stands for the one row of a table without a primary key.
pub(super) fn only_row() -> Template {
    Template::text("TRUE")
}

fn key_predicate(target: &Target<'_>, tests: &[&KeyTest]) -> Template {
    if tests.is_empty() {
        return only_row();
    }
    let mut predicate = Template::default();
    for (index, test) in tests.iter().enumerate() {
        let name = quoted(&target.table.columns[test.column].name);
        predicate.push_text(if index == 0 { "" } else { " AND " });
        predicate.push_text(name);
        predicate.push_text(if test.is_list { " IN (" } else { " = " });
        for (index, value) in test.values.iter().enumerate() {
            predicate
                .push_text(if index == 0 { "" } else { ", " })
                .append(&value.text);
        }
        predicate.push_text(if test.is_list { ")" } else { "" });
    }
    predicate
}

/// A predicate that names one whole primary key by equality and says nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WholeKey {
    /// Parameters in it.
    pub(super) parameters: Vec<KeyParameter>,
}

/// Whether a predicate is `key = constant [AND ..]` for the whole key, and at most one row can satisfy it.
pub(super) fn whole_key(
    context: &Context<'_>,
    target: &Target<'_>,
    predicate: &Expr,
) -> Option<WholeKey> {
    let mut seen = Vec::new();
    let mut parameters = Vec::new();
    for conjunct in conjuncts(predicate) {
        if is_trivially_true(conjunct) {
            continue;
        }
        let test = key_test(context, target, conjunct).filter(|test| !test.is_list)?;
        if seen.contains(&test.column) {
            return None;
        }
        seen.push(test.column);
        let integers = IntegerColumn::of(&target.table.columns[test.column].definition);
        let value = test.values.first()?;
        match (value.kind, integers) {
            (KeyValueKind::Integer, Some(_)) | (KeyValueKind::Text | KeyValueKind::Bytes, None) => {
            }
            (KeyValueKind::Text, Some(integers)) if value.is_one_of(integers) => {}
            (KeyValueKind::Parameter(parameter), integers) => parameters.push(KeyParameter {
                parameter,
                integers,
            }),
            _ => return None,
        }
    }
    (seen.len() == target.table.primary_key.len()).then_some(WholeKey { parameters })
}

/// The parameters that name the one key to which a predicate confines a statement, whatever else it asks for. `None`:
/// there may be several.
pub(super) fn one_key(
    context: &Context<'_>,
    target: &Target<'_>,
    predicate: &Expr,
) -> Option<Vec<KeyParameter>> {
    has_familiar_precedence(context).then_some(())?;
    let tests: Vec<_> = conjuncts(predicate)
        .into_iter()
        .filter_map(|conjunct| key_test(context, target, conjunct))
        .filter(|test| !test.is_list)
        .collect();
    let mut parameters = Vec::new();
    for &column in &target.table.primary_key {
        let test = tests.iter().find(|test| test.column == column)?;
        let integers = IntegerColumn::of(&target.table.columns[column].definition);
        match test.values.first()?.kind {
            KeyValueKind::Text => {}
            KeyValueKind::Integer if integers.is_some() => {}
            KeyValueKind::Bytes if integers.is_none() => {}
            KeyValueKind::Parameter(parameter) => parameters.push(KeyParameter {
                parameter,
                integers,
            }),
            _ => return None,
        }
    }
    Some(parameters)
}

fn is_trivially_true(conjunct: &Expr) -> bool {
    let number = |expr: &Expr| match bare(expr) {
        Expr::Value(ValueWithSpan {
            value: Value::Number(digits, _),
            ..
        }) => digits.parse::<u64>().ok(),
        _ => None,
    };
    match bare(conjunct) {
        Expr::Value(ValueWithSpan {
            value: Value::Boolean(truth),
            ..
        }) => *truth,
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => number(left).is_some() && number(left) == number(right),
        other => number(other).is_some_and(|number| number != 0),
    }
}
