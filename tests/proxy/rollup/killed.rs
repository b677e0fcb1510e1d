//! The proxy is killed in the middle of its work, again and again, while clients increment through it: what was
//! acknowledged is there, and nothing twice.
//!
//! COUNTERSINK_KILLS and COUNTERSINK_SECONDS have it last longer; COUNTERSINK_SEED repeats the times.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;

use crate::rollup::stage::{POSTS, Stage};
use crate::support::binary::{Serving, rules_file};
use crate::support::client::{connect, connect_as, latest_deadlock, number, rows, run};
use crate::support::{block_on, from_environment};

const CLIENTS: u64 = 64;

/// For a login, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn on_mysql() {
    block_on(killed(Flavour::MySql));
}

#[test]
fn on_mariadb() {
    block_on(killed(Flavour::MariaDb));
}

/// What a client has seen.
#[derive(Debug, Default)]
struct Seen {
    acknowledged: i64,
    /// Their answers were lost with the connection.
    ambiguous: i64,
    errors: Vec<String>,
}

async fn killed(flavour: Flavour) {
    let kills = from_environment("COUNTERSINK_KILLS").unwrap_or(3);
    let seconds = from_environment("COUNTERSINK_SECONDS").unwrap_or(6);
    let seed = from_environment("COUNTERSINK_SEED").unwrap_or_else(|| {
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("a time after 1970");
        now.as_secs()
    });
    eprintln!("COUNTERSINK_SEED={seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    let stage = Stage::new(flavour, "cs_rollup_killed", POSTS, "10ms").await;
    let Stage {
        twin, rules, proxy, ..
    } = stage;
    drop(proxy);
    let (_folder, file) = rules_file(&rules);

    let started = Instant::now();
    let end = started + Duration::from_secs(seconds);
    let mut times: Vec<_> = (0..kills)
        .map(|_| Duration::from_millis(chance.random_range(300..seconds * 1000)))
        .collect();
    times.sort_unstable();
    let mut serving = serve(&file, &twin.proxied).await;
    let address = Arc::new(Mutex::new(serving.address));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (address, upstream) = (Arc::clone(&address), twin.proxied.clone());
        clients.spawn(client(number, upstream, address, end));
    }
    for time in times {
        tokio::time::sleep_until((started + time).into()).await;
        serving.binary.signal("KILL");
        let ended = serving.binary.wait();
        assert_eq!(ended.signal, Some(9));
        assert!(!ended.errors.contains("roll-up of"), "{}", ended.errors);
        serving = serve(&file, &twin.proxied).await;
        *address.lock().expect("no panic") = serving.address;
    }
    let mut seen = Seen::default();
    while let Some(one) = clients.join_next().await {
        let one = one.expect("a client that does not panic");
        seen.acknowledged += one.acknowledged;
        seen.ambiguous += one.ambiguous;
        seen.errors.extend(one.errors);
    }
    let mut direct = connect(&twin.proxied, Some("cs_rollup_killed")).await;
    let ended = serving.stop();
    assert!(!ended.errors.contains("roll-up of"), "{}", ended.errors);
    let value = number(&mut direct, "SELECT views FROM posts WHERE id = 1").await;
    eprintln!(
        "{flavour}: {kills} kills in {seconds} s: {} acknowledged, {} ambiguous, value {value}",
        seen.acknowledged, seen.ambiguous
    );
    if !seen.errors.is_empty() {
        eprintln!("{}", latest_deadlock(&mut direct).await);
    }
    assert_eq!(seen.errors, Vec::<String>::new());
    assert_eq!(
        number(
            &mut direct,
            "SELECT COALESCE(SUM(views), 0) FROM posts_slots"
        )
        .await,
        0
    );
    let most = seen.acknowledged + seen.ambiguous;
    assert!(
        (seen.acknowledged..=most).contains(&value),
        "{value} is not between {} and {most}: {:?}",
        seen.acknowledged,
        rows(&mut direct, "SELECT * FROM posts_slots").await
    );
}

/// A proxy that has seen that transactions only increment: until it has, they lock the row itself, and several that
/// begin before the first has ended may deadlock with those that come after it (a known limit).
async fn serve(rules: &Path, upstream: &Address) -> Serving {
    let serving = Serving::start(rules).expect("it serves");
    let address = serving.in_front_of(upstream);
    let mut client = connect(&address, Some("cs_rollup_killed")).await;
    for text in [
        "BEGIN",
        "UPDATE posts SET views = views + 1 WHERE id = 2",
        "COMMIT",
    ] {
        run(&mut client, text).await;
    }
    serving
}

/// Increments row 1 until the time is over, in autocommit or (every third client) in transactions, through whatever
/// proxy there is.
async fn client(
    number: u64,
    upstream: Address,
    address: Arc<Mutex<SocketAddr>>,
    end: Instant,
) -> Seen {
    let mut seen = Seen::default();
    while Instant::now() < end {
        let at = *address.lock().expect("no panic");
        let to = Address {
            host: at.ip().to_string(),
            port: at.port(),
            ..upstream.clone()
        };
        // A connection that the kernel made for a listener that was killed meanwhile: nobody is there, and nobody says
        // so.
        let connected = connect_as(&to, Some("cs_rollup_killed"), Driver::CAPABILITIES);
        let Ok(Ok(mut driver)) = tokio::time::timeout(PATIENCE, connected).await else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        while Instant::now() < end {
            let (texts, counts): (&[&str], _) = match number % 3 {
                0 => (&["BEGIN", INCREMENT, INCREMENT, "COMMIT"], 2),
                _ => (&[INCREMENT], 1),
            };
            let mut lost_at = None;
            for (position, text) in texts.iter().enumerate() {
                match driver.query(text).await {
                    Ok(Reply::Err(error)) => seen.errors.push(error.to_string()),
                    Ok(_) => {}
                    Err(_) => {
                        lost_at = Some(position);
                        break;
                    }
                }
            }
            match lost_at {
                None => seen.acknowledged += counts,
                // Only the last statement commits.
                Some(position) => {
                    if position + 1 == texts.len() {
                        seen.ambiguous += counts;
                    }
                    break;
                }
            }
        }
    }
    seen
}

const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";
