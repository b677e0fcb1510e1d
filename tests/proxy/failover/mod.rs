//! Failover: a proxy that knows a primary and its replica follows whoever takes writes, and nothing is lost or counted
//! twice.

mod clusters;
mod hanging;
pub mod load;
mod moments;

use std::time::{Duration, Instant};

use countersink::config::Mode;
use countersink::counter::control::{Control, Error};
use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour, Server};

use load::{INCREMENT, Ledger, Load, SCHEMA, TABLE, VALUE, app, base_and_slots};

use crate::replica::{follow, server, until};
use crate::support::client::{connect, connect_as, create_schema, number, rows, run};
use crate::support::on_both;
use crate::support::proxy::{Proxy, config_of};
use crate::support::thorough::of_all;

on_both![
    a_switch_in_good_order_loses_nothing,
    a_primary_that_is_killed_is_replaced,
    a_primary_that_is_killed_under_load_takes_no_increment_with_it,
    a_primary_that_hangs_holds_nobody_up,
];

/// Two servers, the second a read-only replica of the first.
struct Pair {
    primary: Server,
    replica: Server,
    /// A session on each, beside the proxy.
    of_primary: Driver,
    of_replica: Driver,
}

impl Pair {
    async fn start(flavour: Flavour) -> Self {
        let (primary, replica) = (server(flavour, 1), server(flavour, 2));
        let mut of_replica = connect(&replica.address(), None).await;
        follow(&mut of_replica, &primary.address(), flavour).await;
        run(&mut of_replica, "SET GLOBAL read_only = 1").await;
        let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO posts VALUES (1, 0); \
                      CREATE USER app IDENTIFIED BY 'app'; GRANT ALL ON cs_failover.* TO app";
        let of_primary = create_schema(&primary.address(), SCHEMA, tables).await;
        Self {
            primary,
            replica,
            of_primary,
            of_replica,
        }
    }

    fn proxy(&self, rest: &str) -> Proxy {
        let rules = format!(
            "counters:\n- {{table: {SCHEMA}.posts, columns: [views], rest: {rest}, rollup: 50ms}}\n"
        );
        let (primary, replica) = (self.primary.address(), self.replica.address());
        // The order says nothing.
        Proxy::start_before(&[&replica, &primary], &rules)
    }

    /// Waits until the replica has all that the primary has.
    async fn until_replicated(&mut self) {
        run(
            &mut self.of_primary,
            "CREATE TABLE cs_failover.mark (n INT)",
        )
        .await;
        let mark = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'cs_failover' AND table_name = 'mark'";
        until("it is replicated", async || {
            number(&mut self.of_replica, mark).await == 1
        })
        .await;
    }

    /// Makes the replica the primary.
    async fn promote(&mut self) {
        let stop = match self.replica.flavour {
            Flavour::MySql => "STOP REPLICA",
            Flavour::MariaDb => "STOP SLAVE",
        };
        run(&mut self.of_replica, stop).await;
        run(&mut self.of_replica, "SET GLOBAL read_only = 0").await;
    }

    /// Waits until increments reach the new primary. Returns how long that takes.
    async fn until_it_takes_increments(&mut self) -> Duration {
        let promoted = Instant::now();
        let before = number(&mut self.of_replica, &base_and_slots()).await;
        until("they work on", async || {
            number(&mut self.of_replica, &base_and_slots()).await > before
        })
        .await;
        promoted.elapsed()
    }

    /// Checks that the new primary has what the clients were told, through the proxy and directly. Returns the value.
    async fn check(&mut self, ledger: Ledger, client: &mut Driver, what: &str) -> i64 {
        let value = number(client, VALUE).await;
        eprintln!("{what}; {value} of {ledger:?}");
        let most = ledger.acknowledged + ledger.ambiguous;
        assert!((ledger.acknowledged..=most).contains(&value), "{what}");
        assert_eq!(value, number(&mut self.of_replica, &base_and_slots()).await);
        value
    }

    /// Nothing is acknowledged from now on that the replica has not received.
    async fn make_semi_synchronous(&mut self) {
        let (of_primary, of_replica): (&[&str], &[&str]) = match self.primary.flavour {
            Flavour::MySql => (
                &[
                    "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
                    "SET GLOBAL rpl_semi_sync_source_timeout = 600000",
                    "SET GLOBAL rpl_semi_sync_source_enabled = 1",
                ],
                &[
                    "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'",
                    "SET GLOBAL rpl_semi_sync_replica_enabled = 1",
                ],
            ),
            Flavour::MariaDb => (
                &[
                    "SET GLOBAL rpl_semi_sync_master_timeout = 600000",
                    "SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC'",
                    "SET GLOBAL rpl_semi_sync_master_enabled = 1",
                ],
                &["SET GLOBAL rpl_semi_sync_slave_enabled = 1"],
            ),
        };
        for statement in of_replica {
            run(&mut self.of_replica, statement).await;
        }
        for statement in of_primary {
            run(&mut self.of_primary, statement).await;
        }
        let (clients, again): (_, [&str; 2]) = match self.primary.flavour {
            Flavour::MySql => (
                "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_clients'",
                ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"],
            ),
            Flavour::MariaDb => (
                "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_clients'",
                ["STOP SLAVE IO_THREAD", "START SLAVE IO_THREAD"],
            ),
        };
        // It asks for it when it connects. The server may take the old connection for that of another replica with the
        // same id, and refuse the new one for good.
        const LOOKS: usize = 100;
        let mut looks = 0;
        until("the replica is a semi-synchronous one", async || {
            if looks % LOOKS == 0 {
                for statement in again {
                    run(&mut self.of_replica, statement).await;
                }
            }
            looks += 1;
            rows(&mut self.of_primary, clients).await[0][1] == "1"
        })
        .await;
    }

    /// Promotes the replica, as failover tools do, once it has applied all that it has received.
    async fn promote_when_applied(&mut self) {
        match self.replica.flavour {
            Flavour::MySql => {
                run(&mut self.of_replica, "STOP REPLICA IO_THREAD").await;
                let applied = "SELECT GTID_SUBSET(RECEIVED_TRANSACTION_SET, @@GLOBAL.gtid_executed) \
                               FROM performance_schema.replication_connection_status";
                until("all is applied", async || {
                    number(&mut self.of_replica, applied).await == 1
                })
                .await;
            }
            Flavour::MariaDb => {
                run(&mut self.of_replica, "STOP SLAVE IO_THREAD").await;
                until("all is applied", async || {
                    let status = rows(&mut self.of_replica, "SHOW SLAVE STATUS").await;
                    let mut status = status[0].iter();
                    status.any(|value| value.contains("has read all relay log"))
                })
                .await;
            }
        }
        self.promote().await;
    }
}

/// Whether the table may rest: one way on each family in every run, and both where everything is asked for.
fn rests(flavour: Flavour) -> impl Iterator<Item = &'static str> {
    let rests = match flavour {
        Flavour::MySql => ["auto", "never"],
        Flavour::MariaDb => ["never", "auto"],
    };
    let what = format!("failover on {flavour}, ways to rest");
    rests.into_iter().take(of_all(&what, 1, 2))
}

async fn a_switch_in_good_order_loses_nothing(flavour: Flavour) {
    for rest in rests(flavour) {
        let mut pair = Pair::start(flavour).await;
        // Each follows by itself, and they agree on everything again.
        let (proxy, other) = (pair.proxy(rest), pair.proxy(rest));
        let load = [&proxy, &other].map(|proxy| Load::start(&proxy.address));
        let mut old = connect(&app(&proxy.address), Some(SCHEMA)).await;
        let mut manual = connect(&app(&proxy.address), Some(SCHEMA)).await;
        run(&mut manual, "SET autocommit = 0").await;
        let mut beside = connect(&app(&other.address), Some(SCHEMA)).await;
        until("they work", async || number(&mut old, VALUE).await > 500).await;

        run(&mut pair.of_primary, "SET GLOBAL read_only = 1").await;
        pair.until_replicated().await;
        pair.promote().await;
        let silence = pair.until_it_takes_increments().await;
        for old in [&mut old, &mut manual, &mut beside] {
            until("old sessions are closed", async || {
                old.query("DO 0").await.is_err()
            })
            .await;
        }
        let ledger = Load::end_all(load).await;
        let mut client = connect(&app(&proxy.address), Some(SCHEMA)).await;
        let what = format!("{flavour}, rest: {rest}, a switch: {silence:.1?} of silence");
        let value = pair.check(ledger, &mut client, &what).await;
        // The old one comes back as it was, and nobody goes there.
        run(&mut pair.of_primary, "SET GLOBAL read_only = 0").await;
        run(&mut client, INCREMENT).await;
        let mut beside = connect(&app(&other.address), Some(SCHEMA)).await;
        for client in [&mut client, &mut beside] {
            assert_eq!(number(client, VALUE).await, value + 1);
        }
    }
}

async fn a_primary_that_is_killed_is_replaced(flavour: Flavour) {
    let mut pair = Pair::start(flavour).await;
    let proxy = pair.proxy("auto");
    let mut client = connect(&app(&proxy.address), Some(SCHEMA)).await;
    for _ in 0..10 {
        run(&mut client, INCREMENT).await;
    }
    pair.until_replicated().await;
    // From here on only reads, for replication is asynchronous.
    let reading = tokio::spawn(read_on(client, app(&proxy.address)));
    pair.primary.crash().expect("killed");
    let killed = Instant::now();
    let error = Control::open(&config_of(proxy.config())).await;
    let error = error.expect_err("the replica is not promoted yet");
    assert!(matches!(error, Error::NoPrimary { .. }), "{error}");
    pair.promote().await;
    until("a client is let in", async || {
        let Ok(mut client) =
            connect_as(&app(&proxy.address), Some(SCHEMA), Driver::CAPABILITIES).await
        else {
            return false;
        };
        matches!(client.query(INCREMENT).await, Ok(Reply::Ok(_)))
    })
    .await;
    eprintln!(
        "{flavour}, a kill: {:.1?} until increments go on",
        killed.elapsed()
    );
    let values = reading.await.expect("reads");
    assert!(
        values.iter().all(|value| [10, 11].contains(value)),
        "{values:?}"
    );
    let mut client = connect(&app(&proxy.address), Some(SCHEMA)).await;
    assert_eq!(number(&mut client, VALUE).await, 11);

    // It comes back as it was: it is not asked.
    pair.primary.start_again().expect("it starts");
    let error = Control::open(&config_of(proxy.config())).await;
    let error = error.expect_err("both take writes");
    assert!(matches!(error, Error::SeveralPrimaries { .. }), "{error}");
    for expected in 12..=40 {
        run(&mut client, INCREMENT).await;
        assert_eq!(number(&mut client, VALUE).await, expected);
    }
    let mut of_old = connect(&pair.primary.address(), Some(SCHEMA)).await;
    assert_eq!(number(&mut of_old, &base_and_slots()).await, 10);
}

async fn a_primary_that_is_killed_under_load_takes_no_increment_with_it(flavour: Flavour) {
    for rest in rests(flavour) {
        let mut pair = Pair::start(flavour).await;
        pair.make_semi_synchronous().await;
        let (proxy, other) = (pair.proxy(rest), pair.proxy(rest));
        let load = [&proxy, &other].map(|proxy| Load::start(&proxy.address));
        let mut watch = connect(&app(&proxy.address), Some(SCHEMA)).await;
        until("they work", async || number(&mut watch, VALUE).await > 500).await;
        pair.primary.crash().expect("killed");
        pair.promote_when_applied().await;
        let silence = pair.until_it_takes_increments().await;
        let before = number(&mut pair.of_replica, &base_and_slots()).await;
        until("they work as before", async || {
            number(&mut pair.of_replica, &base_and_slots()).await > before + 500
        })
        .await;
        let ledger = Load::end_all(load).await;
        let mut client = connect(&app(&proxy.address), Some(SCHEMA)).await;
        let what = format!("{flavour}, rest: {rest}, a kill under load: {silence:.1?} of silence");
        let value = pair.check(ledger, &mut client, &what).await;
        let mut beside = connect(&app(&other.address), Some(SCHEMA)).await;
        assert_eq!(number(&mut beside, VALUE).await, value);
    }
}

/// A server that is stopped, or whose host has lost its power, closes nothing and answers nothing.
async fn a_primary_that_hangs_holds_nobody_up(flavour: Flavour) {
    for rest in rests(flavour) {
        let mut pair = Pair::start(flavour).await;
        pair.make_semi_synchronous().await;
        let proxy = pair.proxy(rest);
        let load = Load::start(&proxy.address);
        let mut watch = connect(&app(&proxy.address), Some(SCHEMA)).await;
        until("they work", async || number(&mut watch, VALUE).await > 500).await;
        // Nor may DDL wait for ever that waits for a transaction there.
        let mut reader = connect(&app(&proxy.address), Some(SCHEMA)).await;
        run(&mut reader, "BEGIN").await;
        run(&mut reader, VALUE).await;
        let mut altering = connect(&app(&proxy.address), Some(SCHEMA)).await;
        let altering = tokio::spawn(async move { altering.query("TRUNCATE TABLE posts").await });
        let waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for%metadata lock'";
        until("the DDL waits", async || {
            number(&mut pair.of_primary, waiting).await > 0
        })
        .await;
        pair.primary.pause();
        // The proxy itself asks, too, and is not answered.
        let rules = proxy.rules.clone();
        let asked = tokio::spawn(async move { rules.set_mode(TABLE, Mode::Enforce).await });
        pair.promote_when_applied().await;
        let others = Load::start(&proxy.address);
        let silence = pair.until_it_takes_increments().await;
        // The first ones wait for the server that hangs until they are cut off.
        let hung = Instant::now();
        let ledger = load.end().await + others.end().await;
        let hung = hung.elapsed();
        let mut client = connect(&app(&proxy.address), Some(SCHEMA)).await;
        let what = format!(
            "{flavour}, rest: {rest}, it hangs: {silence:.1?} of silence, old sessions cut off after {hung:.1?}"
        );
        let value = pair.check(ledger, &mut client, &what).await;
        asked.await.expect("no panic").expect("it goes on");
        let altered = altering.await.expect("no panic");
        assert!(
            !matches!(altered, Ok(Reply::Ok(_))),
            "it is refused or cut off"
        );
        // What it had been sent it may do yet, but it is not asked.
        pair.primary.resume();
        let mut of_old = connect(&pair.primary.address(), Some(SCHEMA)).await;
        run(&mut of_old, "DO 0").await;
        run(&mut client, INCREMENT).await;
        assert_eq!(number(&mut client, VALUE).await, value + 1);
    }
}

/// All that a session reads until it is closed, and then the first that another one reads.
async fn read_on(mut client: Driver, address: Address) -> Vec<i64> {
    let mut values = Vec::new();
    while let Some(value) = read(&mut client).await {
        values.push(value);
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Ok(mut client) = connect_as(&address, Some(SCHEMA), Driver::CAPABILITIES).await
            && let Some(value) = read(&mut client).await
        {
            values.push(value);
            return values;
        }
        assert!(Instant::now() < deadline, "it connects again");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The value; `None` where there is no answer.
async fn read(client: &mut Driver) -> Option<i64> {
    match client.query(VALUE).await {
        Ok(Reply::Rows(rows)) => {
            let value = rows[0][0].as_deref().unwrap_or_default();
            Some(String::from_utf8_lossy(value).parse().expect("a number"))
        }
        _ => None,
    }
}
