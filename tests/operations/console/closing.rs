//! KILL, PAUSE and RESUME, SHUTDOWN, each while clients are at work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use countersink::driver::{Driver, Reply, query_packet};
use countersink::wire::response::ResponseKind;
use countersink_sandbox::Flavour;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::console::stage::{Stage, refused, stat, table};
use crate::support;
use crate::support::binary::PATIENCE;
use crate::support::client::{connect_as, number, run};

const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";

#[test]
fn an_idle_session_and_an_open_transaction_are_killed() {
    for flavour in Flavour::ALL {
        support::block_on(async {
            let stage = Stage::new(flavour, "cs_console_kill", "").await;
            let mut operator = stage.operator().await;
            let (mut idle, mut busy) = (stage.client().await, stage.client().await);
            run(&mut busy, "BEGIN").await;
            run(&mut busy, INCREMENT).await;
            for victim in [&mut idle, &mut busy] {
                run(&mut operator, &format!("KILL {}", victim.thread_id())).await;
                let answer = victim.packets(ResponseKind::Single).await;
                assert!(answer.is_err(), "{flavour}: {answer:?}");
            }
            let left = table(&mut operator, "SHOW SESSIONS").await;
            assert!(left.is_empty(), "{flavour}: {left:?}");
            let (code, message) =
                refused(&mut operator, &format!("KILL {}", idle.thread_id())).await;
            assert_eq!(code, 1094, "{message}");
            let mut client = stage.client().await;
            let views = "SELECT views FROM posts WHERE id = 1 FOR UPDATE";
            assert_eq!(
                number(&mut client, views).await,
                0,
                "{flavour}: it was rolled back"
            );
            let slots = &table(&mut operator, "SHOW SLOTS").await[0];
            assert_eq!(slots["in_use"], "0", "{flavour}: it gave its slot back");
        });
    }
}

#[test]
fn a_session_is_killed_in_mid_statement() {
    for flavour in Flavour::ALL {
        support::block_on(async {
            let stage = Stage::new(flavour, "cs_console_kill_busy", "").await;
            let mut operator = stage.operator().await;
            let mut victim = stage.client().await;
            let id = victim.thread_id();
            let sleeping = tokio::spawn(async move { victim.query("DO SLEEP(1000)").await });
            loop {
                let query = "SHOW SESSIONS WHERE command = 'Query'";
                if !table(&mut operator, query).await.is_empty() {
                    break;
                }
            }
            run(&mut operator, &format!("KILL CONNECTION {id}")).await;
            let slept = timeout(PATIENCE, sleeping).await.expect("it is killed");
            match slept.expect("it does not panic") {
                // MariaDB and MySQL tell why, as ever, or just go.
                Err(_) | Ok(Reply::Err(_)) => {}
                other => panic!("{flavour}: {other:?}"),
            }
        });
    }
}

/// More than all buffers on the way hold.
const FLOOD: &str = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 500) \
     SELECT REPEAT('x', 1000000) FROM n";

/// A packet's header, and two of its 20 bytes.
const HALF_A_PACKET: [u8; 6] = [20, 0, 0, 0, 3, b'S'];

/// A session that has a command at hand, of which it hears nothing any more, and its client.
async fn stuck(stage: &Stage, operator: &mut Driver, sent: &[u8]) -> Driver {
    let mut victim = stage.client().await;
    victim.send_raw(sent).await.expect("sent");
    let query = format!("SHOW SESSIONS WHERE id = {}", victim.thread_id());
    loop {
        let sessions = table(operator, &query).await;
        let is_stuck = |session: &BTreeMap<String, String>| {
            let time: f64 = session["command_time"].parse().expect("seconds");
            // By then what can be sent is.
            session["command"] == "Query" && time > 0.3
        };
        if sessions.iter().any(is_stuck) {
            return victim;
        }
    }
}

/// Waits until no session is left.
async fn none_is_left(operator: &mut Driver) {
    let none = async { while !table(operator, "SHOW SESSIONS").await.is_empty() {} };
    timeout(PATIENCE, none).await.expect("it is closed");
}

#[test]
fn a_session_that_waits_for_its_client_is_killed() {
    for flavour in Flavour::ALL {
        support::block_on(async {
            let stage = Stage::new(flavour, "cs_console_kill_stuck", "").await;
            let mut operator = stage.operator().await;
            for sent in [query_packet(FLOOD), HALF_A_PACKET.to_vec()] {
                let victim = stuck(&stage, &mut operator, &sent).await;
                run(&mut operator, &format!("KILL {}", victim.thread_id())).await;
                none_is_left(&mut operator).await;
            }
        });
    }
}

/// What the server refuses to kill comes to its end; who waits for a client is closed all the same.
#[test]
fn a_kill_that_the_server_refuses_is_told() {
    for flavour in Flavour::ALL {
        support::block_on(async {
            let stage = Stage::with_poor_control(flavour, "cs_console_kill_poor").await;
            let mut operator = stage.operator().await;
            let victim = stuck(&stage, &mut operator, &query_packet("DO SLEEP(1000)")).await;
            let kill = format!("KILL {}", victim.thread_id());
            let (code, message) = refused(&mut operator, &kill).await;
            assert_eq!(code, 1105, "{flavour}: {message}");
            assert!(message.contains("CONNECTION_ADMIN"), "{flavour}: {message}");
            let upstream = &support::twin::twin(flavour).proxied;
            run(&mut support::client::connect(upstream, None).await, &kill).await;
            none_is_left(&mut operator).await;

            let victim = stuck(&stage, &mut operator, &HALF_A_PACKET).await;
            run(&mut operator, &format!("KILL {}", victim.thread_id())).await;
            none_is_left(&mut operator).await;
        });
    }
}

/// Clients that increment and are killed all the time: whoever has an answer counts, and who has none may.
#[test]
fn sums_are_exact_while_sessions_are_killed() {
    support::block_on(async {
        const CLIENTS: usize = 16;
        const KILLS: usize = 60;
        let stage = Stage::new(Flavour::MySql, "cs_console_kill_load", "").await;
        let over = Arc::new(AtomicBool::new(false));
        let (acknowledged, lost) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let (over, address) = (Arc::clone(&over), stage.clients.clone());
            let (acknowledged, lost) = (Arc::clone(&acknowledged), Arc::clone(&lost));
            clients.spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    let schema = Some("cs_console_kill_load");
                    let connected = connect_as(&address, schema, Driver::CAPABILITIES).await;
                    let mut client = connected.expect("nobody refuses");
                    loop {
                        match client.query(INCREMENT).await {
                            Ok(Reply::Ok(1)) => acknowledged.fetch_add(1, Ordering::Relaxed),
                            // Its connection has gone, with the answer perhaps.
                            Err(_) | Ok(Reply::Err(_)) => {
                                lost.fetch_add(1, Ordering::Relaxed);
                                break;
                            }
                            Ok(other) => panic!("{other:?}"),
                        };
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                }
            });
        }
        let mut operator = stage.operator().await;
        let mut kills = 0;
        while kills < KILLS {
            let sessions = table(&mut operator, "SHOW SESSIONS").await;
            let at_work = sessions
                .iter()
                .filter(|session| session["reason"] != "NULL");
            let Some(session) = at_work.min_by_key(|session| session["id"].clone()) else {
                continue;
            };
            let kill = format!("KILL {}", session["id"]);
            match operator.query(&kill).await.expect("an answer") {
                Reply::Ok(_) => kills += 1,
                // It was another's batch that has taken it along.
                Reply::Err(error) => assert_eq!(error.code, 1094, "{error}"),
                other => panic!("{other:?}"),
            }
        }
        over.store(true, Ordering::Relaxed);
        while let Some(client) = clients.join_next().await {
            client.expect("it does not panic");
        }
        let mut client = stage.client().await;
        let views = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
        let (acknowledged, lost) = (
            acknowledged.load(Ordering::Relaxed),
            lost.load(Ordering::Relaxed),
        );
        assert!(acknowledged > 0 && lost >= 1, "{acknowledged} and {lost}");
        assert!(
            (acknowledged..=acknowledged + lost).contains(&views),
            "{views} are not from {acknowledged} to {lost} more"
        );
        assert_eq!(stat(&mut operator, "rollup_drift").await, 0);
    });
}

#[test]
fn who_connects_behind_pause_waits_for_resume() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_pause", "").await;
        let mut operator = stage.operator().await;
        let mut client = stage.client().await;
        run(&mut operator, "PAUSE").await;
        run(&mut operator, "PAUSE").await;
        let (address, schema) = (stage.clients.clone(), stage.schema.clone());
        let waiting = tokio::spawn(async move {
            let connected = connect_as(&address, Some(&schema), Driver::CAPABILITIES).await;
            let mut client = connected.expect("it is served in the end");
            number(&mut client, "SELECT 1").await
        });
        for _ in 0..200 {
            run(&mut client, INCREMENT).await;
        }
        assert_eq!(stat(&mut operator, "paused").await, 1);
        assert_eq!(stat(&mut operator, "connections").await, 1);
        assert!(!waiting.is_finished());
        run(&mut operator, "RESUME").await;
        assert_eq!(waiting.await.expect("it does not panic"), 1);
        assert_eq!(stat(&mut operator, "connections").await, 2);
        assert_eq!(stat(&mut operator, "paused").await, 0);
    });
}

#[test]
fn shutdown_stops_as_a_signal_does() {
    support::block_on(async {
        let settings = "drain_timeout: 1m\n";
        let stage = Stage::new(Flavour::MySql, "cs_console_shutdown", settings).await;
        let mut operator = stage.operator().await;
        let mut client = stage.client().await;
        run(&mut client, "BEGIN").await;
        run(&mut client, INCREMENT).await;
        run(&mut operator, "SHUTDOWN").await;
        // The transaction has its time.
        run(&mut client, INCREMENT).await;
        run(&mut client, "COMMIT").await;
        let closed = timeout(PATIENCE, client.packets(ResponseKind::Single)).await;
        assert!(closed.expect("it stops").is_err(), "it is closed");
        let ended = stage.binary.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
        assert!(operator.query("SHOW STATS").await.is_err(), "it is closed");
        let upstream = &support::twin::twin(Flavour::MySql).proxied;
        let mut direct = support::client::connect(upstream, Some("cs_console_shutdown")).await;
        assert_eq!(
            number(&mut direct, "SELECT views FROM posts WHERE id = 1").await,
            2
        );
    });
}
