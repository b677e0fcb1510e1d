//! Hot rows that no rule can help, what the command cannot do, and its end before the time.

use countersink_sandbox::Flavour;

use crate::advise::advice::{Advice, advise, advise_as};
use crate::advise::{SCHEMA, load};
use crate::support;
use crate::support::binary::{Binary, countersink, rules_file};
use crate::support::proxy::rules_head;
use crate::support::twin::alone;

/// What is said of each table of the load.
const REASONS: [(&str, &str); 5] = [
    ("keyless", "no primary key"),
    ("rough", "FLOAT"),
    ("stock", "folded:unsigned-decrement"),
    ("hits", "ON DUPLICATE KEY UPDATE"),
    ("watched", "trigger"),
];

#[test]
fn what_no_rule_can_help_is_said_with_the_reason() {
    support::block_on(async {
        for flavour in Flavour::ALL {
            let (server, _alone) = alone(flavour).await;
            let load = load::faults();
            load.make(server, SCHEMA).await;
            let rules = format!(
                "{}counters:\n  - table: {SCHEMA}.ruled\n    columns: [\"n\"]\n",
                rules_head(server)
            );
            let (_folder, file) = rules_file(&rules);
            let playing = load.play(server, SCHEMA).await;
            let run = tokio::task::spawn_blocking(move || {
                countersink(&["advise", "--json", "--for", "3s"], &file)
            });
            let (code, output, errors) = run.await.expect("it runs");
            playing.stop().await;
            assert_eq!(code, 0, "{errors}");
            let advice = Advice::read(&output);
            assert_eq!(advice.yaml(), None, "{advice}");
            let ruled = advice.table(&format!("{SCHEMA}.ruled"));
            assert_eq!(ruled["verdict"], "ruled", "{advice}");
            for (table, reason) in REASONS {
                let table = advice.table(&format!("{SCHEMA}.{table}"));
                assert_eq!(table["verdict"], "passed-over", "{advice}");
                let why = table["why"].as_str().expect("a reason");
                assert!(why.contains(reason), "{reason}: {why}");
            }
        }
    });
}

/// Its only row needs no key, and no slots.
#[test]
fn a_table_of_one_row_without_a_primary_key_gets_a_rule_without_slots() {
    support::block_on(async {
        for flavour in Flavour::ALL {
            let (server, _alone) = alone(flavour).await;
            let load = load::keyless();
            load.make(server, SCHEMA).await;
            let playing = load.play(server, SCHEMA).await;
            let advice = advise(server).await;
            playing.stop().await;
            let drawn = advice.table(&format!("{SCHEMA}.drawn"));
            assert_eq!(drawn["verdict"], "advised", "{advice}");
            assert_eq!(drawn["rule"]["slots"], 0, "{advice}");
            let held = advice.table(&format!("{SCHEMA}.held"));
            let (said, expected) = match flavour {
                Flavour::MySql => (&held["why"], "stand in transactions"),
                // It does not show them.
                Flavour::MariaDb => (&held["against"], "was not seen"),
            };
            assert!(said.to_string().contains(expected), "{said}");
        }
    });
}

#[test]
fn who_ends_it_early_is_told_what_was_seen() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        let upstream = format!("{}:{}", server.host, server.port);
        let arguments = [
            "advise",
            "--upstream",
            &upstream,
            "--user",
            &server.user,
            "--password-env",
            "ADVISE_PASSWORD",
            "--for",
            "1h",
        ];
        let environment = [("ADVISE_PASSWORD", server.password.as_str())];
        let mut binary = Binary::start_with(&arguments, &environment);
        binary.wait_for("Watching").expect("it watches");
        binary.signal("INT");
        let ended = binary.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.output.contains("No rule is advised"), "{ended:?}");
    });
}

#[test]
fn what_cannot_be_reached_is_said_with_the_remedy() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        // Nothing listens on a port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let url = format!("http://{}", free.expect("a free port"));
        let arguments = ["--proxy", &url, "--for", "1s"];
        let ended = advise_as(server, &server.user, &server.password, &arguments).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.errors.contains("name the `http` of a running proxy"),
            "{ended:?}"
        );
    });
}
