//! Reads of counters whose columns the server does not tell, or that are others than they were: values and definitions
//! are those of MySQL all the same.

use std::time::{Duration, Instant};

use countersink::driver::{Driver, Packet};
use countersink::wire::column::Sent;
use countersink::wire::command;
use countersink::wire::reply;
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink_sandbox::{Address, Flavour};

use crate::support::binary::PATIENCE;
use crate::support::client::{connect, create_schema, number, prepare, rows, run};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::twin::{Twin, alone, twin};

on_both![
    a_server_that_prepares_nothing_more_tells_whole_values,
    who_is_killed_while_it_is_asked_for_columns_is_told,
    who_is_killed_while_a_statement_is_asked_about_is_told,
    a_cold_table_of_a_join_may_change,
    a_hot_table_may_get_a_column,
    variables_have_the_type_of_their_value,
    temporary_tables_may_come_and_go,
    names_are_sent_in_the_characters_of_the_session,
];

const ADD: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";
const READ: &str = "SELECT views FROM posts WHERE id = 1";

const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL); \
     INSERT INTO posts VALUES (1, 10), (2, 20); \
     CREATE TABLE authors (id INT PRIMARY KEY, n INT); INSERT INTO authors VALUES (1, 7)";

/// The same tables on both servers, and a proxy in front of one.
struct Stage {
    schema: &'static str,
    plain: &'static Address,
    proxy: Proxy,
    /// A session past the proxy.
    direct: Driver,
}

impl Stage {
    async fn new(flavour: Flavour, schema: &'static str) -> Self {
        let Twin { plain, proxied, .. } = twin(flavour);
        Self::at(plain, proxied, schema).await
    }

    async fn at(plain: &'static Address, proxied: &'static Address, schema: &'static str) -> Self {
        create_schema(plain, schema, TABLES).await;
        let direct = create_schema(proxied, schema, TABLES).await;
        let rules =
            format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
        let proxy = Proxy::start(proxied, &rules);
        let stage = Self {
            schema,
            plain,
            proxy,
            direct,
        };
        let mut plain = connect(stage.plain, Some(schema)).await;
        run(&mut plain, "UPDATE posts SET views = 15 WHERE id = 1").await;
        let mut client = stage.client().await;
        for _ in 0..5 {
            run(&mut client, ADD).await;
        }
        stage
    }

    async fn pair(&self) -> Pair {
        Pair {
            plain: connect(self.plain, Some(self.schema)).await,
            proxied: self.client().await,
        }
    }

    /// Runs a statement on both servers, past the proxy.
    async fn change(&mut self, text: &str) {
        run(&mut connect(self.plain, Some(self.schema)).await, text).await;
        run(&mut self.direct, text).await;
    }

    async fn client(&self) -> Driver {
        connect(&self.proxy.address, Some(self.schema)).await
    }

    /// Waits until that session waits for a table's metadata lock.
    async fn waits_for_metadata(&mut self, id: i64) {
        let waits = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND state LIKE '%metadata lock%'"
        );
        let deadline = Instant::now() + PATIENCE;
        while number(&mut self.direct, &waits).await == 0 {
            assert!(Instant::now() < deadline, "{id} does not wait");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

async fn a_server_that_prepares_nothing_more_tells_whole_values(flavour: Flavour) {
    // The limit is for all of its sessions.
    let (proxied, _turn) = alone(flavour).await;
    let mut stage = Stage::at(&twin(flavour).plain, proxied, "cs_columns_limit").await;
    let (mut known, mut new) = (stage.client().await, stage.client().await);
    assert_eq!(number(&mut known, READ).await, 15);
    let statement = prepare(&mut new, "SELECT views + 0 FROM posts WHERE id = 1").await;
    let limit = number(&mut stage.direct, "SELECT @@GLOBAL.max_prepared_stmt_count").await;
    run(&mut stage.direct, "SET GLOBAL max_prepared_stmt_count = 0").await;
    let read = number(&mut known, READ).await;
    let refused = number(&mut new, READ).await;
    let executed = execute(&mut new, statement, 0).await;
    let in_transaction = {
        run(&mut new, "BEGIN").await;
        let read = number(&mut new, "SELECT views FROM posts WHERE id < 2").await;
        run(&mut new, "COMMIT").await;
        read
    };
    let wrong = new.query("SELECT wrong, views FROM posts").await;
    let back = format!("SET GLOBAL max_prepared_stmt_count = {limit}");
    run(&mut stage.direct, &back).await;
    assert_eq!((read, refused, in_transaction), (15, 15, 15), "{flavour}");
    assert_eq!(integer(&executed), 15, "{flavour}");
    let reply = wrong.expect("an answer");
    assert!(format!("{reply:?}").contains("1054"), "{reply:?}");
    assert!(
        stage.proxy.counted("folded:columns-unknown") >= 2,
        "{flavour}"
    );
}

/// A change of the table that waits keeps the original from being prepared; KILL QUERY ends that, and the client is
/// told.
async fn who_is_killed_while_it_is_asked_for_columns_is_told(flavour: Flavour) {
    is_told_when_killed(
        flavour,
        "cs_columns_killed",
        "DO 0",
        "SELECT views, id FROM posts WHERE id = 1",
    )
    .await;
}

/// The same where the server is asked whether it understands a statement that is folded for.
async fn who_is_killed_while_a_statement_is_asked_about_is_told(flavour: Flavour) {
    is_told_when_killed(
        flavour,
        "cs_columns_asked",
        "BEGIN",
        "UPDATE posts SET views = views * 2 WHERE id = 1",
    )
    .await;
}

async fn is_told_when_killed(flavour: Flavour, schema: &'static str, first: &str, text: &str) {
    let mut stage = Stage::new(flavour, schema).await;
    let upstream = &twin(flavour).proxied;
    let mut reader = connect(upstream, Some(stage.schema)).await;
    let mut altering = connect(upstream, Some(stage.schema)).await;
    let mut client = stage.client().await;
    let id = number(&mut client, "SELECT CONNECTION_ID()").await;
    let altering_id = number(&mut altering, "SELECT CONNECTION_ID()").await;
    run(&mut client, first).await;
    run(&mut reader, "BEGIN").await;
    rows(&mut reader, READ).await;
    let alter = tokio::spawn(async move {
        run(&mut altering, "ALTER TABLE posts ADD COLUMN extra INT").await;
    });
    stage.waits_for_metadata(altering_id).await;
    let payload = client.query_payload(text);
    client.send(&payload).await.expect("sent");
    stage.waits_for_metadata(id).await;
    run(&mut stage.direct, &format!("KILL QUERY {id}")).await;
    let answer = tokio::time::timeout(PATIENCE / 6, client.packets(ResponseKind::Results)).await;
    run(&mut reader, "COMMIT").await;
    alter.await.expect("it is altered");
    let answer = answer.expect("it is told before the lock is gone");
    assert_eq!(code(&answer.expect("an answer")), Some(1317), "{flavour}");
    run(&mut client, "ROLLBACK").await;
    assert_eq!(
        rows(&mut client, "SELECT views, id FROM posts WHERE id = 1").await,
        [["15", "1"]],
        "the session goes on"
    );
}

/// Another session changes the type of a column, to which a value is given that the old type has no room for, and adds
/// a column.
async fn a_cold_table_of_a_join_may_change(flavour: Flavour) {
    const NAMED: &str =
        "SELECT a.n, p.views FROM posts p JOIN authors a ON a.id = p.id WHERE p.id = 1";
    const ALL: &str =
        "SELECT a.*, p.views FROM posts p JOIN authors a ON a.id = p.id WHERE p.id = 1";
    const CHANGES: [&str; 2] = [
        "ALTER TABLE authors MODIFY n BIGINT, ADD COLUMN m INT NOT NULL DEFAULT 3",
        "UPDATE authors SET n = 4294967296 + 5",
    ];
    let mut stage = Stage::new(flavour, "cs_columns_joined").await;
    let mut pair = stage.pair().await;
    let executed = [pair.prepare(NAMED).await, pair.prepare(ALL).await];
    let idle = [pair.prepare(NAMED).await, pair.prepare(ALL).await];
    let by_cursor = pair.prepare(NAMED).await[1];
    for change in [&[][..], &CHANGES] {
        for text in change {
            stage.change(text).await;
        }
        for _ in 0..2 {
            pair.same(NAMED).await;
            pair.same(ALL).await;
            for ids in executed {
                pair.same_executed(ids).await;
            }
        }
    }
    for ids in idle {
        pair.same_executed(ids).await;
    }
    execute(&mut pair.proxied, by_cursor, 1).await;
    let fetch = [&[command::STMT_FETCH][..], &by_cursor.to_le_bytes()].concat();
    let fetch = [fetch, 9_u32.to_le_bytes().to_vec()].concat();
    pair.proxied.send(&fetch).await.expect("sent");
    let rows = pair
        .proxied
        .packets(ResponseKind::Rows)
        .await
        .expect("rows");
    let value = &rows[0].payload[2..10];
    assert_eq!(value, 4_294_967_301_i64.to_le_bytes(), "{flavour}");
}

/// Sessions that read it already go on, and get the column with all others.
async fn a_hot_table_may_get_a_column(flavour: Flavour) {
    const ALL: &str = "SELECT * FROM posts WHERE id = 1";
    let stage = Stage::new(flavour, "cs_columns_hot").await;
    let mut pair = stage.pair().await;
    pair.same(ALL).await;
    let ids = pair.prepare(ALL).await;
    pair.same_executed(ids).await;
    let alter = "ALTER TABLE posts ADD COLUMN extra INT NOT NULL DEFAULT 4";
    run(&mut stage.client().await, alter).await;
    run(&mut pair.plain, alter).await;
    let deadline = Instant::now() + PATIENCE;
    while rows(&mut pair.proxied, ALL).await != [["1", "15", "4"]] {
        assert!(Instant::now() < deadline, "it has no column more");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for _ in 0..2 {
        pair.same(ALL).await;
        pair.same_executed(ids).await;
    }
}

async fn variables_have_the_type_of_their_value(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_columns_variables").await;
    let mut pair = stage.pair().await;
    for set in ["SET @x = 1", "SET @x = 'abc'", "SET @x = 1.5"] {
        pair.run(set).await;
        pair.same("SELECT @x AS v, views FROM posts WHERE id = 1")
            .await;
    }
}

async fn temporary_tables_may_come_and_go(flavour: Flavour) {
    const READ: &str = "SELECT t.n, p.views FROM posts p JOIN t ON t.id = p.id WHERE p.id = 1";
    let stage = Stage::new(flavour, "cs_columns_temporary").await;
    let mut pair = stage.pair().await;
    for kind in ["INT", "VARCHAR(10)", "DATETIME"] {
        pair.run(&format!("CREATE TEMPORARY TABLE t (id INT, n {kind})"))
            .await;
        pair.run("INSERT INTO t VALUES (1, 20010203)").await;
        pair.same(READ).await;
        pair.same(READ).await;
        pair.run("DROP TEMPORARY TABLE t").await;
    }
}

/// A session on the server that is asked directly, and one through the proxy.
struct Pair {
    plain: Driver,
    proxied: Driver,
}

impl Pair {
    async fn run(&mut self, text: &str) {
        run(&mut self.plain, text).await;
        run(&mut self.proxied, text).await;
    }

    /// Both ids.
    async fn prepare(&mut self, text: &str) -> [u32; 2] {
        let plain = prepare(&mut self.plain, text).await;
        [plain, prepare(&mut self.proxied, text).await]
    }

    /// Runs a query on both, which must give the same.
    async fn same(&mut self, text: &str) {
        let plain = query(&mut self.plain, text).await;
        let proxied = query(&mut self.proxied, text).await;
        assert_eq!(self.shown(&proxied), self.shown(&plain), "{text}");
    }

    /// Executes a statement on both, with the same result.
    async fn same_executed(&mut self, [plain, proxied]: [u32; 2]) {
        let plain = execute(&mut self.plain, plain, 0).await;
        let proxied = execute(&mut self.proxied, proxied, 0).await;
        assert_eq!(self.shown(&proxied), self.shown(&plain));
    }

    /// Columns and rows of an answer.
    fn shown(&self, answer: &[Packet]) -> Vec<String> {
        let capabilities = self.plain.capabilities();
        let shown = |packet: &Packet| match packet.packet_kind {
            PacketKind::Column => {
                let sent = Sent::decode(&packet.payload, capabilities).expect("a column");
                format!("{sent:?}")
            }
            _ => format!("{:?} {:?}", packet.packet_kind, packet.payload),
        };
        let ends = |packet_kind| matches!(packet_kind, PacketKind::RowsEnd | PacketKind::Separator);
        let packets = answer.iter().filter(|packet| !ends(packet.packet_kind));
        packets.map(shown).collect()
    }
}

/// COM_QUERY.
async fn query(client: &mut Driver, text: &str) -> Vec<Packet> {
    let payload = client.query_payload(text);
    client.send(&payload).await.expect("sent");
    client
        .packets(ResponseKind::Results)
        .await
        .expect("an answer")
}

/// COM_STMT_EXECUTE of a statement without parameters, with these cursor flags.
async fn execute(client: &mut Driver, id: u32, cursor: u8) -> Vec<Packet> {
    let head = [&[command::STMT_EXECUTE][..], &id.to_le_bytes(), &[cursor]];
    let payload = [&head.concat()[..], &1_u32.to_le_bytes()].concat();
    client.send(&payload).await.expect("sent");
    client
        .packets(ResponseKind::Results)
        .await
        .expect("an answer")
}

/// The code of the ERR packet that an answer ends with.
fn code(answer: &[Packet]) -> Option<u16> {
    let last = answer
        .last()
        .filter(|packet| packet.packet_kind == PacketKind::Err)?;
    Some(reply::Err::decode(&last.payload).expect("an ERR").code)
}

/// The integer that the binary answer's last row ends with, as wide as the row says.
fn integer(answer: &[Packet]) -> i64 {
    let row = answer
        .iter()
        .rfind(|packet| packet.packet_kind == PacketKind::Row);
    let row = &row.expect("a row").payload[2..];
    let mut bytes = [0; 8];
    bytes[..row.len()].copy_from_slice(row);
    i64::from_le_bytes(bytes)
}

/// Statements in latin1, about a table with names beyond ASCII. The proxy's own statements name it as well.
async fn names_are_sent_in_the_characters_of_the_session(flavour: Flavour) {
    const SCHEMA: &str = "columns_names";
    const TABLES: &str = "CREATE TABLE `größen` (`schlüssel` INT PRIMARY KEY, `größe` INT NOT NULL, titel VARCHAR(20), \
         `geändert` DATETIME NULL) DEFAULT CHARSET = utf8mb4; \
         INSERT INTO `größen` VALUES (1, 10, 'a', NULL), (2, 20, 'b', NULL)";
    const STATEMENTS: &[&str] = &[
        "UPDATE `größen` SET titel = 'ä' WHERE `schlüssel` = 1",
        "UPDATE `größen` SET `größe` = `größe` + 1 WHERE `schlüssel` = 1",
        "SELECT `größe`, titel FROM `größen` WHERE `schlüssel` = 1",
        "SELECT COUNT(*), SUM(`größe`) FROM `größen`",
        "UPDATE `größen` SET `größe` = 5 WHERE `schlüssel` = 2",
        "SELECT `größe` FROM `größen` ORDER BY `schlüssel`",
        "START TRANSACTION",
        "SELECT `größe` FROM `größen` WHERE `schlüssel` = 2",
        "UPDATE `größen` SET `größe` = 7, titel = IF(`schlüssel` = 1, 'x', titel)",
        "SELECT `größe` FROM `größen` ORDER BY `schlüssel`",
        "SELECT `größe` FROM `größen` WHERE `schlüssel` = 2 FOR UPDATE",
        "ROLLBACK",
        "DELETE FROM `größen` WHERE `größe` > 20",
        "SELECT * FROM `größen`",
        "TRUNCATE TABLE `größen`",
        "INSERT INTO `größen` VALUES (1, 10, 'a', NULL), (2, 20, 'b', NULL)",
        "SELECT * FROM `größen`",
        "ALTER TABLE `größen` COMMENT = 'ü'",
        "START TRANSACTION",
        "CREATE TEMPORARY TABLE `hülle` (`n` INT COMMENT 'é')",
        "UPDATE `größen` SET titel = 'c' WHERE `schlüssel` = 2",
        "ROLLBACK",
        "DROP TEMPORARY TABLE `hülle`",
        "CREATE TEMPORARY TABLE `größen` (`schlüssel` INT PRIMARY KEY, `größe` INT)",
        "INSERT INTO `größen` VALUES (1, 5)",
        "UPDATE `größen` SET `größe` = `größe` + 1 WHERE `schlüssel` = 1",
        "SELECT * FROM `größen`",
        "DROP TEMPORARY TABLE `größen`",
        "SELECT `größe` FROM `größen` WHERE `schlüssel` = 2",
    ];
    let Twin { plain, proxied, .. } = twin(flavour);
    let mut answers = Vec::new();
    for (address, has_proxy) in [(plain, false), (proxied, true)] {
        create_schema(address, SCHEMA, TABLES).await;
        let rules =
            format!("counters:\n- {{table: {SCHEMA}.größen, columns: [größe], rollup: 1h}}\n");
        let proxy = has_proxy.then(|| Proxy::start(address, &rules));
        let address = proxy.as_ref().map_or(address, |proxy| &proxy.address);
        let mut other = connect(address, Some(SCHEMA)).await;
        let mut client = connect(address, Some(SCHEMA)).await;
        run(&mut other, "SET NAMES utf8mb4").await;
        run(&mut client, "SET NAMES utf8mb4").await;
        let read = "SELECT `größe` FROM `größen` WHERE `schlüssel` = 1";
        let prepared = prepare(&mut client, read).await;
        run(&mut client, "SET NAMES latin1").await;
        let (mut told, mut is_open) = (Vec::new(), false);
        for statement in STATEMENTS {
            // The client may hold the rows.
            for key in [1, 2].iter().filter(|_| !is_open) {
                let add =
                    format!("UPDATE `größen` SET `größe` = `größe` + 3 WHERE `schlüssel` = {key}");
                run(&mut other, &add).await;
            }
            told.push((*statement, in_latin1(&mut client, statement).await));
            is_open = (is_open || *statement == "START TRANSACTION") && *statement != "ROLLBACK";
            if !is_open {
                let executed = execute(&mut client, prepared, 0).await;
                told.push((read, without_columns(executed)));
            }
        }
        answers.push(told);
    }
    let proxied = answers.pop().expect("answers");
    for (proxied, direct) in proxied.iter().zip(&answers[0]) {
        assert_eq!(proxied, direct);
    }
}

/// The answer to a statement that is sent in latin1.
async fn in_latin1(client: &mut Driver, statement: &str) -> Vec<Vec<u8>> {
    let letters = statement.chars().map(u32::from);
    let text = letters.map(|letter| u8::try_from(letter).expect("latin1"));
    let payload: Vec<u8> = [command::QUERY].into_iter().chain(text).collect();
    client.send(&payload).await.expect("sent");
    let answer = client.packets(ResponseKind::Results).await;
    without_columns(answer.expect("an answer"))
}

/// The payloads of an answer but for its column definitions, whose flags depend on the plan.
fn without_columns(answer: Vec<Packet>) -> Vec<Vec<u8>> {
    let others = answer
        .into_iter()
        .filter(|packet| packet.packet_kind != PacketKind::Column);
    others.map(|packet| packet.payload).collect()
}
