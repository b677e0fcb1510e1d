//! No increment is lost, and none counts twice: many clients at once, rollbacks, absolute values between, clients
//! that vanish. Meanwhile the base row is never locked for itself alone.

mod bookkeepers;
mod several;
mod stage;
mod vanishing;

use std::time::Instant;

use countersink::driver::Driver;
use countersink_sandbox::{Address, Flavour};
use tokio::task::JoinSet;

use crate::support::client::{connect, create_schema, number, rows, run, run_all};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::thorough::of_all;
use crate::support::twin::{Twin, twin};
use stage::{Errors, Outcome, Stage, Watch, increment, mix, outcome_of, to_number};
use vanishing::{AMBIGUOUS, live_and_vanish};

const CLIENTS: usize = 64;
/// Of each client: in every run, and where everything is asked for.
const INCREMENTS: usize = 100;
const INCREMENTS_OF_ALL: usize = 1_000;

/// The values, added up directly.
const SUMS: &str = "SELECT id, views + COALESCE((SELECT SUM(s.views) FROM posts_slots s WHERE s.id = p.id), 0) \
                    FROM posts p ORDER BY id";

on_both![
    autocommit_increments_of_one_row,
    transactions_of_which_a_third_is_rolled_back,
    increments_absolute_values_deletes_and_reads_at_once,
    several_rows_in_random_order,
    clients_that_vanish,
    transactions_that_read_what_they_have_incremented,
    slots_with_the_same_name_in_another_schema,
    a_slot_row_that_another_proxy_has_closed,
    rows_that_go_with_those_of_tables_farther_above,
];

async fn autocommit_increments_of_one_row(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_exact_autocommit").await;
    let increments = increments(flavour);
    let guard = stage.share_the_base_row().await;
    let watch = Watch::start(&stage);
    let started = Instant::now();
    let (acknowledged, errors) = stage
        .clients(CLIENTS, |_, mut client| async move {
            let mut outcome = Outcome::default();
            for _ in 0..increments {
                match increment(&mut client, 1, 1).await {
                    Ok(()) => outcome.acknowledged += 1,
                    Err(code) => outcome.error(code),
                }
            }
            outcome
        })
        .await;
    stage.report("autocommit", started, acknowledged, &errors);
    assert_eq!(
        errors,
        Errors::new(),
        "an increment in autocommit waits for nobody"
    );
    assert_eq!(acknowledged, to_number(CLIENTS * increments));
    watch.finish().await;
    stage.expect_value(1, acknowledged).await;
    stage.expect_base_untouched(guard).await;
    stage.expect_value(1, acknowledged).await;
}

async fn transactions_of_which_a_third_is_rolled_back(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_exact_transactions").await;
    stage.show_that_transactions_only_increment().await;
    let increments = increments(flavour);
    let guard = stage.share_the_base_row().await;
    let watch = Watch::start(&stage);
    let started = Instant::now();
    let (acknowledged, errors) = stage
        .clients(CLIENTS, |number, mut client| async move {
            let mut outcome = Outcome::default();
            for round in 0..increments {
                run(&mut client, "BEGIN").await;
                let done = increment(&mut client, 1, 1).await;
                let end = match (round + number) % 3 {
                    0 => "ROLLBACK",
                    _ => "COMMIT",
                };
                match (done, outcome_of(&mut client, end).await) {
                    (Ok(()), Ok(())) if end == "COMMIT" => outcome.acknowledged += 1,
                    (Ok(()), Ok(())) => {}
                    (Err(code), _) | (_, Err(code)) => outcome.error(code),
                }
            }
            outcome
        })
        .await;
    stage.report("transactions", started, acknowledged, &errors);
    assert_eq!(
        errors,
        Errors::new(),
        "open transactions do not wait for each other"
    );
    watch.finish().await;
    stage.expect_value(1, acknowledged).await;
    stage.expect_base_untouched(guard).await;
}

fn increments(flavour: Flavour) -> usize {
    let what = format!("exact on {flavour}, increments of each client");
    of_all(&what, INCREMENTS, INCREMENTS_OF_ALL)
}

/// Every transaction writes what it does to the value into a ledger as well, so that at its end each counter is the
/// sum of its ledger.
async fn increments_absolute_values_deletes_and_reads_at_once(flavour: Flavour) {
    const BOOKKEEPERS: usize = 12;
    let transactions = of_all(
        &format!("exact on {flavour}, transactions of each bookkeeper"),
        50,
        150,
    );
    let stage = Stage::new(flavour, "cs_exact_mixed").await;
    let direct = stage
        .mixed(&stage.twin.plain, BOOKKEEPERS, transactions)
        .await;
    let proxied = stage
        .mixed(&stage.proxy.address, BOOKKEEPERS, transactions)
        .await;
    eprintln!("mixed on {flavour}: errors directly {direct:?}, through the proxy {proxied:?}");
    let unexpected: Vec<_> = proxied
        .keys()
        .filter(|code| ![1205, 1213].contains(*code))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    let ledger = "SELECT p.id, p.views, COALESCE((SELECT SUM(l.amount) FROM ledger l WHERE l.post_id = p.id), 0) \
                  FROM posts p ORDER BY p.id";
    for (place, address) in [
        ("directly", &stage.twin.plain),
        ("through the proxy", &stage.proxy.address),
    ] {
        let mut client = connect(address, Some(&stage.schema)).await;
        for row in rows(&mut client, ledger).await {
            assert_eq!(row[1], row[2], "post {} {place}: value and ledger", row[0]);
        }
    }
    let mut behind = connect(&stage.twin.proxied, Some(&stage.schema)).await;
    let mut proxy = connect(&stage.proxy.address, Some(&stage.schema)).await;
    let told = rows(&mut proxy, "SELECT id, views FROM posts ORDER BY id").await;
    let added = rows(&mut behind, SUMS).await;
    assert_eq!(told, added, "base + SUM(slots)");
}

/// Transactions that write several rows in an order that is any order: MySQL itself has deadlocks then, and through the
/// proxy there must not be more.
async fn several_rows_in_random_order(flavour: Flavour) {
    const CLIENTS: u64 = 12;
    let what = format!("exact on {flavour}, transactions of several rows");
    let transactions = of_all(&what, 40, 120);
    let stage = Stage::new(flavour, "cs_exact_random_order").await;
    let mut errors = Vec::new();
    for address in [&stage.twin.plain, &stage.proxy.address] {
        let mut tasks = JoinSet::new();
        for number in 0..CLIENTS {
            let mut client = connect(address, Some(&stage.schema)).await;
            tasks.spawn(async move {
                let mut errors = Errors::new();
                for round in 0..transactions {
                    // One that fails is rolled back, and not repeated: both sides do the same work.
                    if let Err(code) = write_several(&mut client, mix(number << 32 | round)).await {
                        *errors.entry(code).or_default() += 1;
                        run(&mut client, "ROLLBACK").await;
                    }
                }
                errors
            });
        }
        let mut all = Errors::new();
        while let Some(theirs) = tasks.join_next().await {
            for (code, count) in theirs.expect("a client that does not panic") {
                *all.entry(code).or_default() += count;
            }
        }
        errors.push(all);
    }
    eprintln!(
        "random order on {flavour}: of {} transactions failed directly {:?}, through the proxy {:?}",
        CLIENTS * transactions,
        errors[0],
        errors[1]
    );
    // Both are counts of chance events: four standard deviations of their difference are allowed for.
    let total = |errors: &Errors| errors.values().sum::<usize>();
    let (direct, proxied) = (total(&errors[0]), total(&errors[1]));
    let chance = 4 * (direct + proxied).isqrt();
    assert!(
        proxied <= direct + chance,
        "more errors through the proxy: {errors:?}"
    );
    let mut behind = connect(&stage.twin.proxied, Some(&stage.schema)).await;
    let mut proxy = connect(&stage.proxy.address, Some(&stage.schema)).await;
    let told = rows(&mut proxy, "SELECT id, views FROM posts ORDER BY id").await;
    assert_eq!(told, rows(&mut behind, SUMS).await, "base + SUM(slots)");
}

/// Three statements on rows of eight, most of them increments.
async fn write_several(client: &mut Driver, chance: u64) -> Result<(), u16> {
    outcome_of(client, "BEGIN").await?;
    for step in 0..3 {
        let chance = mix(chance + step);
        let id = 1 + (chance >> 8) % 8;
        let text = match chance % 20 {
            0..12 => format!("UPDATE posts SET views = views + 1 WHERE id = {id}"),
            12..15 => {
                format!("UPDATE posts SET likes = likes + 1, views = views + 2 WHERE id = {id}")
            }
            15..17 => format!("UPDATE posts SET title = 'seen' WHERE id = {id}"),
            17 => format!("UPDATE posts SET views = 7 WHERE id = {id}"),
            18 => format!("DELETE FROM posts WHERE id = {id}"),
            _ => format!(
                "INSERT INTO posts (id) VALUES ({id}) ON DUPLICATE KEY UPDATE views = views + 1"
            ),
        };
        outcome_of(client, &text).await?;
    }
    outcome_of(client, "COMMIT").await
}

async fn clients_that_vanish(flavour: Flavour) {
    const VANISHING: usize = 32;
    let what = format!("exact on {flavour}, lives of each client");
    let lives = of_all(&what, 10, 25);
    let stage = Stage::new(flavour, "cs_exact_vanish").await;
    let address = stage.proxy.address.clone();
    let (acknowledged, errors) = stage
        .clients(VANISHING, move |number, mut client| {
            let address = address.clone();
            async move {
                let mut outcome = Outcome::default();
                for life in 0..lives {
                    let chance = mix(to_number(number).unsigned_abs() << 32 | life);
                    live_and_vanish(&mut client, chance, &mut outcome).await;
                    client = connect(&address, Some("cs_exact_vanish")).await;
                }
                outcome
            }
        })
        .await;
    let ambiguous = i64::from(
        errors
            .get(&AMBIGUOUS)
            .map_or(0, |count| u32::try_from(*count).expect("few")),
    );
    let others: Vec<_> = errors.keys().filter(|code| **code != AMBIGUOUS).collect();
    assert!(others.is_empty(), "errors {errors:?}");
    stage.wait_until_alone().await;
    let value = stage.value(1).await;
    eprintln!(
        "vanishing on {flavour}: {acknowledged} acknowledged, {ambiguous} ambiguous, value {value}"
    );
    assert!(acknowledged > 0 && ambiguous > 0, "both happen");
    assert!(
        (acknowledged..=acknowledged + ambiguous).contains(&value),
        "value {value}, acknowledged {acknowledged}, ambiguous {ambiguous}"
    );
}

/// Each reads its own increment, which folds under locks that others wait for. The first of them may deadlock, as
/// nobody knows yet what they will do; then they queue on the row as without the proxy.
async fn transactions_that_read_what_they_have_incremented(flavour: Flavour) {
    const READERS: usize = 16;
    let what = format!("exact on {flavour}, transactions of each reader");
    let transactions = of_all(&what, 25, 60);
    let stage = Stage::new(flavour, "cs_exact_own_reads").await;
    let started = Instant::now();
    let (acknowledged, errors) = stage
        .clients(READERS, |_, mut client| async move {
            let mut outcome = Outcome::default();
            for _ in 0..transactions {
                run(&mut client, "BEGIN").await;
                let done = match increment(&mut client, 1, 1).await {
                    Ok(()) => outcome_of(&mut client, "SELECT views FROM posts WHERE id = 1").await,
                    Err(code) => Err(code),
                };
                match done {
                    Ok(()) => {
                        run(&mut client, "COMMIT").await;
                        outcome.acknowledged += 1;
                    }
                    Err(code) => {
                        run(&mut client, "ROLLBACK").await;
                        outcome.error(code);
                    }
                }
            }
            outcome
        })
        .await;
    stage.report("own reads", started, acknowledged, &errors);
    let failed: usize = errors.values().sum();
    assert!(errors.keys().all(|code| *code == 1213), "{errors:?}");
    assert!(
        failed < READERS,
        "only the first round may deadlock: {errors:?}"
    );
    stage.expect_value(1, acknowledged).await;
}

/// `shop.posts` with its slots in `counters.posts`: two tables of one name meet in the statements.
async fn slots_with_the_same_name_in_another_schema(flavour: Flavour) {
    const SCHEMA: &str = "cs_exact_namesake";
    let Twin { proxied, .. } = twin(flavour);
    let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, at DATETIME NOT NULL); \
                  INSERT INTO posts VALUES (1, 5, '2020-01-01'), (2, 0, '2020-01-01'); \
                  DROP DATABASE IF EXISTS cs_exact_namesake_slots; CREATE DATABASE cs_exact_namesake_slots";
    let mut direct = create_schema(proxied, SCHEMA, tables).await;
    let rules = format!(
        "counters:\n- {{table: {SCHEMA}.posts, columns: [views], touch: [at], slot_table: {SCHEMA}_slots.posts, rollup: 1h}}\n"
    );
    let proxy = Proxy::start(proxied, &rules);
    let mut client = connect(&proxy.address, Some(SCHEMA)).await;
    let increments = [
        "UPDATE posts SET views = views + 1 WHERE id = 1",
        "UPDATE posts SET views = views + 1 WHERE posts.id = 1",
        "UPDATE cs_exact_namesake.posts SET views = views + 1 WHERE cs_exact_namesake.posts.id = 1",
        "UPDATE posts AS p SET views = views + 1 WHERE p.id = 1",
        "UPDATE posts SET views = views + 1 WHERE id IN (1, 2)",
        "UPDATE posts SET views = views + 1, at = NOW() WHERE id = 1",
    ];
    // The second time each finds its slot row.
    for text in increments.iter().chain(&increments) {
        run(&mut client, text).await;
    }
    let values = "SELECT id, views, at > '2020-01-01' FROM posts ORDER BY id";
    let expected = [["1", "17", "1"], ["2", "2", "0"]];
    assert_eq!(rows(&mut client, values).await, expected);
    let base = rows(&mut direct, "SELECT views FROM posts ORDER BY id").await;
    assert_eq!(base, [["5"], ["0"]], "all of it is in slots");
    // A fold, and one under LOCK TABLES.
    for text in [
        "UPDATE posts SET views = views * 1 WHERE id = 1",
        "LOCK TABLES posts WRITE",
        "UNLOCK TABLES",
    ] {
        run(&mut client, text).await;
        assert_eq!(
            rows(&mut client, "SELECT id, views FROM posts ORDER BY id").await,
            [["1", "17"], ["2", "2"]]
        );
    }
    assert_eq!(
        rows(&mut direct, "SELECT views FROM posts ORDER BY id").await,
        [["17"], ["2"]]
    );
}

/// What a proxy knows of a slot row is of the time before the other closed it, and set the counter to NULL. Increments
/// of another counter open the row again.
async fn a_slot_row_that_another_proxy_has_closed(flavour: Flavour) {
    const SCHEMA: &str = "cs_exact_closed";
    let Twin { proxied, .. } = twin(flavour);
    let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, score INT NULL); \
                  INSERT INTO posts VALUES (1, 0, 5), (2, 0, 5), (3, 0, 5), (4, 0, 5)";
    create_schema(proxied, SCHEMA, tables).await;
    let rules = format!(
        "counters:\n- {{table: {SCHEMA}.posts, columns: [views, score], slots: 16, rollup: 1h}}\n"
    );
    let proxies = [Proxy::start(proxied, &rules), Proxy::start(proxied, &rules)];
    let [mut knows, mut closes] = [
        connect(&proxies[0].address, Some(SCHEMA)).await,
        connect(&proxies[1].address, Some(SCHEMA)).await,
    ];
    // By its key, by several keys, by none, and by its key in other words.
    for (id, opened_by) in [
        (1, "id = 1"),
        (2, "id IN (2, 7)"),
        (3, "id >= 3 AND id < 4"),
        (4, "id = '4'"),
    ] {
        for _ in 0..2 {
            let known = format!("UPDATE posts SET score = score + 1 WHERE id = {id}");
            run(&mut knows, &known).await;
        }
        let closed = format!("UPDATE posts SET score = NULL WHERE id = {id}");
        run(&mut closes, &closed).await;
        let opened = format!("UPDATE posts SET views = views + 1 WHERE {opened_by}");
        run(&mut knows, &opened).await;
        let added = format!("UPDATE posts SET score = COALESCE(score, 0) + 2 WHERE id = {id}");
        run(&mut knows, &added).await;
        let value = format!("SELECT views, score FROM posts WHERE id = {id}");
        assert_eq!(rows(&mut closes, &value).await, [["1", "2"]], "{opened_by}");
    }
}

/// By foreign keys of the tables between. Who may delete rows of those needs no right to the hot table.
async fn rows_that_go_with_those_of_tables_farther_above(flavour: Flavour) {
    const SCHEMA: &str = "cs_exact_above";
    const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE author = 1 AND n = 1";
    const NEW: &str = "INSERT INTO people VALUES (1, ''); INSERT INTO authors VALUES (1); \
                       INSERT INTO posts VALUES (1, 1, 0), (1, 2, 0)";
    let Twin { plain, proxied, .. } = twin(flavour);
    let tables = "CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(9) NOT NULL); \
                  CREATE TABLE authors (id INT PRIMARY KEY, \
                  FOREIGN KEY (id) REFERENCES people (id) ON DELETE CASCADE ON UPDATE CASCADE); \
                  CREATE TABLE posts (author INT, n INT, views INT NOT NULL, PRIMARY KEY (author, n), \
                  FOREIGN KEY (author) REFERENCES authors (id) ON DELETE CASCADE ON UPDATE CASCADE); \
                  DROP USER IF EXISTS 'cs_exact_above'@'%'; CREATE USER 'cs_exact_above'@'%'; \
                  GRANT SELECT, DELETE ON cs_exact_above.authors TO 'cs_exact_above'@'%'";
    create_schema(plain, SCHEMA, tables).await;
    create_schema(proxied, SCHEMA, tables).await;
    let rules = format!("counters:\n- {{table: {SCHEMA}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(proxied, &rules);
    let mut clients = [
        connect(plain, Some(SCHEMA)).await,
        connect(&proxy.address, Some(SCHEMA)).await,
    ];
    let too_long_to_be_read = format!(
        "DELETE FROM people WHERE id = 1 AND name <> '{}'",
        "x".repeat(1 << 20)
    );
    for write in [
        "DELETE FROM people WHERE id = 1",
        "DELETE p FROM people p JOIN authors a ON a.id = p.id",
        "UPDATE people SET id = 3 WHERE id = 1",
        &too_long_to_be_read,
        // DDL of the table above is heeded.
        "RENAME TABLE people TO persons; DELETE FROM persons; RENAME TABLE persons TO people",
    ] {
        let mut answers = Vec::new();
        for client in &mut clients {
            let mut values = Vec::new();
            run_all(client, NEW).await;
            run(client, INCREMENT).await;
            run(client, &INCREMENT.replace("n = 1", "n = 2")).await;
            for statement in write.split("; ") {
                run(client, statement).await;
            }
            values.push(rows(client, "SELECT * FROM posts ORDER BY n").await);
            run(client, "DELETE FROM people").await;
            run_all(client, NEW).await;
            values.push(rows(client, "SELECT * FROM posts ORDER BY n").await);
            run(client, "DELETE FROM people").await;
            answers.push(values);
        }
        assert_eq!(answers[0], answers[1], "{write:.80}");
    }
    let [_, client] = &mut clients;
    let account = Address {
        user: SCHEMA.to_owned(),
        password: String::new(),
        ..proxy.address.clone()
    };
    let mut who_may_delete = connect(&account, Some(SCHEMA)).await;
    for begin in ["DO 0", "BEGIN"] {
        run_all(client, NEW).await;
        run(client, INCREMENT).await;
        run(&mut who_may_delete, begin).await;
        run(&mut who_may_delete, "DELETE FROM authors WHERE id = 1").await;
        run(&mut who_may_delete, "COMMIT").await;
        assert_eq!(number(client, "SELECT COUNT(*) FROM posts").await, 0);
        run(client, "DELETE FROM people").await;
    }
}
