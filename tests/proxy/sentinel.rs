//! The sentinel reports who changes counters past the proxy, and nobody else.

use countersink::driver::Driver;
use countersink::sentinel::{Finding, Kind};
use countersink_sandbox::{Flavour, Server};

use crate::replica::{self, until};
use crate::support::client::{connect, create_schema, number, rows, run};
use crate::support::on_both;
use crate::support::proxy::Proxy;

on_both![
    writers_past_the_proxy_are_reported_and_no_others,
    other_proxies_are_not_taken_for_writers_past_this_one,
    reading_goes_on_after_a_restart_of_the_server,
];

const SCHEMA: &str = "cs_sentinel";

const TABLES: &str = "CREATE TABLE posts (id BIGINT UNSIGNED PRIMARY KEY, title VARCHAR(20), views INT NOT NULL); \
     CREATE TABLE days (post INT, day DATE, views INT NOT NULL, PRIMARY KEY (day, post)); \
     CREATE TABLE others (id INT PRIMARY KEY, views INT NOT NULL); \
     INSERT INTO posts VALUES (1, 'a', 10), (2, 'b', 20), (18446744073709551615, 'z', 0); \
     INSERT INTO days VALUES (7, '2026-01-01', 1); INSERT INTO others VALUES (1, 1)";

fn rules(rest: &str, server_id: u32) -> String {
    format!(
        "sentinel: {{server_id: {server_id}}}\ncounters:\n\
         - {{table: {SCHEMA}.posts, columns: [views], rest: {rest}, rollup: 50ms}}\n\
         - {{table: {SCHEMA}.days, columns: [views], rest: {rest}, rollup: 50ms}}\n"
    )
}

/// Whether the binary log of this server says which thread has changed rows.
async fn names_threads(driver: &mut Driver, flavour: Flavour) -> bool {
    if flavour == Flavour::MySql {
        return true;
    }
    let version = rows(driver, "SELECT VERSION()").await.remove(0).remove(0);
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    parts.next().flatten() > Some(11)
        || version.starts_with("11.") && parts.next().flatten() >= Some(5)
}

/// A server of its own: other tests' proxies would be others here.
async fn start(flavour: Flavour) -> (Server, Driver) {
    let server = replica::server(flavour, 1);
    let mut direct = create_schema(&server.address(), SCHEMA, TABLES).await;
    if !names_threads(&mut direct, flavour).await {
        run(&mut direct, "SET GLOBAL binlog_format = MIXED").await;
        direct = connect(&server.address(), Some(SCHEMA)).await;
    }
    (server, direct)
}

fn findings(proxy: &Proxy) -> Vec<Finding> {
    proxy.shared.sentinel.all()
}

/// What is written past the proxy now will be reported.
async fn until_it_reads(proxy: &Proxy, direct: &mut Driver) {
    let mut value = 1000;
    until("the binary log is read", async || {
        value += 1;
        run(
            direct,
            &format!("UPDATE posts SET views = {value} WHERE id = 2"),
        )
        .await;
        !findings(proxy).is_empty()
    })
    .await;
    until_marked(proxy, direct).await;
}

/// Everything up to now has been judged.
async fn until_marked(proxy: &Proxy, direct: &mut Driver) -> Vec<Finding> {
    run(direct, "UPDATE days SET views = views + 1 WHERE post = 7").await;
    let is_marked = |finding: &Finding| finding.table.1 == "days";
    let before = findings(proxy).iter().filter(|one| is_marked(one)).count();
    until("the mark is reported", async || {
        findings(proxy).iter().filter(|one| is_marked(one)).count() > before
    })
    .await;
    findings(proxy)
}

async fn writers_past_the_proxy_are_reported_and_no_others(flavour: Flavour) {
    let (server, mut direct) = start(flavour).await;
    let by_rows = names_threads(&mut direct, flavour).await;
    for rest in ["auto", "never"] {
        if flavour == Flavour::MySql {
            // Compressed in the second round.
            let compressed = u8::from(rest == "never");
            let set = format!("SET GLOBAL binlog_transaction_compression = {compressed}");
            run(&mut direct, &set).await;
            direct = connect(&server.address(), Some(SCHEMA)).await;
        }
        let proxy = Proxy::start(&server.address(), &rules(rest, 900));
        until_it_reads(&proxy, &mut direct).await;
        let known = findings(&proxy).len();
        // Through the proxy, in a session of which nobody knows any more when the log is read, and in one that stays.
        for _ in 0..2 {
            let mut app = connect(&proxy.address, Some(SCHEMA)).await;
            for statement in [
                "UPDATE posts SET views = views + 1 WHERE id = 1",
                "BEGIN",
                "UPDATE posts SET views = views + 1 WHERE id = 1",
                "UPDATE others SET views = views + 1 WHERE id = 1",
                "COMMIT",
                "UPDATE posts SET views = 5, title = 'new' WHERE id = 1",
                "UPDATE days SET views = views + 1 WHERE post = 7",
                "DELETE FROM posts WHERE id = 2",
                "INSERT INTO posts VALUES (2, 'b', 20)",
            ] {
                run(&mut app, statement).await;
            }
        }
        proxy.roll_up(|_| true).await;
        // Past it, and no counter's business.
        for statement in [
            "UPDATE posts SET title = 'c' WHERE id = 2",
            "INSERT INTO posts VALUES (3, 'd', 3)",
            "UPDATE others SET views = views + 1 WHERE id = 1",
            "DELETE FROM others WHERE id = 2",
        ] {
            run(&mut direct, statement).await;
        }
        let marked = until_marked(&proxy, &mut direct).await;
        assert_eq!(marked.len(), known + 1, "{rest}: {:#?}", &marked[known..]);

        let thread = number(&mut direct, "SELECT CONNECTION_ID()").await;
        let new = number(&mut direct, "SELECT views + 1 FROM posts WHERE id > 3").await;
        let set = format!("UPDATE posts SET views = {new} WHERE id = 18446744073709551615");
        for statement in [
            &*set,
            "BEGIN",
            "UPDATE others SET views = views + 1 WHERE id = 1",
            "DELETE FROM posts WHERE id = 3",
            "COMMIT",
        ] {
            run(&mut direct, statement).await;
        }
        let now = number(&mut direct, "SELECT UNIX_TIMESTAMP()").await;
        let all = until_marked(&proxy, &mut direct).await;
        let found = &all[known + 1..];
        let shown: Vec<_> = found
            .iter()
            .map(|finding| {
                (
                    finding.table.1.as_str(),
                    finding.kind,
                    finding.key.as_deref(),
                )
            })
            .collect();
        let expected = match by_rows {
            true => vec![
                ("posts", Kind::Update, Some("id = 18446744073709551615")),
                ("posts", Kind::Delete, Some("id = 3")),
                (
                    "days",
                    Kind::Update,
                    Some("day = '2026-01-01' AND post = 7"),
                ),
            ],
            false => vec![
                ("posts", Kind::Statement, None),
                ("posts", Kind::Statement, None),
                ("days", Kind::Statement, None),
            ],
        };
        assert_eq!(shown, expected, "{rest}");
        for finding in found {
            assert_eq!(i64::from(finding.thread), thread);
            let at = finding.at.duration_since(std::time::UNIX_EPOCH);
            let at = i64::try_from(at.expect("a time").as_secs()).expect("a time");
            assert!((now - 60..=now + 60).contains(&at), "{at} and {now}");
        }
        let counted = proxy.shared.metrics.table(SCHEMA, "posts").counted();
        let of_posts = all.iter().filter(|finding| finding.table.1 == "posts");
        assert_eq!(counted.writes_past, of_posts.count() as u64);
    }
}

async fn other_proxies_are_not_taken_for_writers_past_this_one(flavour: Flavour) {
    let (server, mut direct) = start(flavour).await;
    let proxies = [900, 901].map(|id| Proxy::start(&server.address(), &rules("auto", id)));
    for proxy in &proxies {
        until_it_reads(proxy, &mut direct).await;
    }
    // What was for the other one to see is seen by both.
    for proxy in &proxies {
        until_marked(proxy, &mut direct).await;
    }
    let known = proxies.each_ref().map(|proxy| findings(proxy).len());
    for proxy in &proxies {
        // Sessions that are there for a moment only, and one that stays.
        let mut stays = connect(&proxy.address, Some(SCHEMA)).await;
        for value in [5, 6] {
            let mut app = connect(&proxy.address, Some(SCHEMA)).await;
            run(
                &mut app,
                &format!("UPDATE posts SET views = {value} WHERE id = 1"),
            )
            .await;
            run(
                &mut stays,
                &format!("UPDATE posts SET views = {value}0 WHERE id = 1"),
            )
            .await;
        }
    }
    for (proxy, known) in proxies.iter().zip(known) {
        let marked = until_marked(proxy, &mut direct).await;
        let of_posts = marked[known..].iter().filter(|one| one.table.1 == "posts");
        assert_eq!(of_posts.count(), 0, "{:#?}", &marked[known..]);
    }
    // A third proxy does not say which threads are its own.
    let [proxy, _other] = &proxies;
    let silent = rules("auto", 0).replace("sentinel: {server_id: 0}\n", "");
    let silent = Proxy::start(&server.address(), &silent);
    let known = findings(proxy).len();
    let undecided = proxy.shared.metrics.undecided();
    let mut app = connect(&silent.address, Some(SCHEMA)).await;
    run(&mut app, "UPDATE posts SET views = 7 WHERE id = 1").await;
    run(&mut direct, "UPDATE posts SET views = 8 WHERE id = 1").await;
    until("nobody is blamed", async || {
        proxy.shared.metrics.undecided() == undecided + 2
    })
    .await;
    assert_eq!(findings(proxy).len(), known);
}

async fn reading_goes_on_after_a_restart_of_the_server(flavour: Flavour) {
    let (mut server, mut direct) = start(flavour).await;
    let proxy = Proxy::start(&server.address(), &rules("auto", 900));
    until_it_reads(&proxy, &mut direct).await;
    let known = findings(&proxy).len();
    server.crash().expect("it is gone");
    server.start_again().expect("it starts again");
    let mut direct = connect(&server.address(), Some(SCHEMA)).await;
    if !names_threads(&mut direct, flavour).await {
        run(&mut direct, "SET binlog_format = MIXED").await;
    }
    // Before anybody reads the log again, perhaps.
    run(&mut direct, "DELETE FROM posts WHERE id = 2").await;
    let marked = until_marked(&proxy, &mut direct).await;
    assert_eq!(marked.len(), known + 2, "{:#?}", &marked[known..]);
}
