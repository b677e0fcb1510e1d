//! What the upstream says of its tables, kept in a file: plans can be made without a server then, and with other rules.

use serde::{Deserialize, Serialize};

use super::letter_case::is_same_table;
use super::read::{Facts, Server};

/// The form of the file.
const FORMAT: u8 = 1;

/// What the upstream is and what the tables of the rules look like. It holds no data of theirs, and no rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a catalog as --save-catalog writes it"
)]
pub struct Snapshot {
    countersink_catalog: u8,
    pub(super) server: ServerFacts,
    pub(super) tables: Vec<Facts>,
}

/// What of a server matters to a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerFacts {
    pub(super) version: String,
    pub(super) mariadb: bool,
    pub(super) lower_case_table_names: u8,
    pub(super) sql_mode: String,
    #[serde(default)]
    pub(super) has_snapshot_isolation: bool,
}

/// Why a file is no catalog.
#[derive(Debug, thiserror::Error)]
pub enum NotACatalog {
    /// It is not written as one.
    #[error("is no catalog: {why}; write one with --save-catalog")]
    Unreadable {
        /// What the reader of YAML says, with line and column.
        why: String,
    },
    /// Of another version of Countersink.
    #[error(
        "is a catalog of format {found}, and this version reads {FORMAT}; write it anew with --save-catalog"
    )]
    Format {
        /// What it says.
        found: u8,
    },
}

impl Snapshot {
    pub(super) fn new(server: &Server) -> Self {
        Self {
            countersink_catalog: FORMAT,
            server: ServerFacts {
                version: server.version.clone(),
                mariadb: server.mariadb,
                lower_case_table_names: server.lower_case_table_names,
                sql_mode: server.sql_mode.clone(),
                has_snapshot_isolation: server.has_snapshot_isolation,
            },
            tables: Vec::new(),
        }
    }

    /// The server's global `sql_mode`: what a session starts with.
    pub fn sql_mode(&self) -> &str {
        &self.server.sql_mode
    }

    /// As YAML.
    pub fn to_yaml(&self) -> String {
        serde_saphyr::to_string(self).expect("plain data can be written")
    }

    /// Reads what [`Snapshot::to_yaml`] writes.
    ///
    /// # Errors
    ///
    /// Why the text is no catalog.
    pub fn from_yaml(text: &str) -> Result<Self, NotACatalog> {
        let options = serde_saphyr::options! { with_snippet: false };
        let read = serde_saphyr::from_str_with_options(text, options);
        let snapshot: Self = read.map_err(|error| NotACatalog::Unreadable {
            why: error.to_string(),
        })?;
        match snapshot.countersink_catalog {
            FORMAT => Ok(snapshot),
            found => Err(NotACatalog::Format { found }),
        }
    }

    /// The facts of `schema.name`, by the server's rules of letter case.
    pub(super) fn table(&self, schema: &str, name: &str) -> Option<&Facts> {
        let case = self.server.lower_case_table_names;
        let same = |left: &str, right: &str| is_same_table(case, left, right);
        self.tables
            .iter()
            .find(|table| same(&table.schema, schema) && same(&table.name, name))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::read::ColumnFacts;

    fn snapshot(text: &str) -> Snapshot {
        Snapshot {
            countersink_catalog: FORMAT,
            server: ServerFacts {
                version: text.to_owned(),
                mariadb: true,
                lower_case_table_names: 2,
                sql_mode: text.to_owned(),
                has_snapshot_isolation: true,
            },
            tables: vec![Facts {
                name: text.to_owned(),
                comment: text.to_owned(),
                checks: vec![text.to_owned(), String::new()],
                columns: vec![ColumnFacts {
                    name: text.to_owned(),
                    collation: Some(text.to_owned()),
                    nullable: true,
                    precision: 65,
                    ..ColumnFacts::default()
                }],
                ..Facts::default()
            }],
        }
    }

    fn comes_back(text: &str) {
        let before = snapshot(text);
        let yaml = before.to_yaml();
        let after = Snapshot::from_yaml(&yaml)
            .unwrap_or_else(|error| panic!("{text:?} {error} in\n{yaml}"));
        assert_eq!(format!("{before:?}"), format!("{after:?}"), "{yaml}");
    }

    #[test]
    fn names_that_look_like_something_else_come_back() {
        for text in [
            "",
            "null",
            "~",
            "yes",
            "NO",
            "1.0",
            "0x1",
            " a ",
            "a: b",
            "# a",
            "- a",
            "|",
            ">",
            "'a'",
            "\"a\"",
            "a\nb\n",
            "\n",
            "\t",
            "{a}",
            "[a",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "a\\b",
            "\u{e9}\u{1F600}",
            "\u{7f}",
            "\u{85}",
            "\u{2028}",
            "\u{feff}a",
            "---",
            "...",
            "\r\n",
        ] {
            comes_back(text);
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in "\\PC{0,40}") {
            comes_back(&text);
        }
    }
}
