//! The account of the proxy itself: what it must be allowed, and what is said where it is not.

use super::stage::{POSTS, serve, slot_tables};
use crate::support::{Sandbox, countersink, servers};

const RULE: &str = "counters:\n- {table: ~.posts, columns: [views]}\n";

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
