//! Faults that a schema and a rule can have: each is found, and gone when its remedy has run.

use countersink::check::{Code, Severity};

use crate::check::RULE;
use crate::check::found::{Found, run_all, schema};
use crate::support::{Sandbox, countersink, servers};

/// A fault, and what takes it away.
pub struct Case {
    pub code: Code,
    /// Statements of the faulty schema.
    tables: &'static str,
    rule: &'static str,
    cure: Cure,
    on: On,
}

/// A rule that adopts hand-written slots.
const ADOPTING: &str = "columns: [views]\nadopts: ~.slotted\nrecord_type: 5";

/// How a fault is taken away.
pub enum Cure {
    /// By the statements that the finding gives.
    Remedy,
    /// By these.
    By(&'static str),
    /// By another rule.
    Rule(&'static str),
}

#[derive(PartialEq)]
pub enum On {
    Both,
    MySql,
    /// MySQL since 9.7.
    MySqlThatMasks,
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

/// The faults.
pub const CASES: &[Case] = &[
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
    Case {
        on: On::MySqlThatMasks,
        ..case(
            Code::Masked,
            posts!("views INT MASKING POLICY hidden"),
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
        "CREATE TABLE ~.parents (a INT, b INT, PRIMARY KEY (a, b)); \
         CREATE TABLE ~.posts (id INT PRIMARY KEY, a INT, b INT, views INT, \
         CONSTRAINT up FOREIGN KEY (a, b) REFERENCES ~.parents (a, b) ON DELETE CASCADE)",
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
        Code::Adopted,
        posts!("views INT"; "CREATE TABLE ~.slotted (record_type INT, record_id INT, slot INT, count INT)"),
        ADOPTING,
        Cure::By("ALTER TABLE ~.slotted ADD UNIQUE KEY (record_type, record_id, slot)"),
    ),
    case(
        Code::Adopted,
        posts!("views INT"; "CREATE TABLE ~.slotted (record_type INT, record_id INT, place INT, count INT, UNIQUE KEY (record_type, record_id, place))"),
        ADOPTING,
        Cure::By("ALTER TABLE ~.slotted CHANGE place slot INT"),
    ),
    case(
        Code::Adopted,
        posts!("views INT"),
        ADOPTING,
        Cure::By(
            "CREATE TABLE ~.slotted (record_type INT, record_id INT, slot INT, count INT, UNIQUE KEY (record_type, record_id, slot))",
        ),
    ),
    case(
        Code::AdoptedKey,
        "CREATE TABLE ~.posts (id VARCHAR(20) PRIMARY KEY, views INT); \
         CREATE TABLE ~.slotted (record_type INT, record_id INT, slot INT, count INT, UNIQUE KEY (record_type, record_id, slot))",
        ADOPTING,
        Cure::By("ALTER TABLE ~.posts MODIFY id INT"),
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
            let is_for = match case.on {
                On::Both => true,
                On::MySqlThatMasks => family == On::MySql && masks(&sandbox).await,
                On::MySql | On::MariaDb => case.on == family,
            };
            if is_for {
                found_and_cured(&sandbox, case).await;
            }
        }
    }
}

/// Whether the server knows masking policies.
async fn masks(sandbox: &Sandbox) -> bool {
    let known = "SELECT COUNT(*) FROM information_schema.KEYWORDS WHERE WORD = 'MASKING'";
    sandbox.ask(known).await == ["1"]
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
