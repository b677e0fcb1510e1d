//! Constraints out of MariaDB's SHOW CREATE TABLE.
//!
//! MariaDB shows them in information_schema only to accounts with grants on the whole schema, and what the control
//! account is not shown would go unnoticed. SHOW CREATE TABLE shows them to whoever may read the table.

use super::read::ForeignKeyFacts;

/// The clauses of the CHECK constraints. What follows ` CHECK (` in a comment is taken for one too, which only
/// makes a counter slower.
pub(super) fn checks(statement: &str) -> Vec<String> {
    statement
        .lines()
        .filter_map(|line| line.split_once(" CHECK ("))
        .map(|(_, clause)| clause.trim_end_matches(','))
        .map(|clause| clause.strip_suffix(')').unwrap_or(clause).to_owned())
        .collect()
}

/// One entry per column of a foreign key.
pub(super) fn foreign_keys(statement: &str) -> Vec<ForeignKeyFacts> {
    statement.lines().flat_map(foreign_key).collect()
}

/// `` CONSTRAINT `fk` FOREIGN KEY (`a`, `b`) REFERENCES `p` (`id`) ON DELETE CASCADE ``.
fn foreign_key(line: &str) -> Vec<ForeignKeyFacts> {
    let parts = line
        .trim_start()
        .strip_prefix("CONSTRAINT `")
        .and_then(|rest| rest.split_once("` FOREIGN KEY (`"))
        .and_then(|(name, rest)| Some((name, rest.split_once("`) REFERENCES ")?)));
    let Some((name, (columns, reference))) = parts else {
        return Vec::new();
    };
    let rule = |action: &str| match reference.contains(action) {
        true => "CASCADE".to_owned(),
        false => String::new(),
    };
    columns
        .split("`, `")
        .map(|column| ForeignKeyFacts {
            name: name.replace("``", "`"),
            column: column.replace("``", "`"),
            update_rule: rule("ON UPDATE CASCADE"),
            delete_rule: rule("ON DELETE CASCADE"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MariaDB 10.11 printed it.
    const SHOWN: &str = "CREATE TABLE `t` (
  `id` int(11) NOT NULL,
  `v` int(11) DEFAULT NULL COMMENT 'it''s ` a CHECK (`v`)' CHECK (`v` < 5),
  `w` int(11) DEFAULT NULL CHECK (`w` < (5)),
  PRIMARY KEY (`id`),
  CONSTRAINT `f``k` FOREIGN KEY (`v`, `w``w`) REFERENCES `p` (`id`) ON DELETE CASCADE ON UPDATE SET NULL,
  CONSTRAINT `CONSTRAINT_1` CHECK (`views` between -64 and 64)
) ENGINE=InnoDB";

    #[test]
    fn checks_are_found() {
        assert_eq!(
            checks(SHOWN),
            [
                "`v`)' CHECK (`v` < 5",
                "`w` < (5)",
                "`views` between -64 and 64"
            ]
        );
    }

    #[test]
    fn foreign_keys_are_found() {
        let found: Vec<_> = foreign_keys(SHOWN)
            .into_iter()
            .map(|key| (key.name, key.column, key.update_rule, key.delete_rule))
            .collect();
        let key = |column: &str| {
            (
                "f`k".to_owned(),
                column.to_owned(),
                String::new(),
                "CASCADE".to_owned(),
            )
        };
        assert_eq!(found, [key("v"), key("w`w")]);
    }
}
