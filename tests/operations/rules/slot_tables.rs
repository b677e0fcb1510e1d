//! Slot tables: how they are made, verified, extended and printed, and when they hold up a rule.

use mysql_async::prelude::Queryable;

use super::stage::{POSTS, provisioned, refused, refused_in, serve, slot_tables};
use crate::support::{Sandbox, countersink, servers};

#[tokio::test]
async fn are_made_once_and_verified_after() {
    let key = "tenant VARCHAR(40) COLLATE utf8mb4_bin, id BIGINT UNSIGNED, at TIMESTAMP NOT NULL, \
               kind ENUM('a', 'b''c'), raw VARBINARY(16), money DECIMAL(9,3)";
    let table = format!(
        "CREATE TABLE ~.posts ({key}, slot INT, views SMALLINT, tiny TINYINT, rating DECIMAL(20,4) UNSIGNED, \
         safe INT CHECK (safe >= 0), PRIMARY KEY (id, tenant, at, kind, raw, money))"
    );
    for server in servers() {
        let sandbox = Sandbox::new(&server, &table).await;
        let rule = "columns: [views, tiny, rating, safe, slot]";
        provisioned(&sandbox, rule, "created");
        provisioned(&sandbox, rule, "there already");
        let keys = "SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) FROM information_schema.STATISTICS \
                    WHERE TABLE_SCHEMA = '~' AND TABLE_NAME = 'posts_slots'";
        assert_eq!(
            sandbox.ask(keys).await,
            ["id,tenant,at,kind,raw,money,countersink_slot"]
        );
        let insert = "INSERT INTO ~.posts_slots SET id = 1, tenant = 'x', at = '2020-01-01', kind = 'a', raw = 'x', \
                      money = 1, countersink_slot = 0, views = ";
        let mut conn = sandbox.connect().await;
        let too_much = format!("{insert} 65").replace('~', &sandbox.schema);
        let refused = conn.query_drop(too_much).await;
        let refused = refused.unwrap_err().to_string().to_lowercase();
        assert!(refused.contains("constraint"), "the CHECK holds: {refused}");
        sandbox.run(&format!("{insert} -64")).await;
        provisioned(&sandbox, rule, "there already");
    }
}

#[tokio::test]
async fn do_not_change_keys_by_themselves() {
    let table = "CREATE TABLE ~.posts (at TIMESTAMP NOT NULL PRIMARY KEY, views INT)";
    for server in servers() {
        let sandbox = Sandbox::new(&server, table).await;
        provisioned(&sandbox, "columns: [views]", "created");
        let extra = "SELECT CONCAT(EXTRA, COLUMN_DEFAULT) FROM information_schema.COLUMNS \
                     WHERE TABLE_SCHEMA = '~' AND TABLE_NAME = 'posts_slots' AND COLUMN_NAME = 'at'";
        let extra = &sandbox.ask(extra).await[0];
        assert!(
            !extra.to_lowercase().contains("current_timestamp"),
            "{extra}"
        );
    }
}

#[tokio::test]
async fn of_somebody_else_are_left_alone() {
    let other = format!("{POSTS}; CREATE TABLE ~.posts_slots (id INT PRIMARY KEY)");
    let expected = "slot_table: ~.posts_slots exists and is not a slot table of ~.posts; name another one with slot_table (line 4)";
    refused(&other, "columns: [views]", expected).await;
    let second = format!(
        "{POSTS}; CREATE TABLE ~.posts_slots (id INT PRIMARY KEY) COMMENT 'countersink slots of x.y'"
    );
    let expected =
        "slot_table: ~.posts_slots exists and is not a slot table of ~.posts but of x.y;";
    refused(&second, "columns: [views]", expected).await;
}

#[tokio::test]
async fn may_have_another_name() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules("columns: [views]\nslot_table: 'all_{table}_slots'");
        let (code, output, errors) = countersink(&["provision"], &rules);
        assert_eq!(code, 0, "{errors}");
        assert_eq!(
            output,
            format!("{}.all_posts_slots: created\n", sandbox.schema)
        );
    }
}

#[tokio::test]
async fn need_a_short_name() {
    let name = "p".repeat(60);
    for server in servers() {
        let sandbox = Sandbox::new(&server, &POSTS.replace("posts", &name)).await;
        let rule = format!("counters:\n- {{table: ~.{name}, columns: [views]}}\n");
        let rules = sandbox.rules_as("{user: root}", &rule);
        let (code, _, errors) = countersink(&["provision"], &rules);
        assert_eq!(code, 2);
        let expected = "is longer than 64 characters; choose a shorter one with slot_table in this rule (line 4)";
        assert!(errors.contains(expected), "{errors}");
    }
}

#[tokio::test]
async fn get_the_columns_of_new_counters() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        provisioned(&sandbox, "columns: [views]", "created");
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot, views) VALUES (1, 0, 5)")
            .await;
        provisioned(
            &sandbox,
            "columns: [views, likes]",
            "extended by new columns",
        );
        provisioned(&sandbox, "columns: [views, likes]", "there already");
        assert_eq!(
            sandbox
                .ask("SELECT CONCAT(views, ' ', likes) FROM ~.posts_slots")
                .await,
            ["5 0"]
        );
    }
}

#[tokio::test]
async fn keep_what_a_rule_forgot() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        provisioned(&sandbox, "columns: [views, likes]", "created");
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot, views) VALUES (1, 0, 5)")
            .await;
        provisioned(&sandbox, "columns: [views]", "there already");
        let expected = "slot_table: ~.posts_slots has values of `views`, which the rule no longer names; name it again, or run `countersink drain`";
        refused_in(&sandbox, "columns: [likes]", expected).await;
    }
}

#[tokio::test]
async fn follow_the_hot_table_only_while_empty() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        provisioned(&sandbox, "columns: [views]", "created");
        sandbox
            .run("ALTER TABLE ~.posts MODIFY views BIGINT NOT NULL DEFAULT 0")
            .await;
        provisioned(
            &sandbox,
            "columns: [views]",
            "replaced, as the hot table has changed",
        );
        provisioned(&sandbox, "columns: [views]", "there already");
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot, views) VALUES (1, 0, 5)")
            .await;
        sandbox
            .run("ALTER TABLE ~.posts MODIFY id INT NOT NULL")
            .await;
        let expected = "slot_table: ~.posts_slots has values in it, but column `id` is bigint";
        refused_in(&sandbox, "columns: [views]", expected).await;
        assert_eq!(sandbox.ask("SELECT views FROM ~.posts_slots").await, ["5"]);
    }
}

#[tokio::test]
async fn need_room_in_the_key() {
    let table =
        "CREATE TABLE ~.posts (id VARBINARY(3072) PRIMARY KEY, views INT) ROW_FORMAT = DYNAMIC";
    let expected =
        "slot_table: the primary key of ~.posts leaves no room for a slot number beside it (";
    refused(table, "columns: [views]", expected).await;
}

#[tokio::test]
async fn are_printed_for_a_dba() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules("columns: [views, likes]");
        let (code, printed, errors) = countersink(&["provision", "--print"], &rules);
        assert_eq!(code, 0, "{errors}");
        assert_eq!(slot_tables(&sandbox).await, [""; 0], "nothing is made");
        let grant = format!(
            "-- GRANT SELECT, UPDATE, TRIGGER ON `{}`.`posts` TO 'root'@'%';",
            sandbox.schema
        );
        assert!(printed.contains(&grant), "{printed}");
        let plain = printed.lines().filter(|line| !line.starts_with("--"));
        sandbox
            .run(
                plain
                    .collect::<Vec<_>>()
                    .join("\n")
                    .trim()
                    .trim_end_matches(';'),
            )
            .await;
        provisioned(&sandbox, "columns: [views, likes]", "there already");
    }
}

#[tokio::test]
async fn are_not_wanted_by_rules_that_do_not_rewrite() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        for rule in [
            "columns: [views]\nmode: off",
            "columns: [views]\nmode: observe",
            "columns: [views]\nslots: 0",
        ] {
            let (code, output, errors) = countersink(&["provision"], &sandbox.rules(rule));
            assert_eq!((code, output.as_str()), (0, ""), "{errors}");
            assert!(!errors.contains("WARN"), "{errors}");
        }
        assert_eq!(slot_tables(&sandbox).await, [""; 0]);
    }
}

#[tokio::test]
async fn with_values_hold_up_a_rule_that_would_hide_them() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        provisioned(&sandbox, "columns: [views]", "created");
        let off = sandbox.rules("columns: [views]\nmode: off");
        let (code, errors) = serve(&sandbox, &off).await;
        assert_eq!(code, 0, "an empty slot table hides nothing: {errors}");
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot) VALUES (1, 0)")
            .await;
        let (code, errors) = serve(&sandbox, &off).await;
        assert_eq!(code, 0, "nor does a slot that was rolled up: {errors}");
        sandbox.run("UPDATE ~.posts_slots SET views = 5").await;
        let without = sandbox.rules("columns: [views]\nslots: 0");
        let (code, errors) = serve(&sandbox, &without).await;
        assert_eq!(code, 2);
        let expected = ".posts_slots has values in it, which would be missing from every read while the rule does not rewrite;";
        assert!(errors.contains(expected), "{errors}");
        let off = sandbox.rules("columns: [views]\nmode: off");
        let (code, errors) = serve(&sandbox, &off).await;
        assert_eq!(code, 0, "{errors}");
        assert!(
            errors.contains("slots hold values, which are moved into the rows first"),
            "{errors}"
        );
        let left = sandbox
            .ask("SELECT COALESCE(SUM(views), 0) FROM ~.posts_slots")
            .await;
        assert_eq!(left, ["0"]);
    }
}
