//! Servers: their settings, and tables that are too large to look at.

use countersink::check::Code;
use countersink_sandbox::{Address, Flavour, Server};
use mysql_async::{Opts, OptsBuilder};
use serde_json::Value;

use crate::check::found::{Found, run_all};
use crate::check::{POSTS, RULE};
use crate::support::binary::Serving;
use crate::support::twin::{installation, options};
use crate::support::{Sandbox, countersink, servers};

fn opts(address: &Address) -> Opts {
    OptsBuilder::default()
        .ip_or_hostname(address.host.clone())
        .tcp_port(address.port)
        .user(Some(address.user.clone()))
        .pass(Some(address.password.clone()))
        .prefer_socket(false)
        .into()
}

/// Settings of whole servers, on servers of the test's own.
#[tokio::test]
async fn servers_with_settings() {
    for (flavour, settings) in [
        (Flavour::MySql, &["--binlog-format=STATEMENT"][..]),
        (
            Flavour::MariaDb,
            &["--binlog-format=STATEMENT", "--lower-case-table-names=1"],
        ),
    ] {
        let mut options = options();
        options
            .extra
            .extend(settings.iter().map(|&text| text.to_owned()));
        let server = Server::start(&installation(flavour), &options).expect("a server");
        let sandbox = Sandbox::new(&opts(&server.address()), POSTS).await;
        if flavour == Flavour::MariaDb {
            sandbox
                .run("SET GLOBAL check_constraint_checks = OFF")
                .await;
        }
        let rules = "counters:\n- {table: ~.posts, columns: [views]}\n- {table: ~.Posts, columns: [likes]}\n";
        let found = Found::of(&sandbox.rules_as("{user: root}", rules));
        assert_eq!(found.exit, 2);
        let finding = found.one(Code::BinlogFormat);
        assert_eq!(
            (&finding["severity"], &finding["table"]),
            (&"warning".into(), &Value::Null)
        );
        let mut codes = vec![Code::BinlogFormat];
        if flavour == Flavour::MariaDb {
            codes.push(Code::ChecksOff);
            assert_eq!(found.one(Code::ChecksOff)["severity"], "error");
            assert_eq!(found.one(Code::SameTable)["severity"], "error");
            assert!(!found.has(Code::NoTable));
        } else {
            assert!(found.has(Code::NoTable), "it is another table here");
            assert!(!found.has(Code::SameTable));
        }
        for code in codes {
            let statements = found.statements(code);
            assert!(!statements.is_empty(), "{}", code.name());
            run_all(&sandbox, &statements).await;
        }
        let rules = sandbox.rules(RULE);
        assert_eq!(Found::of(&rules).codes(), ["slot-table-missing"]);
        sandbox.run("SET GLOBAL read_only = ON").await;
        let replica = Found::of(&rules);
        assert_eq!(replica.codes(), ["read-only", "slot-table-missing"]);
        assert_eq!(replica.exit, 3);
        // The account might write nevertheless.
        let (code, output, errors) = countersink(&["provision"], &rules);
        assert_eq!((code, &*output), (1, ""), "{errors}");
        assert!(errors.contains("the server is read-only"), "{errors}");
        sandbox.run("SET GLOBAL read_only = OFF").await;
    }
}

#[tokio::test]
async fn tables_of_many_rows() {
    let digits = "(SELECT 0 UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 \
                  UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";
    let joined: Vec<String> = "abcde"
        .chars()
        .map(|name| format!("{digits} {name}"))
        .collect();
    let fill = format!(
        "INSERT INTO ~.posts (views) SELECT 3000000000 FROM {}, (SELECT 0 UNION SELECT 1) f",
        joined.join(", ")
    );
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        sandbox.run(&fill).await;
        sandbox.run("ANALYZE TABLE ~.posts").await;
        let rules = sandbox.rules(RULE);
        let unseen = Found::of(&rules);
        assert_eq!(unseen.codes(), ["headroom-unseen", "slot-table-missing"]);
        assert_eq!(unseen.exit, 0);
        sandbox
            .run("CREATE INDEX by_views ON ~.posts (views)")
            .await;
        let seen = Found::of(&rules);
        let reason = seen.one(Code::Headroom)["reason"].as_str().expect("a text");
        assert!(reason.contains("3000000000"), "by the index: {reason}");
    }
}

/// A group of one member, with one primary and with as many as there are members.
#[tokio::test]
async fn servers_in_a_group() {
    let mut options = options();
    let settings = [
        "--server-id=1",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--log-bin=log",
        "--plugin-load-add=group_replication.so",
        "--loose-group-replication-group-name=aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa",
        "--loose-group-replication-bootstrap-group=ON",
        // It would make the server read-only while it starts, and a little longer.
        "--loose-group-replication-start-on-boot=OFF",
    ];
    options.extra.extend(settings.map(str::to_owned));
    let server = Server::start(&installation(Flavour::MySql), &options).expect("a server");
    let sandbox = Sandbox::new(&opts(&server.address()), POSTS).await;
    let rules = sandbox.rules(RULE);
    assert!(
        !Found::of(&rules).has(Code::SinglePrimary),
        "it is not running"
    );
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    sandbox
        .run(&format!(
            "SET GLOBAL group_replication_local_address = '127.0.0.1:{port}'"
        ))
        .await;
    for single in ["ON", "OFF"] {
        let set = format!("SET GLOBAL group_replication_single_primary_mode = {single}");
        sandbox.run(&set).await;
        sandbox.run("START GROUP_REPLICATION").await;
        let found = Found::of(&rules);
        assert!(!found.has(Code::MultiWriter), "there are no others");
        if single == "ON" {
            let finding = found.one(Code::SinglePrimary);
            assert_eq!(finding["severity"], "notice");
            let reason = finding["reason"].as_str().expect("a text");
            assert!(reason.contains("of 1 members"), "{reason}");
        }
        Serving::start(&rules).expect("it serves").stop();
        sandbox.run("STOP GROUP_REPLICATION").await;
        sandbox
            .run("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF")
            .await;
    }
}
