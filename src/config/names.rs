//! Names of tables, and the pattern that names slot tables.

use std::fmt;

use super::check::Text;
use super::error::Problem;

/// The most characters that a name in MySQL has.
const LONGEST: usize = 64;

/// A table with its schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    /// The schema.
    pub schema: String,
    /// The table.
    pub name: String,
}

impl fmt::Display for TableName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.schema, self.name)
    }
}

impl TableName {
    /// Which of these is the table that is named so: exactly, or in another letter case where there is but one.
    pub(crate) fn position<'a>(
        named: &str,
        tables: impl Iterator<Item = &'a Self> + Clone,
    ) -> Option<usize> {
        let names = tables.map(Self::to_string);
        if let Some(exact) = names.clone().position(|name| name == named) {
            return Some(exact);
        }
        let names = names.enumerate();
        let mut near = names.filter(|(_, name)| name.eq_ignore_ascii_case(named));
        match (near.next(), near.next()) {
            (Some((only, _)), None) => Some(only),
            _ => None,
        }
    }
}

/// How a slot table is named: `{table}` and `{schema}` are replaced by the hot table's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotTable {
    /// Its schema; `None` for the hot table's own.
    schema: Option<String>,
    name: String,
}

impl Default for SlotTable {
    fn default() -> Self {
        Self {
            schema: None,
            name: "{table}_slots".to_owned(),
        }
    }
}

impl fmt::Display for SlotTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(formatter, "{schema}.{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

impl SlotTable {
    /// The slot table of `table`.
    ///
    /// # Errors
    ///
    /// [`Problem::SlotTableLong`].
    pub fn of(&self, table: &TableName) -> Result<TableName, Problem> {
        // A name may have braces of its own, so each placeholder is replaced in one pass over the pattern.
        let fill = |pattern: &str| {
            let mut parts = pattern.split("{table}");
            let first = parts.next().unwrap_or_default();
            parts.fold(first.replace("{schema}", &table.schema), |filled, part| {
                filled + &table.name + &part.replace("{schema}", &table.schema)
            })
        };
        let slots = TableName {
            schema: fill(self.schema.as_deref().unwrap_or(&table.schema)),
            name: fill(&self.name),
        };
        match slots.name.chars().count() > LONGEST {
            true => Err(Problem::SlotTableLong { name: slots.name }),
            false => Ok(slots),
        }
    }
}

/// The pattern for all rules: it must give each table another name.
pub(super) fn pattern(text: &Text) -> Result<SlotTable, Problem> {
    let slots = slot_table(text)?;
    match slots.name.contains("{table}") {
        true => Ok(slots),
        false => Err(Problem::Pattern {
            value: text.to_string(),
        }),
    }
}

/// The name or pattern of one rule's slot table, with or without a schema.
pub(super) fn slot_table(text: &Text) -> Result<SlotTable, Problem> {
    let mut parts = parts(text)?;
    let value = || text.to_string();
    for part in &parts {
        let without = part.replace("{table}", "").replace("{schema}", "");
        if without.contains(['{', '}']) {
            return Err(Problem::PatternBrace { value: value() });
        }
    }
    let name = parts.pop().ok_or(Problem::Name { value: value() })?;
    let schema = parts.pop();
    match (&schema, parts.is_empty()) {
        (Some(schema), true) if is_system(schema) => Err(Problem::SystemSchema {
            schema: schema.clone(),
        }),
        (_, true) => Ok(SlotTable { schema, name }),
        (_, false) => Err(Problem::TableName { value: value() }),
    }
}

/// `schema.table`, either part in backquotes if it needs them.
pub(super) fn table(text: &Text) -> Result<TableName, Problem> {
    let parts: [String; 2] = parts(text)?.try_into().map_err(|_| Problem::TableName {
        value: text.to_string(),
    })?;
    let [schema, name] = parts;
    match is_system(&schema) {
        true => Err(Problem::SystemSchema { schema }),
        false => Ok(TableName { schema, name }),
    }
}

/// The name of a column.
pub(super) fn column(text: &Text) -> Result<String, Problem> {
    match is_name(&text.value) {
        true => Ok(text.value.clone()),
        false => Err(Problem::Name {
            value: text.to_string(),
        }),
    }
}

fn is_system(schema: &str) -> bool {
    [
        "mysql",
        "information_schema",
        "performance_schema",
        "sys",
        "ndbinfo",
    ]
    .iter()
    .any(|system| system.eq_ignore_ascii_case(schema))
}

fn is_name(name: &str) -> bool {
    let length = name.chars().count();
    (1..=LONGEST).contains(&length) && !name.ends_with(' ') && !name.contains('\0')
}

/// The names that dots separate, outside backquotes.
fn parts(text: &Text) -> Result<Vec<String>, Problem> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut quoted = false;
    let mut letters = text.value.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '`' if quoted && letters.peek() == Some(&'`') => {
                letters.next();
                part.push('`');
            }
            '`' => quoted = !quoted,
            '.' if !quoted => parts.push(std::mem::take(&mut part)),
            letter => part.push(letter),
        }
    }
    parts.push(part);
    let value = text.to_string();
    match (quoted, parts.iter().all(|part| is_name(part))) {
        (false, true) => Ok(parts),
        (false, false) if parts.iter().any(String::is_empty) => Err(Problem::TableName { value }),
        (false, false) => Err(Problem::Name { value }),
        (true, _) => Err(Problem::TableName { value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Result<(String, String), String> {
        table(&Text::plain(text))
            .map(|table| (table.schema, table.name))
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn tables_have_a_schema() {
        let pair = |schema: &str, name: &str| Ok((schema.to_owned(), name.to_owned()));
        assert_eq!(named("shop.posts"), pair("shop", "posts"));
        assert_eq!(named("`my.shop`.`po``sts`"), pair("my.shop", "po`sts"));
        for text in ["posts", "a.b.c", "shop.", ".posts", "`shop.posts", ""] {
            assert!(named(text).unwrap_err().contains("schema.table"), "{text}");
        }
        let long = format!("shop.{}", "x".repeat(65));
        assert!(named(&long).unwrap_err().contains("1 to 64 characters"));
        assert!(
            named("Mysql.user")
                .unwrap_err()
                .contains("belongs to the server")
        );
    }

    #[test]
    fn patterns_name_slot_tables() {
        let posts = TableName {
            schema: "shop".to_owned(),
            name: "po{schema}sts".to_owned(),
        };
        for (text, expected) in [
            ("{table}_slots", "shop.po{schema}sts_slots"),
            ("counters.{schema}_{table}", "counters.shop_po{schema}sts"),
            ("{schema}_slots.{table}", "shop_slots.po{schema}sts"),
        ] {
            let pattern = pattern(&Text::plain(text)).unwrap();
            assert_eq!(pattern.of(&posts).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn patterns_that_cannot_work_are_refused() {
        for (text, expected) in [
            ("slots", "put {table} into it"),
            ("{tabel}_slots", "has a brace"),
            ("mysql.{table}", "belongs to the server"),
            ("a.b.{table}", "write schema.table"),
        ] {
            let problem = pattern(&Text::plain(text)).unwrap_err().to_string();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn a_name_is_of_one_table_or_of_none() {
        let table = |name: &str| TableName {
            schema: "shop".to_owned(),
            name: name.to_owned(),
        };
        let tables = [table("posts"), table("Posts"), table("Likes")];
        let position = |named| TableName::position(named, tables.iter());
        assert_eq!(position("shop.posts"), Some(0));
        assert_eq!(position("shop.Posts"), Some(1));
        assert_eq!(position("shop.POSTS"), None);
        assert_eq!(position("SHOP.likes"), Some(2));
        assert_eq!(position("shop.post"), None);
    }

    #[test]
    fn a_slot_table_has_at_most_64_characters() {
        let table = |length| TableName {
            schema: "shop".to_owned(),
            name: "ü".repeat(length),
        };
        let pattern = SlotTable::default();
        assert!(pattern.of(&table(58)).is_ok());
        let problem = pattern.of(&table(59)).unwrap_err().to_string();
        assert!(problem.contains("longer than 64"), "{problem}");
    }
}
