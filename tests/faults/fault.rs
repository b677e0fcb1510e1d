//! What fails.

use std::time::Duration;

use countersink::driver::{Driver, Reply, query_packet};
use countersink::wire::error_code::{ER_LOCK_DEADLOCK, ER_NO_SUCH_TABLE};
use rand::RngExt;
use rand::rngs::StdRng;

use crate::ledger::{KEYS, Outcome};
use crate::relay::Weather;
use crate::stage::{SCHEMA, Stage};
use crate::support::binary::{Binary, Ended};
use crate::support::client::{rows, run};

/// One way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server is killed, and starts again.
    KilledServer,
    /// The server hangs for a while.
    HangingServer,
    /// A proxy is killed, and another takes its place.
    KilledProxy,
    /// A proxy is replaced in good order.
    ReplacedProxy,
    /// A proxy stands still for a while, with whatever it was about to do.
    FrozenProxy,
    /// All connections to the server are cut off.
    CutConnections,
    /// All connections to the server pass nothing for a while, and are cut off then.
    BlackHole,
    /// Now and then a connection is closed in place of an answer, while others go on.
    LostAnswers,
    /// What the proxies send does not arrive any more, but what the server says does.
    HalfClosedConnections,
    /// Everything takes a while.
    SlowNetwork,
    /// Sessions of clients are killed on the server.
    KilledSessions,
    /// Statements of clients are killed on the server.
    KilledStatements,
    /// The server takes no writes for a while.
    ReadOnlyServer,
    /// Sessions of the proxies' own account are killed on the server: roll-ups, and what they agree by, among them.
    KilledControl,
    /// Somebody holds the rows for longer than others wait.
    HeldRows,
    /// Somebody holds all slots for a while.
    HeldSlots,
    /// Clients go without waiting for their answers.
    VanishingClients,
    /// The table gets a column and loses it.
    AlteredTable,
    /// The rules change.
    ChangedRules,
    /// The table is drained while proxies serve it, or the drain is killed in the middle. Then the rules are read
    /// again.
    DrainedTable,
    /// Roll-ups are killed at whatever step they are.
    KilledRollUp,
    /// The server's disk is full, and somebody kills the server rather than wait for it to look again: it does after a
    /// minute only.
    FullDisk,
}

/// How long something lasts that passes by itself, in milliseconds: the longest are longer than locks are waited for.
const WHILE: std::ops::Range<u64> = 20..4000;

impl Fault {
    pub const ALL: [Self; 22] = [
        Self::KilledServer,
        Self::HangingServer,
        Self::KilledProxy,
        Self::ReplacedProxy,
        Self::FrozenProxy,
        Self::CutConnections,
        Self::BlackHole,
        Self::LostAnswers,
        Self::HalfClosedConnections,
        Self::SlowNetwork,
        Self::KilledSessions,
        Self::KilledStatements,
        Self::ReadOnlyServer,
        Self::KilledControl,
        Self::HeldRows,
        Self::HeldSlots,
        Self::VanishingClients,
        Self::AlteredTable,
        Self::ChangedRules,
        Self::DrainedTable,
        Self::KilledRollUp,
        Self::FullDisk,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::KilledServer => "killed-server",
            Self::HangingServer => "hanging-server",
            Self::KilledProxy => "killed-proxy",
            Self::ReplacedProxy => "replaced-proxy",
            Self::FrozenProxy => "frozen-proxy",
            Self::CutConnections => "cut-connections",
            Self::BlackHole => "black-hole",
            Self::LostAnswers => "lost-answers",
            Self::HalfClosedConnections => "half-closed-connections",
            Self::SlowNetwork => "slow-network",
            Self::KilledSessions => "killed-sessions",
            Self::KilledStatements => "killed-statements",
            Self::ReadOnlyServer => "read-only-server",
            Self::KilledControl => "killed-control",
            Self::HeldRows => "held-rows",
            Self::HeldSlots => "held-slots",
            Self::VanishingClients => "vanishing-clients",
            Self::AlteredTable => "altered-table",
            Self::ChangedRules => "changed-rules",
            Self::DrainedTable => "drained-table",
            Self::KilledRollUp => "killed-roll-up",
            Self::FullDisk => "full-disk",
        }
    }

    /// Happens, and passes.
    pub async fn happen(self, stage: &mut Stage, random: &mut StdRng) {
        let place = random.random_range(0..stage.proxies());
        // Most are short.
        let longest = random.random_range(WHILE);
        let while_it_lasts = Duration::from_millis(random.random_range(WHILE.start..=longest));
        let passes = || tokio::time::sleep(while_it_lasts);
        match self {
            Self::KilledServer => {
                stage.server.crash().expect("it is gone");
                stage.server.start_again().expect("it is back");
            }
            Self::HangingServer => {
                stage.server.pause();
                passes().await;
                stage.server.resume();
            }
            Self::KilledProxy => stage.replace_killed_proxy(place),
            Self::ReplacedProxy => stage.replace_proxy(place),
            Self::FrozenProxy => {
                stage.signal_proxy(place, "STOP");
                passes().await;
                stage.signal_proxy(place, "CONT");
            }
            Self::CutConnections => stage.relay.cut(),
            Self::BlackHole => {
                stage.relay.turns(Weather::BlackHole);
                passes().await;
                stage.relay.cut();
            }
            Self::LostAnswers => {
                stage.relay.turns(Weather::LosingAnswers);
                passes().await;
            }
            Self::HalfClosedConnections => {
                stage.relay.turns(Weather::HalfClosed);
                passes().await;
            }
            Self::SlowNetwork => {
                stage.relay.turns(Weather::Slow);
                passes().await;
            }
            Self::KilledSessions => kill(stage, random, "KILL", "app").await,
            Self::KilledStatements => kill(stage, random, "KILL QUERY", "app").await,
            Self::KilledControl => kill(stage, random, "KILL", "root").await,
            Self::ReadOnlyServer => {
                let mut direct = stage.direct().await;
                run(&mut direct, "SET GLOBAL read_only = 1").await;
                passes().await;
                run(&mut direct, "SET GLOBAL read_only = 0").await;
            }
            Self::HeldRows => hold_rows(stage).await,
            Self::HeldSlots => {
                if let Some(mut holder) = holder(stage, "posts_slots").await {
                    passes().await;
                    run(&mut holder, "ROLLBACK").await;
                }
            }
            Self::VanishingClients => vanish(stage, random).await,
            Self::AlteredTable => alter(stage, place).await,
            Self::ChangedRules => stage.change_rules(),
            Self::DrainedTable => {
                // Some have slots by then, and some do not.
                if random.random() {
                    stage.change_rules();
                }
                let is_killed = random.random_bool(0.6);
                drain(stage, is_killed.then_some(while_it_lasts)).await;
            }
            Self::KilledRollUp => {
                if random.random() {
                    stage.change_rules();
                }
                kill_roll_ups(stage, random).await;
            }
            Self::FullDisk => {
                let disk = stage.disk.as_ref().expect("it is known to be there");
                disk.fill();
                passes().await;
                disk.free();
                stage.server.crash().expect("it is gone");
                stage.server.start_again().expect("it is back");
            }
        }
        stage.relay.turns(Weather::Fair);
    }
}

/// Kills what an account does, again and again for a while.
async fn kill(stage: &Stage, random: &mut StdRng, how: &str, user: &str) {
    let mut direct = stage.direct().await;
    for _ in 0..10 {
        let ids = format!(
            "SELECT id FROM information_schema.processlist WHERE user = '{user}' AND id <> CONNECTION_ID()"
        );
        let mut ids = rows(&mut direct, &ids).await;
        // The others go on.
        ids.retain(|_| random.random_bool(0.3));
        for id in ids {
            // It may have gone meanwhile (1094).
            let answer = direct.query(&format!("{how} {}", id[0])).await;
            answer.expect("an answer");
        }
    }
}

/// A session that holds the rows of a table. It waits for them for as long as it takes, because the clients hold them,
/// too, and tries again where it is the victim of a deadlock. None where the table was drained, and has no slots again
/// yet.
async fn holder(stage: &Stage, table: &str) -> Option<Driver> {
    let mut holder = stage.direct().await;
    run(&mut holder, "SET SESSION innodb_lock_wait_timeout = 60").await;
    loop {
        run(&mut holder, "BEGIN").await;
        let rows = format!("SELECT * FROM {table} FOR UPDATE");
        match holder.query(&rows).await.expect("an answer") {
            Reply::Err(error) if error.code == ER_NO_SUCH_TABLE => return None,
            Reply::Err(error) if error.code == ER_LOCK_DEADLOCK => {}
            Reply::Err(error) => panic!("{table}: {error:?}"),
            _ => return Some(holder),
        }
    }
}

/// Until somebody has been told that the wait took too long.
async fn hold_rows(stage: &Stage) {
    let holder = holder(stage, "posts").await;
    let mut holder = holder.expect("the table is there");
    let refused = || {
        stage
            .ledger
            .refused
            .load(std::sync::atomic::Ordering::SeqCst)
    };
    let before = refused();
    let mut looks = 0;
    while refused() == before && looks < 1000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        looks += 1;
    }
    run(&mut holder, "ROLLBACK").await;
}

/// Clients send increments, by one and in transactions, and close at once.
async fn vanish(stage: &Stage, random: &mut StdRng) {
    for number in 0..12 {
        let mut client = stage.client(number % stage.proxies()).await;
        let row = random.random_range(0..KEYS);
        let account = &stage.ledger.views[row];
        account.begin(1);
        let increment = format!("UPDATE posts SET views = views + 1 WHERE id = {row}");
        let in_transaction = number % 3 == 0;
        if in_transaction {
            run(&mut client, "BEGIN").await;
        }
        client
            .send_raw(&query_packet(&increment))
            .await
            .expect("sent");
        drop(client);
        // Without a COMMIT it must not be done.
        let outcome = match in_transaction {
            true => Outcome::Refused,
            false => Outcome::Lost,
        };
        account.end(1, outcome);
    }
}

/// Through a proxy, which must hear of it, as must the other.
async fn alter(stage: &Stage, place: usize) {
    let mut client = stage.client(place).await;
    for change in ["ADD COLUMN later INT", "DROP COLUMN later"] {
        let text = format!("ALTER TABLE {SCHEMA}.posts {change}");
        while !is_done(&mut client, &text).await {}
    }
}

/// Until it is done, or killed after a while.
async fn drain(stage: &Stage, killed_after: Option<Duration>) {
    let drain = stage.command(&["drain", "--timeout", "50s"]);
    if let Some(after) = killed_after {
        tokio::time::sleep(after).await;
        drain.signal("KILL");
    }
    let ended = ended(drain).await;
    match killed_after {
        None => assert_eq!(ended.code, Some(0), "{}", ended.errors),
        // It was faster, or it was killed.
        Some(_) => assert!(matches!(ended.code, Some(0) | None), "{}", ended.errors),
    }
    // By now the rules count again.
    stage.tell_proxies("HUP");
}

/// Some within their first steps, some when they are nearly done.
async fn kill_roll_ups(stage: &Stage, random: &mut StdRng) {
    for _ in 0..8 {
        let roll_up = stage.command(&["rollup", "--now"]);
        let after = Duration::from_millis(random.random_range(10..150));
        tokio::time::sleep(after).await;
        roll_up.signal("KILL");
        let ended = ended(roll_up).await;
        // What is killed says nothing of what it could not do.
        assert!(matches!(ended.code, Some(0) | None), "{}", ended.errors);
    }
}

async fn ended(binary: Binary) -> Ended {
    let waiting = tokio::task::spawn_blocking(move || binary.wait());
    waiting.await.expect("it ends")
}

/// Whether it is done, rather than given up for the locks of others.
async fn is_done(client: &mut Driver, text: &str) -> bool {
    match client.query(text).await.expect("an answer") {
        Reply::Err(error) => {
            assert!([1205, 1213].contains(&error.code), "{error} in: {text}");
            false
        }
        _ => true,
    }
}
