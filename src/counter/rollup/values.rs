//! What rows hold, as a roll-up reads it, and what their values come to together.

use mysql_async::Row;

use crate::catalog::{Counter, HotTable};
use crate::counter::control::texts;
use crate::counter::fold::OpenRow;
use crate::counter::{Key, KeyForm};
use crate::sql::Amount;

/// A base row (by its key) or a slot row, with its values.
#[derive(Clone, Debug)]
pub(super) struct Values<T> {
    pub(super) row: T,
    /// Of each counter. `None`: NULL, or more digits than are counted with here.
    pub(super) counters: Vec<Option<Amount>>,
    /// Of each touch column, as text of one form.
    pub(super) touches: Vec<Option<String>>,
}

/// What is moved from slot rows of one key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sums {
    /// What each counter gets.
    pub(super) amounts: Vec<Amount>,
    /// The latest time of each touch column, if any.
    pub(super) touches: Vec<Option<String>>,
}

impl Sums {
    /// Of these slot rows. `None` where they cannot be counted with.
    pub(super) fn of(table: &HotTable, slots: &[&Values<OpenRow>]) -> Option<Self> {
        let amounts = (0..table.counters.len()).map(|counter| {
            slots.iter().try_fold(Amount::from(0), |sum, slot| {
                sum.plus(slot.counters.get(counter).copied()??)
            })
        });
        let touches = (0..table.touches.len()).map(|touch| {
            let times = slots
                .iter()
                .filter_map(|slot| slot.touches.get(touch)?.clone());
            times.max()
        });
        Some(Self {
            amounts: amounts.collect::<Option<_>>()?,
            touches: touches.collect(),
        })
    }

    /// Whether a base row with this added leaves open slots the room that they count on.
    pub(super) fn leaves_room(&self, table: &HotTable, base: &Values<Key>) -> bool {
        let mut counters = table.counters.iter().zip(&base.counters).zip(&self.amounts);
        counters.all(|((counter, value), amount)| {
            let sum = value.and_then(|value| value.plus(*amount));
            // What is not slotted adds nothing, whatever it is.
            amount.is_zero() || sum.is_some_and(|sum| is_within(counter, sum))
        })
    }
}

fn is_within(counter: &Counter, sum: Amount) -> bool {
    let Some(bounds) = &counter.bounds else {
        return false;
    };
    let (low, high) = (
        Amount::parse(&bounds.base_low),
        Amount::parse(&bounds.base_high),
    );
    let is_not_less = |greater: Amount, less: Amount| {
        greater
            .plus(less.negated())
            .is_some_and(|difference| !difference.is_negative())
    };
    low.is_some_and(|low| is_not_less(sum, low)) && high.is_some_and(|high| is_not_less(high, sum))
}

impl Values<OpenRow> {
    /// Reads a slot row.
    pub(super) fn slot(table: &HotTable, form: &KeyForm, row: Row) -> Option<Self> {
        let values = texts(row);
        let slot = values.get(form.width())?.as_deref()?;
        let row = OpenRow {
            key: form.read(&values)?,
            slot: std::str::from_utf8(slot).ok()?.parse().ok()?,
        };
        Self::new(table, row, values.get(form.width() + 1..)?)
    }
}

impl Values<Key> {
    /// Reads a base row.
    pub(super) fn base(table: &HotTable, form: &KeyForm, row: Row) -> Option<Self> {
        let values = texts(row);
        Self::new(table, form.read(&values)?, values.get(form.width()..)?)
    }
}

impl<T> Values<T> {
    fn new(table: &HotTable, row: T, values: &[Option<Vec<u8>>]) -> Option<Self> {
        let (counters, touches) = values.split_at_checked(table.counters.len())?;
        let text = |value: &Vec<u8>| std::str::from_utf8(value).ok().map(str::to_owned);
        let time = |value: &Option<Vec<u8>>| match value {
            None => Some(None),
            // It is put between quotes.
            Some(time) => text(time).filter(|time| is_time(time)).map(Some),
        };
        let amount = |value: &Option<Vec<u8>>| Amount::parse(&text(value.as_ref()?)?);
        Some(Self {
            row,
            counters: counters.iter().map(amount).collect(),
            touches: touches.iter().map(time).collect::<Option<_>>()?,
        })
    }
}

fn is_time(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || b"-.: ".contains(&byte))
}
