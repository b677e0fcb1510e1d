//! Whether a table can be hot: from what the upstream says of it to a [`HotTable`], pure.

mod columns;

use std::sync::Arc;

use super::error::{Error, Problem};
use super::letter_case::is_same;
use super::read::{ColumnFacts, Facts, ForeignKeyFacts};
use super::{Column, HotTable};
use crate::config::{Rest, Rule, did_you_mean};
use columns::{counter, masked, touches};

pub(crate) use columns::is_checked;

/// Turns `facts` into the hot table of `rule`.
///
/// # Errors
///
/// The first reason why the table or one of its columns cannot be hot.
pub(super) fn hot_table(rule: &Rule, facts: &Facts) -> Result<HotTable, Error> {
    examine(rule, facts).map_err(|mut errors| errors.swap_remove(0))
}

/// [`hot_table`], but with all reasons at once.
///
/// # Errors
///
/// Every reason why the table or its columns cannot be hot; at least one.
pub(super) fn examine(rule: &Rule, facts: &Facts) -> Result<HotTable, Vec<Error>> {
    let mut reasons = Reasons {
        rule,
        errors: Vec::new(),
    };
    if let Err(problem) = plain_table(facts) {
        reasons.add("table", [problem]);
        return Err(reasons.errors); // Of a view, nothing else would make sense.
    }
    let beside = engine(facts).into_iter().chain(triggers(facts));
    reasons.add("table", beside.chain(masked(facts)));
    let primary_key = reasons.unless("table", primary_key(rule, facts));
    let counters = rule
        .columns
        .iter()
        .filter_map(|name| reasons.unless("columns", counter(facts, name)))
        .collect();
    let touches = reasons.unless("touch", touches(facts, &rule.touch));
    if let (Some(_), Some(key)) = (&rule.adopts, &primary_key)
        && !is_one_integer(facts, key)
    {
        let table = full_name(facts);
        reasons.add("adopts", [Problem::AdoptedKey { table }]);
    }
    let (Some(primary_key), Some(touches), true) =
        (primary_key, touches, reasons.errors.is_empty())
    else {
        return Err(reasons.errors);
    };
    Ok(HotTable {
        schema: facts.schema.clone(),
        name: facts.name.clone(),
        slot_schema: rule.slot_table.schema.clone(),
        slot_name: rule.slot_table.name.clone(),
        columns: facts.columns.iter().map(column).collect(),
        primary_key,
        counters,
        touches,
        unique_keys: unique_keys(facts),
        changed_by: facts.changed_by.clone(),
        cascades: facts.cascades.clone(),
        has_triggers: has_triggers(facts),
        slots: rule.slots,
        rollup: rule.rollup,
        may_rest: rule.slots > 0 && rule.rest == Rest::Auto,
        is_gated: false,
        adopted: rule.adopts.clone().map(Arc::new),
    })
}

/// Whether a primary key is one integer column.
fn is_one_integer(facts: &Facts, key: &[usize]) -> bool {
    let [position] = key else {
        return false;
    };
    const TYPES: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];
    let data_type = facts.columns[*position].data_type.to_lowercase();
    TYPES.contains(&data_type.as_str())
}

/// Why a table cannot be hot, as far as it has been looked at.
struct Reasons<'a> {
    rule: &'a Rule,
    errors: Vec<Error>,
}

impl Reasons<'_> {
    fn add(&mut self, field: &str, problems: impl IntoIterator<Item = Problem>) {
        self.errors
            .extend(problems.into_iter().map(|problem| Error {
                place: Box::new(self.rule.place(field)),
                problem,
            }));
    }

    /// What was found; its problems are added if it was not.
    fn unless<T>(&mut self, field: &str, found: Result<T, Vec<Problem>>) -> Option<T> {
        found.map_err(|problems| self.add(field, problems)).ok()
    }
}

/// `first`, unless it or one of the others has a problem.
fn all<T>(
    first: Result<T, Problem>,
    others: impl IntoIterator<Item = Result<(), Problem>>,
) -> Result<T, Vec<Problem>> {
    let mut problems: Vec<Problem> = others.into_iter().filter_map(Result::err).collect();
    match first {
        Ok(found) if problems.is_empty() => Ok(found),
        Ok(_) => Err(problems),
        Err(problem) => {
            problems.insert(0, problem);
            Err(problems)
        }
    }
}

fn has_triggers(facts: &Facts) -> bool {
    let all = [
        &facts.update_triggers,
        &facts.insert_triggers,
        &facts.other_triggers,
    ];
    all.iter().any(|names| !names.is_empty())
}

/// The unique keys other than the primary key.
fn unique_keys(facts: &Facts) -> Option<Vec<Vec<usize>>> {
    if !facts.insert_triggers.is_empty() {
        return None;
    }
    let mut keys: Vec<(&str, Vec<usize>)> = Vec::new();
    let parts = facts
        .indexes
        .iter()
        .filter(|part| part.unique && part.index != "PRIMARY");
    for part in parts {
        let mut columns = facts.columns.iter();
        let column = columns.position(|column| is(&part.column, &column.name));
        let column = column.filter(|_| !part.prefix && part.expression.is_empty())?;
        match keys.last_mut().filter(|(index, _)| *index == part.index) {
            Some((_, columns)) => columns.push(column),
            None => keys.push((&part.index, vec![column])),
        }
    }
    Some(keys.into_iter().map(|(_, columns)| columns).collect())
}

/// What MySQL may do to the table's keys out of sight, if anything: by foreign key.
pub(crate) fn cascades(facts: &Facts) -> impl Iterator<Item = (&ForeignKeyFacts, String)> {
    let in_key = |column: &str| facts.primary_key().any(|key| is(&key.column, column));
    let cascading = facts.foreign_keys.iter().filter(move |key| {
        key.delete_rule == "CASCADE" || (key.update_rule == "CASCADE" && in_key(&key.column))
    });
    cascading.map(|key| {
        let warning = format!(
            "the foreign key `{}` of {} deletes rows or changes keys by CASCADE: where a trigger or a routine writes the \
             table that it refers to, slots of such rows stay behind",
            key.name,
            full_name(facts)
        );
        (key, warning)
    })
}

pub(crate) fn full_name(facts: &Facts) -> String {
    format!("{}.{}", facts.schema, facts.name)
}

fn is(column: &Option<String>, name: &str) -> bool {
    column.as_ref().is_some_and(|column| is_same(column, name))
}

fn plain_table(facts: &Facts) -> Result<(), Problem> {
    let table = full_name(facts);
    let not = |kind: &str, remedy| {
        Err(Problem::NotATable {
            table: table.clone(),
            kind: kind.to_lowercase(),
            remedy,
        })
    };
    match facts.kind.as_str() {
        "BASE TABLE" => {}
        "VIEW" | "SYSTEM VIEW" => return not("view", "name the table behind it"),
        "SYSTEM VERSIONED" => {
            return not(
                "system-versioned table",
                "its history would not have what is in slots; name a table without versions",
            );
        }
        kind => return not(kind, "name a table"),
    }
    Ok(())
}

fn engine(facts: &Facts) -> Option<Problem> {
    let innodb = facts.engine.eq_ignore_ascii_case("InnoDB");
    (!innodb).then(|| Problem::Engine {
        table: full_name(facts),
        engine: facts.engine.clone(),
    })
}

fn triggers(facts: &Facts) -> impl Iterator<Item = Problem> {
    facts
        .update_triggers
        .iter()
        .map(|trigger| Problem::UpdateTrigger {
            table: full_name(facts),
            trigger: trigger.clone(),
        })
}

/// Positions of the key's columns, in key order. Without slots there need not be a key.
fn primary_key(rule: &Rule, facts: &Facts) -> Result<Vec<usize>, Vec<Problem>> {
    let table = || full_name(facts);
    if facts.primary_key().next().is_none() && rule.slots > 0 {
        return Err(vec![Problem::NoPrimaryKey { table: table() }]);
    }
    let (mut positions, mut problems) = (Vec::new(), Vec::new());
    for key in facts.primary_key() {
        let name = key.column.as_deref().unwrap_or_default();
        match key.prefix {
            true => problems.push(Problem::PrefixKey {
                table: table(),
                column: name.to_owned(),
            }),
            false => match position(facts, name) {
                Ok(position) => positions.push(position),
                Err(problem) => problems.push(problem),
            },
        }
    }
    match problems.is_empty() {
        true => Ok(positions),
        false => Err(problems),
    }
}

fn position(facts: &Facts, name: &str) -> Result<usize, Problem> {
    let found = facts
        .columns
        .iter()
        .position(|column| is_same(&column.name, name));
    found.ok_or_else(|| {
        let names = || facts.columns.iter().map(|column| column.name.as_str());
        let mut hint = did_you_mean(name, names());
        if hint.is_empty() {
            let names: Vec<&str> = names().collect();
            hint = format!("; it has {}", names.join(", "));
        }
        Problem::NoColumn {
            table: full_name(facts),
            column: name.to_owned(),
            hint,
        }
    })
}

fn column(facts: &ColumnFacts) -> Column {
    Column {
        name: facts.name.clone(),
        definition: definition(facts),
        invisible: facts.extra.contains("invisible"),
        nullable: facts.nullable,
        on_update_now: facts.extra.contains("on update"),
        auto_increment: facts.extra.contains("auto_increment"),
    }
}

/// Type, character set and collation.
pub(crate) fn definition(facts: &ColumnFacts) -> String {
    let mut text = facts.column_type.clone();
    if let (Some(character_set), Some(collation)) = (&facts.character_set, &facts.collation) {
        text.push_str(&format!(
            " CHARACTER SET {character_set} COLLATE {collation}"
        ));
    }
    text
}

#[cfg(test)]
mod tests;
