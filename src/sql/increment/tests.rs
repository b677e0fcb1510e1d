//! Increments as the ORMs write them, and what is none.

use crate::sql::fixture::planned;

const GUARD: &str = "IF(`posts`.`views` BETWEEN -1000000000 AND 1000000000, + 1, 2 * 4194303 + 1)";

/// The plan of `views + 1` on `posts`, under its own name, where `predicate` has `key`.
fn views_plus_one(predicate: &str, key: &str) -> String {
    format!(
        "update: UPDATE `shop`.`posts_slots` AS `posts` SET `views` = `views` + 1 \
         WHERE ({predicate}) AND `posts`.`slot` = <slot>\n\
         upsert: INSERT INTO `shop`.`posts_slots` (`id`, `slot`, `views`) \
         SELECT `posts`.`id`, <slot>, {GUARD} FROM `shop`.`posts` AS `posts` WHERE ({predicate}) \
         LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE \
         `views` = `shop`.`posts_slots`.`views` + {GUARD}, `open` = 1\n\
         fold Fallback: posts where `id` = {key}"
    )
}

#[test]
fn the_increments_that_frameworks_write() {
    let cases = [
        // Rails
        (
            "UPDATE `posts` SET `posts`.`views` = COALESCE(`posts`.`views`, 0) + 1 WHERE `posts`.`id` = 42",
            "`posts`.`id` = 42",
            "42",
        ),
        // Django
        (
            "UPDATE `posts` SET `views` = (`posts`.`views` + 1) WHERE `posts`.`id` = 42",
            "`posts`.`id` = 42",
            "42",
        ),
        // Laravel
        (
            "update `posts` set `views` = `views` + 1 where `id` = ?",
            "`id` = <?0>",
            "<?0>",
        ),
        // Hibernate before 6
        (
            "update posts set views=views+1 where id=?",
            "id=<?0>",
            "<?0>",
        ),
        // SQLAlchemy
        (
            "UPDATE posts SET views=(posts.views + 1) WHERE posts.id = 42",
            "posts.id = 42",
            "42",
        ),
        // Sequelize
        (
            "UPDATE `posts` SET `views`=`views`+ 1 WHERE `id` = 1",
            "`id` = 1",
            "1",
        ),
    ];
    for (text, predicate, key) in cases {
        assert_eq!(planned(text), views_plus_one(predicate, key), "{text}");
    }
}

#[test]
fn hibernates_alias_stays() {
    let plan = planned("update posts p1_0 set views=(p1_0.views+1) where p1_0.id=?");
    assert!(plan.starts_with(
        "update: UPDATE `shop`.`posts_slots` AS `p1_0` SET `views` = `views` + 1 \
         WHERE (p1_0.id=<?0>) AND `p1_0`.`slot` = <slot>\n"
    ));
    assert!(
        plan.contains(" FROM `shop`.`posts` AS `p1_0` WHERE (p1_0.id=<?0>) LOCK IN SHARE MODE ")
    );
}

#[test]
fn prismas_schema_is_cut_off_and_parameters_keep_their_positions() {
    let plan = planned(
        "UPDATE `shop`.`posts` SET `views` = (`shop`.`posts`.`views` + ?) WHERE (`shop`.`posts`.`id` = ? AND 1=1)",
    );
    assert!(plan.starts_with(
        "update: UPDATE `shop`.`posts_slots` AS `posts` SET `views` = `views` + (<?0>) \
         WHERE ((`posts`.`id` = <?1> AND 1=1)) AND `posts`.`slot` = <slot>\n"
    ));
    assert!(plan.contains("\ndelta: <?0> to column 3, negated false\n"));
    assert!(plan.ends_with("fold Fallback: posts where `id` = <?1>"));
}

#[test]
fn several_counters_and_signs_in_one_statement() {
    let plan = planned(
        "UPDATE posts SET views = views - -1, likes = 2 + likes, score = IFNULL(score, 0) - 0.5 WHERE id = 1",
    );
    assert!(plan.starts_with(
        "update: UPDATE `shop`.`posts_slots` AS `posts` SET `views` = `views` + 1, `likes` = `likes` + 2, \
         `score` = `score` - 0.5 WHERE (id = 1) AND `posts`.`slot` = <slot>\n"
    ));
}

#[test]
fn a_key_column_called_slot_moves_the_slot_number() {
    let plan = planned("UPDATE hits SET n = n + 1 WHERE tenant = 'a' AND slot = '/x'");
    assert!(plan.starts_with(
        "update: UPDATE `shop`.`hits_slots` AS `hits` SET `n` = `n` + 1 \
         WHERE (tenant = 'a' AND slot = '/x') AND `hits`.`countersink_slot` = <slot>\n"
    ));
    assert!(plan.contains("(`tenant`, `slot`, `countersink_slot`, `n`) SELECT `hits`.`tenant`, `hits`.`slot`, <slot>, "));
}

#[test]
fn only_a_whole_key_of_its_own_type_may_update_the_slot_row() {
    let has_update = |text: &str| planned(text).starts_with("update: ");
    let cases = [
        ("UPDATE posts SET views = views + 1 WHERE 42 = id", true),
        (
            "UPDATE posts SET views = views + 1 WHERE ((id) = (42))",
            true,
        ),
        (
            "UPDATE posts SET views = views + 1 WHERE id = 42 AND author_id = 1",
            false,
        ),
        (
            "UPDATE posts SET views = views + 1 WHERE id IN (1, 2)",
            false,
        ),
        (
            "UPDATE posts SET views = views + 1 WHERE id = 42 OR id = 43",
            false,
        ),
        ("UPDATE posts SET views = views + 1 WHERE id = '042'", false),
        ("UPDATE posts SET views = views + 1", false),
        ("UPDATE hits SET n = n + 1 WHERE tenant = 'a'", false),
        (
            "UPDATE hits SET n = n + 1 WHERE tenant = 'a' AND slot = 5",
            false,
        ),
        (
            "UPDATE hits SET n = n + 1 WHERE tenant = ? AND slot = 'x'",
            true,
        ),
        ("UPDATE posts SET views = views + 1 WHERE id = '42'", true),
    ];
    for (text, expected) in cases {
        assert!(planned(text).contains("upsert: "), "{text}");
        assert_eq!(has_update(text), expected, "{text}");
    }
    assert!(planned(cases[9].0).contains("\ntext keys: [0]\n"));
}

#[test]
fn a_string_of_digits_is_added_as_the_number_it_is() {
    assert_eq!(
        planned("UPDATE posts SET views = views + '1' WHERE id = 42"),
        views_plus_one("id = 42", "42")
    );
}

/// ProFTPD counts bytes so.
#[test]
fn a_whole_number_may_be_written_with_a_fraction_of_zeros() {
    let plan = planned("UPDATE posts SET views = views + 1234.000000 WHERE id = 1");
    assert!(
        plan.contains("SET `views` = `views` + 1234.000000 WHERE"),
        "{plan}"
    );
    let plan = planned("UPDATE posts SET views = views + 1234.000001 WHERE id = 1");
    assert!(plan.starts_with("fold InexactDelta"), "{plan}");
}

#[test]
fn limit_1_means_nothing_where_there_is_one_key() {
    for limit in ["LIMIT 1", "limit 5;", "LIMIT 1 -- one"] {
        let text = format!("UPDATE posts SET views = views + 1 WHERE id = 42 {limit}");
        let expected = views_plus_one("id = 42", "42");
        let fold = expected.find("\nfold").expect("the exact way");
        let (before, behind) = expected.split_at(fold);
        let expected = format!("{before}\none key only{behind}");
        assert_eq!(planned(&text), expected, "{text}");
    }
}

#[test]
fn a_hexadecimal_literal_names_a_key_of_bytes() {
    for literal in ["X'2F61'", "0x2F61", "x'2f61'"] {
        let text =
            format!("UPDATE hits SET n = n + 1 WHERE tenant = {literal} AND slot = {literal}");
        let plan = planned(&text);
        assert!(plan.starts_with("update: "), "{text}: {plan}");
    }
    // A number to a column of numbers, in which a server may find more than one.
    let plan = planned("UPDATE posts SET views = views + 1 WHERE id = 0x01");
    assert!(plan.starts_with("upsert: "), "{plan}");
}

#[test]
fn what_may_not_be_slotted_folds_with_its_reason() {
    let cases = [
        ("views = views + 0 WHERE id = 1", "forward ZeroDelta"),
        (
            "likes = likes - 1 WHERE id = 1",
            "fold UnsignedDecrement: posts where `id` = 1",
        ),
        (
            "likes = likes - ? WHERE id = 1",
            "fold UnsignedDecrement: posts where `id` = 1",
        ),
        (
            "views = views + 4194304 WHERE id = 1",
            "fold NoRoom: posts where `id` = 1",
        ),
        (
            "views = views + 0.5 WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "views = views + 1e0 WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "likes = likes + '1' WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "score = score + '1' WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "views = views + '1.0' WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "views = views + '1 ' WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "views = views + '' WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "views = views + '4194304' WHERE id = 1",
            "fold NoRoom: posts where `id` = 1",
        ),
        ("views = views + '0' WHERE id = 1", "forward ZeroDelta"),
        (
            "views = views + x'01' WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "views = views + TRUE WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "score = score + 0.125 WHERE id = 1",
            "fold InexactDelta: posts where `id` = 1",
        ),
        (
            "views = 5 WHERE id = 1",
            "fold AbsoluteSet: posts where `id` = 1",
        ),
        (
            "views = views * 2 WHERE id = -1",
            "fold AbsoluteSet: posts where `id` = -1",
        ),
        (
            "views = 1 - views WHERE id = 1",
            "fold AbsoluteSet: posts where `id` = 1",
        ),
        (
            "views = views + 1, views = views + 1 WHERE id = 1",
            "fold AbsoluteSet: posts where `id` = 1",
        ),
        (
            "views = views + likes WHERE id = 1",
            "fold AbsoluteSet: posts where `id` = 1",
        ),
        (
            "views = LAST_INSERT_ID(views + 1) WHERE id = 1",
            "fold AbsoluteSet: posts where `id` = 1",
        ),
        (
            "views = views + LAST_INSERT_ID(5) WHERE id = 1",
            "fold AbsoluteSet: posts where `id` = 1",
        ),
        (
            "views = views + 1, title = 'x' WHERE id = 1",
            "fold OtherColumns: posts where `id` = 1",
        ),
        (
            "views = views + 1 WHERE id = 1 AND views < 9",
            "fold CounterInPredicate: posts where `id` = 1",
        ),
        (
            "views = views + 1 WHERE id = 1 ORDER BY views",
            "fold CounterInPredicate: posts where `id` = 1",
        ),
        (
            "views = views + 1 WHERE id = 1 LIMIT 0",
            "fold Unresolved: posts where `id` = 1",
        ),
        (
            "views = views + 1 WHERE id = 1 LIMIT ?",
            "fold Unresolved: posts where `id` = 1",
        ),
        (
            "views = views + 1 WHERE id IN (1, 2) LIMIT 1",
            "fold Unresolved: posts where `id` IN (1, 2)",
        ),
        (
            "views = views + 1 WHERE id = 1 ORDER BY id LIMIT 1",
            "fold Unresolved: posts where `id` = 1",
        ),
        (
            "views = views + 1, id = id WHERE id = DATE '2024-02-29'",
            "fold KeyChange: posts where `id` = DATE '2024-02-29'",
        ),
        (
            "views = views + 1 WHERE id IN (TIME '1:2:3', TIMESTAMP'2024-02-29 00:00:00') LIMIT 1",
            "fold Unresolved: posts where `id` IN (TIME '1:2:3', TIMESTAMP '2024-02-29 00:00:00')",
        ),
        (
            "views = views + DATE '2024-02-29' WHERE id = 1",
            "fold AbsoluteSet: posts where `id` = 1",
        ),
        ("views = views + 1 LIMIT 1", "fold Unresolved: posts"),
        (
            "views = views + 1 WHERE id = 1 AND @x := 5",
            "fold Unresolved: posts",
        ),
        (
            "views = views + 1 WHERE id = ABS(1)",
            "fold Unresolved: posts",
        ),
        (
            "views = views + 1 WHERE id IN (SELECT 1)",
            "fold Unresolved: posts",
        ),
        (
            "views = views + 1 WHERE id = 1 AND title = 'a' || 'b'",
            "fold Unresolved: posts",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            planned(&format!("UPDATE posts SET {text}")),
            expected,
            "{text}"
        );
    }
}
