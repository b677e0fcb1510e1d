//! UPDATEs that only add constants to counters: their shape, and what goes to the slot table instead.

mod text;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Update, Value, ValueWithSpan,
};
use sqlparser::tokenizer::Token;

use crate::catalog::{Bounds, Counter, Domain};
use crate::sql::Amount;
use crate::sql::comparison::compared_parameters;
use crate::sql::context::{Context, bare, ident};
use crate::sql::key::{self, KeyValueKind, WholeKey};
use crate::sql::plan::{Addend, AddendValue, Fold, Increment, ParameterDelta, Plan, Reason};
use crate::sql::predicate::Target;
use crate::sql::rows;
use crate::sql::template::{Filling, Piece, Template};
use crate::sql::touch::Touch;
use text::{base_text, predicate_text, rights_text, update_text, upsert_text};
pub(super) use text::{predicate_range, schema_qualifications};

/// `counter = counter + constant`.
#[derive(Clone, Debug)]
pub(super) struct Delta<'a> {
    counter: &'a Counter,
    bounds: &'a Bounds,
    subtracted: bool,
    is_zero: bool,
    parameter: Option<u16>,
    /// The constant without its sign.
    magnitude: Template,
}

impl Delta<'_> {
    /// The signed delta of the statement's counter in this position, as an operand after another: ` + 1`, ` - (?)`.
    pub(super) fn signed(&self, position: usize) -> Template {
        let mut own = Template::text(if self.subtracted { "- " } else { "+ " });
        match self.parameter {
            Some(position) => own.push(Piece::Operand(position)),
            None => own.append(&self.magnitude),
        };
        let mut text = Template::default();
        text.push(Piece::Delta { position, own });
        text
    }

    /// What it adds, if the text says so.
    fn amount(&self) -> Option<Amount> {
        let [Piece::Text(digits)] = self.magnitude.pieces.as_slice() else {
            return None;
        };
        let digits = std::str::from_utf8(digits).ok()?;
        // No more digits than the counter has, as far as they are zeros.
        let digits = match digits.split_once('.') {
            Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole,
            _ => digits,
        };
        let amount = Amount::parse(digits)?;
        Some(match self.subtracted {
            true => amount.negated(),
            false => amount,
        })
    }

    /// The counter, as a position in the table's columns.
    pub(super) fn column(&self) -> usize {
        self.counter.column
    }

    /// What limits its values.
    pub(super) fn bounds(&self) -> &Bounds {
        self.bounds
    }

    /// Whether the counter has no negative values.
    pub(super) fn is_unsigned(&self) -> bool {
        let (Domain::Integer { unsigned, .. } | Domain::Decimal { unsigned, .. }) =
            self.counter.domain;
        unsigned
    }

    /// What it adds; `None` if that is zero, or not an exact number.
    pub(super) fn addend(&self) -> Option<Addend> {
        let slot = Amount::parse(&self.bounds.slot)?;
        let scale = match self.counter.domain {
            Domain::Integer { .. } => 0,
            Domain::Decimal { scale, .. } => scale,
        };
        Some(Addend {
            value: match self.parameter {
                Some(parameter) => AddendValue::Parameter {
                    parameter,
                    negated: self.subtracted,
                },
                None => AddendValue::Amount(self.amount().filter(|amount| !amount.is_zero())?),
            },
            scale,
            most: slot,
        })
    }

    /// What no slot can take, whatever it holds: the slot table's CHECK refuses it.
    fn refused(&self) -> String {
        format!("2 * {} + 1", self.bounds.slot)
    }
}

/// The column that an assignment sets.
pub(super) fn assigned_column(
    context: &Context<'_>,
    target: &Target<'_>,
    assignment: &Assignment,
) -> Option<usize> {
    let AssignmentTarget::ColumnName(name) = &assignment.target else {
        return None;
    };
    let path: Vec<Ident> = name
        .0
        .iter()
        .map(|part| ident(part).cloned())
        .collect::<Option<_>>()?;
    target.column(context, &path)
}

/// Reads an assignment to a counter as an increment, or says why it is none.
pub(super) fn delta<'a>(
    context: &Context<'_>,
    target: &Target<'a>,
    counter: &'a Counter,
    value: &Expr,
) -> Result<Delta<'a>, Reason> {
    let Expr::BinaryOp { left, op, right } = bare(value) else {
        return Err(Reason::AbsoluteSet);
    };
    let is_counter = |expr: &Expr| is_counter_itself(context, target, counter, expr);
    let (constant, minus) = match op {
        BinaryOperator::Plus if is_counter(left) => (right, false),
        BinaryOperator::Plus if is_counter(right) => (left, false),
        BinaryOperator::Minus if is_counter(left) => (right, true),
        _ => return Err(Reason::AbsoluteSet),
    };
    let (magnitude, negative) = match bare(constant) {
        Expr::UnaryOp {
            op: sqlparser::ast::UnaryOperator::Minus,
            expr,
        } => (bare(expr), true),
        other => (other, false),
    };
    let Expr::Value(value) = magnitude else {
        return Err(Reason::AbsoluteSet);
    };
    let bounds = counter.bounds.as_ref().ok_or(Reason::NoRoom)?;
    let constant = key::key_value(context, magnitude).ok_or(Reason::InexactDelta)?;
    let digits = match &value.value {
        Value::Number(digits, _) | Value::SingleQuotedString(digits) => digits.as_str(),
        _ => "",
    };
    let is_zero = !digits.is_empty() && digits.bytes().all(|digit| matches!(digit, b'0' | b'.'));
    let delta = Delta {
        counter,
        bounds,
        subtracted: minus != negative,
        is_zero,
        parameter: match constant.kind {
            KeyValueKind::Parameter(position) => Some(position),
            _ => None,
        },
        magnitude: match constant.kind {
            KeyValueKind::Text => Template::text(digits),
            _ => constant.text,
        },
    };
    match &value.value {
        // `- ?` after the operator's own sign: the parameter's value decides, and is negated only once.
        Value::Placeholder(_) if negative => Err(Reason::InexactDelta),
        Value::Placeholder(_) => Ok(delta),
        Value::Number(digits, false) if is_exact(digits, counter.domain) => Ok(delta),
        Value::SingleQuotedString(digits) if is_exact_text(digits, counter.domain) => Ok(delta),
        _ => Err(Reason::InexactDelta),
    }
}

/// Whether an expression is the counter, or `COALESCE(counter, 0)`.
fn is_counter_itself(
    context: &Context<'_>,
    target: &Target<'_>,
    counter: &Counter,
    expr: &Expr,
) -> bool {
    let is_column = |expr: &Expr| target.column_of(context, expr) == Some(counter.column);
    match bare(expr) {
        Expr::Function(function) => match coalesced(function) {
            Some((column, default)) => is_column(column) && is_zero(default),
            None => false,
        },
        other => is_column(other),
    }
}

/// The two arguments of COALESCE or IFNULL.
fn coalesced(function: &Function) -> Option<(&Expr, &Expr)> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let name = &ident(name)?.value;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(column)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(default)),
    ] = list.args.as_slice()
    else {
        return None;
    };
    let is_plain =
        list.clauses.is_empty() && list.duplicate_treatment.is_none() && function.over.is_none();
    let is_named = name.eq_ignore_ascii_case("COALESCE") || name.eq_ignore_ascii_case("IFNULL");
    (is_plain && is_named).then_some((column, default))
}

fn is_zero(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) if digits == "0")
}

/// Whether a number's digits are an exact value of the counter's type and scale. `1234.000000` is one of any type: the
/// server adds it as a DECIMAL, and has nothing to round.
fn is_exact(digits: &str, domain: Domain) -> bool {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
    let scale = match domain {
        Domain::Integer { .. } => 0,
        Domain::Decimal { scale, .. } => usize::from(scale),
    };
    let fits = fraction.trim_end_matches('0').len() <= scale;
    are_digits(whole) && are_digits(fraction) && fits
}

/// Whether a string of digits, which the server adds as a double, adds exactly what it says.
fn is_exact_text(digits: &str, domain: Domain) -> bool {
    let is_whole = !digits.contains('.');
    domain.adds_doubles() && is_whole && digits.len() <= 15 && is_exact(digits, domain)
}

/// Whether a number is larger than what a slot may hold.
fn exceeds(digits: &str, slot: &str) -> bool {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let limit = slot
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_start_matches('0');
    let has_fraction = fraction.bytes().any(|digit| digit != b'0');
    match whole.len().cmp(&limit.len()).then_with(|| whole.cmp(limit)) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => has_fraction,
        std::cmp::Ordering::Less => false,
    }
}

/// The plan of an UPDATE whose every assignment is an increment.
pub(super) fn plan(
    context: &Context<'_>,
    target: &Target<'_>,
    update: &Update,
    deltas: &[Delta<'_>],
    touches: &[Touch],
) -> Plan {
    let own = rows::fold_of(context, target, update.selection.as_ref());
    let fold = |reason| Fold::new(vec![own.clone()], reason);
    if deltas.iter().all(|delta| delta.is_zero) {
        // Nothing is added, but a time may be set that is before what the slots hold.
        return match touches.iter().all(Touch::is_now) {
            true => Plan::Forward(Reason::ZeroDelta),
            false => Plan::Fold(Box::new(fold(Reason::TouchColumn))),
        };
    }
    let is_keyless = target.table.is_keyless();
    let whole_key = match &update.selection {
        Some(predicate) => key::whole_key(context, target, predicate),
        None => is_keyless.then(WholeKey::default),
    };
    if let Some(reason) = obstacle(
        context,
        target,
        whole_key.as_ref(),
        deltas,
        update.limit.is_some(),
    ) {
        return Plan::Fold(Box::new(fold(reason)));
    }
    let Some(predicate) = predicate_text(context, target, update) else {
        return Plan::Fold(Box::new(fold(Reason::Unresolved)));
    };
    let predicate = predicate.or_else(|| is_keyless.then(key::only_row));
    let compared_parameters = match &update.selection {
        Some(predicate) => compared_parameters(context, target, predicate),
        None => Some(Vec::new()),
    };
    let Some(compared_parameters) = compared_parameters else {
        return Plan::Fold(Box::new(fold(Reason::Unresolved)));
    };
    let key_parameters = whole_key
        .as_ref()
        .map_or_else(Vec::new, |key| key.parameters.clone());
    let amounts: Vec<_> = deltas.iter().map(Delta::amount).collect();
    let is_summable = |(delta, amount): (&Delta<'_>, &Option<Amount>)| {
        amount.is_some() || delta.parameter.is_some()
    };
    let may_combine = whole_key.is_some()
        && touches.iter().all(Touch::is_now)
        && deltas.iter().zip(&amounts).all(is_summable);
    let has_slots = target.table.slots > 0;
    let named = whole_key.as_ref().and(predicate.as_ref());
    let is_limited = update.limit.is_some();
    let rights = rights_text(context, target, deltas, touches, update.selection.as_ref());
    let update = named.map(|predicate| match has_slots {
        true => update_text(target, deltas, touches, predicate),
        false => base_text(target, deltas, touches, predicate),
    });
    let counters = || deltas.iter().map(|delta| delta.counter.column);
    let increment = Arc::new(Increment {
        amounts,
        may_combine,
        times: match may_combine {
            true => times(target, touches),
            false => Vec::new(),
        },
        table: target.table.clone(),
        update,
        key_parameters,
        compared_parameters,
        one_key_only: is_limited,
        upsert: upsert_text(
            target,
            deltas,
            touches,
            predicate.as_ref(),
            is_named_as_slots(context, target),
        ),
        guarded: counters()
            .chain(touches.iter().map(|touch| touch.column))
            .collect(),
        counters: counters().collect(),
        parameter_deltas: deltas
            .iter()
            .filter_map(|delta| {
                Some(ParameterDelta {
                    parameter: delta.parameter?,
                    column: delta.counter.column,
                    negated: delta.subtracted,
                })
            })
            .collect(),
        shape: shape(context),
        rights: rights.into_bytes().into(),
        exact: fold(Reason::Fallback),
    });
    match (has_slots, may_combine) {
        (true, _) => Plan::Increment(increment),
        (false, true) => Plan::Combine(increment),
        (false, false) => Plan::Forward(Reason::OnBase),
    }
}

/// What the touch columns are set to: the statement's own present, in one precision or another.
fn times(target: &Target<'_>, touches: &[Touch]) -> Vec<u8> {
    let mut text = Vec::new();
    for touch in touches {
        let assignment = touch.assignment(target.table);
        assignment.render(&Filling::default(), &mut text);
        text.push(b',');
    }
    text
}

/// A hash of the statement without its constants, and of the schema that its names are in.
pub(super) fn shape(context: &Context<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    context.variables.schema.hash(&mut hasher);
    for token in &context.syntax.tokens {
        match &token.token {
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::Placeholder(_) => "?".hash(&mut hasher),
            _ => context
                .slice(token.range.clone())
                .to_ascii_lowercase()
                .hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// What keeps increments of the right shape from being slotted.
fn obstacle(
    context: &Context<'_>,
    target: &Target<'_>,
    whole_key: Option<&WholeKey>,
    deltas: &[Delta<'_>],
    is_limited: bool,
) -> Option<Reason> {
    let lowers = |delta: &Delta<'_>| delta.subtracted && delta.counter.domain.is_unsigned();
    let too_large = |delta: &Delta<'_>| match delta.magnitude.pieces.as_slice() {
        [Piece::Text(digits)] => exceeds(&String::from_utf8_lossy(digits), &delta.bounds.slot),
        _ => false,
    };
    if deltas.iter().any(lowers) {
        Some(Reason::UnsignedDecrement)
    } else if deltas.iter().any(too_large) {
        Some(Reason::NoRoom)
    } else if context.variables.safe_updates && (whole_key.is_none() || target.table.is_keyless()) {
        // The server may refuse the original with 1175; its own words are then the answer.
        Some(Reason::Unresolved)
    } else if (is_named_as_slots(context, target)
        && context.is_same_table_name(&target.table.schema, &target.table.slot_schema))
        || (is_limited && whole_key.is_none())
    {
        Some(Reason::Unresolved)
    } else {
        None
    }
}

/// Whether the statement has the name of the slot table for its own, in whichever schema.
fn is_named_as_slots(context: &Context<'_>, target: &Target<'_>) -> bool {
    context.is_same_table_name(&target.exposed, &target.table.slot_name)
}

#[cfg(test)]
mod tests;
