//! Constraints out of MariaDB's SHOW CREATE TABLE.
//!
//! MariaDB shows them in information_schema only to accounts with grants on the whole schema, and what the control
//! account is not shown would go unnoticed. SHOW CREATE TABLE shows them to every account that may read the table.

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

/// One entry per column of a foreign key of a table in this schema.
pub(super) fn foreign_keys(statement: &str, schema: &str) -> Vec<ForeignKeyFacts> {
    let lines = statement.lines();
    lines.flat_map(|line| foreign_key(line, schema)).collect()
}

/// `` CONSTRAINT `fk` FOREIGN KEY (`a`, `b`) REFERENCES `p` (`id`, `n`) ON DELETE CASCADE ``; a table of another schema
/// is `` `s`.`p` ``.
fn foreign_key(line: &str, schema: &str) -> Vec<ForeignKeyFacts> {
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
    let unquoted = |name: &str| name.replace("``", "`");
    let (table, referenced) = reference
        .rsplit_once("`)")
        .and_then(|(names, _)| names.split_once(" (`"))
        .unwrap_or_default();
    let table = table.trim_matches('`');
    let (schema, table) = table.split_once("`.`").unwrap_or((schema, table));
    let columns = columns.split("`, `");
    columns
        .zip(referenced.split("`, `"))
        .map(|(column, referenced)| ForeignKeyFacts {
            name: unquoted(name),
            column: unquoted(column),
            update_rule: rule("ON UPDATE CASCADE"),
            delete_rule: rule("ON DELETE CASCADE"),
            referenced: (unquoted(schema), unquoted(table), unquoted(referenced)),
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
  CONSTRAINT `f``k` FOREIGN KEY (`v`, `w``w`) REFERENCES `p``p` (`id`, `n``n`) ON DELETE CASCADE ON UPDATE SET NULL,
  CONSTRAINT `other` FOREIGN KEY (`id`) REFERENCES `s`.`p` (`id`),
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
        let key = |name: &str, column: &str, delete_rule: &str, referenced: [&str; 3]| {
            let [schema, table, of_parent] = referenced.map(str::to_owned);
            ForeignKeyFacts {
                name: name.to_owned(),
                column: column.to_owned(),
                update_rule: String::new(),
                delete_rule: delete_rule.to_owned(),
                referenced: (schema, table, of_parent),
            }
        };
        assert_eq!(
            foreign_keys(SHOWN, "shop"),
            [
                key("f`k", "v", "CASCADE", ["shop", "p`p", "id"]),
                key("f`k", "w`w", "CASCADE", ["shop", "p`p", "n`n"]),
                key("other", "id", "", ["s", "p", "id"]),
            ]
        );
    }
}
