//! `countersink check` against real servers: each planted fault is found under its code, and gone when its remedy has run.
//!
//! In statements and rules, `~` stands for the test's schema.

mod support;

use std::path::Path;

use countersink::check::{Code, Severity};
use countersink::sandbox::{Address, Flavour, Server};
use mysql_async::{Opts, OptsBuilder};
use serde_json::Value;
use support::twin::{installation, options};
use support::{Sandbox, countersink, servers};

const POSTS: &str = "CREATE TABLE ~.posts (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, title VARCHAR(40), \
                     views INT UNSIGNED NOT NULL DEFAULT 0, likes BIGINT DEFAULT 0)";

const RULE: &str = "columns: [views]";

/// A fault, and what takes it away.
struct Case {
    code: Code,
    /// Statements of the faulty schema.
    tables: &'static str,
    rule: &'static str,
    cure: Cure,
    on: On,
}

/// How a fault is taken away.
enum Cure {
    /// By the statements that the finding gives.
    Remedy,
    /// By these.
    By(&'static str),
    /// By another rule.
    Rule(&'static str),
}

#[derive(PartialEq)]
enum On {
    Both,
    MySql,
    MariaDb,
}

const fn case(code: Code, tables: &'static str, rule: &'static str, cure: Cure) -> Case {
    Case {
        code,
        tables,
        rule,
        cure,
        on: On::Both,
    }
}

/// `posts` with this behind the key.
macro_rules! posts {
    ($definitions:literal) => {
        concat!(
            "CREATE TABLE ~.posts (id INT PRIMARY KEY, ",
            $definitions,
            ")"
        )
    };
    ($definitions:literal; $more:literal) => {
        concat!(
            "CREATE TABLE ~.posts (id INT PRIMARY KEY, ",
            $definitions,
            "); ",
            $more
        )
    };
}

const CASES: &[Case] = &[
    case(
        Code::NoTable,
        "CREATE TABLE ~.post (id INT PRIMARY KEY, views INT)",
        RULE,
        Cure::By("RENAME TABLE ~.post TO ~.posts"),
    ),
    case(
        Code::NotATable,
        "CREATE TABLE ~.real_posts (id INT PRIMARY KEY, views INT); CREATE VIEW ~.posts AS SELECT * FROM ~.real_posts",
        RULE,
        Cure::By("DROP VIEW ~.posts; RENAME TABLE ~.real_posts TO ~.posts"),
    ),
    case(
        Code::Engine,
        "CREATE TABLE ~.posts (id INT PRIMARY KEY, views INT) ENGINE = MyISAM",
        RULE,
        Cure::Remedy,
    ),
    case(
        Code::NoPrimaryKey,
        "CREATE TABLE ~.posts (id INT, views INT)",
        RULE,
        Cure::By("ALTER TABLE ~.posts ADD PRIMARY KEY (id)"),
    ),
    case(
        Code::PrefixKey,
        "CREATE TABLE ~.posts (title VARCHAR(40), views INT, PRIMARY KEY (title(10)))",
        RULE,
        Cure::By("ALTER TABLE ~.posts DROP PRIMARY KEY, ADD PRIMARY KEY (title)"),
    ),
    case(
        Code::UpdateTrigger,
        posts!("title INT, views INT"; "CREATE TRIGGER ~.audit BEFORE UPDATE ON ~.posts FOR EACH ROW SET NEW.title = 1"),
        RULE,
        Cure::Remedy,
    ),
    case(
        Code::NoColumn,
        posts!("views INT"),
        "columns: [veiws]",
        Cure::Rule(RULE),
    ),
    case(
        Code::NotNumeric,
        posts!("views VARCHAR(9)"),
        RULE,
        Cure::By("ALTER TABLE ~.posts MODIFY views INT"),
    ),
    case(
        Code::Approximate,
        posts!("views DOUBLE"),
        RULE,
        Cure::By("ALTER TABLE ~.posts MODIFY views DECIMAL(20, 4)"),
    ),
    case(
        Code::Zerofill,
        posts!("views INT(9) ZEROFILL"),
        RULE,
        Cure::By("ALTER TABLE ~.posts MODIFY views INT UNSIGNED"),
    ),
    case(
        Code::NotATime,
        posts!("views INT, at DATE"),
        "columns: [views]\ntouch: [at]",
        Cure::By("ALTER TABLE ~.posts MODIFY at DATETIME"),
    ),
    case(
        Code::Generated,
        posts!("n INT, views INT AS (n + 1) STORED"),
        RULE,
        Cure::Rule("columns: [n]\nmode: off"),
    ),
    case(
        Code::AutoIncrement,
        posts!("views INT AUTO_INCREMENT, KEY (views)"),
        RULE,
        Cure::By("ALTER TABLE ~.posts MODIFY views INT"),
    ),
    case(
        Code::InPrimaryKey,
        posts!("views INT"),
        "columns: [id]",
        Cure::Rule(RULE),
    ),
    case(
        Code::InUniqueIndex,
        posts!("views INT, UNIQUE KEY once (views)"),
        RULE,
        Cure::Remedy,
    ),
    case(
        Code::InForeignKey,
        "CREATE TABLE ~.parents (id INT PRIMARY KEY); \
         CREATE TABLE ~.posts (id INT PRIMARY KEY, views INT, CONSTRAINT up FOREIGN KEY (views) REFERENCES ~.parents (id))",
        RULE,
        Cure::By("ALTER TABLE ~.posts DROP FOREIGN KEY up"),
    ),
    case(
        Code::GeneratedFrom,
        posts!("views INT, twice INT AS (views * 2)"),
        RULE,
        Cure::By("ALTER TABLE ~.posts DROP COLUMN twice"),
    ),
    Case {
        on: On::MySql,
        ..case(
            Code::IndexFrom,
            posts!("views INT, KEY f ((views + 1))"),
            RULE,
            Cure::Remedy,
        )
    },
    case(
        Code::NotASlotTable,
        posts!("views INT"; "CREATE TABLE ~.posts_slots (id INT PRIMARY KEY)"),
        RULE,
        Cure::Rule("columns: [views]\nslot_table: '{table}_more'"),
    ),
    case(
        Code::Cascade,
        "CREATE TABLE ~.parents (id INT PRIMARY KEY); CREATE TABLE ~.posts (id INT PRIMARY KEY, parent INT, views INT, \
         CONSTRAINT up FOREIGN KEY (parent) REFERENCES ~.parents (id) ON DELETE CASCADE)",
        RULE,
        Cure::Remedy,
    ),
    case(
        Code::Cascade,
        "CREATE TABLE ~.parents (id INT PRIMARY KEY); CREATE TABLE ~.posts (id INT PRIMARY KEY, views INT, \
         CONSTRAINT up FOREIGN KEY (id) REFERENCES ~.parents (id) ON UPDATE CASCADE)",
        RULE,
        Cure::Remedy,
    ),
    case(
        Code::CounterIndexed,
        posts!("views INT, KEY popular (views, id)"),
        RULE,
        Cure::Remedy,
    ),
    case(
        Code::CounterChecked,
        posts!("views INT, CONSTRAINT positive CHECK (views >= 0)"),
        RULE,
        Cure::By("ALTER TABLE ~.posts DROP CONSTRAINT positive"),
    ),
    case(
        Code::CounterNarrow,
        posts!("views TINYINT"),
        RULE,
        Cure::By("ALTER TABLE ~.posts MODIFY views INT"),
    ),
    case(
        Code::Headroom,
        posts!("views INT"; "INSERT INTO ~.posts VALUES (1, 5), (2, 1073741824)"),
        RULE,
        Cure::By("ALTER TABLE ~.posts MODIFY views BIGINT"),
    ),
    case(
        Code::Headroom,
        posts!("views INT"; "INSERT INTO ~.posts VALUES (1, 5), (2, -1073741824)"),
        RULE,
        Cure::By("UPDATE ~.posts SET views = views + 1"),
    ),
    case(
        Code::KeyNotNamed,
        "CREATE TABLE ~.posts (at TIMESTAMP NOT NULL PRIMARY KEY, views INT)",
        RULE,
        Cure::By("ALTER TABLE ~.posts MODIFY at DATETIME NOT NULL"),
    ),
    case(
        Code::KeyNotNamed,
        "CREATE TABLE ~.posts (ratio DOUBLE NOT NULL PRIMARY KEY, views INT)",
        RULE,
        Cure::By("ALTER TABLE ~.posts MODIFY ratio DECIMAL(9, 3) NOT NULL"),
    ),
    case(
        Code::ViewMentionsCounter,
        posts!("views INT"; "CREATE VIEW ~.popular AS SELECT * FROM ~.posts WHERE views > 9"),
        RULE,
        Cure::By("DROP VIEW ~.popular"),
    ),
    case(
        Code::RoutineMentionsCounter,
        posts!("views INT"; "CREATE PROCEDURE ~.total() SELECT SUM(Views) FROM Posts"),
        RULE,
        Cure::By("DROP PROCEDURE ~.total"),
    ),
    case(
        Code::RoutineMentionsCounter,
        posts!("views INT"; "CREATE FUNCTION ~.total() RETURNS INT READS SQL DATA RETURN (SELECT MAX(views) FROM posts)"),
        RULE,
        Cure::By("DROP FUNCTION ~.total"),
    ),
    case(
        Code::EventMentionsCounter,
        posts!("views INT"; "CREATE EVENT ~.yearly ON SCHEDULE EVERY 1 YEAR DISABLE DO UPDATE ~.posts SET views = 0"),
        RULE,
        Cure::By("DROP EVENT ~.yearly"),
    ),
    case(
        Code::TriggerMentionsCounter,
        posts!("views INT"; "CREATE TABLE ~.visits (post INT); CREATE TRIGGER ~.visit AFTER INSERT ON ~.visits \
               FOR EACH ROW UPDATE posts SET views = views + 1 WHERE id = NEW.post"),
        RULE,
        Cure::By("DROP TRIGGER ~.visit"),
    ),
    case(
        Code::SlotTableMissing,
        posts!("views INT"),
        RULE,
        Cure::Remedy,
    ),
    case(
        Code::TouchColumn,
        posts!("views INT, at DATETIME ON UPDATE CURRENT_TIMESTAMP"),
        RULE,
        Cure::Rule("columns: [views]\ntouch: [at]"),
    ),
    case(
        Code::Partitioned,
        "CREATE TABLE ~.posts (id INT PRIMARY KEY, views INT) PARTITION BY HASH (id) PARTITIONS 2",
        RULE,
        Cure::By("ALTER TABLE ~.posts REMOVE PARTITIONING"),
    ),
    case(
        Code::ModeObserve,
        posts!("views INT"),
        "columns: [views]\nmode: observe",
        Cure::Rule(RULE),
    ),
];

/// Codes that are not in the table, as they need more than a schema: where their tests are.
const ELSEWHERE: &[(Code, &str)] = &[
    (Code::SameTable, "servers_with_settings"),
    (Code::SlotTableDrift, "slot_tables_that_drifted"),
    (Code::SlotTableOutdated, "slot_tables_that_drifted"),
    (Code::SlotTableLacks, "slot_tables_that_lack_columns"),
    (Code::ForgottenCounter, "slot_tables_that_lack_columns"),
    (Code::UnservedValues, "values_of_rules_that_are_off"),
    (Code::ControlGrants, "control_accounts"),
    (Code::ProgramsUnseen, "control_accounts"),
    (Code::ClientGrantsUnseen, "control_accounts"),
    (Code::ClientGrants, "client_accounts"),
    (Code::HeadroomUnseen, "tables_of_many_rows"),
    (Code::BinlogFormat, "servers_with_settings"),
    (Code::ReadOnly, "servers_with_settings"),
    (Code::NoSlotSchema, "slot_tables_in_a_schema_of_their_own"),
    (Code::ChecksOff, "servers_with_settings"),
    (Code::ServerVersion, "src/check/server.rs"),
    (Code::NoSkipLocked, "src/check/server.rs"),
    (Code::Clock, "src/check/server.rs"),
];

#[test]
fn every_code_has_a_case() {
    for code in Code::ALL {
        let has = CASES.iter().any(|case| case.code == *code);
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| other == code);
        assert!(has != elsewhere, "{}", code.name());
    }
}

/// What `check --json` says.
struct Found {
    exit: i32,
    document: Value,
}

impl Found {
    fn of(rules: &Path) -> Self {
        let (exit, output, errors) = countersink(&["check", "--json"], rules);
        let document = serde_json::from_str(&output)
            .unwrap_or_else(|error| panic!("{error}: {output}{errors}"));
        Self { exit, document }
    }

    fn findings(&self) -> &Vec<Value> {
        self.document["findings"].as_array().expect("a list")
    }

    fn codes(&self) -> Vec<&str> {
        let codes = self.findings().iter().map(|finding| &finding["code"]);
        codes.map(|code| code.as_str().expect("a text")).collect()
    }

    fn all(&self, code: Code) -> Vec<&Value> {
        let findings = self.findings().iter();
        findings
            .filter(|finding| finding["code"] == code.name())
            .collect()
    }

    fn has(&self, code: Code) -> bool {
        !self.all(code).is_empty()
    }

    /// The one finding of this code.
    fn one(&self, code: Code) -> &Value {
        match self.all(code)[..] {
            [finding] => finding,
            _ => panic!("not one {}: {:#}", code.name(), self.document),
        }
    }

    /// The statements of all findings of this code.
    fn statements(&self, code: Code) -> Vec<String> {
        let statements = self.all(code).into_iter().flat_map(|finding| {
            let statements = finding["statements"].as_array().expect("a list");
            statements
                .iter()
                .map(|text| text.as_str().expect("a text").to_owned())
        });
        statements.collect()
    }

    /// The exit code is the one of the worst severity.
    fn assert_exit(&self) {
        let has = |severity: &str| {
            let mut findings = self.findings().iter();
            findings.any(|finding| finding["severity"] == severity)
        };
        let expected = match (has("error"), has("warning")) {
            (true, _) => 2,
            (false, true) => 3,
            (false, false) => 0,
        };
        assert_eq!(self.exit, expected, "{:#}", self.document);
    }
}

fn opts(address: &Address) -> Opts {
    OptsBuilder::default()
        .ip_or_hostname(address.host.clone())
        .tcp_port(address.port)
        .user(Some(address.user.clone()))
        .pass(Some(address.password.clone()))
        .prefer_socket(false)
        .into()
}

/// The schema as it is, to see that nothing is changed.
async fn schema(sandbox: &Sandbox) -> Vec<String> {
    let query = "SELECT CONCAT_WS(' ', TABLE_NAME, ENGINE, CREATE_TIME) FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = '~' ORDER BY TABLE_NAME";
    sandbox.ask(query).await
}

async fn run_all(sandbox: &Sandbox, statements: &[String]) {
    for statement in statements {
        sandbox.run(statement.trim_end_matches(';')).await;
    }
}

#[tokio::test]
async fn planted_faults_are_found_and_cured() {
    for server in servers() {
        for case in CASES {
            let sandbox = Sandbox::new(&server, "").await;
            let family = if sandbox.is_mariadb().await {
                On::MariaDb
            } else {
                On::MySql
            };
            if case.on == On::Both || case.on == family {
                found_and_cured(&sandbox, case).await;
            }
        }
    }
}

async fn found_and_cured(sandbox: &Sandbox, case: &Case) {
    for statement in case.tables.split(';') {
        sandbox.run(statement).await;
    }
    let name = case.code.name();
    let before = schema(sandbox).await;
    let rules = sandbox.rules(case.rule);
    let found = Found::of(&rules);
    assert_eq!(schema(sandbox).await, before, "{name}: nothing is changed");
    let finding = found.one(case.code);
    assert_eq!(finding["severity"], case.code.severity().name(), "{name}");
    assert_eq!(
        finding["table"],
        format!("{}.posts", sandbox.schema),
        "{name}"
    );
    assert!(
        !finding["reason"].as_str().expect("a text").is_empty(),
        "{name}"
    );
    found.assert_exit();
    if case.code.severity() == Severity::Error {
        // The error's own words, as `serve` says them.
        let (code, _, errors) = countersink(&["provision"], &rules);
        let reason = finding["reason"].as_str().expect("a text");
        assert_eq!(code, 2, "{name}");
        assert!(errors.contains(reason), "{name}: {reason}\n{errors}");
    }
    let rules = match case.cure {
        Cure::Remedy => {
            let statements = found.statements(case.code);
            assert!(!statements.is_empty(), "{name}");
            run_all(sandbox, &statements).await;
            rules
        }
        Cure::By(statements) => {
            for statement in statements.split(';') {
                sandbox.run(statement).await;
            }
            rules
        }
        Cure::Rule(rule) => sandbox.rules(rule),
    };
    let cured = Found::of(&rules);
    assert!(!cured.has(case.code), "{name}: {:#}", cured.document);
}

#[tokio::test]
async fn a_clean_schema_gives_nothing() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules(RULE);
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
        let rules = "counters:\n- {table: ~.posts, columns: [views, likes, dislikes]}\n\
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
        assert_eq!(replica.exit, 2);
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

#[tokio::test]
async fn what_cannot_run_has_the_codes_of_errors() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules_as(
            "{user: nobody_of_this_name}",
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

#[tokio::test]
async fn slot_tables_that_drifted() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules(RULE);
        assert_eq!(countersink(&["provision"], &rules).0, 0);
        sandbox
            .run("ALTER TABLE ~.posts MODIFY id INT NOT NULL")
            .await;
        let outdated = Found::of(&rules);
        assert_eq!(outdated.codes(), ["slot-table-outdated"]);
        assert_eq!(outdated.exit, 0);
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot) VALUES (1, 0)")
            .await;
        let drifted = Found::of(&rules);
        assert_eq!(
            drifted.codes(),
            ["slot-table-drift"],
            "`serve` refuses rows, zero or not"
        );
        assert_eq!(drifted.exit, 2);
        let (code, _, errors) = countersink(&["provision"], &rules);
        assert_eq!(code, 2);
        let reason = drifted.findings()[0]["reason"].as_str().expect("a text");
        assert!(errors.contains(reason), "{errors}");
        sandbox.run("DELETE FROM ~.posts_slots").await;
        run_all(
            &sandbox,
            &Found::of(&rules).statements(Code::SlotTableOutdated),
        )
        .await;
        assert_eq!(Found::of(&rules).codes(), [""; 0]);
    }
}

#[tokio::test]
async fn slot_tables_in_a_schema_of_their_own() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules(&format!("{RULE}\nslot_table: '~_slots.{{table}}'"));
        let missing = Found::of(&rules);
        assert_eq!(missing.codes(), ["no-slot-schema"]);
        assert_eq!(missing.exit, 2);
        assert_eq!(
            countersink(&["provision"], &rules).0,
            1,
            "`serve` fails of it"
        );
        run_all(&sandbox, &missing.statements(Code::NoSlotSchema)).await;
        let there = Found::of(&rules);
        sandbox.run("DROP DATABASE ~_slots").await;
        assert_eq!(there.codes(), ["slot-table-missing"]);
    }
}

#[tokio::test]
async fn slot_tables_that_lack_columns() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        assert_eq!(countersink(&["provision"], &sandbox.rules(RULE)).0, 0);
        let both = sandbox.rules("columns: [views, likes]");
        let lacks = Found::of(&both);
        assert_eq!(lacks.codes(), ["slot-table-lacks-columns"]);
        run_all(&sandbox, &lacks.statements(Code::SlotTableLacks)).await;
        assert_eq!(Found::of(&both).codes(), [""; 0]);
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot, likes) VALUES (1, 0, 5)")
            .await;
        let forgotten = Found::of(&sandbox.rules(RULE));
        assert_eq!(forgotten.codes(), ["forgotten-counter"]);
        assert_eq!(forgotten.exit, 2);
        sandbox.run("UPDATE ~.posts_slots SET likes = 0").await;
        assert_eq!(Found::of(&sandbox.rules(RULE)).codes(), [""; 0]);
    }
}

#[tokio::test]
async fn values_of_rules_that_are_off() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        assert_eq!(countersink(&["provision"], &sandbox.rules(RULE)).0, 0);
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot, views) VALUES (1, 0, 5)")
            .await;
        for rule in ["columns: [views]\nmode: off", "columns: [views]\nslots: 0"] {
            let off = Found::of(&sandbox.rules(rule));
            assert_eq!(off.codes(), ["unserved-values"], "{rule}");
            assert_eq!(off.exit, 2);
        }
        assert_eq!(Found::of(&sandbox.rules(RULE)).codes(), [""; 0]);
        sandbox.run("UPDATE ~.posts_slots SET views = 0").await;
        let off = sandbox.rules("columns: [views]\nmode: off");
        assert_eq!(Found::of(&off).codes(), [""; 0]);
    }
}

#[tokio::test]
async fn control_accounts() {
    const RULES: &str = "counters:\n- {table: ~.posts, columns: [views]}\n";
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
        assert_eq!(reasons.len(), 3, "{reasons:?}");
        for expected in [
            "may not see whether",
            "lacks UPDATE on",
            "lacks SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP on",
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
    const CASES: [(&str, Option<&str>); 7] = [
        (
            "SELECT, UPDATE ON ~.posts",
            Some("SELECT, INSERT, UPDATE, DELETE"),
        ),
        (
            "SELECT (id, views), UPDATE (views) ON ~.posts",
            Some("SELECT, INSERT, UPDATE, DELETE"),
        ),
        ("SELECT ON ~.posts", Some("SELECT")),
        ("SELECT, UPDATE ON ~.*", Some("INSERT, DELETE")),
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
