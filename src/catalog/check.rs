//! Whether a table can be hot: from what the upstream says of it to a [`HotTable`], pure.

use super::error::{Error, Problem};
use super::read::{ColumnFacts, Facts, ForeignKeyFacts};
use super::{Bounds, Column, Counter, Domain, HotTable};
use crate::config::{Rule, did_you_mean};

/// Turns `facts` into the hot table of `rule`.
///
/// # Errors
///
/// The first reason why the table or one of its columns cannot be hot.
pub(super) fn hot_table(rule: &Rule, facts: &Facts) -> Result<HotTable, Error> {
    examine(rule, facts).map_err(|mut errors| errors.swap_remove(0))
}

/// [`hot_table`], for those who want to know everything at once.
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
    reasons.add("table", engine(facts).into_iter().chain(triggers(facts)));
    let primary_key = reasons.unless("table", primary_key(facts));
    let counters = rule
        .columns
        .iter()
        .filter_map(|name| reasons.unless("columns", counter(facts, name)))
        .collect();
    let touches = reasons.unless("touch", touches(facts, &rule.touch));
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
        slots: rule.slots,
        rollup: rule.rollup,
    })
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

/// The unique keys beside the primary one.
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

/// What MySQL does to the table's keys without a statement of its own on it, if anything: warnings, by foreign key.
pub(crate) fn cascades(facts: &Facts) -> impl Iterator<Item = (&ForeignKeyFacts, String)> {
    let in_key = |column: &str| facts.primary_key().any(|key| is(&key.column, column));
    let cascading = facts.foreign_keys.iter().filter(move |key| {
        key.delete_rule == "CASCADE" || (key.update_rule == "CASCADE" && in_key(&key.column))
    });
    cascading.map(|key| {
        let warning = format!(
            "the foreign key `{}` of {} deletes rows or changes keys by CASCADE, which the proxy does not see: \
             slots of such rows stay behind",
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
    column
        .as_ref()
        .is_some_and(|column| column.to_lowercase() == name.to_lowercase())
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

/// Positions of the key's columns, in key order.
fn primary_key(facts: &Facts) -> Result<Vec<usize>, Vec<Problem>> {
    let table = || full_name(facts);
    if facts.primary_key().next().is_none() {
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
        .position(|column| column.name.to_lowercase() == name.to_lowercase());
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

fn counter(facts: &Facts, name: &str) -> Result<Counter, Vec<Problem>> {
    let position = position(facts, name).map_err(|problem| vec![problem])?;
    let column = &facts.columns[position];
    let domain = all(
        domain(column),
        [
            not_in_an_index(facts, &column.name),
            nothing_computed(facts, &column.name),
        ],
    )?;
    Ok(Counter {
        column: position,
        domain,
        bounds: Bounds::of(domain).filter(|_| !is_checked(facts, &column.name)),
    })
}

/// Whether a CHECK names the column.
pub(crate) fn is_checked(facts: &Facts, column: &str) -> bool {
    facts.checks.iter().any(|clause| mentions(clause, column))
}

/// The columns that an increment may set to its time: those named, and those that set themselves.
fn touches(facts: &Facts, named: &[String]) -> Result<Vec<usize>, Vec<Problem>> {
    let (mut touches, mut problems) = (Vec::new(), Vec::new());
    for name in named {
        match position(facts, name) {
            Ok(position) => touches.push(position),
            Err(problem) => problems.push(problem),
        }
    }
    for (position, column) in facts.columns.iter().enumerate() {
        if column.extra.contains("on update") && !touches.contains(&position) {
            touches.push(position);
        }
    }
    for &position in &touches {
        let column = &facts.columns[position];
        let others = [
            not_in_an_index(facts, &column.name),
            nothing_computed(facts, &column.name),
        ];
        problems.extend(all(time(column), others).err().into_iter().flatten());
    }
    match problems.is_empty() {
        true => Ok(touches),
        false => Err(problems),
    }
}

/// Refuses a touch column that is no time.
fn time(column: &ColumnFacts) -> Result<(), Problem> {
    match ["datetime", "timestamp"].contains(&column.data_type.as_str()) {
        true => Ok(()),
        false => Err(Problem::NotATime {
            column: column.name.clone(),
            kind: column.column_type.to_uppercase(),
        }),
    }
}

/// The exact type of a column that can count.
fn domain(facts: &ColumnFacts) -> Result<Domain, Problem> {
    let column = || facts.name.clone();
    let kind = || facts.column_type.to_uppercase();
    let unsigned = facts.column_type.to_lowercase().contains("unsigned");
    let integer = |bytes| Domain::Integer { bytes, unsigned };
    let domain = match facts.data_type.as_str() {
        "tinyint" => integer(1),
        "smallint" => integer(2),
        "mediumint" => integer(3),
        "int" => integer(4),
        "bigint" => integer(8),
        "decimal" => Domain::Decimal {
            precision: facts.precision,
            scale: facts.scale,
            unsigned,
        },
        "float" | "double" => {
            return Err(Problem::Approximate {
                column: column(),
                kind: kind(),
            });
        }
        _ => {
            return Err(Problem::NotNumeric {
                column: column(),
                kind: kind(),
            });
        }
    };
    if kind().contains("ZEROFILL") {
        return Err(Problem::Zerofill {
            column: column(),
            without: kind().replace(" ZEROFILL", ""),
        });
    }
    if !facts.expression.is_empty() {
        return Err(Problem::Generated { column: column() });
    }
    match facts.extra.contains("auto_increment") {
        true => Err(Problem::AutoIncrement { column: column() }),
        false => Ok(domain),
    }
}

/// Refuses a counter on which a key or a constraint of its own depends.
fn not_in_an_index(facts: &Facts, name: &str) -> Result<(), Problem> {
    let column = || name.to_owned();
    let unique = facts
        .indexes
        .iter()
        .find(|index| index.unique && is(&index.column, name));
    if let Some(index) = unique {
        return Err(match index.index.as_str() {
            "PRIMARY" => Problem::InPrimaryKey { column: column() },
            index => Problem::InUniqueIndex {
                column: column(),
                index: index.to_owned(),
            },
        });
    }
    let foreign = facts
        .foreign_keys
        .iter()
        .find(|key| key.column.to_lowercase() == name.to_lowercase());
    match foreign {
        Some(key) => Err(Problem::InForeignKey {
            column: column(),
            key: key.name.clone(),
        }),
        None => Ok(()),
    }
}

/// Refuses a counter from which MySQL computes something: it would compute from base alone.
fn nothing_computed(facts: &Facts, name: &str) -> Result<(), Problem> {
    let column = || name.to_owned();
    if let Some(generated) = facts
        .columns
        .iter()
        .find(|generated| mentions(&generated.expression, name))
    {
        return Err(Problem::GeneratedFrom {
            generated: generated.name.clone(),
            column: column(),
        });
    }
    match facts
        .indexes
        .iter()
        .find(|index| mentions(&index.expression, name))
    {
        Some(index) => Err(Problem::IndexFrom {
            index: index.index.clone(),
            column: column(),
        }),
        None => Ok(()),
    }
}

/// Whether an expression names the column. The server prints every identifier in backquotes; the same within
/// a string literal is taken for one, which errs on the safe side.
pub(crate) fn mentions(expression: &str, column: &str) -> bool {
    let quoted = format!("`{}`", column.replace('`', "``"));
    expression.to_lowercase().contains(&quoted.to_lowercase())
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
