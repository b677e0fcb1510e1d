//! MariaDB's `innodb_snapshot_isolation`: a transaction that has read is rolled back (1020) where it would lock a row
//! that others have changed since. What they have added to slots counts as a change of the row.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour};

use crate::support;
use crate::support::client::{connect, create_schema, number, run};
use crate::support::proxy::Proxy;
use crate::support::twin::single;

const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, title VARCHAR(20) NULL); \
                      INSERT INTO posts VALUES (1, 10, NULL), (2, 20, NULL), (3, 30, NULL); \
                      CREATE TABLE notes (id INT PRIMARY KEY)";
const OUTGROWN: u16 = 1020;

/// A session that isolates its snapshots, and another one: of a proxy, if there is one.
struct Stage {
    own: Driver,
    other: Driver,
    proxy: Option<Proxy>,
}

impl Stage {
    async fn new(to: &Address, schema: &str, proxy: Option<Proxy>) -> Self {
        Self {
            own: isolated(to, schema).await,
            other: connect(to, Some(schema)).await,
            proxy,
        }
    }

    /// Directly, with the tables as they are at first.
    async fn directly(schema: &str) -> Self {
        let server = single(Flavour::MariaDb);
        create_schema(server, schema, TABLES).await;
        Self::new(server, schema, None).await
    }

    /// Through a proxy, with the tables as they are at first. They are in slots, which stay where they are.
    async fn proxied(schema: &str) -> Self {
        let server = single(Flavour::MariaDb);
        create_schema(server, schema, TABLES).await;
        let rules = format!(
            "counters:\n- {{table: {schema}.posts, columns: [views], rest: never, rollup: 1h}}\n"
        );
        let proxy = Proxy::start(server, &rules);
        let address = proxy.address.clone();
        Self::new(&address, schema, Some(proxy)).await
    }

    /// Runs lines of `own: ..` and `other: ..`, and returns the outcome of each. `roll up` is for the proxy.
    async fn play(&mut self, script: &str) -> Vec<String> {
        let mut outcomes = Vec::new();
        for line in script.lines().map(str::trim) {
            if line == "roll up" {
                if let Some(proxy) = &self.proxy {
                    proxy.roll_up(|name| name == "posts").await;
                }
                continue;
            }
            let (session, text) = line.split_once(": ").expect("session: statement");
            let session = match session {
                "own" => &mut self.own,
                _ => &mut self.other,
            };
            let outcome = match session.query(text).await.expect("an answer") {
                Reply::Ok(affected) => format!("{affected} rows"),
                Reply::Rows(rows) => format!("{rows:?}"),
                Reply::Err(error) => format!("{error}"),
            };
            outcomes.push(format!("{line}\n    {outcome}"));
        }
        outcomes
    }
}

/// A session that isolates its snapshots.
async fn isolated(to: &Address, schema: &str) -> Driver {
    let mut session = connect(to, Some(schema)).await;
    run(&mut session, "SET SESSION innodb_snapshot_isolation = ON").await;
    session
}

/// Plays scripts directly and through a proxy, and compares.
fn plays_alike(schema: &'static str, scripts: &'static [&'static str]) {
    support::block_on(async move {
        for script in scripts {
            let directly = Stage::directly(schema).await.play(script).await;
            let proxied = Stage::proxied(schema).await.play(script).await;
            assert_eq!(directly, proxied);
        }
    });
}

/// Whatever locks the row, and what had been done before is undone with the transaction.
#[test]
fn what_others_have_added_fails_whoever_locks_the_row() {
    plays_alike(
        "cs_isolation_fails",
        &[
            LOCKS_1, LOCKS_2, LOCKS_3, LOCKS_4, LOCKS_5, LOCKS_6, LOCKS_7, LOCKS_8, AGAIN,
        ],
    );
}

macro_rules! locks {
    ($name:ident $text:literal) => {
        const $name: &str = concat!(
            "own: BEGIN\n own: INSERT INTO notes VALUES (1)\n own: SELECT id, views FROM posts WHERE id = 1\n",
            "other: UPDATE posts SET views = views + 1 WHERE id = 1\n",
            "own: ",
            $text,
            "\n own: SELECT @@in_transaction\n own: INSERT INTO notes VALUES (2)\n other: SELECT id FROM notes\n",
            "own: SELECT id, views, title FROM posts\n own: ROLLBACK\n other: SELECT id, views, title FROM posts\n",
            // Begun again, it does it.
            "own: BEGIN\n own: SELECT id, views FROM posts WHERE id = 1\n own: ",
            $text,
            "\n own: COMMIT\n other: SELECT id, views, title FROM posts"
        );
    };
}

locks!(LOCKS_1 "UPDATE posts SET views = views + 1 WHERE id = 1");
locks!(LOCKS_2 "UPDATE posts SET views = views - 1 WHERE id = 1 AND views >= 1");
locks!(LOCKS_3 "UPDATE posts SET views = 5 WHERE id = 1");
locks!(LOCKS_4 "UPDATE posts SET title = 'seen' WHERE id = 1");
locks!(LOCKS_5 "SELECT views FROM posts WHERE id = 1 FOR UPDATE");
locks!(LOCKS_6 "DELETE FROM posts WHERE id = 1");
locks!(LOCKS_7 "INSERT INTO posts VALUES (1, 1, NULL) ON DUPLICATE KEY UPDATE views = views + 1");
locks!(LOCKS_8 "UPDATE posts SET views = views * 2, title = 'doubled'");

/// What it has put into a slot in an earlier transaction says nothing of this one.
const AGAIN: &str = "own: BEGIN
    own: UPDATE posts SET views = views + 1 WHERE id = 1
    own: COMMIT
    own: BEGIN
    own: UPDATE posts SET views = views + 1 WHERE id = 1
    own: ROLLBACK
    own: UPDATE posts SET views = views + 1 WHERE id = 1
    own: BEGIN
    own: SELECT views FROM posts WHERE id = 1
    other: UPDATE posts SET views = views + 1 WHERE id = 1
    own: UPDATE posts SET views = views + 1 WHERE id = 1
    own: SELECT @@in_transaction
    other: SELECT id, views FROM posts";

/// Nothing else fails: other rows, what was read before the change, and queries.
#[test]
fn nothing_else_fails() {
    plays_alike(
        "cs_isolation_passes",
        &[
            "own: BEGIN
            own: SELECT views FROM posts WHERE id = 1
            other: UPDATE posts SET views = views + 1 WHERE id = 1
            own: UPDATE posts SET views = views + 1 WHERE id = 2
            own: UPDATE posts SET title = 'two' WHERE id = 2
            own: UPDATE posts SET views = 7 WHERE id = 3
            own: SELECT id, views FROM posts
            own: SELECT views FROM posts WHERE 5 MOD 2 ORDER BY id
            own: SELECT id, views, title FROM posts
            own: COMMIT
            other: SELECT id, views, title FROM posts",
            "own: BEGIN
            own: UPDATE posts SET views = views + 1 WHERE id = 1
            own: SELECT id, views FROM posts
            other: UPDATE posts SET views = views + 1 WHERE id = 2
            own: UPDATE posts SET views = views + 1 WHERE id = 1
            own: SELECT id, views FROM posts
            own: UPDATE posts SET views = views + 1 WHERE id = 2
            own: SELECT id, views FROM posts",
            "other: UPDATE posts SET views = views + 1 WHERE id = 1
            own: BEGIN
            own: SELECT COUNT(*) FROM notes
            other: UPDATE posts SET views = views + 1 WHERE id = 1
            own: SELECT views FROM posts WHERE 5 MOD 2 ORDER BY id
            own: SAVEPOINT s
            own: SELECT SUM(views) FROM posts WHERE 5 MOD 2
            own: ROLLBACK TO s
            own: INSERT INTO notes SELECT 3
            own: COMMIT
            other: SELECT id, views FROM posts",
            "other: UPDATE posts SET views = views + 1 WHERE id = 1
            own: BEGIN
            own: INSERT INTO notes VALUES (1)
            own: SELECT id, views FROM posts
            roll up
            other: UPDATE posts SET views = views + 1 WHERE id = 1
            own: SELECT views FROM posts WHERE 5 MOD 2 ORDER BY id
            own: SELECT SUM(views) FROM posts WHERE 5 MOD 2
            own: SELECT id, views FROM posts
            own: COMMIT
            other: SELECT id, views FROM posts
            other: SELECT id FROM notes",
            "own: SET TRANSACTION ISOLATION LEVEL READ COMMITTED
            own: BEGIN
            own: SELECT views FROM posts WHERE id = 1
            other: UPDATE posts SET views = views + 1 WHERE id = 1
            own: UPDATE posts SET views = views + 1 WHERE id = 1
            own: SELECT views FROM posts WHERE id = 1
            own: COMMIT
            other: SELECT id, views FROM posts",
        ],
    );
}

/// An increment that comes before all reads goes to slots, as anywhere.
#[test]
fn increments_that_come_first_go_to_slots() {
    support::block_on(async {
        let mut stage = Stage::proxied("cs_isolation_slots").await;
        for _ in 0..5 {
            stage
                .play(
                    "own: BEGIN
                    other: UPDATE posts SET views = views + 1 WHERE id = 1
                    own: UPDATE posts SET views = views + 1 WHERE id = 1
                    own: COMMIT",
                )
                .await;
        }
        assert_eq!(
            number(&mut stage.other, "SELECT views FROM posts WHERE id = 1").await,
            20
        );
        let proxy = stage.proxy.expect("a proxy");
        assert!(proxy.counted("slotted") >= 9);
        assert_eq!(proxy.counted("folded:snapshot-isolation"), 0);
    });
}

/// The application that relies on it: it reads the stock, and buys if something is left.
#[test]
fn what_is_read_before_it_is_sold_is_not_sold_twice() {
    const CLIENTS: i64 = 8;
    const STOCK: i64 = 40;
    support::block_on(async {
        let schema = "cs_isolation_stock";
        let proxy = Stage::proxied(schema).await.proxy.expect("a proxy");
        let mut direct = connect(single(Flavour::MariaDb), Some(schema)).await;
        let stock = format!("UPDATE posts SET views = {STOCK} WHERE id = 1");
        run(&mut direct, &stock).await;
        let sold = Arc::new(AtomicI64::new(0));
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let mut client = isolated(&proxy.address, schema).await;
            let sold = Arc::clone(&sold);
            clients.push(tokio::spawn(async move {
                loop {
                    run(&mut client, "BEGIN").await;
                    if number(&mut client, "SELECT views FROM posts WHERE id = 1").await <= 0 {
                        break;
                    }
                    let buy = "UPDATE posts SET views = views - 1 WHERE id = 1";
                    match client.query(buy).await.expect("an answer") {
                        Reply::Err(error) if error.code == OUTGROWN => continue,
                        Reply::Ok(_) => {}
                        other => panic!("{other:?}"),
                    }
                    run(&mut client, "COMMIT").await;
                    sold.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        for client in clients {
            client.await.expect("a client that ended");
        }
        let left = number(&mut direct, "SELECT views FROM posts WHERE id = 1").await;
        let in_slots = number(
            &mut direct,
            "SELECT COALESCE(SUM(views), 0) FROM posts_slots",
        )
        .await;
        assert_eq!((left + in_slots, sold.load(Ordering::Relaxed)), (0, STOCK));
    });
}
