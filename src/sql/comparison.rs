//! Comparisons that mean the same in every statement, and those that do not.
//!
//! Where an index can be used, a server converts the constant to the column's type, and the outcome depends on the
//! statement. MariaDB's UPDATE takes `day = '2024-01-01x'` for false; its INSERT .. SELECT takes it for the day, or
//! refuses it in strict mode, and finds no BIT by a string. So a predicate of an UPDATE may be used in an INSERT ..
//! SELECT only if nothing is cut off or rounded.

use sqlparser::ast::{BinaryOperator, Expr};
use time::macros::format_description;
use time::{Date, Time};

use crate::catalog::Column;
use crate::sql::context::{Context, bare};
use crate::sql::key::{KeyValueKind, key_value};
use crate::sql::plan::ComparedParameter;
use crate::sql::predicate::Target;
use crate::sql::template::Piece;

/// What a column makes of a constant that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    Date,
    DateTime,
    Time,
    /// A TIMESTAMP depends on the time zone too, in which there are times that do not exist.
    Timestamp,
    Year,
    Bit,
}

impl Conversion {
    /// `None`: any constant is compared alike.
    fn of(column: &Column) -> Option<Self> {
        let definition = &column.definition;
        let end = definition
            .find(|letter: char| !letter.is_ascii_alphabetic())
            .unwrap_or(definition.len());
        Some(match definition[..end].to_ascii_lowercase().as_str() {
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "time" => Self::Time,
            "timestamp" => Self::Timestamp,
            "year" => Self::Year,
            "bit" => Self::Bit,
            _ => return None,
        })
    }
}

/// Whether an UPDATE compares a column with this SQL literal as any other statement does. `false` is always right.
pub fn compares_alike(column: &Column, literal: &[u8]) -> bool {
    let Some(conversion) = Conversion::of(column) else {
        return true;
    };
    let Ok(literal) = std::str::from_utf8(literal) else {
        return false;
    };
    let within = |prefix: &str| literal.strip_prefix(prefix)?.strip_suffix('\'');
    let (text, typed, date) = (within("'"), within("TIMESTAMP'"), within("DATE'"));
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match conversion {
        Conversion::Date => match typed {
            Some(moment) => is_midnight(moment),
            None => date.or(text).is_some_and(is_date),
        },
        Conversion::DateTime => typed.or(text).is_some_and(is_moment),
        Conversion::Time => text.is_some_and(is_time),
        Conversion::Timestamp => false,
        Conversion::Year => {
            are_digits(literal) || text.is_some_and(|year| year.len() == 4 && are_digits(year))
        }
        Conversion::Bit => are_digits(literal),
    }
}

/// `YYYY-MM-DD`, a day of the calendar.
fn is_date(text: &str) -> bool {
    let date = Date::parse(text, format_description!("[year]-[month]-[day]"));
    // A sign is no part of it.
    text.len() == "YYYY-MM-DD".len() && date.is_ok_and(|date| date.year() > 0)
}

/// `hh:mm:ss`, with up to six digits of a fraction, a time of day.
fn is_time(text: &str) -> bool {
    let (time, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_fraction =
        (1..=6).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_fraction && Time::parse(time, format_description!("[hour]:[minute]:[second]")).is_ok()
}

/// A date, or a date and a time after a space.
fn is_moment(text: &str) -> bool {
    match text.split_once(' ') {
        Some((date, time)) => is_date(date) && is_time(time),
        None => is_date(text),
    }
}

/// A date with a time that is nothing but zeros.
fn is_midnight(text: &str) -> bool {
    let Some((date, time)) = text.split_once(' ') else {
        return false;
    };
    let zeros = time.bytes().all(|byte| matches!(byte, b'0' | b':' | b'.'));
    is_date(date) && is_time(time) && zeros
}

/// The parameters that a plain predicate compares with columns that convert them: each must compare alike for the
/// predicate to mean the same elsewhere. `None`: it compares such a column with what does not, or may not.
pub(super) fn compared_parameters(
    context: &Context<'_>,
    target: &Target<'_>,
    predicate: &Expr,
) -> Option<Vec<ComparedParameter>> {
    let converting = |expr: &&Expr| {
        let column = target.column_of(context, expr)?;
        Conversion::of(&target.table.columns[column]).map(|_| column)
    };
    let mut parameters = Vec::new();
    let mut rest = vec![predicate];
    while let Some(expr) = rest.pop() {
        let operands: Vec<&Expr> = match expr {
            Expr::Nested(inner)
            | Expr::UnaryOp { expr: inner, .. }
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner) => {
                rest.push(inner);
                continue;
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or,
                right,
            } => {
                rest.extend([&**left, &**right]);
                continue;
            }
            Expr::BinaryOp { left, right, .. } => vec![left, right],
            Expr::InList { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
            Expr::Between {
                expr, low, high, ..
            } => vec![expr, low, high],
            // As strings, or not with constants at all.
            _ => continue,
        };
        let Some(column) = operands.iter().find_map(converting) else {
            rest.extend(operands);
            continue;
        };
        for operand in operands {
            match bare(operand) {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {}
                constant => {
                    let constant = key_value(context, constant)?;
                    match (constant.kind, constant.text.pieces.as_slice()) {
                        (KeyValueKind::Parameter(parameter), _) => {
                            parameters.push(ComparedParameter { parameter, column });
                        }
                        (_, [Piece::Text(literal)])
                            if compares_alike(&target.table.columns[column], literal) => {}
                        _ => return None,
                    }
                }
            }
        }
    }
    Some(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_comparison_cuts_off_or_rounds_is_not_compared_alike() {
        let cases = [
            ("date", "'2024-02-29'", true),
            ("date", "'2023-02-29'", false),
            ("date", "'2024-12-31'", true),
            ("date", "'2024-01-01x'", false),
            ("date", "'2024-01-01 '", false),
            ("date", "'2024-1-1'", false),
            ("date", "'-2024-01-01'", false),
            ("date", "'+2024-01-01'", false),
            ("date", "'0000-00-00'", false),
            ("date", "'0000-01-01'", false),
            ("date", "20240101", false),
            ("date", "DATE'2024-01-01'", true),
            ("date", "DATE'2024-01-01x'", false),
            ("datetime", "DATE'2024-01-01'", false),
            ("date", "TIMESTAMP'2024-01-01 00:00:00.000000'", true),
            ("date", "TIMESTAMP'2024-01-01 10:00:00.000000'", false),
            ("date", "NULL", false),
            ("datetime(3)", "'2024-01-01 10:00:00'", true),
            ("datetime", "'2024-01-01'", true),
            ("datetime", "'2024-01-01 10:00:00.123456'", true),
            ("datetime", "'2024-01-01 10:00:00.1234567'", false),
            ("datetime", "'2024-01-01 10:00:00+00:00'", false),
            ("datetime", "'2024-01-01 24:00:00'", false),
            ("datetime", "TIMESTAMP'2024-01-01 10:00:00.500000'", true),
            ("timestamp", "'2024-01-01 10:00:00'", false),
            ("time(6)", "'10:00:00.5'", true),
            ("time", "'10:00:00x'", false),
            ("time", "'110:00:00'", false),
            ("year", "2024", true),
            ("year(4)", "'2024'", true),
            ("year", "'abc'", false),
            ("bit(4)", "1", true),
            ("bit(4)", "'1'", false),
            ("int", "'1x'", true),
            ("decimal(8,2)", "'abc'", true),
            ("varchar(10) CHARACTER SET utf8mb4", "'2024-01-01x'", true),
        ];
        for (definition, literal, expected) in cases {
            let column = Column {
                definition: definition.to_owned(),
                ..Column::default()
            };
            let alike = compares_alike(&column, literal.as_bytes());
            assert_eq!(alike, expected, "{literal} with {definition}");
        }
    }
}
