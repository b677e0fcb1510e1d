//! Accounts that may see little: what is left is used, what is missing is said with the GRANT.

use countersink_sandbox::{Address, Flavour};

use crate::advise::advice::{Advice, advise_as};
use crate::advise::{SCHEMA, load};
use crate::support;
use crate::support::binary::Ended;
use crate::support::client::{connect, run};
use crate::support::twin::alone;

const USER: &str = "cs_advise_little";

/// Runs the command as an account with these grants alone, and tells the server's owner's statements that make it.
async fn as_little(server: &Address, grants: &[&str], arguments: &[&str]) -> Ended {
    let mut owner = connect(server, None).await;
    run(&mut owner, &format!("DROP USER IF EXISTS '{USER}'")).await;
    run(
        &mut owner,
        &format!("CREATE USER '{USER}' IDENTIFIED BY 'little'"),
    )
    .await;
    for grant in grants {
        run(&mut owner, &format!("GRANT {grant} TO '{USER}'")).await;
    }
    let ended = advise_as(server, USER, "little", arguments).await;
    run(&mut owner, &format!("DROP USER '{USER}'")).await;
    ended
}

#[test]
fn who_may_see_nothing_is_told_what_to_grant() {
    support::block_on(async {
        for (flavour, grants) in [
            (
                Flavour::MySql,
                &[
                    "GRANT SELECT ON performance_schema.* TO",
                    "GRANT PROCESS ON *.* TO",
                ][..],
            ),
            (Flavour::MariaDb, &["GRANT PROCESS ON *.* TO"]),
        ] {
            let (server, _alone) = alone(flavour).await;
            let ended = as_little(server, &[], &["--for", "1s"]).await;
            assert_eq!(ended.code, Some(2), "{ended:?}");
            for grant in grants {
                let grant = format!("{grant} '{USER}'@'%';");
                assert!(ended.errors.contains(&grant), "{ended:?}");
            }
        }
    });
}

#[test]
fn a_wrong_password_is_corrected_on_the_command_line() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        let mut owner = connect(server, None).await;
        let user = "cs_advise_locked_out";
        run(&mut owner, &format!("DROP USER IF EXISTS '{user}'")).await;
        let create = format!("CREATE USER '{user}' IDENTIFIED BY 'right'");
        run(&mut owner, &create).await;
        let ended = advise_as(server, user, "wrong", &[]).await;
        run(&mut owner, &format!("DROP USER '{user}'")).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.errors.contains("correct --user"), "{ended:?}");
    });
}

/// By SHOW ENGINE INNODB STATUS the statement tells which row it is.
#[test]
fn the_planted_row_comes_first_where_performance_schema_is_closed() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        let load = load::mixed();
        load.make(server, SCHEMA).await;
        let playing = load.play(server, SCHEMA).await;
        let tables = format!("SELECT, UPDATE, TRIGGER ON {SCHEMA}.*");
        let ended = as_little(
            server,
            &["PROCESS ON *.*", &tables],
            &["--json", "--for", "3s"],
        )
        .await;
        let grants = ["PROCESS ON *.*", &tables];
        let text = as_little(server, &grants, &["--for", "3s"]).await.output;
        playing.stop().await;
        let advice = Advice::of(&ended);
        assert_eq!(advice.value["source"], "SHOW ENGINE INNODB STATUS");
        // What the rule needs beside, ready to be pasted.
        assert!(text.contains("serve refuses the rule until"), "{text}");
        let mut lines = text.lines().map(str::trim);
        let grant =
            |line: &str| line.starts_with("GRANT ") && line.contains(USER) && line.ends_with(';');
        assert!(lines.any(grant), "{text}");
        let hot = &advice.tables()[0];
        assert_eq!(hot["table"], format!("{SCHEMA}.posts"), "{advice}");
        assert_eq!(hot["rows"][0]["row"], "id = 42", "{advice}");
        assert_eq!(hot["verdict"], "advised", "{advice}");
        let unseen = advice.value["unseen"].to_string();
        let grant = format!("GRANT SELECT ON performance_schema.* TO '{USER}'@'%';");
        assert!(unseen.contains(&grant), "{unseen}");
    });
}

/// Without the right to see the tables nothing can be tried.
#[test]
fn tables_that_may_not_be_seen_are_named_with_the_grant() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MariaDb).await;
        let load = load::mixed();
        load.make(server, SCHEMA).await;
        let playing = load.play(server, SCHEMA).await;
        let ended = as_little(server, &["PROCESS ON *.*"], &["--json", "--for", "3s"]).await;
        playing.stop().await;
        let advice = Advice::of(&ended);
        let hot = &advice.tables()[0];
        assert_eq!(hot["table"], format!("{SCHEMA}.posts"), "{advice}");
        assert_eq!(hot["verdict"], "passed-over", "{advice}");
        let why = hot["why"].as_str().expect("a reason");
        assert!(why.contains("GRANT SELECT, UPDATE, TRIGGER ON"), "{why}");
    });
}
