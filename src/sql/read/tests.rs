//! Reads: the text that is sent. `[base]` means base + sum; one test spells it out.

use crate::sql::fixture::{briefly_planned, planned};

#[test]
fn a_counter_becomes_base_plus_sum() {
    assert_eq!(
        planned("SELECT `views` FROM posts p WHERE id = ? FOR UPDATE"),
        "read SummedLocked (posts): SELECT CAST(`views` + COALESCE((SELECT COALESCE(SUM(`countersink_s`.`views`), 0) \
         FROM `shop`.`posts_slots` AS `countersink_s` FORCE INDEX (PRIMARY) \
         WHERE `countersink_s`.`id` = p.`id`<folded 0> FOR UPDATE), CAST(EXP(131770100 + LENGTH(`views`)) AS SIGNED)) \
         AS SIGNED) AS `views` FROM posts p WHERE id = ? FOR UPDATE\n\
         lock: SELECT COUNT(*) FROM `shop`.`posts` WHERE `id` = <?0> FOR UPDATE\n\
         lock: SELECT COUNT(*) FROM `shop`.`posts_slots` WHERE `id` = <?0> FOR UPDATE\n\
         first: fold SummedLocked: posts where `id` = <?0>"
    );
    assert_eq!(
        planned("SELECT n FROM shop.hits"),
        "read Summed (hits): SELECT CAST(n + COALESCE((SELECT COALESCE(SUM(`countersink_s17`.`n`), 0) \
         FROM `shop`.`hits_slots` AS `countersink_s17` WHERE `countersink_s17`.`tenant` = shop.hits.`tenant` \
         AND `countersink_s17`.`slot` = shop.hits.`slot`<folded 0>), CAST(EXP(131770100 + LENGTH(n)) AS SIGNED)) AS SIGNED) \
         AS `n` FROM shop.hits"
    );
}

#[test]
fn types_and_names_of_several_sums() {
    let plan = planned("SELECT likes, score FROM posts");
    assert!(
        plan.contains("AS `countersink_s` WHERE `countersink_s`.`id` = posts.`id`<folded 0>), ")
    );
    assert!(plan.contains("LENGTH(likes)) AS SIGNED)) AS UNSIGNED) AS `likes`, "));
    assert!(
        plan.contains("AS `countersink_s2` WHERE `countersink_s2`.`id` = posts.`id`<folded 0>), ")
    );
    assert!(plan.contains("LENGTH(score)) AS SIGNED)) AS DECIMAL(10,2)) AS `score`"));
    assert!(planned("SELECT posts.views, hits.n FROM posts, hits").contains("<folded 1>"));
}

/// Each text and what it becomes.
fn rewrites(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let plan = briefly_planned(text);
        let (_, rewritten) = plan.split_once(": ").unwrap_or(("", &plan));
        assert_eq!(rewritten, *expected, "{text}\n{plan}");
        assert!(plan.starts_with("read "), "{text}: {plan}");
    }
}

#[test]
fn select_lists() {
    rewrites(&[
        (
            "SELECT VIEWS, (views), views v, views + 1 FROM posts",
            "SELECT [VIEWS] AS `VIEWS`, ([views]) AS `views`, [views] v, [views] + 1 FROM posts",
        ),
        (
            "SELECT `posts`.* FROM `posts` LIMIT ?",
            "SELECT `posts`.`id`, `posts`.`author_id`, `posts`.`title`, [`posts`.`views`] AS `views`, [`posts`.`likes`] AS `likes`, [`posts`.`score`] AS `score` FROM `posts` LIMIT ?",
        ),
        (
            "SELECT * FROM hits h LEFT JOIN authors a ON a.views > h.n",
            "SELECT h.`tenant`, h.`slot`, [h.`n`] AS `n`, h.`note`, a.* FROM hits h LEFT JOIN authors a ON a.views > [h.n]",
        ),
        (
            "SELECT SUM(views), COUNT(*), MAX(likes) OVER () FROM posts",
            "SELECT SUM([views]), COUNT(*), MAX([likes]) OVER () FROM posts",
        ),
        (
            "SELECT /* a */ shop.posts.views /* b */ FROM posts -- c",
            "SELECT /* a */ [shop.posts.views] AS `views` /* b */ FROM posts -- c",
        ),
        (
            "SELECT a.views, p.views FROM authors a, posts p",
            "SELECT a.views, [p.views] AS `views` FROM authors a, posts p",
        ),
    ]);
}

#[test]
fn order_having_and_group() {
    rewrites(&[
        (
            "SELECT id, views FROM posts ORDER BY views DESC",
            "SELECT id, [views] AS `views` FROM posts ORDER BY views DESC",
        ),
        (
            "SELECT id FROM posts ORDER BY views",
            "SELECT id FROM posts ORDER BY [views]",
        ),
        (
            "SELECT DISTINCT p.views FROM posts p ORDER BY p.views",
            "SELECT DISTINCT [p.views] AS `views` FROM posts p ORDER BY `views`",
        ),
        (
            "SELECT SUM(views) AS views FROM posts GROUP BY author_id HAVING views > 3 ORDER BY views",
            "SELECT SUM([views]) AS views FROM posts GROUP BY author_id HAVING views > 3 ORDER BY views",
        ),
        (
            "SELECT author_id FROM posts GROUP BY author_id HAVING SUM(views) > 3",
            "SELECT author_id FROM posts GROUP BY author_id HAVING SUM([views]) > 3",
        ),
        (
            "SELECT id, posts.views FROM posts HAVING posts.views > 3",
            "SELECT id, [posts.views] AS `views` FROM posts HAVING `views` > 3",
        ),
        (
            "SELECT views, COUNT(*) FROM posts GROUP BY views",
            "SELECT [views] AS `views`, COUNT(*) FROM posts GROUP BY 1",
        ),
        (
            "SELECT views DIV 9 AS b, COUNT(*) FROM posts GROUP BY b",
            "SELECT [views] DIV 9 AS b, COUNT(*) FROM posts GROUP BY b",
        ),
        (
            "SELECT id, views FROM posts GROUP BY id",
            "SELECT id, [views] AS `views` FROM posts GROUP BY id",
        ),
        (
            "SELECT id, RANK() OVER w FROM posts WINDOW w AS (ORDER BY views)",
            "SELECT id, RANK() OVER w FROM posts WINDOW w AS (ORDER BY [views])",
        ),
    ]);
}

#[test]
fn inner_queries() {
    rewrites(&[
        (
            "SELECT name FROM authors WHERE id IN (SELECT author_id FROM posts WHERE views > 5)",
            "SELECT name FROM authors WHERE id IN (SELECT author_id FROM posts WHERE [views] > 5)",
        ),
        (
            "SELECT d.views FROM (SELECT views, likes + 1 FROM posts) d",
            "SELECT d.views FROM (SELECT [views] AS `views`, [likes] + 1 AS `likes + 1` FROM posts) d",
        ),
        (
            "WITH posts AS (SELECT * FROM hits) SELECT views FROM posts",
            "WITH posts AS (SELECT hits.`tenant`, hits.`slot`, [hits.`n`] AS `n`, hits.`note` FROM hits) SELECT views FROM posts",
        ),
        (
            "SELECT views FROM posts UNION SELECT views FROM authors ORDER BY views",
            "SELECT [views] AS `views` FROM posts UNION SELECT views FROM authors ORDER BY views",
        ),
        (
            "(SELECT id FROM posts ORDER BY views LIMIT 1) UNION (SELECT 1)",
            "(SELECT id FROM posts ORDER BY [views] LIMIT 1) UNION (SELECT 1)",
        ),
        (
            "SELECT (SELECT COUNT(*) FROM authors a WHERE a.views < p.views) FROM posts p",
            "SELECT (SELECT COUNT(*) FROM authors a WHERE a.views < [p.views]) FROM posts p",
        ),
        (
            "SELECT id FROM posts p WHERE EXISTS (SELECT * FROM posts q WHERE q.views > p.views)",
            "SELECT id FROM posts p WHERE EXISTS (SELECT * FROM posts q WHERE [q.views] > [p.views])",
        ),
    ]);
}

#[test]
fn locking_reads() {
    let cases = [
        ("FOR SHARE", "LOCK IN SHARE MODE", 2),
        ("LOCK IN SHARE MODE", "LOCK IN SHARE MODE", 2),
    ];
    for (clause, sum_clause, locks) in cases {
        let plan = briefly_planned(&format!(
            "SELECT views + 0 FROM posts WHERE id = 1 {clause}"
        ));
        let text = format!(
            "read SummedLocked (posts): SELECT [views, {sum_clause}] + 0 FROM posts WHERE id = 1 {clause}"
        );
        assert_eq!(plan.lines().next(), Some(text.as_str()));
        assert_eq!(plan.lines().count(), 1 + locks, "{plan}");
    }
    // A row whose slots others hold is left out, however much of its value is asked for.
    const FREE: &str = "COALESCE((SELECT COALESCE(SUM(`countersink_s`.`open`), 0) FROM `shop`.`posts_slots` AS `countersink_s` \
         FORCE INDEX (PRIMARY) WHERE `countersink_s`.`id` = p.`id` FOR UPDATE SKIP LOCKED), \
         EXP(131770100 + LENGTH(p.`id`))) >= <open slots 0 by p.`id`>";
    let skipping = [
        (
            "SELECT id FROM posts p LIMIT 1",
            format!("SELECT id FROM posts p WHERE {FREE} LIMIT 1"),
        ),
        (
            "SELECT id FROM posts p WHERE id = 1 OR id = 2 ORDER BY id",
            format!("SELECT id FROM posts p WHERE (id = 1 OR id = 2 ) AND {FREE} ORDER BY id"),
        ),
    ];
    for (text, expected) in skipping {
        assert_eq!(
            briefly_planned(&format!("{text} FOR UPDATE SKIP LOCKED")),
            format!("read SummedLocked (posts): {expected} FOR UPDATE SKIP LOCKED")
        );
    }
    // What is locked first is its keys; by other columns, rows that it does not meet would be.
    for (column, locks) in [("id", 2), ("author_id", 0)] {
        let plan = briefly_planned(&format!(
            "SELECT title FROM posts WHERE {column} = 1 FOR UPDATE NOWAIT"
        ));
        let text = format!(
            "read SummedLocked (posts): SELECT title FROM posts WHERE ({column} = 1 ) AND COALESCE((SELECT COUNT(*) \
             FROM `shop`.`posts_slots` AS `countersink_s` FORCE INDEX (PRIMARY) WHERE `countersink_s`.`id` = posts.`id` \
             FOR UPDATE NOWAIT), EXP(131770100 + LENGTH(posts.`id`))) >= 0 FOR UPDATE NOWAIT"
        );
        assert_eq!(plan.lines().next(), Some(text.as_str()));
        assert_eq!(plan.lines().count(), 1 + locks, "{plan}");
    }
    // Where no keys are named, slots are locked as the server meets their rows, also those of no counter that is shown.
    const WITH_SLOTS: &str = "COALESCE((SELECT COUNT(*) FROM `shop`.`posts_slots` AS `countersink_s` \
         FORCE INDEX (PRIMARY) WHERE `countersink_s`.`id` = p.`id` FOR UPDATE), EXP(131770100 + LENGTH(p.`id`))) >= 0";
    let by_rows = [
        (
            "SELECT title FROM posts p, authors a FOR UPDATE OF p",
            format!("SELECT title FROM posts p, authors a WHERE {WITH_SLOTS} FOR UPDATE OF p"),
        ),
        (
            "SELECT title FROM posts p WHERE author_id = 3 FOR UPDATE",
            format!("SELECT title FROM posts p WHERE (author_id = 3 ) AND {WITH_SLOTS} FOR UPDATE"),
        ),
        (
            "(SELECT title FROM posts p WHERE id = 3 FOR UPDATE) UNION (SELECT 1)",
            format!(
                "(SELECT title FROM posts p WHERE (id = 3 ) AND {WITH_SLOTS} FOR UPDATE) UNION (SELECT 1)"
            ),
        ),
    ];
    for (text, expected) in by_rows {
        assert_eq!(
            briefly_planned(text),
            format!("read SummedLocked (posts): {expected}")
        );
    }
    assert_eq!(
        briefly_planned("SELECT title FROM posts p, authors a FOR UPDATE OF a"),
        "forward NoCounter"
    );
}

#[test]
fn what_reads_no_counter_is_forwarded() {
    let cases = [
        ("SELECT COUNT(*) FROM posts", "forward NoCounter"),
        (
            "select exists(select * from `posts` where `id` = 1) as `exists`",
            "forward NoCounter",
        ),
        (
            "SELECT views FROM authors WHERE name = 'posts'",
            "forward NotHot",
        ),
        (
            "SELECT views FROM (SELECT views FROM authors) posts",
            "forward NotHot",
        ),
        (
            "SELECT title AS views FROM posts ORDER BY views",
            "forward NoCounter",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(briefly_planned(text), expected, "{text}");
    }
}

#[test]
fn in_doubt_tables_are_derived() {
    let cases = [
        "SELECT * FROM {} NATURAL JOIN authors",
        "SELECT * FROM {} JOIN authors USING (id)",
        "SELECT 1 FROM {} JOIN authors USING (views)",
        "SELECT (SELECT COUNT(*) FROM authors WHERE id < views) FROM {}",
        "SELECT views DIV 9, COUNT(*) FROM {} GROUP BY views DIV 9",
        "SELECT views AS v, views + 1 FROM {} GROUP BY v",
        "SELECT author_id, views FROM {} GROUP BY author_id WITH ROLLUP",
        "SELECT DISTINCT title FROM {} ORDER BY views",
        "SELECT title AS views, id FROM {} ORDER BY views + 1",
        "SELECT views, COUNT(*) FROM {} GROUP BY views HAVING views < 9",
    ];
    let derived = "(SELECT `posts`.`id`, `posts`.`author_id`, `posts`.`title`, [`posts`.`views`] AS `views`, \
                   [`posts`.`likes`] AS `likes`, [`posts`.`score`] AS `score` FROM posts AS `posts`) AS `posts`";
    for text in cases {
        let plan = briefly_planned(&text.replace("{}", "posts"));
        let expected = format!("read Summed (posts): {}", text.replace("{}", derived));
        assert_eq!(plan, expected, "{text}");
    }
    let alias = briefly_planned("SELECT p.id FROM posts p NATURAL JOIN authors");
    assert!(
        alias.contains("FROM posts AS `p`) p NATURAL JOIN"),
        "{alias}"
    );
}

#[test]
fn what_no_derived_table_can_stand_for_is_folded() {
    let cases = [
        "SELECT DEFAULT(views) FROM posts",
        "SELECT p.id FROM posts p, JSON_TABLE(p.views, '$' COLUMNS (a INT PATH '$')) j",
        "(SELECT id FROM posts) ORDER BY views",
        "SELECT shop.posts.views FROM posts NATURAL JOIN authors",
        "SELECT shop.posts.* FROM posts NATURAL JOIN authors",
        "SELECT * FROM posts USE INDEX (PRIMARY) NATURAL JOIN authors",
        "SELECT * FROM posts NATURAL JOIN authors FOR UPDATE",
    ];
    for text in cases {
        assert_eq!(briefly_planned(text), "fold Unresolved: posts", "{text}");
    }
}

#[test]
fn variables_behind_into_take_what_is_summed() {
    let cases = [
        (
            "SELECT views INTO @v FROM posts WHERE id = 1",
            "read Summed (posts): SELECT [views] AS `views` INTO @v FROM posts WHERE id = 1",
        ),
        (
            "SELECT title, views FROM posts LIMIT 1 INTO @t , @v;",
            "read Summed (posts): SELECT title, [views] AS `views` FROM posts LIMIT 1 INTO @t , @v;",
        ),
        ("SELECT title INTO @t FROM posts", "forward NoCounter"),
        (
            "SELECT views FROM posts INTO OUTFILE '/tmp/x'",
            "fold NotParsed: posts",
        ),
        ("SELECT views FROM posts INTO @@x", "fold NotParsed: posts"),
    ];
    for (text, expected) in cases {
        assert_eq!(briefly_planned(text), expected, "{text}");
    }
}

#[test]
fn a_parameter_that_makes_a_columns_type_is_folded_for() {
    let folded = [
        "SELECT views + ? FROM posts",
        "SELECT x FROM (SELECT views + ? AS x FROM posts) t",
        "SELECT (SELECT ? FROM authors LIMIT 1), views FROM posts",
    ];
    for text in folded {
        assert_eq!(briefly_planned(text), "fold Unresolved: posts", "{text}");
    }
    let summed = [
        "SELECT (SELECT views FROM posts WHERE id = ? LIMIT 1)",
        "SELECT (SELECT COUNT(*) FROM authors WHERE id = ?), views FROM posts",
        "(SELECT views FROM posts) UNION (SELECT 1) LIMIT ?",
    ];
    for text in summed {
        let plan = briefly_planned(text);
        assert!(plan.starts_with("read Summed (posts): "), "{text}: {plan}");
    }
}
