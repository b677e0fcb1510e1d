//! Touch columns: what an increment may set them to, and how the time rides along in a slot.
//!
//! A touch column reads back as the greatest of base and slots, so a slot may only take a time that is not before any
//! other: the statement's own present, or a literal close to the server's clock. All else takes the exact path.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use crate::catalog::HotTable;
use crate::sql::context::{Context, bare, ident, quoted};
use crate::sql::key;
use crate::sql::template::Template;

/// How far a literal may be from the server's clock, in seconds: applications take it a moment before they send it.
const CLOSE: u8 = 5;

/// A touch column that an increment sets.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) column: usize,
    value: Template,
    /// The statement's own present, which is close by itself.
    is_now: bool,
    /// The server sets it; the statement does not name it.
    is_automatic: bool,
}

impl Touch {
    /// What an assignment sets the touch column `column` to, if a slot may take that.
    pub(super) fn assigned(
        context: &Context<'_>,
        table: &HotTable,
        column: usize,
        value: &Expr,
    ) -> Option<Self> {
        let (written, is_now) = match (now(value), bare(value)) {
            (Some(digits), _) => (Template::text(format!("NOW({digits})")), true),
            (None, Expr::Value(literal)) if is_time(&literal.value) => {
                (key::key_value(context, bare(value))?.text, false)
            }
            _ => return None,
        };
        // As the column will hold it: compared before it is rounded, a time could be before itself.
        let mut value = Template::text("CAST(");
        value.append(&written);
        let fraction = table.columns[column].fraction();
        value.push_text(format!(" AS DATETIME({fraction}))"));
        Some(Self {
            column,
            value,
            is_now,
            is_automatic: false,
        })
    }

    /// What ON UPDATE CURRENT_TIMESTAMP sets by itself.
    pub(super) fn automatic(table: &HotTable, column: usize) -> Self {
        let fraction = table.columns[column].fraction();
        Self {
            column,
            value: Template::text(format!("NOW({fraction})")),
            is_now: true,
            is_automatic: true,
        }
    }

    /// Whether the server sets it by itself, for which no right is needed.
    pub(super) fn is_automatic(&self) -> bool {
        self.is_automatic
    }

    /// Whether it is the statement's own present.
    pub(super) fn is_now(&self) -> bool {
        self.is_now
    }

    /// The value to set.
    pub(super) fn value(&self) -> &Template {
        &self.value
    }

    /// The condition that `held`, a column of base or of the slot row, is not after the value. Base must have a time;
    /// a slot row may have none yet.
    pub(super) fn is_not_before(&self, held: &str, may_be_null: bool) -> Template {
        let mut text = Template::text(match may_be_null {
            true => format!("COALESCE({held} <= "),
            false => format!("{held} <= "),
        });
        text.append(&self.value);
        text.push_text(if may_be_null { ", TRUE)" } else { "" });
        text
    }

    /// The condition that a literal is close to the server's clock, in its zone or in UTC.
    pub(super) fn is_close(&self) -> Option<Template> {
        if self.is_now {
            return None;
        }
        let mut text = Template::text("(ABS(TIMESTAMPDIFF(SECOND, ");
        text.append(&self.value)
            .push_text(format!(
                ", NOW())) <= {CLOSE} OR ABS(TIMESTAMPDIFF(SECOND, "
            ))
            .append(&self.value)
            .push_text(format!(", UTC_TIMESTAMP())) <= {CLOSE})"));
        Some(text)
    }

    /// `column = value`
    pub(super) fn assignment(&self, table: &HotTable) -> Template {
        let mut text = Template::text(format!("{} = ", quoted(&table.columns[self.column].name)));
        text.append(&self.value);
        text
    }
}

/// Whether a literal may be a time.
fn is_time(value: &Value) -> bool {
    matches!(
        value,
        Value::SingleQuotedString(_) | Value::DoubleQuotedString(_) | Value::Placeholder(_)
    )
}

/// Whether an expression is the statement's own present.
pub(super) fn is_now(value: &Expr) -> bool {
    now(value).is_some()
}

/// The fractional digits of NOW() and its synonyms; `None` for anything else.
pub(super) fn now(value: &Expr) -> Option<u8> {
    const SYNONYMS: [&str; 4] = ["NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"];
    let Expr::Function(function) = bare(value) else {
        return None;
    };
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let name = &ident(name)?.value;
    if !SYNONYMS.iter().any(|now| name.eq_ignore_ascii_case(now)) || function.over.is_some() {
        return None;
    }
    match &function.args {
        FunctionArguments::None => Some(0),
        FunctionArguments::List(list) => match list.args.as_slice() {
            [] => Some(0),
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(digits)))] => {
                match &digits.value {
                    Value::Number(digits, false) => {
                        digits.parse().ok().filter(|&digits: &u8| digits <= 6)
                    }
                    _ => None,
                }
            }
            _ => None,
        },
        FunctionArguments::Subquery(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::catalog::{Catalog, Column, HotTable};
    use crate::sql::fixture::{posts, show};
    use crate::sql::plan::{Plan, SessionVariables};

    /// posts with `changed_at DATETIME(3)`, and `updated_at TIMESTAMP` that sets itself if `automatic`.
    fn planned(automatic: bool, text: &str) -> String {
        show(&plan_of(automatic, text))
    }

    fn plan_of(automatic: bool, text: &str) -> Plan {
        let mut table = HotTable::clone(&posts());
        let time = |name: &str, definition: &str, on_update_now| Column {
            name: name.to_owned(),
            definition: definition.to_owned(),
            invisible: false,
            nullable: true,
            on_update_now,
            auto_increment: false,
        };
        table.touches.push(table.columns.len());
        table.columns.push(time("changed_at", "datetime(3)", false));
        if automatic {
            table.touches.push(table.columns.len());
            table.columns.push(time("updated_at", "timestamp", true));
        }
        let catalog = Catalog {
            tables: vec![Arc::new(table)],
            ..Catalog::default()
        };
        let variables = SessionVariables {
            schema: Some("shop".to_owned()),
            ..SessionVariables::default()
        };
        crate::sql::plan(text.as_bytes(), &variables, &catalog)
    }

    #[test]
    fn times_of_different_precision_are_not_of_one_kind() {
        let increment = |text: &str| match plan_of(false, text) {
            Plan::Increment(increment) => increment,
            other => panic!("{text}: {}", show(&other)),
        };
        let whole =
            increment("UPDATE posts SET views = views + 1, changed_at = NOW() WHERE id = 1");
        let finer =
            increment("UPDATE posts SET views = views + 1, changed_at = NOW(3) WHERE id = 1");
        assert!(whole.may_combine && finer.may_combine);
        assert_ne!(whole.times, finer.times);
    }

    #[test]
    fn the_time_rides_along_in_the_slot() {
        let plan = planned(
            false,
            "UPDATE posts SET views = views + 1, changed_at = NOW(3) WHERE id = 1",
        );
        let now = "CAST(NOW(3) AS DATETIME(3))";
        assert!(
            plan.starts_with(&format!(
                "update: UPDATE `shop`.`posts_slots` AS `posts` SET \
                 `views` = `views` + IF(COALESCE(`changed_at` <= {now}, TRUE), + 1, 2 * 4194303 + 1), \
                 `changed_at` = {now} WHERE (id = 1) AND `posts`.`slot` = <slot>\n"
            )),
            "{plan}"
        );
        assert!(
            plan.contains(&format!(
                "AND `posts`.`changed_at` <= {now}, + 1, 2 * 4194303 + 1), {now} FROM `shop`.`posts`"
            )),
            "{plan}"
        );
    }

    #[test]
    fn a_literal_must_be_close_to_the_clock_and_a_column_sets_itself() {
        let plan = planned(
            true,
            "UPDATE posts SET views = views + 1, changed_at = ? WHERE id = ?",
        );
        let close = "(ABS(TIMESTAMPDIFF(SECOND, CAST(<?0> AS DATETIME(3)), NOW())) <= 5 OR ";
        assert!(plan.contains(close), "{plan}");
        assert!(plan.contains(", `updated_at` = NOW(0) WHERE "), "{plan}");
    }

    #[test]
    fn other_times_take_the_exact_path() {
        for (text, reason) in [
            (
                "UPDATE posts SET views = views + 1, changed_at = NULL WHERE id = 1",
                "TouchColumn",
            ),
            (
                "UPDATE posts SET views = views + 1, changed_at = SYSDATE() WHERE id = 1",
                "TouchColumn",
            ),
            (
                "UPDATE posts SET title = 'x', changed_at = '2024-01-01' WHERE id = 1",
                "TouchColumn",
            ),
            (
                "UPDATE posts SET title = 'x', changed_at = NOW() WHERE id = 1",
                "TouchColumn",
            ),
            (
                "UPDATE posts SET title = changed_at WHERE id = 1",
                "OtherColumns",
            ),
            (
                "UPDATE posts SET views = views + 1 WHERE changed_at IS NULL",
                "CounterInPredicate",
            ),
        ] {
            let plan = planned(false, text);
            assert!(
                plan.starts_with(&format!("fold {reason}")),
                "{text}: {plan}"
            );
        }
    }
}
