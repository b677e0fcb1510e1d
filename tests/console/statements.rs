//! What each statement answers about a proxy that does something.

use std::collections::{BTreeMap, BTreeSet};

use countersink::driver::{Driver, Reply};
use countersink::reason::Reason;
use countersink::sandbox::Flavour;

use crate::stage::{PASSWORD, Stage, refused, stat, table};
use crate::support;
use crate::support::client::{number, run};

/// The row of a table whose column has this value.
async fn row(
    operator: &mut Driver,
    text: &str,
    column: &str,
    value: &str,
) -> BTreeMap<String, String> {
    let rows = table(operator, text).await;
    let found = rows.iter().find(|row| row[column] == value);
    found
        .cloned()
        .unwrap_or_else(|| panic!("{text}: no {value} in {rows:#?}"))
}

#[test]
fn every_table_is_shown_with_its_columns() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_columns", "").await;
        let mut operator = stage.operator().await;
        let page = include_str!("../../docs/admin.md");
        let mut client = stage.client().await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 1",
        )
        .await;
        let (_, tables) = page.split_once("## What is answered").expect("the chapter");
        let mut shown = 0;
        for chapter in tables.split("\n### ").skip(1) {
            let (heading, text) = chapter.split_once('\n').expect("a heading");
            let statement = match heading {
                "EXPLAIN" => "EXPLAIN SELECT views FROM posts",
                "SET RULE" => "SET RULE posts MODE enforce",
                heading => heading,
            };
            let told: BTreeSet<_> = text
                .lines()
                .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
                .collect();
            let rows = table(&mut operator, statement).await;
            let there = rows.first().unwrap_or_else(|| panic!("{heading} is empty"));
            assert_eq!(
                there.keys().cloned().collect::<BTreeSet<_>>(),
                told,
                "{heading}"
            );
            shown += 1;
        }
        assert!(shown > 10, "{shown} tables");
    });
}

#[test]
fn what_was_done_is_shown() {
    support::block_on(async {
        let schema = "cs_console_done";
        let stage = Stage::new(Flavour::MySql, schema, "").await;
        let mut operator = stage.operator().await;
        let mut client = stage.client().await;
        for id in [1, 1, 2] {
            run(
                &mut client,
                &format!("UPDATE posts SET views = views + 7 WHERE id = {id}"),
            )
            .await;
        }
        assert_eq!(
            number(&mut client, "SELECT views FROM posts WHERE id = 1").await,
            14
        );
        let counters = row(&mut operator, "SHOW COUNTERS", "table", "posts").await;
        assert_eq!(
            (
                &*counters["increments"],
                &*counters["reads"],
                &*counters["folds"]
            ),
            ("3", "1", "0")
        );
        assert_eq!(
            (&*counters["columns"], &*counters["slots_in_use"]),
            ("views,likes", "0")
        );
        assert_ne!(counters["waiting"], "NULL", "rollup: 1h");
        run(&mut client, "UPDATE posts SET views = 100 WHERE id = 1").await;
        let counters = row(&mut operator, "SHOW COUNTERS", "table", "posts").await;
        assert_eq!(counters["folds"], "1");

        for (reason, expected) in [
            ("slotted", "3"),
            ("summed", "1"),
            ("folded:absolute-set", "1"),
            ("folded:delete", "0"),
        ] {
            let text = format!("SHOW REASONS WHERE reason = '{reason}'");
            let row = row(&mut operator, &text, "reason", reason).await;
            assert_eq!(row["statements"], expected, "{reason}");
        }
        let all = table(&mut operator, "SHOW REASONS").await;
        assert_eq!(all.len(), Reason::ALL.len());

        // Transactions whose increments go to slots are told by the first one.
        run(&mut client, "BEGIN").await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 2",
        )
        .await;
        run(&mut client, "COMMIT").await;
        run(&mut client, "BEGIN").await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 2",
        )
        .await;
        let slots = row(&mut operator, "SHOW SLOTS", "table", "posts").await;
        assert_eq!(
            (&*slots["in_use"], &*slots["highest_in_use"]),
            ("1", &*slots["first"])
        );
        assert_eq!(slots["slot_table"], format!("{schema}.posts_slots"));
        let id = client.thread_id().to_string();
        let session = row(&mut operator, "SHOW SESSIONS", "id", &id).await;
        assert_eq!(
            (&*session["user"], &*session["schema"]),
            (&*stage.clients.user, schema)
        );
        assert_eq!(
            (&*session["in_transaction"], &*session["command"]),
            ("1", "Sleep")
        );
        assert_eq!(session["reason"], "slotted");
        assert_eq!(session["commands"], "10");
        run(&mut client, "ROLLBACK").await;
        let slots = row(&mut operator, "SHOW SLOTS", "table", "posts").await;
        assert_eq!(
            (&*slots["in_use"], &*slots["highest_in_use"]),
            ("0", "NULL")
        );
        let session = row(&mut operator, "SHOW SESSIONS", "id", &id).await;
        assert_eq!(session["in_transaction"], "0");
        drop(client);

        let plans = table(&mut operator, "SHOW PLANS").await;
        let shape = plans
            .iter()
            .find(|plan| plan["statement"].starts_with("UPDATE posts SET views = views + ?"));
        assert_eq!(shape.expect("its shape")["reason"], "slotted", "{plans:?}");
        assert!(
            plans.iter().all(|plan| !plan["statement"].contains("100")),
            "{plans:?}"
        );

        let rule = row(&mut operator, "SHOW RULES", "table", "posts").await;
        assert_eq!(
            (&*rule["mode"], &*rule["slots"], &*rule["rollup"]),
            ("enforce", "64", "3600")
        );
        assert_eq!(rule["waits_for"], "NULL");
        let config = table(&mut operator, "SHOW CONFIG").await;
        let listen = config
            .iter()
            .find(|setting| setting["name"] == "drain_timeout");
        assert_eq!(listen.expect("a setting")["value"], "10s");
        assert!(
            config
                .iter()
                .all(|setting| !setting["value"].contains(PASSWORD))
        );
        let log = table(&mut operator, "SHOW LOG").await;
        assert!(
            log.iter()
                .any(|record| record["message"].starts_with("listening on ")),
            "{log:?}"
        );
        assert!(log.iter().all(|record| record["level"] != "DEBUG"));
        let help = table(&mut operator, "HELP").await;
        assert!(
            help.iter()
                .any(|line| line["statement"] == "KILL <session id>")
        );
        assert_eq!(stat(&mut operator, "connections").await, 1);
    });
}

#[test]
fn slots_are_rolled_up_when_asked_for() {
    support::block_on(async {
        let schema = "cs_console_rollup";
        let stage = Stage::new(Flavour::MySql, schema, "").await;
        let mut operator = stage.operator().await;
        let mut client = stage.client().await;
        for id in [1, 2] {
            run(
                &mut client,
                &format!("UPDATE posts SET views = views + 5 WHERE id = {id}"),
            )
            .await;
        }
        let mut direct =
            support::client::connect(&support::twin::twin(Flavour::MySql).proxied, Some(schema))
                .await;
        let base = "SELECT SUM(views) FROM posts";
        assert_eq!(number(&mut direct, base).await, 0);
        let rolled = row(
            &mut operator,
            &format!("ROLLUP {schema}.posts"),
            "table",
            "posts",
        )
        .await;
        assert_eq!((&*rolled["moved"], &*rolled["left"]), ("2", "0"));
        assert_eq!(number(&mut direct, base).await, 10);
        // By the schema in force, and all.
        run(
            &mut client,
            "UPDATE posts SET views = views + 5 WHERE id = 1",
        )
        .await;
        assert_eq!(
            row(&mut operator, "rollup posts", "table", "posts").await["moved"],
            "1"
        );
        assert_eq!(
            row(&mut operator, "ROLLUP", "table", "posts").await["moved"],
            "0"
        );
        assert_eq!(stat(&mut operator, "rollup_slot_rows").await, 3);
        let (code, message) = refused(&mut operator, "ROLLUP post").await;
        assert_eq!(code, 1146);
        assert!(
            message.contains(&format!("did you mean `{schema}.posts`?")),
            "{message}"
        );
    });
}

#[test]
fn a_statement_is_explained_as_a_session_does() {
    support::block_on(async {
        for flavour in Flavour::ALL {
            let stage = Stage::new(flavour, "cs_console_explain", "").await;
            let mut operator = stage.operator().await;
            let mut client = stage.client().await;
            for statement in [
                "UPDATE posts SET views = views + 1 WHERE id = 1",
                "SELECT views FROM posts WHERE id = 1",
                "UPDATE posts SET views = 5 WHERE id = 'ü;'",
                "SELECT 1",
                "/* countersink:off */ DELETE FROM posts",
            ] {
                let asked = table(&mut operator, &format!("EXPLAIN {statement}")).await;
                let explained = format!("EXPLAIN FORMAT=COUNTERSINK {statement}");
                let told = table(&mut client, &explained).await;
                assert_eq!(asked, told, "{flavour}: {statement}");
                assert_eq!(
                    table(&mut operator, &explained).await,
                    told,
                    "{flavour}: {statement}"
                );
            }
            // Another schema, in which posts is not hot.
            run(&mut operator, "USE other").await;
            let asked = table(
                &mut operator,
                "EXPLAIN UPDATE posts SET views = views + 1 WHERE id = 1",
            )
            .await;
            assert!(
                asked
                    .iter()
                    .any(|line| line["text"].contains("forwarded:not-hot")),
                "{asked:?}"
            );
            let views = number(&mut client, "SELECT SUM(views) FROM posts").await;
            assert_eq!(views, 0, "nothing was run");
        }
    });
}

/// Another mode, the file's again, and out for good; values stay what they are.
#[test]
fn rules_change_when_told_to() {
    support::block_on(async {
        let schema = "cs_console_orders";
        let stage = Stage::new(Flavour::MySql, schema, "").await;
        let mut operator = stage.operator().await;
        let mut client = stage.client().await;
        let increment = "UPDATE posts SET views = views + 1 WHERE id = 1";
        run(&mut client, increment).await;
        let told = table(&mut operator, "SET RULE posts MODE Observe").await;
        assert!(
            told[0]["result"].starts_with(&format!("{schema}.posts: ")),
            "{told:?}"
        );
        let rule = row(&mut operator, "SHOW RULES", "table", "posts").await;
        assert_eq!(rule["mode"], "observe");
        run(&mut client, increment).await;
        let told = table(&mut operator, "reload;").await;
        assert!(told[0]["result"].contains("rules.yaml read"), "{told:?}");
        let rule = row(&mut operator, "SHOW RULES", "table", "posts").await;
        assert_eq!(rule["mode"], "enforce");
        run(&mut client, increment).await;
        let drained = row(
            &mut operator,
            &format!("DRAIN {schema}.posts"),
            "table",
            "posts",
        )
        .await;
        assert!(!drained["result"].is_empty(), "{drained:?}");
        let views = "SELECT views FROM posts WHERE id = 1";
        assert_eq!(number(&mut client, views).await, 3);
        let upstream = &support::twin::twin(Flavour::MySql).proxied;
        let mut direct = support::client::connect(upstream, Some(schema)).await;
        assert_eq!(number(&mut direct, views).await, 3);
        let left = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()";
        assert_eq!(number(&mut direct, left).await, 1, "the slot table is gone");
        for (text, code, hint) in [
            (
                "SET RULE posts MODE enforced",
                1064,
                "did you mean `enforce`?",
            ),
            (
                "SET RULE post MODE off",
                1146,
                "did you mean `cs_console_orders.posts`?",
            ),
            ("DRAIN shop.other", 1146, "no rule is for shop.other"),
        ] {
            let (found, message) = refused(&mut operator, text).await;
            assert_eq!(found, code, "{text}: {message}");
            assert!(message.contains(hint), "{text}: {message}");
        }
    });
}

/// A file with an error changes nothing, and its error is told.
#[test]
fn a_bad_file_is_told() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_bad_file", "").await;
        let mut operator = stage.operator().await;
        stage.write_rules("counters: [nothing]\n");
        let (code, message) = refused(&mut operator, "RELOAD").await;
        assert_eq!(code, 1105);
        assert!(message.contains("(line 1)"), "{message}");
        let rule = row(&mut operator, "SHOW RULES", "table", "posts").await;
        assert_eq!(rule["mode"], "enforce");
    });
}

#[test]
fn what_is_no_statement_is_refused_with_a_reason() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_others", "").await;
        let mut operator = stage.operator().await;
        run(
            &mut operator,
            "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        )
        .await;
        for text in [
            "SELECT @@max_allowed_packet",
            "select @@session.max_allowed_packet limit 1;",
        ] {
            // The crate behind the fence would say otherwise.
            assert_eq!(number(&mut operator, text).await, 65_536, "{text}");
        }
        for (text, code) in [
            ("SET GLOBAL x = 1", 1193),
            ("SELECT @@nothing", 1193),
            ("SELECT * FROM posts", 1064),
            ("KILL 1", 1094),
        ] {
            assert_eq!(refused(&mut operator, text).await.0, code, "{text}");
        }
        assert_eq!(
            operator.query("COMMIT").await.expect("an answer"),
            Reply::Ok(0)
        );
    });
}
