//! Accounts that lack privileges: the proxy's own and those of the application.

use countersink::check::Code;

use crate::check::found::{Found, run_all};
use crate::check::{POSTS, RULE};
use crate::support::{Sandbox, countersink, servers};

#[tokio::test]
async fn control_accounts() {
    const RULES: &str =
        "sentinel: {server_id: 77}\ncounters:\n- {table: ~.posts, columns: [views]}\n";
    for server in servers() {
        let mut sandbox = Sandbox::new(&server, POSTS).await;
        let user = sandbox.user("BY 'secret'").await;
        let rules = sandbox.rules_as(&format!("{{user: {user}, password: secret}}"), RULES);
        let hidden = Found::of(&rules);
        assert_eq!(hidden.one(Code::NoTable)["severity"], "error");
        assert!(
            !hidden.statements(Code::NoTable).is_empty(),
            "it may be there"
        );
        sandbox
            .run(&format!("GRANT SELECT ON ~.posts TO '{user}'"))
            .await;
        let poor = Found::of(&rules);
        let reasons: Vec<&str> = poor
            .all(Code::ControlGrants)
            .iter()
            .map(|finding| finding["reason"].as_str().expect("a text"))
            .collect();
        assert_eq!(reasons.len(), 4, "{reasons:?}");
        for expected in [
            "may not see whether",
            "lacks UPDATE on",
            "lacks SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP on",
            "lacks REPLICATION SLAVE, ",
        ] {
            let found = reasons.iter().any(|reason| reason.contains(expected));
            assert!(found, "{expected}: {reasons:?}");
        }
        assert_eq!(poor.exit, 2);
        run_all(&sandbox, &poor.statements(Code::ControlGrants)).await;
        let right = Found::of(&rules);
        assert!(!right.has(Code::ControlGrants), "{:#}", right.document);
        assert!(right.has(Code::SlotTableMissing));
        assert_eq!(
            right.exit, 0,
            "what it may not see is a notice: {:#}",
            right.document
        );
        for unseen in [Code::ClientGrantsUnseen, Code::ProgramsUnseen] {
            let statements = right.statements(unseen);
            assert!(!statements.is_empty(), "{}", unseen.name());
            run_all(&sandbox, &statements).await;
        }
        assert_eq!(
            countersink(&["provision"], &rules).0,
            0,
            "the grants suffice"
        );
        assert_eq!(Found::of(&rules).codes(), [""; 0]);
    }
}

/// What an account is granted on the tables, what of its finding's statement is told, and that this is enough.
#[tokio::test]
async fn client_accounts() {
    /// What MariaDB has an upsert need is more than the account has on the hot table.
    const ADDS: &str = ", INSERT (`id`, `slot`, `views`), UPDATE (`open`, `views`)";
    const CASES: [(&str, Option<&str>); 12] = [
        ("SELECT, UPDATE ON ~.posts", Some("SELECT, INSERT, UPDATE")),
        (
            "SELECT, UPDATE, DELETE ON ~.posts",
            Some("SELECT, INSERT, UPDATE, DELETE"),
        ),
        (
            "SELECT (id, views), UPDATE (views) ON ~.posts",
            Some(
                "SELECT (`id`, `slot`, `views`), INSERT (`id`, `slot`, `views`), UPDATE (`open`, `views`)",
            ),
        ),
        (
            "SELECT (id, views) ON ~.posts",
            Some("SELECT (`id`, `slot`, `views`)"),
        ),
        ("SELECT (id), UPDATE (views) ON ~.posts", None),
        ("SELECT (views) ON ~.posts", None),
        ("SELECT, INSERT ON ~.posts", Some("SELECT")),
        ("SELECT ON ~.posts", Some("SELECT")),
        ("SELECT, UPDATE ON ~.*", Some("INSERT")),
        ("SELECT, INSERT, UPDATE, DELETE ON ~.*", None),
        ("SELECT ON ~.users", None),
        ("SELECT ON *.*", None),
    ];
    for server in servers() {
        let tables = format!("{POSTS}; CREATE TABLE ~.users (id INT)");
        let mut sandbox = Sandbox::new(&server, &tables).await;
        let rules = sandbox.rules(RULE);
        assert_eq!(countersink(&["provision"], &rules).0, 0);
        for (grant, lacking) in CASES {
            let user = sandbox.user("BY 'secret'").await;
            sandbox.run(&format!("GRANT {grant} TO '{user}'")).await;
            let found = Found::of(&rules);
            let Some(lacking) = lacking else {
                assert_eq!(found.codes(), [""; 0], "{grant}");
                continue;
            };
            let lacking = match sandbox.is_mariadb().await {
                true => lacking.replace(ADDS, ""),
                false => lacking.to_owned(),
            };
            let finding = found.one(Code::ClientGrants);
            assert_eq!(finding["severity"], "warning");
            assert_eq!(found.exit, 3, "{grant}");
            let expected = format!(
                "GRANT {lacking} ON `{}`.`posts_slots` TO '{user}'@'%';",
                sandbox.schema
            );
            assert_eq!(found.statements(Code::ClientGrants), [expected], "{grant}");
            run_all(&sandbox, &found.statements(Code::ClientGrants)).await;
            assert_eq!(Found::of(&rules).codes(), [""; 0], "{grant}");
        }
        let user = sandbox.user("BY 'secret'").await;
        sandbox.run("CREATE ROLE ~_role").await;
        sandbox.run("GRANT SELECT ON ~.posts TO ~_role").await;
        let role = Found::of(&rules);
        run_all(&sandbox, &role.statements(Code::ClientGrants)).await;
        sandbox.run(&format!("GRANT ~_role TO '{user}'")).await;
        sandbox
            .run(&format!("GRANT SELECT ON ~.posts TO '{user}'"))
            .await;
        let member = Found::of(&rules);
        sandbox.run("DROP ROLE ~_role").await;
        let finding = role.one(Code::ClientGrants);
        let reason = finding["reason"].as_str().expect("a text");
        assert!(
            reason.contains("_role'"),
            "a role has grants, too: {reason}"
        );
        assert_eq!(member.codes(), [""; 0], "the role's grant suffices");
        let bypassed = format!(
            "{}bypass: {{users: [{user}]}}\n",
            std::fs::read_to_string(&rules).expect("rules")
        );
        let through = Found::of(&rules);
        std::fs::write(&rules, bypassed).expect("rules");
        assert!(through.has(Code::ClientGrants));
        assert!(
            !Found::of(&rules).has(Code::ClientGrants),
            "it is not rewritten"
        );
    }
}
