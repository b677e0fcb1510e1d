//! The rule that a table has already.

use crate::advise::by_table::Spot;
use crate::config::{Rule, TableName};
use crate::sql::{Sets, Tally};

fn same(left: &str, right: &str) -> bool {
    left.to_lowercase() == right.to_lowercase()
}

/// Whether it is the rule of this table.
pub(super) fn is_of(rule: &Rule, table: &TableName) -> bool {
    same(&rule.table.schema, &table.schema) && same(&rule.table.name, &table.name)
}

/// Whether it has all of these columns.
pub(super) fn names_all(rule: &Rule, columns: &[String]) -> bool {
    let has = |column: &String| rule.columns.iter().any(|other| same(other, column));
    columns.iter().all(has)
}

/// Leaves out the statements that a rule acts on: to a proxy they seem to wait where they are combined.
pub(super) fn leave_out(spot: &mut Spot, rule: &Rule) {
    let is_acted_on = |tally: &Tally| {
        let columns: Vec<String> = tally.columns(Sets::Sum).map(str::to_owned).collect();
        !columns.is_empty() && !tally.is_upsert && names_all(rule, &columns)
    };
    spot.statements
        .retain(|waiting| !waiting.tally.as_ref().is_some_and(is_acted_on));
    spot.waiting = spot.statements.iter().map(|waiting| waiting.waiting).sum();
}

/// The rule that the table has, with what another one adds.
pub(super) fn united(present: &Rule, added: Rule) -> Rule {
    let union = |present: &[String], added: Vec<String>| {
        let mut all = present.to_vec();
        let is_new = |name: &String| !present.iter().any(|other| same(other, name));
        all.extend(added.into_iter().filter(is_new));
        all
    };
    Rule {
        columns: union(&present.columns, added.columns),
        touch: union(&present.touch, added.touch),
        slot_table: present.slot_table.clone(),
        ..added
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::by_table::{Waiting, variables};
    use crate::config::Config;
    use crate::sql::tally;

    fn rule(settings: &str) -> Rule {
        let text = format!("upstream: db:3306\ncounters:\n  - {{table: shop.posts, {settings}}}\n");
        let mut config = Config::from_str(&text, &|_| None).expect("rules");
        config.rules.remove(0)
    }

    fn waiting(text: &str, waiting: f64) -> Waiting {
        Waiting {
            schema: None,
            text: text.to_owned(),
            waiting,
            tally: tally(text.as_bytes(), &variables(Some("shop"))),
        }
    }

    #[test]
    fn what_a_rule_acts_on_is_left_out() {
        let rule = rule("columns: [views]");
        let mut spot = Spot {
            table: rule.table.clone(),
            waiting: 9.5,
            statements: vec![
                waiting("UPDATE posts SET Views = Views + ? WHERE id = ?", 5.0),
                waiting("UPDATE posts SET likes = likes + ? WHERE id = ?", 1.0),
                waiting(
                    "UPDATE posts SET views = views + ?, likes = likes + ? WHERE id = ?",
                    2.0,
                ),
                waiting("UPDATE posts SET title = ? WHERE id = ?", 1.5),
            ],
            rows: Vec::new(),
            in_transaction: None,
        };
        leave_out(&mut spot, &rule);
        assert_eq!(spot.statements.len(), 3);
        assert!((spot.waiting - 4.5).abs() < 1e-9);
    }

    #[test]
    fn a_rule_keeps_what_it_has() {
        let present = rule("columns: [views], touch: [seen_at], slot_table: side.posts, slots: 8");
        let added = rule("columns: [likes, VIEWS], touch: [updated_at]");
        let united = united(&present, added);
        assert_eq!(united.columns, ["views", "likes"]);
        assert_eq!(united.touch, ["seen_at", "updated_at"]);
        assert_eq!(united.slot_table.to_string(), "side.posts");
        assert!(is_of(&united, &present.table));
    }
}
