//! Writes of one row of a table without slots, and how several of the same are written as one.

use std::sync::Arc;

use super::KeyParameter;
use crate::catalog::HotTable;
use crate::sql::Amount;
use crate::sql::template::{Filling, Template};

/// A write that concerns one row of a table without slots, and depends on nothing but that row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneRow {
    /// The table.
    pub table: Arc<HotTable>,
    /// The key, as a predicate. Writes with the same one wait for each other.
    pub key: Template,
    /// Parameters in the key.
    pub key_parameters: Vec<KeyParameter>,
    /// The statement itself, with its parameters to be filled in.
    pub text: Template,
    /// It contains LAST_INSERT_ID(..), which sets what LAST_INSERT_ID() returns in the session that runs it.
    pub sets_last_insert_id: bool,
    /// The same for all texts that differ in their constants only.
    pub shape: u64,
    /// How several of the same are written as one, if they can be.
    pub repeat: Option<Repeat>,
}

/// How several of the same write are written as one, if the row is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// An UPDATE that does what they do one after another; where it finds no row, they may do something else. Its sums
    /// are what they add to each counter, and after those what all but the last of them add.
    pub text: Template,
    /// What one adds to each counter.
    pub amounts: Vec<Addend>,
    /// Parameters that must be exact numbers.
    pub numbers: Vec<u16>,
    /// How each is answered.
    pub answered: RepeatedAs,
}

/// How each of the writes is answered that were written as one UPDATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatedAs {
    /// As that UPDATE.
    Update,
    /// As an upsert that has found its row.
    Upsert,
    /// As that UPDATE, with a value of its own for LAST_INSERT_ID(): of the counter in this position.
    Sequence(usize),
}

/// What is added to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addend {
    /// What is added.
    pub value: AddendValue,
    /// The counter's digits after the decimal point.
    pub scale: u8,
    /// The most that may be added at once.
    pub most: Amount,
}

/// What is added to a counter, or where that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddendValue {
    /// This.
    Amount(Amount),
    /// A parameter.
    Parameter {
        /// Its position, from 0.
        parameter: u16,
        /// It is subtracted.
        negated: bool,
    },
}

impl Repeat {
    /// What one adds to each counter. `None` if the parameters do not say it exactly, or if it is nothing.
    pub fn amounts(&self, parameters: &[Vec<u8>]) -> Option<Vec<Amount>> {
        let number = |parameter: u16| {
            let literal = parameters.get(usize::from(parameter))?;
            Amount::parse(std::str::from_utf8(literal).ok()?)
        };
        for parameter in &self.numbers {
            number(*parameter)?;
        }
        let amounts = self.amounts.iter().map(|addend| {
            let amount = match addend.value {
                AddendValue::Amount(amount) => amount,
                AddendValue::Parameter { parameter, negated } => {
                    let amount = number(parameter)?;
                    let amount = if negated { amount.negated() } else { amount };
                    Some(amount).filter(|amount| !amount.is_zero())?
                }
            };
            Some(amount).filter(|amount| amount.scale() <= addend.scale)
        });
        amounts.collect()
    }

    /// The UPDATE for this many. `None` if that is too much at once.
    pub fn render(
        &self,
        parameters: &[Vec<u8>],
        amounts: &[Amount],
        count: u32,
    ) -> Option<Vec<u8>> {
        let of_all = amounts.iter().zip(&self.amounts).map(|(amount, addend)| {
            let sum = amount.times(count)?;
            sum.is_within(addend.most).then_some(sum)
        });
        let but_last = amounts
            .iter()
            .map(|amount| amount.times(count.checked_sub(1)?));
        let sums: Vec<_> = of_all.chain(but_last).collect::<Option<_>>()?;
        let filling = Filling {
            parameters,
            sums: &sums,
            ..Filling::default()
        };
        let mut text = Vec::new();
        self.text.render(&filling, &mut text);
        Some(text)
    }
}
