//! Keys of hot tables as literals that any connection to the server reads the same: whatever its character set, its
//! sql_mode and its time zone.

use super::quote;
use crate::catalog::{Column, HotTable};

/// The literals of one key, in key order.
pub type Key = Vec<String>;

/// How a key column's value becomes a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// As it is shown: integers, DECIMAL, YEAR.
    Number,
    /// Between quotes: DATE, DATETIME, TIME.
    Time,
    /// Its bytes in hexadecimal, after the introducer of the character set, if there is one.
    Bytes(String),
    /// The same without spaces at its end, which CHAR has or has not by the sql_mode.
    Char(String),
}

/// Reads and writes keys of one table.
#[derive(Clone, Debug)]
pub struct KeyForm {
    columns: Vec<(String, Form)>,
}

impl KeyForm {
    /// `None` when a key column has values that are not surely the same everywhere: TIMESTAMP is shown in the
    /// session's time zone, FLOAT is rounded.
    pub fn of(table: &HotTable) -> Option<Self> {
        let columns = table.primary_key.iter().map(|&position| {
            let column = &table.columns[position];
            Some((quote::name(&column.name), form(column)?))
        });
        Some(Self {
            columns: columns.collect::<Option<_>>()?,
        })
    }

    /// Whether a key that is written with this form may differ from its value under the sql_mode
    /// PAD_CHAR_TO_FULL_LENGTH: where a collation does not pad, 'a' is not 'a  '.
    pub fn depends_on_padding(&self) -> bool {
        let is_char = |form: &Form| matches!(form, Form::Char(_));
        self.columns.iter().any(|(_, form)| is_char(form))
    }

    /// Position of the first key column that keeps a table from having a form.
    pub fn unnamed(table: &HotTable) -> Option<usize> {
        let mut key = table.primary_key.iter().copied();
        key.find(|&position| form(&table.columns[position]).is_none())
    }

    /// A select list that gives what [`KeyForm::read`] reads.
    pub fn select_list(&self) -> String {
        let columns = self.columns.iter().map(|(name, form)| match form {
            Form::Number | Form::Time => name.clone(),
            Form::Bytes(_) => format!("HEX({name})"),
            Form::Char(_) => format!("HEX(RTRIM({name}))"),
        });
        columns.collect::<Vec<_>>().join(", ")
    }

    /// The key in the first values of a row. `None` if they are nothing that the server would show.
    pub fn read(&self, row: &[Option<Vec<u8>>]) -> Option<Key> {
        let values = self.columns.iter().zip(row.iter());
        let literals = values.map(|((_, form), value)| {
            let text = std::str::from_utf8(value.as_ref()?).ok()?;
            let all = |allowed: fn(&u8) -> bool| text.bytes().all(|byte| allowed(&byte));
            match form {
                Form::Number => {
                    let plain = all(|byte| byte.is_ascii_digit() || b"-.".contains(byte));
                    (plain && !text.is_empty()).then(|| text.to_owned())
                }
                Form::Time => {
                    let plain = all(|byte| byte.is_ascii_digit() || b"-.: ".contains(byte));
                    plain.then(|| format!("'{text}'"))
                }
                Form::Bytes(introducer) | Form::Char(introducer) => {
                    all(u8::is_ascii_hexdigit).then(|| format!("{introducer}X'{text}'"))
                }
            }
        });
        let key: Key = literals.collect::<Option<_>>()?;
        (key.len() == self.columns.len()).then_some(key)
    }

    /// A key that a table of this form may have.
    pub fn any(&self) -> Key {
        let columns = self.columns.iter().map(|(_, form)| match form {
            Form::Number => "0",
            Form::Time => "'2000-01-01 00:00:00'",
            Form::Bytes(_) | Form::Char(_) => "''",
        });
        columns.map(str::to_owned).collect()
    }

    /// How many columns a key has.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// A predicate that holds for this key alone; `qualifier` is put before each column.
    pub fn condition(&self, qualifier: &str, key: &Key) -> String {
        let pairs = self.columns.iter().zip(key);
        let pairs = pairs.map(|((name, _), literal)| format!("{qualifier}{name} = {literal}"));
        pairs.collect::<Vec<_>>().join(" AND ")
    }

    /// Holds for these keys alone.
    pub fn any_of(&self, keys: &[Key]) -> String {
        let keys = keys
            .iter()
            .map(|key| format!("({})", self.condition("", key)));
        keys.collect::<Vec<_>>().join(" OR ")
    }
}

fn form(column: &Column) -> Option<Form> {
    let definition = column.definition.to_ascii_lowercase();
    let word = definition
        .split(|byte: char| !byte.is_ascii_alphanumeric())
        .next()?;
    Some(match word {
        "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "decimal"
        | "numeric" | "year" => Form::Number,
        "date" | "datetime" | "time" => Form::Time,
        "binary" | "varbinary" => Form::Bytes(String::new()),
        "char" | "varchar" => {
            let (_, rest) = definition.split_once("character set ")?;
            let introducer = format!("_{} ", rest.split(' ').next()?);
            match word {
                "char" => Form::Char(introducer),
                _ => Form::Bytes(introducer),
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Option<Vec<u8>> {
        Some(value.as_bytes().to_vec())
    }

    #[test]
    fn a_key_is_written_as_it_is_read() {
        let column = |definition: &str| Column {
            name: "k".to_owned(),
            definition: definition.to_owned(),
            invisible: false,
            nullable: false,
            on_update_now: false,
            auto_increment: false,
        };
        let cases = [
            ("bigint(20) unsigned", "184467", Some("`k` = 184467")),
            ("decimal(8,2)", "-5.50", Some("`k` = -5.50")),
            (
                "datetime(3)",
                "2024-02-29 01:02:03.004",
                Some("`k` = '2024-02-29 01:02:03.004'"),
            ),
            ("binary(4)", "00FF2027", Some("`k` = X'00FF2027'")),
            (
                "varchar(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                "C384",
                Some("`k` = _utf8mb4 X'C384'"),
            ),
            (
                "char(5) CHARACTER SET latin1",
                "4142",
                Some("`k` = _latin1 X'4142'"),
            ),
            ("timestamp", "2024-02-29 01:02:03", None),
            ("float", "1.5", None),
            // No server shows these.
            ("int", "1 OR 1", None),
            ("int", "", None),
            ("varbinary(9)", "41' OR '", None),
            ("date", "2024' OR '", None),
        ];
        for (definition, value, expected) in cases {
            let condition = form(&column(definition)).and_then(|form| {
                let form = KeyForm {
                    columns: vec![("`k`".to_owned(), form)],
                };
                let key = form.read(&[text(value)])?;
                Some(form.condition("", &key))
            });
            assert_eq!(condition.as_deref(), expected, "{definition} {value}");
        }
    }

    #[test]
    fn null_and_missing_columns_are_no_key() {
        let form = KeyForm {
            columns: vec![("`k`".to_owned(), Form::Number)],
        };
        assert_eq!(form.read(&[None]), None);
        assert_eq!(form.read(&[]), None);
    }
}
