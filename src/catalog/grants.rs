//! Reads SHOW GRANTS: whether the account may see triggers. A trigger that it may not see would go unnoticed.

/// Whether one of `grants` (lines of SHOW GRANTS, active roles included) gives TRIGGER on the table.
pub(super) fn see_triggers(grants: &[String], schema: &str, table: &str) -> bool {
    grants.iter().any(|line| {
        let parsed = line
            .strip_prefix("GRANT ")
            .and_then(|rest| rest.split_once(" ON "))
            .and_then(|(privileges, rest)| Some((privileges, rest.split_once(" TO ")?.0)));
        let Some((privileges, object)) = parsed else {
            return false;
        };
        let enough = privileges
            .split(", ")
            .any(|privilege| matches!(privilege, "ALL PRIVILEGES" | "ALL" | "TRIGGER"));
        enough && covers(object, schema, table)
    })
}

/// Whether `*.*`, `` `pattern`.* `` or `` `schema`.`table` `` names the table.
fn covers(object: &str, schema: &str, table: &str) -> bool {
    if object == "*.*" {
        return true;
    }
    if let Some(pattern) = object.strip_suffix(".*") {
        let pattern: Vec<char> = unquoted(pattern).to_lowercase().chars().collect();
        let schema: Vec<char> = schema.to_lowercase().chars().collect();
        return like(&pattern, &schema);
    }
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``")).to_lowercase();
    object.to_lowercase() == format!("{}.{}", quoted(schema), quoted(table))
}

fn unquoted(name: &str) -> String {
    let inner = name
        .strip_prefix('`')
        .and_then(|name| name.strip_suffix('`'));
    inner.unwrap_or(name).replace("``", "`")
}

/// SQL's LIKE, by which the schema of a grant is a pattern.
fn like(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skip| like(rest, &text[skip..])),
        ['_', rest @ ..] => !text.is_empty() && like(rest, &text[1..]),
        ['\\', literal, rest @ ..] | [literal, rest @ ..] => {
            text.first() == Some(literal) && like(rest, &text[1..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::see_triggers;

    #[test]
    fn grants_that_show_triggers() {
        for (line, seen) in [
            (
                "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
                true,
            ),
            ("GRANT SELECT, TRIGGER ON `my_shop`.* TO `c`@`%`", true),
            ("GRANT SELECT, TRIGGER ON `my\\_shop`.* TO `c`@`%`", true),
            ("GRANT SELECT, TRIGGER ON `my%`.* TO `c`@`%`", true),
            ("GRANT SELECT, TRIGGER ON `my\\_sho`.* TO `c`@`%`", false),
            ("GRANT TRIGGER ON `my_shop`.`posts` TO `c`@`%`", true),
            ("GRANT TRIGGER ON `my_shop`.`users` TO `c`@`%`", false),
            ("GRANT SELECT, UPDATE ON `my_shop`.* TO `c`@`%`", false),
            ("GRANT USAGE ON *.* TO `c`@`%`", false),
            ("GRANT `role`@`%` TO `c`@`%`", false),
            ("SET DEFAULT ROLE `TRIGGER` FOR `c`@`%`", false),
        ] {
            let lines = [line.to_owned()];
            assert_eq!(see_triggers(&lines, "my_shop", "posts"), seen, "{line}");
        }
    }
}
