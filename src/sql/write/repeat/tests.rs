use crate::sql::fixture::plan_of;
use crate::sql::plan::{Plan, Repeat};

fn repeat(text: &str) -> Option<Repeat> {
    match plan_of(text) {
        Plan::Batch(row) => row.repeat.clone(),
        plan => panic!("{text}: {plan:?}"),
    }
}

/// What is sent for three.
fn for_three(text: &str, parameters: &[&str]) -> Option<String> {
    let parameters: Vec<Vec<u8>> = parameters
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let repeat = repeat(text)?;
    let amounts = repeat.amounts(&parameters)?;
    let text = repeat.render(&parameters, &amounts, 3)?;
    Some(String::from_utf8(text).expect("UTF-8"))
}

const VIEWS: &str = "`tallies`.`views` BETWEEN -1000000000 AND 1000000000";

#[test]
fn what_adds_constants_under_conditions_that_hold_in_between_is_repeated() {
    for (text, set, condition) in [
        (
            "UPDATE tallies SET views = views - 2 WHERE id = 42 AND views >= 2",
            "`views` = `views` - 6",
            "(id = 42 AND views >= 2) AND (id = 42 AND (`tallies`.`views` - 4) >= 2)",
        ),
        (
            "UPDATE tallies SET views = views + 1, title = 'x' WHERE id = 42 AND views + 1 <= score AND author_id = 7",
            "`views` = `views` + 3, `title` = 'x'",
            "(id = 42 AND views + 1 <= score AND author_id = 7) \
             AND (id = 42 AND (`tallies`.`views` + 2) + 1 <= score AND author_id = 7)",
        ),
        (
            "UPDATE shop.tallies SET views = views + 1 WHERE shop.tallies.id = 42 AND shop.tallies.views BETWEEN 1 AND 9 LIMIT 1",
            "`views` = `views` + 3",
            "(`tallies`.id = 42 AND `tallies`.views BETWEEN 1 AND 9) \
             AND (`tallies`.id = 42 AND (`tallies`.`views` + 2) BETWEEN 1 AND 9)",
        ),
        (
            "UPDATE tallies SET views = LAST_INSERT_ID(views + 1) WHERE id = 42",
            "`views` = LAST_INSERT_ID(`views` + 3)",
            "(id = 42)",
        ),
        (
            "INSERT INTO tallies VALUES (42, 1, 'a', 5, 0, 0) ON DUPLICATE KEY UPDATE views = views + VALUES(views), title = VALUES(title)",
            "`views` = `views` + 15, `title` = 'a'",
            "(`id` = 42)",
        ),
    ] {
        assert_eq!(
            for_three(text, &[]),
            Some(format!(
                "UPDATE `shop`.`tallies` AS `tallies` SET {set} WHERE {condition} AND {VIEWS}"
            )),
            "{text}"
        );
    }
}

#[test]
fn unsigned_counters_do_not_fall_below_zero_on_the_way() {
    let text = for_three(
        "UPDATE tallies SET likes = likes - 1 WHERE id = 42 AND likes > 0",
        &[],
    );
    let text = text.expect("it is repeated");
    assert!(
        text.ends_with(" AND `tallies`.`likes` >= (0 - (0 - 3))"),
        "{text}"
    );
}

#[test]
fn a_limit_is_not_reached_on_the_way() {
    let three = |text: &str| {
        let text = for_three(text, &["7"]).expect("it is repeated");
        text.split_once(VIEWS).expect("bounds").1.to_owned()
    };
    assert_eq!(
        three("UPDATE tallies SET views = GREATEST(views - 2, 0) WHERE id = 42"),
        " AND `tallies`.`views` >= 0 AND `tallies`.`views` >= (0 - (0 - 6))"
    );
    assert_eq!(
        three("UPDATE tallies SET views = LEAST(?, views + 1) WHERE id = 42"),
        " AND `tallies`.`views` <= 7 AND `tallies`.`views` <= (7 - (0 + 3))"
    );
    let limit = "UPDATE tallies SET views = LEAST(?, views + 1) WHERE id = 42";
    assert_eq!(for_three(limit, &["'7'"]), None);
}

#[test]
fn parameters_must_be_exact_numbers() {
    const BUY: &str = "UPDATE tallies SET views = views - ? WHERE id = ? AND views >= ?";
    let text = for_three(BUY, &["2", "42", "'2'"]).expect("it is repeated");
    assert!(text.contains("SET `views` = `views` - 6 WHERE (id = 42 AND views >= '2') AND (id = 42 AND (`tallies`.`views` - 4) >= '2')"), "{text}");
    for amount in ["'2'", "0", "1.5", "NULL", "2e0"] {
        assert_eq!(for_three(BUY, &[amount, "42", "2"]), None, "{amount}");
    }
    const WITHIN: &str = "UPDATE tallies SET views = views - 1 WHERE id = 42 AND views - ? >= 0";
    assert!(for_three(WITHIN, &["2"]).is_some());
    assert_eq!(for_three(WITHIN, &["'2'"]), None);
}

#[test]
fn without_a_primary_key_no_condition_is_needed() {
    let text = for_three("UPDATE drawn SET number = LAST_INSERT_ID(number + 1)", &[]);
    assert_eq!(
        text.expect("it is repeated"),
        "UPDATE `shop`.`drawn` AS `drawn` SET `number` = LAST_INSERT_ID(`number` + 3) WHERE TRUE \
         AND `drawn`.`number` BETWEEN -1000000000 AND 1000000000"
    );
    let text = for_three("UPDATE drawn SET number = number - 1 WHERE number > 0", &[]);
    let condition = "WHERE (number > 0) AND ((`drawn`.`number` - 2) > 0) AND";
    assert!(text.expect("it is repeated").contains(condition));
}

#[test]
fn more_than_a_value_may_change_by_is_not_done_at_once() {
    let repeat = repeat("UPDATE tallies SET views = views - 4000000 WHERE id = 42 AND views > 0");
    let repeat = repeat.expect("it is repeated");
    let amounts = repeat.amounts(&[]).expect("exact");
    assert!(repeat.render(&[], &amounts, 1).is_some());
    assert_eq!(repeat.render(&[], &amounts, 2), None);
}

#[test]
fn what_may_come_out_otherwise_in_between_is_not_repeated() {
    for text in [
        "UPDATE tallies SET views = 5 WHERE id = 42",
        "UPDATE tallies SET views = GREATEST(views - 1, '0') WHERE id = 42",
        "UPDATE tallies SET views = GREATEST(5, 0) WHERE id = 42",
        "UPDATE tallies SET views = GREATEST(views - 1, 0, 1) WHERE id = 42",
        "UPDATE tallies SET views = GREATEST(views, 0) WHERE id = 42",
        "UPDATE tallies SET views = GREATEST(LEAST(views - 1, 5), 0) WHERE id = 42",
        "UPDATE tallies SET views = views - 0 WHERE id = 42 AND views > 0",
        "UPDATE tallies SET views = views - 1 WHERE id = 42 AND views <> 0",
        "UPDATE tallies SET views = views - 1 WHERE id = 42 AND views = 5",
        "UPDATE tallies SET views = views - 1 WHERE id = 42 AND NOT views > 5",
        "UPDATE tallies SET views = views - 1 WHERE id = 42 AND (views > 5 OR title = 'x')",
        "UPDATE tallies SET views = views - 1 WHERE id = 42 AND views NOT BETWEEN 1 AND 5",
        "UPDATE tallies SET views = views - 1 WHERE id = 42 AND views * 2 > 5",
        "UPDATE tallies SET views = views - 1 WHERE id = 42 AND views > title",
        "UPDATE tallies SET views = views - 1 WHERE id = 42 AND views - '1' > 5",
        "UPDATE tallies SET views = views - 1, title = 'x' WHERE id = 42 AND views > 0 AND title = 'y'",
        "UPDATE tallies SET views = views - 1, id = 42 WHERE id = 42 AND views > 0",
        "UPDATE tallies SET views = views - 1, likes = views WHERE id = 42 AND views > 0",
        "UPDATE tallies SET score = LAST_INSERT_ID(score + 1) WHERE id = 42",
        "INSERT INTO tallies VALUES (42, 1, 'a', 5, 0, 0)",
        "INSERT INTO tallies VALUES (42, 1, 'a', 5, 0, 0) ON DUPLICATE KEY UPDATE views = VALUES(likes) + views",
        "INSERT INTO tallies VALUES (42, 1, 'a', 5, 0, 0) ON DUPLICATE KEY UPDATE views = IF(views > 5, 1, 2)",
        "INSERT INTO tallies VALUES (42, 1, 'a', 5, 0, 0) ON DUPLICATE KEY UPDATE title = 'b'",
        "REPLACE INTO tallies VALUES (42, 1, 'a', 5, 0, 0)",
        "DELETE FROM tallies WHERE id = 42",
    ] {
        assert_eq!(repeat(text), None, "{text}");
    }
}
