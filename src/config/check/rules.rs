//! The rules, each by itself and all together.

use std::collections::HashMap;
use std::time::Duration;

use serde_saphyr::Spanned;

use super::{Check, Text};
use crate::config::environment::Environment;
use crate::config::error::{Error, Problem};
use crate::config::limits::{Range, duration, number};
use crate::config::raw::{RawRule, Scalar};
use crate::config::{Mode, Rest, Rule, SlotTable, TableName, names};

const ROLLUP: Range = Range {
    low: (Duration::from_millis(10), "10ms"),
    high: (Duration::from_secs(86_400), "24h"),
};

/// All rules, then what must hold between them.
pub(super) fn rules(
    raw: Option<Vec<Spanned<RawRule>>>,
    environment: Environment<'_>,
    pattern: &SlotTable,
) -> Result<Vec<Rule>, Error> {
    let nowhere = Check {
        environment,
        rule: None,
    };
    let remedy = "list at least one table with its columns";
    let raw = raw.ok_or_else(|| nowhere.missing("counters", remedy))?;
    if raw.is_empty() {
        return Err(nowhere.error("counters", 0, Problem::Empty { remedy }));
    }
    let rules: Vec<Rule> = raw
        .into_iter()
        .enumerate()
        .map(|(index, raw)| rule(index, raw, environment, pattern))
        .collect::<Result<_, _>>()?;
    apart(&rules)?;
    Ok(rules)
}

/// No table twice, and no slot table that is something else already.
fn apart(rules: &[Rule]) -> Result<(), Error> {
    let mut hot: HashMap<&TableName, usize> = HashMap::new();
    for rule in rules {
        if let Some(first) = hot.insert(&rule.table, rule.index) {
            return Err(Error {
                place: Box::new(rule.place("table")),
                problem: Problem::DuplicateRule { first },
            });
        }
    }
    for (position, rule) in rules.iter().enumerate() {
        let overlaps = |other: &&Rule| {
            let both = rule.adopts.as_ref().zip(other.adopts.as_ref());
            both.is_some_and(|(one, another)| one.overlaps(another))
        };
        if let Some(first) = rules[..position].iter().find(overlaps) {
            return Err(Error {
                place: Box::new(rule.place("adopts")),
                problem: Problem::AdoptedTwice { first: first.index },
            });
        }
    }
    let mut slots: HashMap<&TableName, usize> = HashMap::new();
    for rule in rules {
        let other = match (
            hot.get(&rule.slot_table),
            slots.insert(&rule.slot_table, rule.index),
        ) {
            (Some(index), _) => format!("the hot table of counters[{index}]"),
            (None, Some(index)) => format!("the slot table of counters[{index}]"),
            (None, None) => continue,
        };
        return Err(Error {
            place: Box::new(rule.place("slot_table")),
            problem: Problem::SlotTableTaken {
                name: rule.slot_table.to_string(),
                other,
            },
        });
    }
    Ok(())
}

fn rule(
    index: usize,
    raw: Spanned<RawRule>,
    environment: Environment<'_>,
    pattern: &SlotTable,
) -> Result<Rule, Error> {
    let line = raw.referenced.line();
    let raw = raw.value;
    let mut check = Check {
        environment,
        rule: Some((index, String::new(), line)),
    };
    let table = check
        .field("table", raw.table, names::table)?
        .ok_or_else(|| check.missing("table", "name the hot table, as in table: shop.posts"))?;
    check.rule = Some((index, table.to_string(), line));
    let remedy = "name the counter columns, as in columns: [views, likes]";
    let columns = check
        .columns("columns", raw.columns)?
        .ok_or_else(|| check.missing("columns", remedy))?;
    if columns.is_empty() {
        return Err(check.error("columns", line, Problem::Empty { remedy }));
    }
    let touch = check.columns("touch", raw.touch)?.unwrap_or_default();
    if let Some(both) = touch.iter().find(|name| contains(&columns, name)) {
        let value = format!("`{both}`");
        return Err(check.error("touch", line, Problem::TouchIsCounter { value }));
    }
    let own = check.field("slot_table", raw.slot_table, names::slot_table)?;
    let slot_table = own
        .as_ref()
        .unwrap_or(pattern)
        .of(&table)
        .map_err(|problem| check.error("slot_table", line, problem))?;
    let adopts = check.adopted((raw.adopts, raw.record_type), &columns)?;
    let slots = |text: &Text| {
        let slots = number(text, (0, 256), "the default, 64, suits most")?;
        Ok(u16::try_from(slots).expect("256 at most"))
    };
    Ok(Rule {
        index,
        line,
        slot_table,
        columns,
        touch,
        slots: check.field("slots", raw.slots, slots)?.unwrap_or(64),
        mode: check.field("mode", raw.mode, mode)?.unwrap_or_default(),
        rollup: check
            .field("rollup", raw.rollup, |text| duration(text, &ROLLUP))?
            .unwrap_or(Duration::from_secs(1)),
        rest: check.field("rest", raw.rest, rest)?.unwrap_or_default(),
        adopts,
        table,
    })
}

fn contains(names: &[String], name: &str) -> bool {
    let name = name.to_lowercase();
    names.iter().any(|other| other.to_lowercase() == name)
}

fn mode(text: &Text) -> Result<Mode, Problem> {
    match text.value.as_str() {
        "off" => Ok(Mode::Off),
        "observe" => Ok(Mode::Observe),
        "enforce" => Ok(Mode::Enforce),
        _ => Err(Problem::Choice {
            value: text.to_string(),
            choices: "off, observe or enforce",
        }),
    }
}

fn rest(text: &Text) -> Result<Rest, Problem> {
    match text.value.as_str() {
        "auto" => Ok(Rest::Auto),
        "never" => Ok(Rest::Never),
        _ => Err(Problem::Choice {
            value: text.to_string(),
            choices: "auto or never",
        }),
    }
}

impl Check<'_> {
    fn columns(
        &self,
        field: &str,
        list: Option<Vec<Scalar>>,
    ) -> Result<Option<Vec<String>>, Error> {
        let Some(list) = list else {
            return Ok(None);
        };
        let mut columns: Vec<String> = Vec::with_capacity(list.len());
        for scalar in list {
            let column = self.field(field, Some(scalar), |text| {
                let column = names::column(text)?;
                match contains(&columns, &column) {
                    true => Err(Problem::DuplicateColumn {
                        value: text.to_string(),
                    }),
                    false => Ok(column),
                }
            })?;
            columns.extend(column);
        }
        Ok(Some(columns))
    }
}
