//! Rules against real servers: what `countersink provision` and `serve` refuse, make and leave alone.
//!
//! In statements, rules and expected texts, `~` stands for the test's schema.

use std::path::Path;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use tokio::net::TcpStream;

use crate::support::binary::{Ended, PATIENCE, Serving};
use crate::support::{Sandbox, countersink, servers};

const POSTS: &str = "CREATE TABLE ~.posts (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, title VARCHAR(40), \
                     views INT UNSIGNED NOT NULL DEFAULT 0, likes BIGINT DEFAULT 0, \
                     updated_at TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP)";

/// On each server, the rule for `posts` is refused with `expected`, when `tables` have been made.
async fn refused(tables: &str, rule: &str, expected: &str) {
    for server in servers() {
        let sandbox = Sandbox::new(&server, tables).await;
        refused_in(&sandbox, rule, expected).await;
    }
}

/// By `provision` and by `serve`.
async fn refused_in(sandbox: &Sandbox, rule: &str, expected: &str) {
    let rules = sandbox.rules(rule);
    let expected = format!(
        "countersink: {}: counters[0] ({}.posts): {}",
        rules.display(),
        sandbox.schema,
        expected.replace('~', &sandbox.schema)
    );
    let (code, output, errors) = countersink(&["provision"], &rules);
    for (code, errors) in [(code, errors), serve(sandbox, &rules).await] {
        assert!(
            errors.contains(&expected),
            "expected {expected}\ngot {errors}{output}"
        );
        assert_eq!(code, 2, "{errors}");
    }
    assert_eq!(output, "", "nothing is done");
}

/// Serves, asks through the proxy and stops it; its exit code, and what it said.
async fn serve(sandbox: &Sandbox, rules: &Path) -> (i32, String) {
    let ended = match Serving::start(rules) {
        Ok(serving) => {
            let posts = format!("SELECT COUNT(*) FROM {}.posts", sandbox.schema);
            let asked = through(sandbox, &serving).await.query_first(posts).await;
            assert_eq!(asked.expect("an answer through the proxy"), Some(0));
            serving.stop()
        }
        Err(refused) => refused,
    };
    (ended.code.expect("no signal"), ended.errors)
}

/// A client of the proxy.
async fn through(sandbox: &Sandbox, serving: &Serving) -> Conn {
    let options = OptsBuilder::from_opts(sandbox.server.clone())
        .ip_or_hostname(serving.address.ip().to_string())
        .tcp_port(serving.address.port());
    Conn::new(options).await.expect("a login through the proxy")
}

/// Provisions and expects the report to say `expected` of the slot table.
fn provisioned(sandbox: &Sandbox, rule: &str, expected: &str) {
    let (code, output, errors) = countersink(&["provision"], &sandbox.rules(rule));
    let expected = format!("{}.posts_slots: {expected}\n", sandbox.schema);
    assert_eq!((code, output.as_str()), (0, expected.as_str()), "{errors}");
}

async fn slot_tables(sandbox: &Sandbox) -> Vec<String> {
    let query = "SELECT TABLE_NAME FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = '~' AND TABLE_NAME LIKE '%slots'";
    sandbox.ask(query).await
}

mod tables {
    use super::*;

    #[tokio::test]
    async fn that_are_not_there() {
        refused(
            &POSTS.replace("posts", "post"),
            "columns: [views]",
            "table: no table ~.posts can be seen; did you mean `post`? If it exists, let the control account see it: \
             GRANT SELECT, UPDATE, TRIGGER ON `~`.`posts` TO 'root'@'..' (line 4)",
        )
        .await;
    }

    #[tokio::test]
    async fn that_differ_in_letter_case() {
        for server in servers() {
            let sandbox = Sandbox::new(&server, &POSTS.replace("posts", "Posts")).await;
            match sandbox.ask("SELECT @@lower_case_table_names").await[0].as_str() {
                "0" => {
                    let expected = "table: no table ~.posts can be seen; did you mean `Posts`?";
                    refused_in(&sandbox, "columns: [views]", expected).await;
                }
                _ => provisioned(&sandbox, "columns: [views]", "created"),
            }
        }
    }

    #[tokio::test]
    async fn that_are_views() {
        let tables = format!(
            "{}; CREATE VIEW ~.posts AS SELECT * FROM ~.real",
            POSTS.replace("posts", "real")
        );
        let expected = "table: ~.posts is a view, and only a plain table can be hot; name the table behind it (line 4)";
        refused(&tables, "columns: [views]", expected).await;
    }

    #[tokio::test]
    async fn of_another_engine() {
        let expected = "table: ~.posts is stored in MyISAM, which has no row locks to spread; \
                        convert it: ALTER TABLE ~.posts ENGINE = InnoDB (line 4)";
        refused(
            &format!("{POSTS} ENGINE = MyISAM"),
            "columns: [views]",
            expected,
        )
        .await;
    }

    #[tokio::test]
    async fn without_a_primary_key() {
        let expected =
            "table: ~.posts has no primary key, by which slots find their row; add one (line 4)";
        refused(
            "CREATE TABLE ~.posts (id INT, views INT)",
            "columns: [views]",
            expected,
        )
        .await;
    }

    #[tokio::test]
    async fn with_a_key_over_a_prefix() {
        let expected = "table: the primary key of ~.posts holds only the beginning of `title`; make it hold the whole column (line 4)";
        let table = "CREATE TABLE ~.posts (title VARCHAR(40), views INT, PRIMARY KEY (title(10)))";
        refused(table, "columns: [views]", expected).await;
    }

    #[tokio::test]
    async fn with_an_update_trigger() {
        let trigger =
            "CREATE TRIGGER ~.audit BEFORE UPDATE ON ~.posts FOR EACH ROW SET NEW.title = 'x'";
        let expected = "table: the trigger `audit` runs at every UPDATE of ~.posts, but an increment in a slot is none; \
                        drop it, or take the table out of the rules (line 4)";
        refused(&format!("{POSTS}; {trigger}"), "columns: [views]", expected).await;
    }

    #[tokio::test]
    async fn with_an_insert_trigger_are_welcome() {
        let trigger =
            "CREATE TRIGGER ~.audit BEFORE INSERT ON ~.posts FOR EACH ROW SET NEW.title = 'x'";
        for server in servers() {
            let sandbox = Sandbox::new(&server, &format!("{POSTS}; {trigger}")).await;
            provisioned(&sandbox, "columns: [views]", "created");
        }
    }

    #[tokio::test]
    async fn that_are_system_versioned_are_refused() {
        for server in servers() {
            let sandbox = Sandbox::new(&server, "").await;
            if sandbox.is_mariadb().await {
                sandbox
                    .run(&format!("{POSTS} WITH SYSTEM VERSIONING"))
                    .await;
                let expected = "table: ~.posts is a system versioned, and only a plain table"
                    .replace("system versioned", "system-versioned table");
                refused_in(&sandbox, "columns: [views]", &expected).await;
            }
        }
    }

    #[tokio::test]
    async fn that_cascade_are_served() {
        let child = "CREATE TABLE ~.posts (id INT PRIMARY KEY, parent INT, views INT, \
                     FOREIGN KEY (parent) REFERENCES ~.parents (id) ON DELETE CASCADE)";
        let tables = format!("CREATE TABLE ~.parents (id INT PRIMARY KEY); {child}");
        for server in servers() {
            let sandbox = Sandbox::new(&server, &tables).await;
            let (code, _, errors) = countersink(&["provision"], &sandbox.rules("columns: [views]"));
            assert_eq!(code, 0, "{errors}");
            assert!(!errors.contains("WARN"), "{errors}");
        }
    }
}

mod columns {
    use super::*;

    /// `definitions` of columns beside `id`; the rule names `c`.
    async fn refused_column(definitions: &str, expected: &str) {
        let table = format!("CREATE TABLE ~.posts (id INT PRIMARY KEY, {definitions})");
        refused(&table, "columns: [c]", expected).await;
    }

    #[tokio::test]
    async fn that_are_not_there() {
        let expected = "columns: ~.posts has no column `veiws`; did you mean `views`? (line 4)";
        refused(POSTS, "columns: [veiws]", expected).await;
        let expected = "columns: ~.posts has no column `xyz`; it has id, title, views, likes, updated_at (line 4)";
        refused(POSTS, "columns: [xyz]", expected).await;
        let expected =
            "touch: ~.posts has no column `update_at`; did you mean `updated_at`? (line 4)";
        refused(POSTS, "columns: [views]\ntouch: [update_at]", expected).await;
    }

    #[tokio::test]
    async fn that_are_not_exact_numbers() {
        refused_column(
            "c VARCHAR(9)",
            "columns: `c` is VARCHAR(9), which cannot be counted in",
        )
        .await;
        refused_column(
            "c BIT(8)",
            "columns: `c` is BIT(8), which cannot be counted in",
        )
        .await;
        refused_column("c YEAR", "columns: `c` is YEAR").await;
        let rounded =
            "whose sums depend on the order in which they are rounded; make it DECIMAL or BIGINT";
        refused_column("c FLOAT", &format!("columns: `c` is FLOAT, {rounded}")).await;
        refused_column("c DOUBLE", &format!("columns: `c` is DOUBLE, {rounded}")).await;
        refused_column("c INT(5) ZEROFILL", "columns: `c` is ZEROFILL").await;
    }

    #[tokio::test]
    async fn that_something_depends_on() {
        refused_column(
            "n INT, c INT AS (n + 1) STORED",
            "columns: `c` is a generated column",
        )
        .await;
        refused_column(
            "c INT, twice INT AS (c * 2)",
            "columns: the generated column `twice` is computed from `c`",
        )
        .await;
        refused_column(
            "c INT, UNIQUE once (c)",
            "columns: `c` is in the unique index `once`",
        )
        .await;
        refused_column(
            "c INT AUTO_INCREMENT, KEY (c)",
            "columns: `c` is AUTO_INCREMENT",
        )
        .await;
        refused(
            "CREATE TABLE ~.posts (id INT PRIMARY KEY)",
            "columns: [ID]",
            "columns: `id` is part of the primary key",
        )
        .await;
        let child = "CREATE TABLE ~.parents (id INT PRIMARY KEY); \
                     CREATE TABLE ~.posts (id INT PRIMARY KEY, c INT, FOREIGN KEY fk (c) REFERENCES ~.parents (id))";
        refused(
            child,
            "columns: [c]",
            "columns: `c` is in the foreign key `",
        )
        .await;
    }

    #[tokio::test]
    async fn in_an_index_over_an_expression() {
        for server in servers() {
            let sandbox = Sandbox::new(&server, "").await;
            if !sandbox.is_mariadb().await {
                sandbox
                    .run("CREATE TABLE ~.posts (id INT PRIMARY KEY, c INT, KEY f ((c + 1)))")
                    .await;
                refused_in(
                    &sandbox,
                    "columns: [c]",
                    "columns: the index `f` is computed from `c`",
                )
                .await;
            }
        }
    }
}

mod slot_tables {
    use super::*;

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
}

mod control_account {
    use super::*;

    const RULE: &str = "counters:\n- {table: ~.posts, columns: [views]}\n";

    #[tokio::test]
    async fn nobody_answers() {
        for server in servers() {
            let sandbox = Sandbox::new(&server, POSTS).await;
            let rules = sandbox.rules("columns: [views]");
            let text = std::fs::read_to_string(&rules).unwrap();
            let closed = std::net::TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap();
            let text = text.replacen(
                &format!(":{}", server.tcp_port()),
                &format!(":{}", closed.port()),
                1,
            );
            std::fs::write(&rules, text).unwrap();
            let (code, errors) = serve(&sandbox, &rules).await;
            assert_eq!(code, 1, "{errors}");
            assert!(
                errors.contains(&format!(
                    "upstream: 127.0.0.1:{} cannot be reached: ",
                    closed.port()
                )),
                "{errors}"
            );
            assert!(
                errors.contains("; start the server, or correct upstream"),
                "{errors}"
            );
        }
    }

    #[tokio::test]
    async fn a_wrong_password_is_answered_with_statements() {
        for server in servers() {
            let mut sandbox = Sandbox::new(&server, POSTS).await;
            let user = sandbox.user("BY 'right'").await;
            let rules = sandbox.rules_as(&format!("{{user: {user}, password: hunter2}}"), RULE);
            let (code, errors) = serve(&sandbox, &rules).await;
            assert_eq!(code, 2, "{errors}");
            assert!(
                errors.contains("control: the server refuses the account: Access denied for user"),
                "{errors}"
            );
            assert!(
                errors.contains(&format!("\n  CREATE USER '{user}'@'")),
                "{errors}"
            );
            assert!(
                errors.contains(&format!(
                    "\n  GRANT SELECT, UPDATE, TRIGGER ON `{}`.`posts` TO '{user}'@'",
                    sandbox.schema
                )),
                "{errors}"
            );
            assert!(!errors.contains("hunter2"), "{errors}");
        }
    }

    #[tokio::test]
    async fn the_statements_that_are_shown_are_enough() {
        for server in servers() {
            let mut sandbox = Sandbox::new(&server, POSTS).await;
            let user = sandbox.user("BY 'right'").await;
            let account = |password: &str| format!("{{user: {user}, password: {password}}}");
            let rules = sandbox.rules_as(&account("wrong"), RULE);
            let (_, errors) = serve(&sandbox, &rules).await;
            let grants = errors
                .lines()
                .filter(|line| line.trim().starts_with("GRANT "));
            for grant in grants {
                let (what, _) = grant.split_once(" TO ").unwrap();
                sandbox.run(&format!("{what} TO '{user}'@'%'")).await;
            }
            let rules = sandbox.rules_as(&account("right"), RULE);
            for _ in 0..2 {
                let (code, errors) = serve(&sandbox, &rules).await;
                assert_eq!(code, 0, "{errors}");
            }
            let more = RULE.replace("[views]", "[views, likes]");
            let (code, _, errors) =
                countersink(&["provision"], &sandbox.rules_as(&account("right"), &more));
            assert_eq!(code, 0, "{errors}");
            assert_eq!(slot_tables(&sandbox).await, ["posts_slots"]);
            let (code, _, errors) = countersink(&["drain"], &rules);
            assert_eq!(code, 0, "{errors}");
            assert_eq!(slot_tables(&sandbox).await, [""; 0]);
        }
    }

    #[tokio::test]
    async fn a_drain_without_its_grant_says_which() {
        for server in servers() {
            let mut sandbox = Sandbox::new(&server, POSTS).await;
            let user = sandbox.user("BY 'x'").await;
            sandbox
                .run(&format!(
                    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, TRIGGER ON ~.* TO '{user}'"
                ))
                .await;
            let rules = sandbox.rules_as(&format!("{{user: {user}, password: x}}"), RULE);
            let (code, _, errors) = countersink(&["provision"], &rules);
            assert_eq!(code, 0, "{errors}");
            let (code, _, errors) = countersink(&["drain"], &rules);
            assert_eq!(code, 1, "{errors}");
            let expected = format!("GRANT LOCK TABLES ON `{}`.* TO ..;", sandbox.schema);
            assert!(errors.contains(&expected), "{errors}");
            assert_eq!(slot_tables(&sandbox).await, ["posts_slots"]);
        }
    }

    #[tokio::test]
    async fn caching_sha2_password_works_without_tls() {
        for server in servers() {
            let mut sandbox = Sandbox::new(&server, POSTS).await;
            if sandbox.is_mariadb().await {
                continue;
            }
            let user = sandbox
                .user("WITH caching_sha2_password BY 'long enough'")
                .await;
            sandbox.run(&format!("GRANT ALL ON ~.* TO '{user}'")).await;
            for tls in ["disabled", "preferred"] {
                sandbox.run("FLUSH PRIVILEGES").await; // forgets the cached password: the full exchange runs
                let rest = format!("upstream_tls: {{mode: {tls}}}\n{RULE}");
                let rules =
                    sandbox.rules_as(&format!("{{user: {user}, password: long enough}}"), &rest);
                let (code, errors) = serve(&sandbox, &rules).await;
                assert_eq!(code, 0, "{tls}: {errors}");
            }
        }
    }

    #[tokio::test]
    async fn tls_is_as_the_mode_says() {
        for server in servers() {
            let mut sandbox = Sandbox::new(&server, POSTS).await;
            let offered = match sandbox.is_mariadb().await {
                true => sandbox.ask("SELECT @@have_ssl").await == ["YES"],
                false => !sandbox.ask("SELECT VALUE FROM performance_schema.tls_channel_status WHERE PROPERTY = 'Enabled' AND CHANNEL = 'mysql_main' AND VALUE = 'Yes'").await.is_empty(),
            };
            let user = sandbox.user("BY 'x' REQUIRE SSL").await;
            sandbox.run(&format!("GRANT ALL ON ~.* TO '{user}'")).await;
            let account = format!("{{user: {user}, password: x}}");
            let serve = async |mode: &str| {
                let rest = format!("upstream_tls: {{mode: {mode}}}\n{RULE}");
                serve(&sandbox, &sandbox.rules_as(&account, &rest)).await
            };
            let (code, errors) = serve("preferred").await;
            assert_eq!(code, if offered { 0 } else { 2 }, "{errors}");
            let (code, errors) = serve("disabled").await;
            assert_eq!(code, 2, "the account asks for TLS: {errors}");
            let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
            let ca = sandbox.folder.path().join("ca.pem");
            std::fs::write(&ca, other.cert.pem()).unwrap();
            let (code, errors) = serve(&format!("required, ca: {}", ca.display())).await;
            assert_eq!(code, 2, "{errors}");
            assert!(errors.contains(": upstream_tls: "), "{errors}");
        }
    }

    #[tokio::test]
    async fn may_not_create_tables() {
        for server in servers() {
            let mut sandbox = Sandbox::new(&server, POSTS).await;
            let user = sandbox.user("BY 'x'").await;
            sandbox
                .run(&format!(
                    "GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON ~.* TO '{user}'"
                ))
                .await;
            let rules = sandbox.rules_as(&format!("{{user: {user}, password: x}}"), RULE);
            let (code, errors) = serve(&sandbox, &rules).await;
            assert_eq!(code, 2, "{errors}");
            let expected = format!(
                "slot_table: the control account may not create {}.posts_slots (",
                sandbox.schema
            );
            assert!(errors.contains(&expected), "{errors}");
            assert!(
                errors.contains("give a DBA what `countersink provision --print` shows"),
                "{errors}"
            );
            let (code, printed, errors) = countersink(&["provision", "--print"], &rules);
            assert_eq!(code, 0, "{errors}");
            let statement = printed.split_once(';').unwrap().0;
            sandbox.run(statement.split_once('\n').unwrap().1).await;
            let (code, errors) = serve(&sandbox, &rules).await;
            assert_eq!(
                code, 0,
                "no CREATE is tried when the table is there: {errors}"
            );
        }
    }

    #[tokio::test]
    async fn must_see_triggers() {
        for server in servers() {
            let mut sandbox = Sandbox::new(&server, POSTS).await;
            let user = sandbox.user("BY 'x'").await;
            sandbox
                .run(&format!(
                    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON ~.* TO '{user}'"
                ))
                .await;
            let rules = sandbox.rules_as(&format!("{{user: {user}, password: x}}"), RULE);
            let (code, errors) = serve(&sandbox, &rules).await;
            assert_eq!(code, 2, "{errors}");
            let expected = format!(
                "table: the control account may not see whether {}.posts has triggers; allow it: GRANT ",
                sandbox.schema
            );
            assert!(errors.contains(&expected), "{errors}");
        }
    }
}

mod serving {
    use super::*;

    #[tokio::test]
    async fn ends_at_sigterm_and_at_ctrl_c_though_clients_are_there() {
        for server in servers() {
            let sandbox = Sandbox::new(&server, POSTS).await;
            for signal in ["TERM", "INT"] {
                let serving = Serving::start(&sandbox.rules("columns: [views]"));
                let serving = serving.expect("it serves");
                let mut client = through(&sandbox, &serving).await;
                serving.binary.signal(signal);
                let Ended { code, errors, .. } = serving.binary.wait();
                assert_eq!(code, Some(0), "SIG{signal}: {errors}");
                assert!(errors.trim_end().ends_with("stopped"), "{errors}");
                assert!(client.ping().await.is_err(), "it is closed");
            }
        }
    }

    #[tokio::test]
    async fn lets_an_open_transaction_end() {
        let table = "CREATE TABLE ~.posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO ~.posts VALUES (1, 0)";
        for server in servers() {
            let sandbox = Sandbox::new(&server, table).await;
            let serving = Serving::start(&sandbox.rules("columns: [views]"));
            let serving = serving.expect("it serves");
            let mut client = through(&sandbox, &serving).await;
            let increment = format!("UPDATE {}.posts SET views = views + 1", sandbox.schema);
            client.query_drop("BEGIN").await.expect("begun");
            client.query_drop(&increment).await.expect("counted");
            serving.binary.signal("TERM");
            until_nobody_listens(&serving).await;
            client.query_drop(&increment).await.expect("counted");
            client.query_drop("COMMIT").await.expect("committed");
            let Ended { code, errors, .. } = serving.binary.wait();
            assert_eq!(code, Some(0), "{errors}");
            let value = "SELECT CAST(views + (SELECT COALESCE(SUM(views), 0) FROM ~.posts_slots) AS CHAR) FROM ~.posts";
            assert_eq!(sandbox.ask(value).await, ["2"]);
        }
    }

    async fn until_nobody_listens(serving: &Serving) {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(serving.address).await.is_ok() {
            assert!(Instant::now() < deadline, "it goes on listening");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_named() {
        for server in servers() {
            let sandbox = Sandbox::new(&server, POSTS).await;
            let rules = sandbox.rules("columns: [views]");
            let taken = format!("127.0.0.1:{}", server.tcp_port());
            let (code, _, errors) = countersink(&["serve", "--listen", &taken], &rules);
            let expected = format!("countersink: {}: listen: {taken}: ", rules.display());
            assert!(errors.contains(&expected), "{errors}");
            assert_eq!(code, 1, "{errors}");
        }
    }
}

mod command_line {
    use super::*;
    use std::process::Command;

    fn run(arguments: &[&str]) -> (i32, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_countersink"))
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text)
    }

    #[test]
    fn help_has_examples_and_exit_codes() {
        let (code, text) = run(&["--help"]);
        assert_eq!(code, 0);
        for part in ["Examples:", "Exit codes:", "serve", "provision"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(
            run(&["--version"]),
            (0, format!("countersink {}\n", env!("CARGO_PKG_VERSION")))
        );
        assert!(
            run(&["serve", "--help"])
                .1
                .contains("countersink serve --rules rules.yaml")
        );
    }

    #[test]
    fn wrong_usage_is_exit_code_2() {
        for arguments in [
            &["sreve"][..],
            &[],
            &["serve", "--listen", "6033"],
            &["serve", "--what"],
        ] {
            assert_eq!(run(arguments).0, 2, "{arguments:?}");
        }
    }

    #[test]
    fn errors_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let rules = folder.path().join("rules.yaml");
        std::fs::write(&rules, "upstream: db\n").unwrap();
        let (code, output, errors) = countersink(&["serve"], &rules);
        let expected = format!(
            "countersink: {}: upstream: `db` is not an address: the port is missing; ",
            rules.display()
        );
        assert!(errors.starts_with(&expected), "{errors}");
        assert_eq!((code, output.as_str()), (2, ""));
        let none = folder.path().join("none.yaml");
        let (code, _, errors) = countersink(&["serve"], &none);
        assert!(
            errors.starts_with(&format!(
                "countersink: {}: cannot be read: ",
                none.display()
            )),
            "{errors}"
        );
        assert_eq!(code, 2);
    }
}
