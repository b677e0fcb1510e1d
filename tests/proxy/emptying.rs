//! TRUNCATE and its like while others increment: what was acknowledged before it is gone with the rows, what is
//! acknowledged behind it stays. And DDL is answered when the proxy knows the table as it is now. What a snapshot from
//! before cannot show is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use countersink::counter::withdrawal;
use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour};
use tokio::task::JoinHandle;

use crate::support::client::{connect, create_schema, number, rows, run, run_all};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::thorough::of_all;
use crate::support::twin::single;

on_both![
    increments_behind_it_stay,
    increments_around_it,
    accounts_that_may_not_lock_tables,
    ddl_is_answered_when_the_catalog_has_been_read,
    reads_while_slots_are_away,
    ddl_is_answered_when_slots_are_there_again,
    queries_that_their_snapshot_cannot_show,
    a_table_made_anew_is_written_at_once,
    a_table_altered_past_the_proxy_is_written,
];

const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";
const INSERT: &str = "INSERT INTO posts (id, views) VALUES (1, 0)";
const VALUE: &str = "SELECT views FROM posts WHERE id = 1";

/// A schema with a proxy in front of its server.
struct Stage {
    server: &'static Address,
    proxy: Proxy,
    direct: Driver,
    schema: &'static str,
}

impl Stage {
    async fn new(flavour: Flavour, schema: &'static str) -> Self {
        let server = single(flavour);
        let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)";
        let direct = create_schema(server, schema, tables).await;
        // Slots stay where they are.
        let rules =
            format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
        Self {
            server,
            proxy: Proxy::start(server, &rules),
            direct,
            schema,
        }
    }

    async fn client(&self) -> Driver {
        connect(&self.proxy.address, Some(self.schema)).await
    }

    async fn has_slots(&mut self) -> bool {
        let slot_tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() \
                           AND TABLE_NAME = 'posts_slots'";
        number(&mut self.direct, slot_tables).await == 1
    }

    /// Waits until a task has ended, or its session waits for a lock, or the proxy does so for it.
    async fn until_it_waits(&mut self, session: u32, task: &JoinHandle<Driver>) {
        let waits = format!(
            "SELECT COUNT(*) FROM information_schema.processlist AS own JOIN information_schema.processlist AS one \
             ON one.id = own.id OR (own.state = 'User lock' AND one.info LIKE 'LOCK TABLES `{}`%') \
             WHERE own.id = {session} AND one.state LIKE 'Waiting for table%metadata lock'",
            self.schema
        );
        until(async || task.is_finished() || number(&mut self.direct, &waits).await > 0).await;
    }
}

/// Has a session run statements, one after the other.
fn spawn(mut client: Driver, script: &[&'static str]) -> (u32, JoinHandle<Driver>) {
    let (id, script) = (client.thread_id(), script.to_vec());
    let task = tokio::spawn(async move {
        for text in script {
            run(&mut client, text).await;
        }
        client
    });
    (id, task)
}

/// What the proxy does behind a TRUNCATE is held up by a slot row that another session has locked.
async fn increments_behind_it_stay(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_emptying_behind").await;
    let mut statements = vec!["TRUNCATE TABLE posts", "TRUNCATE posts;"];
    if flavour == Flavour::MariaDb {
        statements.push("CREATE OR REPLACE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)");
    }
    for statement in statements {
        let mut holder = connect(stage.server, Some(stage.schema)).await;
        run(&mut holder, "BEGIN").await;
        run(
            &mut holder,
            "INSERT INTO posts_slots (id, slot, open) VALUES (0, 0, 0)",
        )
        .await;
        let (emptier, emptied) = spawn(stage.client().await, &[statement]);
        stage.until_it_waits(emptier, &emptied).await;
        let (other, incremented) = spawn(stage.client().await, &[INSERT, INCREMENT]);
        stage.until_it_waits(other, &incremented).await;
        run(&mut holder, "ROLLBACK").await;
        // What a proxy may do behind its answer is done as well.
        run(&mut emptied.await.expect("it is emptied"), "DO 0").await;
        let mut client = incremented.await.expect("it is incremented");
        // The row may have come before, and gone with the others. Where it is there, its increment is.
        for row in rows(&mut client, VALUE).await {
            assert_eq!(row, ["1"], "{statement}");
        }
    }
}

/// The row is there at the end only where it was inserted behind the TRUNCATE, and no increment changes a row before.
async fn increments_around_it(flavour: Flavour) {
    const CLIENTS: usize = 6;
    const LAST: u32 = 24;
    let step = LAST / of_all(&format!("emptying on {flavour}, rounds"), 8, LAST);
    let stage = Stage::new(flavour, "cs_emptying_around").await;
    let mut inserted_behind = 0;
    for round in (0..LAST).step_by(step as usize) {
        let mut client = stage.client().await;
        run(&mut client, "DELETE FROM posts").await;
        let counts = Arc::new(Counts::default());
        let mut tasks = Vec::new();
        for _ in 0..CLIENTS {
            let client = stage.client().await;
            tasks.push(tokio::spawn(increment_on(client, Arc::clone(&counts))));
        }
        counts.wait_for_more(20).await;
        let (_, emptied) = spawn(stage.client().await, &["TRUNCATE posts"]);
        // At another moment in each round.
        counts.wait_for_more(i64::from(round)).await;
        run(&mut client, INSERT).await;
        emptied.await.expect("it is emptied");
        counts.wait_for_more(40).await;
        counts.stop.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.expect("a client that does not panic");
        }
        if let [row] = rows(&mut client, VALUE).await.as_slice() {
            inserted_behind += 1;
            let changed = counts.changed.load(Ordering::Relaxed);
            assert_eq!(row[0], changed.to_string(), "in round {round}");
        }
    }
    assert!(inserted_behind > 0, "some are inserted behind the TRUNCATE");
}

/// What the incrementing clients have been answered.
#[derive(Default)]
struct Counts {
    answered: AtomicI64,
    changed: AtomicI64,
    stop: AtomicBool,
}

impl Counts {
    async fn wait_for_more(&self, more: i64) {
        let enough = self.answered.load(Ordering::Relaxed) + more;
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.answered.load(Ordering::Relaxed) < enough {
            assert!(Instant::now() < deadline, "increments are answered");
            tokio::task::yield_now().await;
        }
    }
}

async fn increment_on(mut client: Driver, counts: Arc<Counts>) {
    while !counts.stop.load(Ordering::Relaxed) {
        match client.query(INCREMENT).await.expect("an answer") {
            Reply::Ok(changed) => {
                let changed = i64::try_from(changed).expect("one row");
                counts.changed.fetch_add(changed, Ordering::Relaxed);
                counts.answered.fetch_add(1, Ordering::Relaxed);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// They get the answers that they would get from the server, and the slots go with the rows.
async fn accounts_that_may_not_lock_tables(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_emptying_grants").await;
    let schema = stage.schema;
    run_all(
        &mut stage.direct,
        &format!(
            "DROP USER IF EXISTS cs_emptying; CREATE USER cs_emptying IDENTIFIED BY 'secret'; \
             GRANT SELECT, INSERT, UPDATE, DELETE, DROP ON {schema}.* TO cs_emptying"
        ),
    )
    .await;
    let address = Address {
        user: "cs_emptying".to_owned(),
        password: "secret".to_owned(),
        ..stage.proxy.address.clone()
    };
    let mut client = connect(&address, Some(schema)).await;
    run(&mut client, INSERT).await;
    run(&mut client, INCREMENT).await;
    run(&mut client, "TRUNCATE posts").await;
    run(&mut client, INSERT).await;
    assert_eq!(number(&mut client, VALUE).await, 0);
    run(&mut client, INCREMENT).await;
    run(
        &mut stage.direct,
        &format!("REVOKE DROP ON {schema}.* FROM cs_emptying"),
    )
    .await;
    let mut client = connect(&address, Some(schema)).await;
    match client.query("TRUNCATE posts").await.expect("an answer") {
        Reply::Err(error) => assert_eq!(error.code, 1142),
        other => panic!("{other:?}"),
    }
    assert_eq!(number(&mut client, VALUE).await, 1);
}

/// Whoever hears of it from the client must find the proxy ready.
async fn ddl_is_answered_when_the_catalog_has_been_read(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_emptying_catalog").await;
    let mut client = stage.client().await;
    for number in 0..10 {
        let name = format!("column{number}");
        run(
            &mut client,
            &format!("ALTER TABLE posts ADD COLUMN {name} INT NULL"),
        )
        .await;
        let hot = stage.proxy.shared.hot();
        let columns = &hot.catalog.tables[0].columns;
        assert!(columns.iter().any(|column| column.name == name), "{name}");
    }
}

/// Base is the value then, but for a snapshot that is older.
async fn reads_while_slots_are_away(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_emptying_away").await;
    run(&mut stage.direct, INSERT).await;
    let mut client = stage.client().await;
    run(&mut client, "SET autocommit = 0").await;
    for end in ["COMMIT", "ROLLBACK", "SELECT nothing"] {
        client.query(end).await.expect("an answer");
        run(&mut stage.direct, "DROP TABLE IF EXISTS posts_slots").await;
        assert_eq!(number(&mut client, VALUE).await, 0, "behind {end}");
        run(&mut client, "ROLLBACK").await;
    }
    // The proxy finds that they are gone, and makes them anew. A snapshot from before has nothing but base.
    let mut before = stage.client().await;
    run(&mut before, "BEGIN").await;
    assert_eq!(number(&mut before, VALUE).await, 0);
    until(async || stage.has_slots().await).await;
    let mut client = stage.client().await;
    run(&mut client, INCREMENT).await;
    assert_eq!(
        number(&mut before, VALUE).await,
        0,
        "a snapshot from before"
    );
    run(&mut before, "COMMIT").await;
    assert_eq!(number(&mut before, VALUE).await, 1);
    // What the increment added to is base or a slot: the proxy may not have known yet that slots are there again.
    let base = number(&mut stage.direct, VALUE).await;
    run(&mut stage.direct, "DROP TABLE posts_slots").await;
    // A read that fails makes no snapshot on MySQL: the next one is of later. On MariaDB it does, and slots are
    // younger.
    let fails = "SELECT views FROM posts WHERE id = (SELECT 1 UNION SELECT 2)";
    run(&mut before, "BEGIN").await;
    match before.query(fails).await.expect("an answer") {
        Reply::Err(error) => assert_eq!(error.code, 1242),
        other => panic!("{other:?}"),
    }
    until(async || stage.has_slots().await).await;
    let slot = "INSERT INTO posts_slots (id, slot, open, views) VALUES (1, 0, 1, 5)";
    run(&mut stage.direct, slot).await;
    match before.query(VALUE).await.expect("an answer") {
        Reply::Rows(rows) => {
            let value = (base + 5).to_string();
            assert_eq!(rows[0][0].as_deref(), Some(value.as_bytes()));
        }
        Reply::Err(error) => assert_eq!((error.code, flavour), (1412, Flavour::MariaDb)),
        other => panic!("{other:?}"),
    }
    run(&mut before, "COMMIT").await;
    run(&mut stage.direct, "DROP TABLE posts_slots").await;
    // Behind DDL they are there again.
    run(&mut client, "ALTER TABLE posts COMMENT = 'again'").await;
    assert!(stage.has_slots().await);
    run(&mut stage.direct, "UPDATE posts SET views = 0").await;
    run(&mut client, INCREMENT).await;
    assert_eq!(number(&mut client, VALUE).await, 1);
    run(&mut client, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    run(&mut stage.direct, "RENAME TABLE posts_slots TO away").await;
    match client.query(VALUE).await.expect("an answer") {
        Reply::Err(error) => assert_eq!(error.code, 1412),
        other => panic!("{other:?}"),
    }
}

/// Somebody else has the lock that the proxy needs for it, so that its first try fails.
async fn ddl_is_answered_when_slots_are_there_again(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_emptying_again").await;
    let lock = {
        let hot = stage.proxy.shared.hot();
        withdrawal::lock_name(&hot.catalog.tables[0])
    };
    run(&mut stage.direct, "BEGIN").await;
    run(&mut stage.direct, VALUE).await;
    let (emptier, emptied) = spawn(stage.client().await, &["TRUNCATE posts"]);
    stage.until_it_waits(emptier, &emptied).await;
    // The TRUNCATE has it until it has run. Then comes who has asked for it next.
    let mut holder = connect(stage.server, None).await;
    let session = holder.thread_id();
    let release = withdrawal::release(&lock);
    let held = tokio::spawn(async move {
        assert_eq!(number(&mut holder, &withdrawal::lock(&lock, 60)).await, 1);
        holder
    });
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {session} AND state = 'User lock'"
    );
    until(async || number(&mut stage.direct, &waits).await == 1).await;
    run(&mut stage.direct, "COMMIT").await;
    let mut holder = held.await.expect("it has the lock");
    let since = Instant::now();
    let proxy = &stage.proxy;
    until(async || {
        let rules = proxy.rules.show();
        let why = rules[0].waits_for.as_deref();
        why.is_some_and(|why| why.contains("DDL"))
    })
    .await;
    run(&mut holder, &release).await;
    let was_held = since.elapsed();
    emptied.await.expect("it is emptied");
    // It is not waited for longer than a second.
    assert!(stage.has_slots().await || was_held > Duration::from_millis(900));
}

async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so().await {
        assert!(Instant::now() < deadline, "it comes to be so");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A query that is not read, of a row that had slots in the snapshot: it is shown as it was, unless more has changed
/// than its counter.
async fn queries_that_their_snapshot_cannot_show(flavour: Flavour) {
    const UNREAD: &str = "SELECT views FROM posts WHERE 5 MOD 2";
    let mut stage = Stage::new(flavour, "cs_emptying_outgrown").await;
    run(&mut stage.direct, INSERT).await;
    let mut other = stage.client().await;
    let add = "ALTER TABLE posts ADD COLUMN title INT NULL";
    run(&mut other, add).await;
    let mut client = stage.client().await;
    for (change, is_refused) in [
        ("UPDATE posts SET views = views + 1 WHERE id = 1", false),
        ("UPDATE posts SET title = 1 WHERE id = 1", true),
        ("DELETE FROM posts", true),
    ] {
        run(&mut other, INCREMENT).await;
        run(&mut client, "BEGIN").await;
        let value = number(&mut client, VALUE).await;
        run(&mut other, change).await;
        match client.query(UNREAD).await.expect("an answer") {
            Reply::Err(error) => assert_eq!((error.code, is_refused), (1412, true), "{change}"),
            Reply::Rows(rows) => {
                let shown = rows[0][0].as_deref().map(String::from_utf8_lossy);
                assert_eq!(shown.as_deref(), Some(&*value.to_string()), "{change}");
                assert!(!is_refused, "{change}");
            }
            other => panic!("{change}: {other:?}"),
        }
        assert_eq!(number(&mut client, VALUE).await, value, "{change}");
        run(&mut client, "ROLLBACK").await;
    }
}

/// What a fold names is no more. The statement runs, however long another transaction keeps the rule from being out of
/// force.
async fn a_table_made_anew_is_written_at_once(flavour: Flavour) {
    let (schema, server) = ("cs_emptying_anew", single(flavour));
    let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL);
        CREATE TABLE others (id INT PRIMARY KEY, views INT NOT NULL)";
    create_schema(server, schema, tables).await;
    let rule = |table| format!("- {{table: {schema}.{table}, columns: [views], rollup: 1h}}\n");
    let rules = format!("counters:\n{}{}", rule("posts"), rule("others"));
    let proxy = Proxy::start(server, &rules);
    let mut before = connect(&proxy.address, Some(schema)).await;
    let mut client = connect(&proxy.address, Some(schema)).await;
    run_all(&mut client, &format!("{INSERT}; {INCREMENT}")).await;
    run(&mut before, "BEGIN").await;
    run(&mut before, "SELECT views FROM others").await;
    let anew = "DROP TABLE posts; CREATE TABLE posts (number INT PRIMARY KEY, name VARCHAR(9))";
    run_all(&mut client, anew).await;
    let read = "SELECT * FROM posts";
    for (begin, end) in [("DO 0", "DO 0"), ("BEGIN", "COMMIT"), ("BEGIN", "ROLLBACK")] {
        run_all(&mut client, begin).await;
        for (write, row) in [
            ("REPLACE INTO posts VALUES (1, 'one')", ["1", "one"]),
            (
                "INSERT INTO posts VALUES (1, 'one') ON DUPLICATE KEY UPDATE name = 'two'",
                ["1", "two"],
            ),
            (
                "UPDATE posts SET number = number + 1 WHERE number = 1",
                ["2", "two"],
            ),
            (
                "REPLACE INTO posts SELECT number, 'three' FROM posts",
                ["2", "three"],
            ),
            (
                "REPLACE INTO posts SELECT 2, COUNT(views) FROM others WHERE 5 MOD 2",
                ["2", "0"],
            ),
        ] {
            run(&mut client, write).await;
            assert_eq!(rows(&mut client, read).await, [row], "{begin}: {write}");
        }
        run(&mut client, "DELETE FROM posts WHERE number = 2").await;
        assert!(rows(&mut client, read).await.is_empty());
        run(&mut client, end).await;
    }
    let rules = proxy.rules.show();
    assert!(
        rules.iter().any(|rule| rule.waits_for.is_some()),
        "{rules:?}"
    );
    run(&mut before, "COMMIT").await;
    run(&mut client, "REPLACE INTO posts VALUES (1, 'one')").await;
}

/// The rule goes out of force, which the statement that waits for it must not hold up itself.
async fn a_table_altered_past_the_proxy_is_written(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_emptying_past").await;
    let mut client = stage.client().await;
    run_all(&mut client, &format!("{INSERT}; {INCREMENT}")).await;
    let alter = "ALTER TABLE posts CHANGE views hits INT NOT NULL, CHANGE id number INT NOT NULL";
    run(&mut stage.direct, alter).await;
    run(&mut client, "REPLACE INTO posts VALUES (1, 5)").await;
    assert_eq!(
        number(&mut client, "SELECT hits FROM posts WHERE number = 1").await,
        5
    );
}
