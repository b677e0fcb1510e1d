//! `countersink check` against real servers: each planted fault is found under its code, and gone when its remedy has
//! run.
//!
//! In statements and rules, `~` stands for the test's schema.

mod accounts;
mod found;
mod planted;
mod servers;
mod slots;

use countersink::check::Code;

use crate::support::{Sandbox, countersink, servers};
use found::Found;
use planted::CASES;

const POSTS: &str = "CREATE TABLE ~.posts (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, title VARCHAR(40), \
                     views INT UNSIGNED NOT NULL DEFAULT 0, likes BIGINT DEFAULT 0)";

const RULE: &str = "columns: [views]";

/// Codes that are not in the table, as they need more than a schema: where their tests are.
const ELSEWHERE: &[(Code, &str)] = &[
    (Code::SameTable, "servers_with_settings"),
    (Code::SlotTableDrift, "slot_tables_that_drifted"),
    (Code::SlotTableOutdated, "slot_tables_that_drifted"),
    (Code::SlotTableLacks, "slot_tables_that_lack_columns"),
    (Code::ForgottenCounter, "slot_tables_that_lack_columns"),
    (Code::UnservedValues, "values_of_rules_that_are_off"),
    (Code::SlotsToEmpty, "values_of_rules_that_are_off"),
    (Code::ControlGrants, "control_accounts"),
    (Code::ProgramsUnseen, "control_accounts"),
    (Code::ClientGrantsUnseen, "control_accounts"),
    (Code::ClientGrants, "client_accounts"),
    (Code::HeadroomUnseen, "tables_of_many_rows"),
    (Code::BinlogFormat, "servers_with_settings"),
    (Code::ReadOnly, "servers_with_settings"),
    (Code::NoSlotSchema, "slot_tables_in_a_schema_of_their_own"),
    (Code::ChecksOff, "servers_with_settings"),
    (
        Code::SocketAccounts,
        "tests/clients/login/socket_accounts.rs",
    ),
    (Code::ProxyProtocol, "tests/clients/login/proxy_protocol.rs"),
    (Code::ServerVersion, "src/check/server.rs"),
    (Code::OtherEngine, "src/check/server.rs"),
    (Code::NoSkipLocked, "src/check/server.rs"),
    (Code::Clock, "src/check/server.rs"),
    (Code::OwnCertificate, "src/check/server.rs"),
    (Code::Sentinel, "src/check/server.rs"),
    (Code::MultiWriter, "servers_in_a_group"),
    (Code::SinglePrimary, "servers_in_a_group"),
];

#[test]
fn every_code_has_a_case() {
    for code in Code::ALL {
        let has = CASES.iter().any(|case| case.code == *code);
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| other == code);
        assert!(has != elsewhere, "{}", code.name());
    }
}

#[tokio::test]
async fn a_clean_schema_gives_nothing() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules_as(
            &sandbox.owner(),
            &format!("tls: {{client: disabled}}\ncounters:\n- table: ~.posts\n  {RULE}\n"),
        );
        let new = Found::of(&rules);
        assert_eq!(new.codes(), ["slot-table-missing"]);
        assert_eq!(new.exit, 0);
        assert_eq!(countersink(&["provision"], &rules).0, 0);
        let clean = Found::of(&rules);
        assert_eq!(clean.codes(), [""; 0]);
        assert_eq!(clean.exit, 0);
        let family = if sandbox.is_mariadb().await {
            "MariaDB"
        } else {
            "MySQL"
        };
        assert_eq!(clean.document["server"], family);
        let version = sandbox.ask("SELECT @@version").await.remove(0);
        assert_eq!(clean.document["version"], version);
        let none = serde_json::json!({"rules": 1, "errors": 0, "warnings": 0, "notices": 0});
        assert_eq!(clean.document["summary"], none);
        let (exit, output, _) = countersink(&["check"], &rules);
        let expected = format!("nothing was found: 1 rule on {family} {version}\n");
        assert_eq!((exit, output), (0, expected));
    }
}

#[tokio::test]
async fn all_findings_of_all_rules_are_told_to_people_without_colours() {
    let tables = "CREATE TABLE ~.posts (views DOUBLE, likes VARCHAR(9)) ENGINE = MyISAM; \
                  CREATE TABLE ~.users (id INT PRIMARY KEY, visits INT, KEY (visits))";
    for server in servers() {
        let sandbox = Sandbox::new(&server, tables).await;
        let rules = "tls: {client: disabled}\n\
                     counters:\n- {table: ~.posts, columns: [views, likes, dislikes]}\n\
                     - {table: ~.users, columns: [visits]}\n";
        let rules = sandbox.rules_as("{user: root}", rules);
        let (exit, output, errors) = countersink(&["check"], &rules);
        assert_eq!((exit, errors.as_str()), (2, ""), "{output}");
        let places = [
            format!("{}.posts\n", sandbox.schema),
            "error: engine".to_owned(),
            "error: no-primary-key".to_owned(),
            "error: approximate".to_owned(),
            "error: not-numeric".to_owned(),
            "error: no-column".to_owned(),
            format!("{}.users\n", sandbox.schema),
            "warning: counter-indexed".to_owned(),
            "5 errors, 1 warning, 1 notice: 2 rules on ".to_owned(),
        ]
        .map(|text| {
            output
                .find(&text)
                .unwrap_or_else(|| panic!("no {text} in\n{output}"))
        });
        assert!(places.is_sorted(), "in this order:\n{output}");
        assert!(!output.contains('\u{1b}'), "{output}");
    }
}

#[tokio::test]
async fn what_cannot_run_has_the_codes_of_errors() {
    for server in servers() {
        let mut sandbox = Sandbox::new(&server, POSTS).await;
        // MySQL does not tell that there is no such account, but asks for a password by any plugin.
        let user = sandbox.user("BY 'secret'").await;
        let rules = sandbox.rules_as(
            &format!("{{user: {user}, password: wrong}}"),
            "counters:\n- {table: ~.posts, columns: [views]}\n",
        );
        let (code, output, errors) = countersink(&["check"], &rules);
        assert_eq!((code, output.as_str()), (2, ""), "{errors}");
        assert!(
            errors.contains("control: the server refuses the account"),
            "{errors}"
        );
        let text = std::fs::read_to_string(&rules).expect("rules");
        let port = format!(":{}", server.tcp_port());
        // Nothing listens on a port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let free = format!(":{}", free.expect("a free port").port());
        std::fs::write(&rules, text.replacen(&port, &free, 1)).expect("rules");
        let (code, output, errors) = countersink(&["check", "--json"], &rules);
        assert_eq!((code, output.as_str()), (1, ""), "{errors}");
        assert!(errors.contains("cannot be reached"), "{errors}");
        std::fs::write(&rules, "counters: 5").expect("rules");
        assert_eq!(countersink(&["check"], &rules).0, 2);
    }
}
