//! Tables that are altered past the proxy: what it knows of them is old then. The next statement that the server
//! refuses for that has the tables read again, and is answered as the server answers it; what the server does not
//! refuse is noticed within a second.

use std::time::{Duration, Instant};

use countersink::driver::{Driver, Packet};
use countersink::wire::command;
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink_sandbox::{Address, Flavour};

use crate::support::client::{connect, create_schema, number, prepare, run};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::thorough::every_nth;
use crate::support::twin::single;

on_both![
    what_the_server_refuses_is_planned_anew,
    what_is_refused_in_a_transaction,
    a_column_more_is_shown_within_a_second,
    messages_outlive_a_look_at_the_tables,
];

const TABLE: &str = "CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20) NULL, views INT NOT NULL, \
                     likes INT NOT NULL DEFAULT 0); \
                     INSERT INTO posts VALUES (1, 'one', 100, 0), (2, 'two', 200, 0)";

/// How a client comes to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As text, for the first time.
    New,
    /// As text that it has sent before.
    Known,
    /// Prepared before, and executed.
    Prepared,
    /// Prepared before, and not executed yet.
    Unexecuted,
}

/// A session, through the proxy or past it.
struct Client {
    driver: Driver,
    prepared: Option<u32>,
}

impl Client {
    async fn new(to: &Address, schema: &str, text: &str, way: Way) -> Self {
        let mut driver = connect(to, Some(schema)).await;
        run(&mut driver, "SET NAMES utf8mb4").await;
        let prepared = match way {
            Way::New | Way::Known => None,
            Way::Prepared | Way::Unexecuted => Some(prepare(&mut driver, text).await),
        };
        let mut client = Self { driver, prepared };
        if matches!(way, Way::Known | Way::Prepared) {
            for _ in 0..2 {
                client.ask(text).await;
            }
        }
        client
    }

    /// What it is answered: how many columns, what stands in them, or why not.
    async fn ask(&mut self, text: &str) -> Vec<(PacketKind, Vec<u8>)> {
        let payload = match self.prepared {
            None => self.driver.query_payload(text),
            // No cursor, once.
            Some(id) => {
                let id = id.to_le_bytes();
                [&[command::STMT_EXECUTE][..], &id, &[0, 1, 0, 0, 0]].concat()
            }
        };
        self.driver.send(&payload).await.expect("sent");
        let packets = self
            .driver
            .packets(ResponseKind::Results)
            .await
            .expect("answered");
        let is_told = |packet: &Packet| {
            matches!(
                packet.packet_kind,
                PacketKind::ColumnCount | PacketKind::Row | PacketKind::Err | PacketKind::Ok
            )
        };
        let told = packets.into_iter().filter(is_told);
        told.map(|packet| (packet.packet_kind, packet.payload))
            .collect()
    }
}

/// A schema with a proxy in front of its server.
struct Stage {
    server: &'static Address,
    proxy: Proxy,
    direct: Driver,
    schema: String,
}

impl Stage {
    async fn new(flavour: Flavour, schema: &str) -> Self {
        Self::with(flavour, schema, "rollup: 1h").await
    }

    async fn with(flavour: Flavour, schema: &str, rule: &str) -> Self {
        let server = single(flavour);
        let direct = create_schema(server, schema, TABLE).await;
        let rules =
            format!("counters:\n- {{table: {schema}.posts, columns: [views, likes], {rule}}}\n");
        Self {
            server,
            proxy: Proxy::start(server, &rules),
            direct,
            schema: schema.to_owned(),
        }
    }

    /// Has the rows be as they were, whatever clients have done.
    async fn reset(&mut self) {
        let slots = "UPDATE posts_slots SET views = 0, likes = 0";
        let rows = "REPLACE INTO posts VALUES (1, 'one', 100, 0), (2, 'two', 200, 0)";
        run(&mut self.direct, slots).await;
        run(&mut self.direct, rows).await;
    }

    async fn clients(&self, text: &str, way: Way) -> (Client, Client) {
        (
            Client::new(self.server, &self.schema, text, way).await,
            Client::new(&self.proxy.address, &self.schema, text, way).await,
        )
    }
}

fn shown(answer: &[(PacketKind, Vec<u8>)]) -> String {
    let shown = answer
        .iter()
        .map(|(packet_kind, payload)| format!("{packet_kind:?} {}", payload.escape_ascii()));
    shown.collect::<Vec<_>>().join("; ")
}

const ALTERATIONS: &[&str] = &[
    "RENAME COLUMN title TO heading",
    "DROP COLUMN title",
    "RENAME COLUMN views TO seen",
    "DROP COLUMN likes",
    "RENAME TO other",
];

const STATEMENTS: &[&str] = &[
    "SELECT * FROM posts",
    "SELECT title, views FROM posts ORDER BY 2",
    "SELECT likes + 1 FROM posts NATURAL JOIN (SELECT 1 AS one) AS one",
    "UPDATE posts SET views = views + 1 WHERE id = 1",
    "UPDATE posts SET seen = seen + 1 WHERE id = 1",
    "UPDATE posts SET views = 5 WHERE id = 1",
];

async fn what_the_server_refuses_is_planned_anew(flavour: Flavour) {
    let mut differences = Vec::new();
    let mut all = Vec::new();
    for alteration in ALTERATIONS {
        for text in STATEMENTS {
            let is_of_before = !text.contains("seen");
            let ways = [Way::New, Way::Known, Way::Prepared];
            // What is in slots of a counter that is no more is nobody's: that is a limit.
            let is_of_cold = alteration.contains("title");
            if !is_of_cold && is_of_before && text.starts_with("UPDATE") {
                continue;
            }
            for way in ways
                .into_iter()
                .filter(|way| is_of_before || *way == Way::New)
            {
                all.push((alteration, text, way));
            }
        }
    }
    // Each way is met by other statements of the next alteration.
    let what = format!("altered on {flavour}, statements that the server refuses");
    for (alteration, text, way) in every_nth(&what, 4, all) {
        let mut stage = Stage::new(flavour, "cs_altered").await;
        let (mut plain, mut proxied) = stage.clients(text, way).await;
        stage.reset().await;
        run(
            &mut stage.direct,
            &format!("ALTER TABLE posts {alteration}"),
        )
        .await;
        run(&mut plain.driver, "BEGIN").await;
        let theirs = plain.ask(text).await;
        plain.prepared = None;
        let left = plain.ask("SELECT * FROM posts").await;
        run(&mut plain.driver, "ROLLBACK").await;
        let ours = proxied.ask(text).await;
        proxied.prepared = None;
        let left_by_us = proxied.ask("SELECT * FROM posts").await;
        for (theirs, ours) in [(theirs, ours), (left, left_by_us)] {
            if !are_alike(&theirs, &ours) {
                differences.push(format!(
                    "{alteration} | {text} | {way:?}\n  direct  {}\n  proxied {}",
                    shown(&theirs),
                    shown(&ours)
                ));
                break;
            }
        }
    }
    let count = differences.len();
    assert!(
        differences.is_empty(),
        "{count}:\n{}",
        differences.join("\n")
    );
}

async fn what_is_refused_in_a_transaction(flavour: Flavour) {
    let mut differences = Vec::new();
    let all = ALTERATIONS
        .iter()
        .flat_map(|alteration| STATEMENTS.iter().map(move |text| (alteration, text)));
    let what = format!("altered on {flavour}, statements in a transaction");
    for (alteration, text) in every_nth(&what, 4, all.collect()) {
        let mut stage = Stage::new(flavour, "cs_altered_in").await;
        let (mut plain, mut proxied) = stage.clients(text, Way::New).await;
        run(&mut stage.direct, "CREATE TABLE cold (id INT PRIMARY KEY)").await;
        for client in [&mut plain, &mut proxied] {
            let level = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
            run(&mut client.driver, level).await;
            run(&mut client.driver, "BEGIN").await;
        }
        run(&mut proxied.driver, "INSERT INTO cold VALUES (2)").await;
        run(&mut plain.driver, "INSERT INTO cold VALUES (3)").await;
        run(
            &mut stage.direct,
            &format!("ALTER TABLE posts {alteration}"),
        )
        .await;
        let mut answers = Vec::new();
        for client in [&mut plain, &mut proxied] {
            answers.push(client.ask(text).await);
            run(&mut client.driver, "ROLLBACK").await;
        }
        let (theirs, ours) = (&answers[0], &answers[1]);
        if !are_alike(theirs, ours) {
            differences.push(format!(
                "{alteration} | {text}\n  direct  {}\n  proxied {}",
                shown(theirs),
                shown(ours)
            ));
        }
    }
    let count = differences.len();
    assert!(
        differences.is_empty(),
        "{count}:\n{}",
        differences.join("\n")
    );
}

/// Whether two answers tell the same. Of an OK the status may differ.
fn are_alike(theirs: &[(PacketKind, Vec<u8>)], ours: &[(PacketKind, Vec<u8>)]) -> bool {
    match (theirs, ours) {
        ([(PacketKind::Ok, theirs)], [(PacketKind::Ok, ours)]) => theirs[..3] == ours[..3],
        _ => theirs == ours,
    }
}

async fn a_column_more_is_shown_within_a_second(flavour: Flavour) {
    for way in [Way::New, Way::Known, Way::Prepared, Way::Unexecuted] {
        let mut stage = Stage::new(flavour, "cs_altered_more").await;
        let text = "SELECT * FROM posts";
        let (mut plain, mut proxied) = stage.clients(text, way).await;
        run(
            &mut stage.direct,
            "ALTER TABLE posts ADD COLUMN extra INT NULL DEFAULT 7",
        )
        .await;
        let theirs = plain.ask(text).await;
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let ours = proxied.ask(text).await;
            if ours == theirs {
                break;
            }
            let (theirs, ours) = (shown(&theirs), shown(&ours));
            assert!(
                Instant::now() < deadline,
                "{way:?}\n  direct  {theirs}\n  proxied {ours}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let value = "SELECT views FROM posts WHERE id = 1";
        run(
            &mut proxied.driver,
            "UPDATE posts SET views = views + 1 WHERE id = 1",
        )
        .await;
        assert_eq!(number(&mut proxied.driver, value).await, 101);
    }
}

/// A session that has temporary tables asks again which of them hide hot ones. What its last statement has left is
/// still there then.
async fn messages_outlive_a_look_at_the_tables(flavour: Flavour) {
    for (schema, rule) in [
        ("cs_altered_folded", "rest: never"),
        ("cs_altered_at_rest", "rest: auto"),
    ] {
        let stage = Stage::with(flavour, schema, rule).await;
        // On MariaDB they outlive DEALLOCATE as well.
        for (before, question) in [
            (None, "SHOW WARNINGS"),
            (None, "SHOW COUNT(*) WARNINGS"),
            (None, "SELECT ROW_COUNT()"),
            (Some("DEALLOCATE PREPARE other"), "SHOW WARNINGS"),
            (Some("DEALLOCATE PREPARE other"), "SELECT ROW_COUNT()"),
            (Some("DROP PREPARE other"), "SHOW COUNT(*) WARNINGS"),
        ] {
            let (plain, proxied) = stage.clients(question, Way::New).await;
            let mut answers = Vec::new();
            for mut client in [plain, proxied] {
                for text in [
                    "CREATE TEMPORARY TABLE own (n INT)",
                    "PREPARE other FROM 'SELECT 1'",
                    "SET sql_mode = ''",
                    "UPDATE posts SET views = 7 WHERE id = 1",
                    "UPDATE posts SET views = 'x' WHERE id = 1",
                ] {
                    run(&mut client.driver, text).await;
                }
                let mut other = connect(&stage.proxy.address, Some(&stage.schema)).await;
                run(&mut other, "ALTER TABLE posts ADD COLUMN more INT").await;
                if let Some(before) = before {
                    run(&mut client.driver, before).await;
                }
                answers.push(client.ask(question).await);
                run(&mut other, "ALTER TABLE posts DROP COLUMN more").await;
            }
            let (theirs, ours) = (shown(&answers[0]), shown(&answers[1]));
            assert_eq!(ours, theirs, "{before:?}, {question}, {rule}");
        }
    }
}
