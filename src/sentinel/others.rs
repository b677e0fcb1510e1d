//! Which threads are other proxies', before the same server.
//!
//! While another proxy is there, each says which of the server's threads are its own, by user locks (GET_LOCK) that it
//! holds: one for each thread, and one that says that these are all. A thread that no proxy holds is nobody's. A proxy
//! that is the only one says nothing.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use tokio::time::timeout;

use crate::counter::agreement::Here;
use crate::counter::control::{Control, Error as ControlError};
use crate::counter::node::Claims;
use crate::counter::server::Server;
use crate::counter::unpoisoned;

/// How often a proxy says what is new.
const PULSE: Duration = Duration::from_millis(200);

/// How often it looks whether another proxy is there.
const LOOK: u32 = 5;

/// How long the server may take to answer.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// For how long it speaks for a thread that has gone.
const KEPT: Duration = Duration::from_secs(30);

/// How many locks one statement is about.
const AT_ONCE: usize = 200;

/// The lock that says that all threads of a proxy have been said, but for its number.
const SAID: &str = "countersink.sentinel";

/// The lock of a thread, but for its id.
const THREAD: &str = "countersink.thread";

/// For how long after another proxy has gone a change may be one of its last.
const FAREWELL: Duration = Duration::from_secs(10);

/// When another proxy was last seen.
#[derive(Debug, Default)]
pub(super) struct Others(Mutex<Option<Instant>>);

impl Others {
    /// These are here.
    pub(super) fn note(&self, here: &Here) {
        if !here.is_empty() {
            *unpoisoned(&self.0) = Some(Instant::now());
        }
    }

    /// Whether one was here until a moment ago.
    pub(super) fn have_just_left(&self) -> bool {
        unpoisoned(&self.0).is_some_and(|seen| seen.elapsed() < FAREWELL)
    }
}

/// Says which threads are this proxy's, while another one is there. Never returns.
pub(super) async fn say(control: &Control, claims: &Claims, others: &Others) {
    let mut voice = None;
    for turn in 0_u32.. {
        let said = say_once((control, claims), others, &mut voice, turn % LOOK == 0);
        let said = timeout(ANSWER, control.unless_replaced(said)).await;
        if let Err(error) = said.unwrap_or(Err(Error::Late)) {
            tracing::debug!("sentinel: what other proxies are told: {error}");
            // Its connection holds the locks.
            voice = None;
        }
        tokio::time::sleep(PULSE).await;
    }
}

/// What is said now.
#[derive(Debug)]
struct Voice {
    conn: Conn,
    /// Where.
    server: Server,
    /// This proxy's number.
    number: u16,
    threads: HashSet<u32>,
    is_complete: bool,
}

async fn say_once(
    (control, claims): (&Control, &Claims),
    others: &Others,
    voice: &mut Option<Voice>,
    looks: bool,
) -> Result<(), Error> {
    let own = claims.own();
    let number = own.map(|own| own.number);
    let server = control.server();
    let is_ours = |voice: &mut Voice| Some(voice.number) == number && voice.server == server;
    if voice.take_if(|voice| !is_ours(voice)).is_some() {
        tracing::debug!(
            "sentinel: what other proxies were told has gone with the number, or the server"
        );
    }
    if looks {
        let here = control.agreement().here(control, own).await?;
        others.note(&here);
        match (here.is_empty(), number) {
            (false, Some(number)) if voice.is_none() => {
                *voice = Some(Voice {
                    conn: control.roll_up_connection().await?,
                    server,
                    number,
                    threads: HashSet::new(),
                    is_complete: false,
                });
            }
            (true, _) | (_, None) => *voice = None,
            _ => {}
        }
    }
    match voice {
        Some(voice) => Ok(voice.say(control.threads().lately(KEPT)).await?),
        None => Ok(()),
    }
}

impl Voice {
    async fn say(&mut self, threads: HashSet<u32>) -> Result<(), DriverFailure> {
        let new: Vec<_> = threads.difference(&self.threads).copied().collect();
        let gone: Vec<_> = self.threads.difference(&threads).copied().collect();
        let locks = |ids: &[u32], function: &dyn Fn(String) -> String| {
            let calls = ids.iter().map(|id| function(format!("{THREAD}.{id}")));
            format!("DO {}", calls.collect::<Vec<_>>().join(", "))
        };
        for ids in new.chunks(AT_ONCE) {
            let get = |name| format!("GET_LOCK('{name}', 0)");
            self.conn.query_drop(locks(ids, &get)).await?;
        }
        for ids in gone.chunks(AT_ONCE) {
            let release = |name| format!("RELEASE_LOCK('{name}')");
            self.conn.query_drop(locks(ids, &release)).await?;
        }
        self.threads = threads;
        if !self.is_complete {
            let lock = format!("DO GET_LOCK('{SAID}.{}', 0)", self.number);
            self.conn.query_drop(lock).await?;
            self.is_complete = true;
        }
        Ok(())
    }
}

/// Whose threads these are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Those that no other proxy has.
    Nobodys(HashSet<u32>),
    /// There are proxies that do not say which are theirs, by their numbers.
    Silent(Vec<usize>),
    /// One has gone, which is no longer there to be asked.
    JustLeft,
}

/// Asks the other proxies, which are `here`, about these threads.
pub(super) async fn ask(
    control: &Control,
    here: &Here,
    threads: &HashSet<u32>,
) -> Result<Told, Error> {
    let mut conn = control.connect().await?;
    let others: Vec<_> = here.keys().copied().collect();
    let silent = free(&mut conn, SAID, &others).await?;
    if !silent.is_empty() {
        return Ok(Told::Silent(silent));
    }
    let mut nobodys = HashSet::new();
    let threads: Vec<_> = threads.iter().copied().collect();
    for ids in threads.chunks(AT_ONCE) {
        nobodys.extend(free(&mut conn, THREAD, ids).await?);
    }
    Ok(Told::Nobodys(nobodys))
}

/// Those whose locks nobody holds.
async fn free<T: Copy + ToString>(
    conn: &mut Conn,
    lock: &str,
    of: &[T],
) -> Result<Vec<T>, DriverFailure> {
    let names = of
        .iter()
        .map(|one| format!("IS_FREE_LOCK('{lock}.{}')", one.to_string()));
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let question = format!("SELECT CONCAT({})", names.join(", "));
    let answer: Option<Option<String>> = conn.query_first(question).await?;
    let answer = answer.flatten().unwrap_or_default();
    let free = of
        .iter()
        .zip(answer.bytes())
        .filter(|(_, is_free)| *is_free == b'1');
    Ok(free.map(|(one, _)| *one).collect())
}

/// Why the others cannot be told, or asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    NoConnection(#[from] ControlError),
    #[error(transparent)]
    Agreement(#[from] crate::counter::agreement::Error),
    #[error(transparent)]
    Server(#[from] DriverFailure),
    #[error("no answer within {ANSWER:?}")]
    Late,
}
