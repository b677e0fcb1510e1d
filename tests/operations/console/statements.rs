//! What each statement answers about a proxy that does something.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use countersink::driver::{Driver, Reply};
use countersink::reason::Reason;
use countersink_sandbox::Flavour;

use crate::console::stage::{PASSWORD, Stage, columns_and_rows, refused, stat, table};
use crate::support;
use crate::support::binary::PATIENCE;
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
        let page = include_str!("../../../docs/admin.md");
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
                heading => heading,
            };
            let told: BTreeSet<_> = text
                .lines()
                .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
                .collect();
            let (columns, rows) = columns_and_rows(&mut operator, statement).await;
            assert_eq!(
                columns.into_iter().collect::<BTreeSet<_>>(),
                told,
                "{heading}"
            );
            // Nobody writes past this proxy.
            assert_eq!(rows.is_empty(), heading == "SHOW SENTINEL", "{heading}");
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
        // The session puts itself in order behind an answer, and before the next one.
        run(&mut client, "DO 0").await;
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
        assert_eq!(rule["stage"], "enforced");
        assert_eq!(rule["waits_for"], "NULL");
        let upstreams = table(&mut operator, "SHOW UPSTREAMS").await;
        let [upstream] = &upstreams[..] else {
            panic!("{upstreams:?}");
        };
        assert_eq!(
            (&*upstream["is_used"], &*upstream["state"]),
            ("1", "NULL"),
            "one is not looked at"
        );
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

#[test]
fn rules_are_switched_over() {
    support::block_on(async {
        for flavour in Flavour::ALL {
            let stage = Stage::new(flavour, "cs_console_orders", "").await;
            let mut operator = stage.operator().await;
            let mut client = stage.client().await;
            for (mode, expected) in [
                ("observe", "observed"),
                ("OFF", "off"),
                ("enforce", "enforced"),
            ] {
                let order = format!("SET RULE cs_console_orders.posts MODE {mode}");
                let told = table(&mut operator, &order).await;
                assert!(
                    told[0]["result"].starts_with("cs_console_orders.posts: "),
                    "{told:?}"
                );
                arrives(&mut operator, expected).await;
                run(
                    &mut client,
                    "UPDATE posts SET views = views + 1 WHERE id = 1",
                )
                .await;
            }
            run(&mut operator, "USE cs_console_orders").await;
            let drained = table(&mut operator, "DRAIN posts").await;
            assert!(
                drained[0]["result"].contains("posts_slots is gone"),
                "{drained:?}"
            );
            arrives(&mut operator, "drained").await;
            let views = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
            assert_eq!(views, 3);
            let read = table(&mut operator, "RELOAD").await;
            assert!(read[0]["result"].contains("rules.yaml read"), "{read:?}");
            arrives(&mut operator, "enforced").await;
            for (order, code) in [
                ("SET RULE posts MODE fast", 1064),
                ("SET RULE nothing MODE off", 1146),
                ("DRAIN nothing", 1146),
            ] {
                assert_eq!(refused(&mut operator, order).await.0, code, "{order}");
            }
        }
    });
}

/// What is done of several tables is told though another fails, and it is the table that was named.
#[test]
fn one_table_of_several_fails() {
    support::block_on(async {
        for flavour in Flavour::ALL {
            let schema = "cs_console_several";
            let stage = Stage::with_two_tables(flavour, schema).await;
            let upstream = &support::twin::twin(flavour).proxied;
            let mut direct = support::client::connect(upstream, Some(schema)).await;
            let mut operator = stage.operator().await;
            let mut client = stage.client().await;
            for name in ["posts", "Posts"] {
                let increment = format!("UPDATE {name} SET views = views + 1 WHERE id = 1");
                run(&mut client, &increment).await;
            }
            // The value would change, so it is rolled back.
            let trigger = "CREATE TRIGGER one_more BEFORE UPDATE ON posts \
                           FOR EACH ROW SET NEW.views = NEW.views + 1";
            run(&mut direct, trigger).await;
            let posts = row(&mut operator, "ROLLUP", "table", "posts").await;
            assert_eq!((&*posts["moved"], &*posts["left"]), ("0", "NULL"));
            assert!(posts["error"].contains("rolled back"), "{posts:?}");
            let base = "SELECT views FROM Posts WHERE id = 1";
            assert_eq!(number(&mut direct, base).await, 1, "the other one was");
            let named = format!("ROLLUP {schema}.posts");
            assert_eq!(refused(&mut operator, &named).await.0, 1105);
            for (counted, expected) in [
                ("rollup_drift", 2),
                ("rollup_failures", 2),
                ("rollup_slot_rows", 1),
            ] {
                assert_eq!(stat(&mut operator, counted).await, expected, "{counted}");
            }

            let order = format!("SET RULE {schema}.Posts MODE observe");
            table(&mut operator, &order).await;
            for (name, mode) in [("posts", "enforce"), ("Posts", "observe")] {
                let rule = row(&mut operator, "SHOW RULES", "table", name).await;
                assert_eq!(rule["mode"], mode, "{name}");
            }
            let order = format!("SET RULE {schema}.POSTS MODE off");
            assert_eq!(refused(&mut operator, &order).await.0, 1146);

            run(&mut direct, "DROP TABLE posts").await;
            let drained = table(&mut operator, "DRAIN").await;
            let results: Vec<_> = drained.iter().map(|row| &*row["result"]).collect();
            let [first, second] = &results[..] else {
                panic!("{results:?}");
            };
            let not_drained = format!("{schema}.posts: not drained: ");
            assert!(first.starts_with(&not_drained), "{first}");
            let done = format!("{schema}.Posts: ");
            assert!(
                second.starts_with(&done) && second.ends_with("is gone"),
                "{second}"
            );
            let (code, message) = refused(&mut operator, &format!("DRAIN {schema}.posts")).await;
            assert_eq!(code, 1105, "{message}");
        }
    });
}

/// Until the last transaction that uses its slots has ended.
#[test]
fn a_rule_on_its_way_out_is_shown_until_it_is_gone() {
    support::block_on(async {
        for flavour in Flavour::ALL {
            let stage = Stage::with_two_tables(flavour, "cs_console_leaving").await;
            let mut operator = stage.operator().await;
            let mut client = stage.client().await;
            let increment = "UPDATE posts SET views = views + 1 WHERE id = 1";
            for text in [increment, "BEGIN", increment] {
                run(&mut client, text).await;
            }
            let rules = std::fs::read_to_string(&stage.rules).expect("it is there");
            let is_kept = |line: &&str| !line.contains("cs_console_leaving.posts,");
            let kept: Vec<_> = rules.lines().filter(is_kept).collect();
            std::fs::write(&stage.rules, kept.join("\n")).expect("written");
            let read = table(&mut operator, "RELOAD").await;
            let told = &read[0]["result"];
            assert!(told.ends_with("read; a rule is on its way"), "{told}");
            let rules = table(&mut operator, "SHOW RULES").await;
            let [stays, leaves] = &rules[..] else {
                panic!("{flavour}: {rules:?}");
            };
            assert_eq!((&*stays["table"], &*stays["stage"]), ("Posts", "enforced"));
            assert_eq!(
                (&*leaves["table"], &*leaves["stage"]),
                ("posts", "switching off")
            );
            assert_ne!(leaves["waits_for"], "NULL");
            run(&mut client, "COMMIT").await;
            let deadline = Instant::now() + PATIENCE;
            while table(&mut operator, "SHOW RULES").await.len() > 1 {
                assert!(Instant::now() < deadline, "it does not leave");
            }
        }
    });
}

async fn arrives(operator: &mut Driver, stage: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let rule = row(operator, "SHOW RULES", "table", "posts").await;
        if rule["stage"] == stage && rule["waits_for"] == "NULL" {
            return;
        }
        assert!(Instant::now() < deadline, "not {stage}: {rule:?}");
    }
}

#[test]
fn what_it_does_not_have_is_refused() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_refused", "").await;
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
