//! Reads SHOW GRANTS: what the control account may do. A trigger that it may not see would go unnoticed.

/// Whether one of `grants` (lines of SHOW GRANTS, active roles included) gives TRIGGER on the table.
pub(super) fn see_triggers(grants: &[String], schema: &str, table: &str) -> bool {
    lacking(grants, schema, Some(table), &["TRIGGER"]).is_empty()
}

/// Those of `wanted` that no line of `grants` gives on all of the table; without a table, on all of the schema.
///
/// A grant on some columns is none on the table.
pub(crate) fn lacking<'a>(
    grants: &[String],
    schema: &str,
    table: Option<&str>,
    wanted: &[&'a str],
) -> Vec<&'a str> {
    let given: Vec<&str> = grants
        .iter()
        .filter_map(|line| {
            let (privileges, rest) = line.strip_prefix("GRANT ")?.split_once(" ON ")?;
            let (object, _) = rest.split_once(" TO ")?;
            covers(object, schema, table).then_some(privileges)
        })
        // The dynamic privileges are listed without spaces.
        .flat_map(|privileges| privileges.split(',').map(str::trim))
        .collect();
    let is_given = |privilege: &str| {
        given
            .iter()
            .any(|given| ["ALL PRIVILEGES", "ALL", privilege].contains(given))
    };
    let lacking = wanted.iter().filter(|privilege| !is_given(privilege));
    lacking.copied().collect()
}

/// Whether `*.*`, `` `pattern`.* `` or `` `schema`.`table` `` covers the table.
fn covers(object: &str, schema: &str, table: Option<&str>) -> bool {
    if object == "*.*" {
        return true;
    }
    if let Some(pattern) = object.strip_suffix(".*") {
        return matches(&unquoted(pattern), schema);
    }
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``")).to_lowercase();
    table.is_some_and(|table| {
        object.to_lowercase() == format!("{}.{}", quoted(schema), quoted(table))
    })
}

/// Whether the schema of a grant, which is a pattern, covers `schema`.
pub(crate) fn matches(pattern: &str, schema: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let schema: Vec<char> = schema.to_lowercase().chars().collect();
    like(&pattern, &schema)
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
    use super::{lacking, see_triggers};

    #[test]
    fn what_is_lacking_is_what_no_line_gives() {
        let grants = [
            "GRANT SELECT ON `shop`.* TO `c`@`%`",
            "GRANT INSERT, UPDATE (`views`, `likes`) ON `shop`.`posts` TO `c`@`%`",
            "GRANT SHOW_ROUTINE,BACKUP_ADMIN ON *.* TO `c`@`%`",
        ]
        .map(str::to_owned);
        let on = |table, wanted: &[&'static str]| lacking(&grants, "shop", table, wanted);
        let wanted = ["SELECT", "INSERT", "UPDATE"];
        assert_eq!(on(Some("posts"), &wanted), ["UPDATE"]);
        assert_eq!(on(Some("users"), &wanted), ["INSERT", "UPDATE"]);
        assert_eq!(on(None, &wanted), ["INSERT", "UPDATE"]);
        assert_eq!(on(None, &["SHOW_ROUTINE", "BACKUP_ADMIN"]), [""; 0]);
        assert_eq!(lacking(&grants, "other", None, &wanted), wanted);
    }

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
