//! One turn: clients that run one transaction after the other, on one way to the server.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::task::JoinSet;

use crate::course::Course;
use crate::session::{Interrupted, Session};
use crate::ways::Way;
use crate::workload::{Acknowledged, Workload};

/// How long the transactions that are open at a turn's end may take, with all that they try again.
const PATIENCE: Duration = Duration::from_secs(120);

/// What became of the transactions.
pub struct Turn {
    /// Microseconds from the first try to the end, by kind, of those that ended within the turn.
    pub latencies: Vec<Histogram<u64>>,
    /// By all, whether they ended within the turn or after.
    pub acknowledged: Acknowledged,
    /// Transactions that were tried again, by error code.
    pub again: BTreeMap<u16, u64>,
}

impl Turn {
    fn new(kinds: usize) -> Self {
        let histogram = || Histogram::new(3).expect("three digits");
        Self {
            latencies: (0..kinds).map(|_| histogram()).collect(),
            acknowledged: Acknowledged::nothing(kinds),
            again: BTreeMap::new(),
        }
    }

    fn add(&mut self, other: &Self) {
        for (sum, latencies) in self.latencies.iter_mut().zip(&other.latencies) {
            sum.add(latencies).expect("it grows as needed");
        }
        self.acknowledged.add(&other.acknowledged);
        for (code, count) in &other.again {
            *self.again.entry(*code).or_default() += count;
        }
    }
}

/// Logs all clients in, lets them work for as long as a turn lasts, and waits until each has ended its transaction.
pub async fn play<W: Workload>(
    workload: &W,
    way: &Way,
    course: &Course,
    round: usize,
) -> Result<Turn, String> {
    let mut sessions = Vec::new();
    for _ in 0..course.clients {
        sessions.push(Session::open(&way.address, Some(&way.schema), course.pause).await?);
    }
    let end = Instant::now() + course.turn;
    let mut playing = JoinSet::new();
    for (number, session) in sessions.into_iter().enumerate() {
        let workload = workload.clone();
        let seed = u64::try_from(round * course.clients + number).expect("a few clients");
        let random = SmallRng::seed_from_u64(seed);
        playing.spawn(async move { client(&workload, session, number, random, end).await });
    }
    let mut sum = Turn::new(W::KINDS.len());
    let all = async {
        while let Some(turn) = playing.join_next().await {
            sum.add(&turn.map_err(|error| error.to_string())??);
        }
        Ok(())
    };
    let in_time = tokio::time::timeout(course.turn + PATIENCE, all).await;
    in_time
        .unwrap_or_else(|_| Err(format!("transactions do not end within {PATIENCE:?}")))
        .map_err(|error: String| format!("{}: {error}", way.name))?;
    Ok(sum)
}

async fn client<W: Workload>(
    workload: &W,
    mut session: Session,
    number: usize,
    mut random: SmallRng,
    end: Instant,
) -> Result<Turn, String> {
    let mut turn = Turn::new(W::KINDS.len());
    let mut begun = Instant::now();
    while begun < end {
        let task = workload.draw(number, &mut random);
        let kind = W::kind(&task);
        let done = loop {
            match workload.play(&task, &mut session).await {
                Ok(done) => break done,
                Err(Interrupted::Again(code)) => {
                    *turn.again.entry(code).or_default() += 1;
                    session.roll_back().await.map_err(Interrupted::told)?;
                }
                Err(Interrupted::Ended(why)) => return Err(why),
            }
        };
        turn.acknowledged.count(kind, done);
        let now = Instant::now();
        if now < end {
            let latency = u64::try_from((now - begun).as_micros()).expect("less than centuries");
            let recorded = turn.latencies[kind].record(latency);
            recorded.expect("it grows as needed");
        }
        begun = now;
    }
    session.quit().await;
    Ok(turn)
}
