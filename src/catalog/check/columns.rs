//! Which columns can be counters or touch columns.

use super::{all, full_name, is, position};
use crate::catalog::error::Problem;
use crate::catalog::letter_case::is_same;
use crate::catalog::read::{ColumnFacts, Facts};
use crate::catalog::{Bounds, Counter, Domain};

/// The counter in the column `name`.
pub(super) fn counter(facts: &Facts, name: &str) -> Result<Counter, Vec<Problem>> {
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

/// Whether a CHECK names the column, other than to say what its type says already.
pub(crate) fn is_checked(facts: &Facts, column: &str) -> bool {
    let mut checks = facts.checks.iter();
    checks.any(|clause| mentions(clause, column) && !is_implied(facts, clause, column))
}

/// Whether a CHECK is `column >= 0` of an UNSIGNED column, which Django gives each of its fields for positive numbers.
fn is_implied(facts: &Facts, clause: &str, column: &str) -> bool {
    let mut columns = facts.columns.iter();
    let is_unsigned = columns.any(|facts| {
        is_same(&facts.name, column) && facts.column_type.to_lowercase().contains("unsigned")
    });
    let bare: String = clause
        .chars()
        .filter(|letter| !matches!(letter, '(' | ')' | ' '))
        .collect();
    is_unsigned && is_same(&bare, &format!("`{column}`>=0"))
}

/// Refuses columns with a masking policy. Slots have none, so a sum would show a counter to accounts that may not see
/// it. And a fold could not tell rows apart whose keys or columns look the same once they are masked.
pub(super) fn masked(facts: &Facts) -> impl Iterator<Item = Problem> {
    let is_masked = |column: &&ColumnFacts| column.extra.contains("masking policy");
    let masked = facts.columns.iter().filter(is_masked);
    masked.map(|column| Problem::Masked {
        table: full_name(facts),
        column: column.name.clone(),
    })
}

/// The columns that an increment may set to its time: those named, and those that set themselves.
pub(super) fn touches(facts: &Facts, named: &[String]) -> Result<Vec<usize>, Vec<Problem>> {
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
        .find(|key| is_same(&key.column, name));
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
fn mentions(expression: &str, column: &str) -> bool {
    let quoted = format!("`{}`", column.replace('`', "``"));
    expression.to_lowercase().contains(&quoted.to_lowercase())
}
