//! The rows of an event, before and after.

use mysql_async::Value;
use mysql_async::binlog::row::BinlogRow;
use mysql_async::binlog::value::BinlogValue;

use super::report::Kind;
use crate::catalog::{Column, HotTable};

/// How much of a key is shown, in letters.
const MOST_OF_A_KEY: usize = 200;

/// A row as it was or has become: what the event has of it, in the order of the table's columns.
pub(super) struct Image(Vec<Option<Value>>);

/// What was done to a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) kind: Kind,
    /// Its primary key, or NULL where the event does not have it.
    pub(super) key: Option<String>,
}

impl Image {
    /// `present` says which columns the row has. With `binlog_row_image = MINIMAL` these are the key before, and what
    /// has changed after.
    pub(super) fn new(mut row: BinlogRow, present: &[bool]) -> Self {
        let mut places = 0..row.len();
        let value = |&is_present: &bool| {
            let place = is_present.then(|| places.next()).flatten()?;
            match row.take(place)? {
                BinlogValue::Value(value) => Some(value),
                // No counter is JSON, and no key.
                _ => None,
            }
        };
        Self(present.iter().map(value).collect())
    }

    fn get(&self, position: usize) -> Option<&Value> {
        self.0.get(position)?.as_ref()
    }

    fn fits(&self, table: &HotTable) -> bool {
        self.0.len() == table.columns.len()
    }
}

/// What has become of a row's counters; `None` if nothing.
pub(super) fn change(
    table: &HotTable,
    before: Option<&Image>,
    after: Option<&Image>,
) -> Option<Change> {
    let kind = match (before, after) {
        (Some(before), Some(after)) => {
            // A table that has just been altered is not known by its columns.
            let is_known = before.fits(table) && after.fits(table);
            let is_other = |position: usize| {
                let after = after.get(position);
                after.is_some() && after != before.get(position)
            };
            let mut counters = table.counters.iter();
            if is_known && !counters.any(|counter| is_other(counter.column)) {
                return None;
            }
            Kind::Update
        }
        (Some(_), None) => Kind::Delete,
        // A row that is new has nothing in slots.
        (None, _) => return None,
    };
    Some(Change {
        kind,
        key: before.and_then(|before| key(table, before)),
    })
}

/// As in a statement: `id = 42`.
fn key(table: &HotTable, image: &Image) -> Option<String> {
    if !image.fits(table) || table.primary_key.is_empty() {
        return None;
    }
    let parts = table.primary_key.iter().map(|&position| {
        let column = &table.columns[position];
        let value = shown(column, image.get(position)?);
        Some(format!("{} = {value}", column.name))
    });
    let parts: Vec<_> = parts.collect::<Option<_>>()?;
    Some(parts.join(" AND ").chars().take(MOST_OF_A_KEY).collect())
}

/// A literal. Without `binlog_row_metadata`, as MariaDB has it, an event does not say which integers are unsigned.
fn shown(column: &Column, value: &Value) -> String {
    let definition = column.definition.to_ascii_lowercase();
    match *value {
        Value::Int(value) if value < 0 && definition.contains("unsigned") => {
            let bytes = match definition
                .split(|byte: char| !byte.is_ascii_alphabetic())
                .next()
            {
                Some("tinyint") => 1,
                Some("smallint") => 2,
                Some("mediumint") => 3,
                Some("int") => 4,
                _ => 8,
            };
            let most = u64::MAX >> (64 - 8 * bytes);
            (value.cast_unsigned() & most).to_string()
        }
        ref value => value.as_sql(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::posts_in_fixture;

    /// A row of the fixture's posts, of which these columns are there.
    fn image(values: &[(usize, i64)]) -> Image {
        let width = posts_in_fixture().columns.len();
        let mut image = vec![None; width];
        for (position, value) in values {
            image[*position] = Some(Value::Int(*value));
        }
        Image(image)
    }

    fn changed(before: &[(usize, i64)], after: &[(usize, i64)]) -> Option<Change> {
        let (before, after) = (image(before), image(after));
        change(&posts_in_fixture(), Some(&before), Some(&after))
    }

    const ID: usize = 0;
    const TITLE: usize = 2;
    const VIEWS: usize = 3;

    #[test]
    fn a_counter_has_changed_or_has_not() {
        let update = |key: &str| {
            Some(Change {
                kind: Kind::Update,
                key: Some(key.to_owned()),
            })
        };
        let full = [(ID, 1), (TITLE, 5), (VIEWS, 7)];
        let new_views = [(ID, 1), (TITLE, 5), (VIEWS, 8)];
        let new_title = [(ID, 1), (TITLE, 6), (VIEWS, 7)];
        assert_eq!(changed(&full, &new_views), update("id = 1"));
        assert_eq!(changed(&full, &new_title), None);
        // binlog_row_image = MINIMAL
        assert_eq!(changed(&[(ID, 1)], &[(VIEWS, 8)]), update("id = 1"));
        assert_eq!(changed(&[(ID, 1)], &[(TITLE, 8)]), None);
    }

    #[test]
    fn a_row_that_goes_is_reported_and_one_that_comes_is_not() {
        let row = image(&[(ID, 1), (VIEWS, 7)]);
        let table = posts_in_fixture();
        let gone = change(&table, Some(&row), None);
        assert_eq!(gone.map(|gone| gone.kind), Some(Kind::Delete));
        assert_eq!(change(&table, None, Some(&row)), None);
    }

    #[test]
    fn a_table_of_other_columns_has_rows_without_keys() {
        let row = || Image(vec![Some(Value::Int(1))]);
        let change = change(&posts_in_fixture(), Some(&row()), Some(&row()));
        let key = change.expect("it cannot be known to be none").key;
        assert_eq!(key, None);
    }

    #[test]
    fn unsigned_integers_are_shown_without_a_sign() {
        for (definition, value, expected) in [
            ("tinyint unsigned", -1, "255"),
            ("mediumint(8) unsigned", -1, "16777215"),
            ("int unsigned", -2, "4294967294"),
            ("bigint unsigned", -1, "18446744073709551615"),
            ("int", -2, "-2"),
        ] {
            let column = Column {
                definition: definition.to_owned(),
                ..Column::default()
            };
            assert_eq!(shown(&column, &Value::Int(value)), expected, "{definition}");
        }
    }
}
