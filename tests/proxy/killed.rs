//! KILL QUERY at any moment: what each client is told is so, those that are not killed count once, and nothing of ours
//! stays open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersink::driver::{Driver, Reply};
use countersink::wire::response::ResponseKind;
use countersink::wire::{command, reply};
use countersink_sandbox::{Address, Flavour};
use tokio::sync::RwLock;
use tokio::task::JoinHandle;

use crate::support::client::{connect, create_schema, number, prepare, rows, run};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::twin::{single, twin};

const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL DEFAULT '', \
     views INT NOT NULL DEFAULT 0, score INT NOT NULL DEFAULT 0); \
     INSERT INTO posts (id) VALUES (1), (2), (3), (4), (5), (6), (7), (8); CREATE TABLE notes (n INT PRIMARY KEY)";

/// ER_QUERY_INTERRUPTED.
const INTERRUPTED: u16 = 1317;

/// ER_LOCK_WAIT_TIMEOUT, and MySQL's ER_LOCK_NOWAIT.
const NOT_AT_ONCE: [u16; 2] = [1205, 3572];

/// ER_DATA_OUT_OF_RANGE.
const OUT_OF_RANGE: u16 = 1690;

on_both! {
    who_is_not_killed_is_counted_once,
    nothing_stays_open_behind_a_fold,
    what_we_ask_for_ourselves_may_be_killed,
    a_read_that_is_killed_shows_no_other_value,
    a_read_in_a_snapshot_that_is_killed_shows_no_other_value,
    a_sum_that_is_interrupted_is_told_as_a_kill,
    a_sum_that_is_over_its_time_is_told_so,
    an_error_of_a_sum_is_reported_alone,
}

struct Stage {
    server: &'static Address,
    schema: &'static str,
    proxy: Proxy,
    direct: Driver,
}

impl Stage {
    async fn new(flavour: Flavour, schema: &'static str) -> Self {
        let server = single(flavour);
        let direct = create_schema(server, schema, POSTS).await;
        let rules = format!(
            "counters:\n  - {{table: {schema}.posts, columns: [views, score], rollup: 1h}}\n"
        );
        Self {
            server,
            schema,
            proxy: Proxy::start(server, &rules),
            direct,
        }
    }

    async fn client(&self) -> Driver {
        connect(&self.proxy.address, Some(self.schema)).await
    }

    async fn killers(&self, ids: Vec<u32>) -> Killers {
        kill(self.server, ids).await
    }
}

/// Kills whatever these sessions run, one after the other, until it is stopped.
async fn kill(server: &Address, ids: Vec<u32>) -> Killers {
    let is_over = Arc::new(AtomicBool::new(false));
    let truce = Arc::new(RwLock::new(()));
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let mut killer = connect(server, None).await;
        let (ids, is_over, truce) = (ids.clone(), Arc::clone(&is_over), Arc::clone(&truce));
        tasks.push(tokio::spawn(async move {
            for id in ids.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let _held = truce.read().await;
                run(&mut killer, &format!("KILL QUERY {id}")).await;
            }
        }));
    }
    Killers {
        is_over,
        truce,
        tasks,
    }
}

struct Killers {
    is_over: Arc<AtomicBool>,
    /// Nobody is killed while it is held for writing.
    truce: Arc<RwLock<()>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Killers {
    async fn stop(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("it kills");
        }
    }
}

/// Half of the clients are killed, and count in another column; sums of both travel in the same batches.
async fn who_is_not_killed_is_counted_once(flavour: Flavour) {
    const KEYS: usize = 8;
    const EACH: usize = 1_500;
    let stage = Stage::new(flavour, "cs_killed_batches").await;
    let is_over = Arc::new(AtomicBool::new(false));
    let (mut victims, mut ids, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..4 {
        let mut victim = stage.client().await;
        ids.push(victim.thread_id());
        let is_over = Arc::clone(&is_over);
        victims.push(tokio::spawn(async move {
            let mut killed = 0;
            for round in number.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let key = round % KEYS + 1;
                let text = format!("UPDATE posts SET score = score + 1 WHERE id = {key}");
                match victim.query(&text).await {
                    Ok(Reply::Ok(1)) => {}
                    Ok(Reply::Err(error)) if error.code == INTERRUPTED => killed += 1,
                    other => panic!("{other:?}"),
                }
            }
            killed
        }));
        let mut other = stage.client().await;
        others.push(tokio::spawn(async move {
            let mut acknowledged = [0_i64; KEYS];
            for round in number..number + EACH {
                let key = round % KEYS;
                let text = format!("UPDATE posts SET views = views + 1 WHERE id = {}", key + 1);
                run(&mut other, &text).await;
                acknowledged[key] += 1;
            }
            acknowledged
        }));
    }
    let killers = stage.killers(ids).await;
    let mut expected = [0; KEYS];
    for other in others {
        let acknowledged = other.await.expect("it is never killed");
        for (sum, acknowledged) in expected.iter_mut().zip(acknowledged) {
            *sum += acknowledged;
        }
    }
    killers.stop().await;
    is_over.store(true, Ordering::Relaxed);
    let mut killed = 0;
    for victim in victims {
        killed += victim.await.expect("it is told of each");
    }
    assert!(killed > 0, "nobody was killed");
    let mut client = stage.client().await;
    let mut counted = [0; KEYS];
    for (key, counted) in counted.iter_mut().enumerate() {
        let text = format!("SELECT views FROM posts WHERE id = {}", key + 1);
        *counted = number(&mut client, &text).await;
    }
    assert_eq!(counted, expected, "{killed} killed");
}

/// A transaction of ours that stayed open would take in what the client does next.
async fn nothing_stays_open_behind_a_fold(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_killed_folds").await;
    let mut victim = stage.client().await;
    let killers = stage.killers(vec![victim.thread_id()]).await;
    let mut killed = 0;
    while killed < 150 {
        let text = "UPDATE posts SET views = views * 1, title = 'y' WHERE id = 1";
        match victim.query(text).await {
            Ok(Reply::Ok(_)) => continue,
            Ok(Reply::Err(error)) if error.code == INTERRUPTED => killed += 1,
            other => panic!("{other:?}"),
        }
        let truce = killers.truce.write().await;
        let insert = format!("INSERT INTO notes VALUES ({killed})");
        // A KILL that was sent before may meet it; then it has to say so.
        let told = match victim.query(&insert).await {
            Ok(Reply::Ok(_)) => 1,
            Ok(Reply::Err(error)) if error.code == INTERRUPTED => 0,
            other => panic!("{other:?}"),
        };
        let seen = format!("SELECT COUNT(*) FROM notes WHERE n = {killed}");
        assert_eq!(number(&mut stage.direct, &seen).await, told, "{killed}");
        drop(truce);
    }
    killers.stop().await;
}

/// What a session must know of itself, and the columns of a read, are asked of the server; without an answer nothing is
/// guessed.
async fn what_we_ask_for_ourselves_may_be_killed(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_killed_questions").await;
    let mut other = stage.client().await;
    let add = "UPDATE posts SET views = views + 1 WHERE id = 1";
    for _ in 0..10 {
        run(&mut other, add).await;
    }
    let mut victim = stage.client().await;
    let killers = stage.killers(vec![victim.thread_id()]).await;
    let (mut read, mut killed) = (0, 0);
    while read < 150 || killed < 150 {
        // All is asked again.
        victim
            .query("SET sql_mode = @@sql_mode")
            .await
            .expect("an answer");
        match victim.query("SELECT views FROM posts WHERE id = 1").await {
            Ok(Reply::Rows(rows)) => {
                assert_eq!(rows[0][0].as_deref(), Some(&b"10"[..]));
                read += 1;
            }
            Ok(Reply::Err(error)) if error.code == INTERRUPTED => killed += 1,
            other => panic!("{other:?}"),
        }
    }
    let mut done = 0;
    while done < 30 {
        victim
            .query("SET sql_mode = @@sql_mode")
            .await
            .expect("an answer");
        run(&mut other, add).await;
        match victim
            .query("UPDATE posts SET views = 5 WHERE id = 1")
            .await
        {
            // So MariaDB itself answers an UPDATE that is killed, since it prepares it: that of one table, directly.
            Ok(Reply::Ok(0)) if tells_nothing_of_a_kill(flavour) => {}
            Ok(Reply::Ok(_)) => {
                let read = "SELECT views FROM posts WHERE id = 1";
                assert_eq!(number(&mut other, read).await, 5);
                done += 1;
            }
            Ok(Reply::Err(error)) if error.code == INTERRUPTED => {}
            other => panic!("{other:?}"),
        }
    }
    killers.stop().await;
}

/// Servers take NULL for a subquery that is killed, with no error, and the sum over slots is one.
async fn a_read_that_is_killed_shows_no_other_value(flavour: Flavour) {
    const EACH: usize = 700;
    const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, likes INT UNSIGNED, \
         price DECIMAL(12,2) NOT NULL, seen DATETIME(3), changed TIMESTAMP NULL); \
         INSERT INTO posts VALUES (1, 100, 1, 0.5, '2024-01-02 03:04:05.6', '2024-01-02 03:04:05'), \
         (2, 0, NULL, 1, NULL, NULL)";
    const READS: [&str; 7] = [
        "SELECT views FROM posts WHERE id = 1",
        "SELECT seen FROM posts WHERE id = 1",
        "SELECT changed, price FROM posts WHERE id = 1",
        "SELECT * FROM posts ORDER BY id",
        "SELECT id FROM posts WHERE id = 1 FOR UPDATE NOWAIT",
        "SELECT MAX(views), COUNT(*) FROM posts WHERE views > 0",
        "EXECUTE of_all USING @key",
    ];
    let server = single(flavour);
    let schema = "cs_killed_reads";
    create_schema(server, schema, TABLES).await;
    let rules = format!(
        "counters:\n  - table: {schema}.posts\n    columns: [views, likes, price]\n    \
         touch: [seen, changed]\n    rollup: 1h\n"
    );
    let proxy = Proxy::start(server, &rules);
    let mut adding = connect(&proxy.address, Some(schema)).await;
    for second in 0..6 {
        let add = format!(
            "UPDATE posts SET views = views + 1, likes = likes + 1, price = price + 0.25, \
             seen = '2025-01-01 00:00:0{second}', changed = '2025-01-01 00:00:0{second}' WHERE id = 1"
        );
        run(&mut adding, &add).await;
    }
    let mut victim = connect(&proxy.address, Some(schema)).await;
    for text in [
        "SET @key = 1",
        "PREPARE of_all FROM 'SELECT * FROM posts WHERE id = ?'",
    ] {
        run(&mut victim, text).await;
    }
    let mut expected = Vec::new();
    for read in READS {
        expected.push(rows(&mut victim, read).await);
    }
    let killers = kill(server, vec![victim.thread_id()]).await;
    let (mut read, mut killed) = (0, 0);
    for round in 0..EACH {
        for (text, expected) in READS.into_iter().zip(&expected) {
            match unless_killed(&mut victim, text).await {
                Some(found) => {
                    assert_eq!(found, *expected, "round {round}: {text}");
                    read += 1;
                }
                None => killed += 1,
            }
        }
    }
    killers.stop().await;
    assert!(read > 0 && killed > 0, "{read} read, {killed} killed");
}

/// A query that cannot be rewritten runs over rows that hold the sums of its transaction's snapshot.
async fn a_read_in_a_snapshot_that_is_killed_shows_no_other_value(flavour: Flavour) {
    const EACH: usize = 700;
    let stage = Stage::new(flavour, "cs_killed_snapshots").await;
    let read = match flavour {
        Flavour::MySql => "TABLE posts",
        Flavour::MariaDb => "SET STATEMENT max_statement_time = 60 FOR SELECT * FROM posts",
    };
    let add = "UPDATE posts SET views = views + 1 WHERE id = 1";
    let mut other = stage.client().await;
    let mut victim = stage.client().await;
    run(&mut other, add).await;
    for text in ["START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT 1"] {
        run(&mut victim, text).await;
    }
    let expected = rows(&mut victim, "SELECT * FROM posts").await;
    run(&mut other, add).await;
    assert_eq!(rows(&mut victim, read).await, expected);
    let killers = stage.killers(vec![victim.thread_id()]).await;
    for round in 0..EACH {
        if let Some(found) = unless_killed(&mut victim, read).await {
            assert_eq!(found, expected, "round {round}");
        }
    }
    killers.stop().await;
}

/// What a query finds; `None` if it is told that it was killed.
async fn unless_killed(victim: &mut Driver, read: &str) -> Option<Vec<Vec<String>>> {
    let text = |value: Option<Vec<u8>>| match value {
        Some(value) => String::from_utf8(value).expect("text"),
        None => "NULL".to_owned(),
    };
    match victim.query(read).await {
        Ok(Reply::Rows(rows)) => {
            let rows = rows.into_iter();
            Some(
                rows.map(|row| row.into_iter().map(text).collect())
                    .collect(),
            )
        }
        Ok(Reply::Err(error)) if error.code == INTERRUPTED => None,
        // What was killed before may hold its locks for a moment.
        Ok(Reply::Err(error)) if read.ends_with("NOWAIT") && NOT_AT_ONCE.contains(&error.code) => {
            None
        }
        other => panic!("{read}: {other:?}"),
    }
}

/// A sum that is interrupted fails by an expression that is not to show. Here the client itself has it.
async fn a_sum_that_is_interrupted_is_told_as_a_kill(flavour: Flavour) {
    const SUM: &str = "SELECT views, EXP(131770100 + LENGTH(views)) FROM posts WHERE id = 1";
    let stage = Stage::new(flavour, "cs_killed_sums").await;
    let mut client = stage.client().await;
    for text in [SUM, "BEGIN", SUM, "COMMIT"] {
        match client.query(text).await.expect("an answer") {
            Reply::Ok(_) => continue,
            Reply::Err(error) => {
                let told = (error.code, error.message.as_str());
                assert_eq!(told, (INTERRUPTED, "Query execution was interrupted"));
            }
            other @ Reply::Rows(_) => panic!("{other:?}"),
        }
        let warnings = rows(&mut client, "SHOW WARNINGS").await;
        assert_eq!(
            warnings,
            [["Error", "1317", "Query execution was interrupted"]]
        );
    }
    run(&mut client, &format!("PREPARE sum FROM '{SUM}'")).await;
    let told = client.query("EXECUTE sum").await.expect("an answer");
    assert!(
        matches!(&told, Reply::Err(error) if error.code == INTERRUPTED),
        "{told:?}"
    );
    let id = prepare(&mut client, SUM).await;
    let execute = [
        &[command::STMT_EXECUTE][..],
        &id.to_le_bytes(),
        &[0, 1, 0, 0, 0],
    ]
    .concat();
    client.send(&execute).await.expect("sent");
    let packets = client
        .packets(ResponseKind::Results)
        .await
        .expect("an answer");
    let last = packets.last().expect("a packet");
    let error = reply::Err::decode(&last.payload).expect("an error");
    assert_eq!((error.code, error.sql_state), (INTERRUPTED, &b"70100"[..]));
    // A write that sums counters itself, where a fold would show in the snapshot.
    for text in ["BEGIN", "SELECT COUNT(*) FROM notes"] {
        run(&mut client, text).await;
    }
    let write = "INSERT INTO notes SELECT EXP(131770100 + LENGTH(views)) FROM posts WHERE id = 1";
    let told = client.query(write).await.expect("an answer");
    assert!(
        matches!(&told, Reply::Err(error) if error.code == INTERRUPTED),
        "{told:?}"
    );
    run(&mut client, "ROLLBACK").await;
    // Who asks for a value that is out of range is told so.
    let own = client
        .query("SELECT EXP(views + 1000) FROM posts WHERE id = 1")
        .await;
    let own = own.expect("an answer");
    assert!(
        matches!(&own, Reply::Err(error) if error.code == OUT_OF_RANGE),
        "{own:?}"
    );
}

/// A query that has run for longer than it may is told of its limit rather than of a KILL.
async fn a_sum_that_is_over_its_time_is_told_so(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_killed_late_sums").await;
    let mut client = stage.client().await;
    let (limit, over_time, hint) = match flavour {
        Flavour::MySql => (
            "max_execution_time = 1000",
            3024,
            "/*+ MAX_EXECUTION_TIME(1000) */",
        ),
        Flavour::MariaDb => ("max_statement_time = 1", 1969, ""),
    };
    let read = |hint: &str| {
        format!(
            "SELECT {hint} views, SLEEP(2), EXP(131770100 + LENGTH(views)) FROM posts WHERE id = 1"
        )
    };
    let write = "INSERT INTO notes SELECT SLEEP(2) + EXP(131770100 + LENGTH(views)) FROM posts WHERE id = 1";
    let mut told = Vec::new();
    let mut ask = async |client: &mut Driver, text: &str| match client
        .query(text)
        .await
        .expect("an answer")
    {
        Reply::Err(error) => told.push(error.code),
        other => panic!("{other:?}"),
    };
    ask(&mut client, &read("")).await;
    ask(&mut client, &read(hint)).await;
    run(&mut client, &format!("SET SESSION {limit}")).await;
    ask(&mut client, &read("")).await;
    for text in ["BEGIN", "SELECT COUNT(*) FROM notes"] {
        run(&mut client, text).await;
    }
    ask(&mut client, write).await;
    let expected = match flavour {
        // MySQL limits queries only.
        Flavour::MySql => [INTERRUPTED, over_time, over_time, INTERRUPTED],
        Flavour::MariaDb => [INTERRUPTED, INTERRUPTED, over_time, over_time],
    };
    assert_eq!(told, expected);
}

/// MariaDB evaluates the expression that fails also where the sum has failed before.
async fn an_error_of_a_sum_is_reported_alone(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_killed_reports").await;
    let mut client = stage.client().await;
    let mut other = stage.client().await;
    let add = "UPDATE posts SET views = views + 1 WHERE id = 1";
    run(&mut other, add).await;
    run(&mut client, "SET innodb_lock_wait_timeout = 1").await;
    for text in ["BEGIN", "SELECT * FROM posts_slots FOR UPDATE"] {
        run(&mut stage.direct, text).await;
    }
    for wait in [" NOWAIT", ""] {
        for read in [
            "SELECT views FROM posts FOR UPDATE",
            "SELECT title FROM posts FOR UPDATE",
        ] {
            let told = client.query(&format!("{read}{wait}")).await;
            let Ok(Reply::Err(told)) = told else {
                panic!("{told:?}");
            };
            let reported = rows(&mut client, "SHOW WARNINGS").await;
            let expected = ["Error", &told.code.to_string(), &told.message];
            assert_eq!(reported[0], expected);
            let of_sums = |row: &Vec<String>| row.iter().any(|text| text.contains("exp("));
            assert!(!reported.iter().any(of_sums), "{reported:?}");
        }
    }
}

/// Whether the server may answer a killed UPDATE by OK, and no row.
fn tells_nothing_of_a_kill(flavour: Flavour) -> bool {
    let version = &twin(flavour).version;
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    flavour == Flavour::MariaDb && major.is_some_and(|major: u32| major >= 11)
}
