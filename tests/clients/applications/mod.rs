//! Applications: small blogs written with object-relational mappers and query builders, which do through the proxy what
//! they do directly.
//!
//! Each makes its tables as its library would, counts views and likes, sells a stock until it is sold out, counts
//! sign-ups by day, draws numbers of a sequence, comments and likes in transactions of which some are rolled back,
//! reads lists, sums and joins, meets errors, reconnects, and ends with four workers on one row. It plays step by step
//! (stage.py), once against a server and twice through a proxy before its twin: with the tables at rest, and with
//! slots. Each time it must say the same and leave the same; and what the statements of each step became, by the
//! proxy's metrics, is in the table of docs/applications.md, which this test holds, and writes with
//! COUNTERSINK_REGENERATE=1.
//!
//! What is not on this machine is named and passed over; tests/clients/applications/install installs what Debian has
//! of it. In CI, Python, Node.js and Cargo must be there.

mod application;
mod became;
mod compiled;
mod played;
mod run;

use std::sync::{Arc, Mutex};

use countersink_sandbox::Flavour;

use crate::support::block_on;
use crate::support::thorough::{is_thorough, say};
use application::{APPLICATIONS, Application};
use became::Section;
use run::Outcome;

/// How many applications play at a time.
const LANES: usize = 3;

/// What came of all, in the order of the list.
type Outcomes = Vec<(&'static Application, Flavour, Result<Outcome, String>)>;

#[test]
fn applications_do_the_same() {
    block_on(async {
        let chosen = std::env::var("COUNTERSINK_APPLICATION").unwrap_or_default();
        let is_everything = is_thorough() || !chosen.is_empty();
        let all = APPLICATIONS.iter().filter(|one| one.name.contains(&chosen));
        let (share, rest): (Vec<_>, Vec<_>) =
            all.partition(|one| one.is_of_every_run || is_everything);
        if !rest.is_empty() {
            let names: Vec<_> = rest.iter().map(|one| one.name).collect();
            say(&format!(
                "with COUNTERSINK_THOROUGH=1 also {}",
                names.join(", ")
            ));
        }
        let outcomes = play(share).await;
        let table: Vec<_> = outcomes.iter().map(shown).collect();
        say(&table.join("\n"));
        if std::env::var_os("COUNTERSINK_REGENERATE").is_some_and(|value| value == "1") {
            let is_whole =
                is_everything && chosen.is_empty() && outcomes.iter().all(|one| one.2.is_ok());
            assert!(
                is_whole,
                "the table is written with all applications, or not at all"
            );
            became::write(&sections(&outcomes));
        }
        let wrong: Vec<_> = outcomes.iter().flat_map(faults).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        // Of no single application can this be said, because four workers may take turns.
        let together =
            |one: &(_, _, Result<Outcome, _>)| one.2.as_ref().map_or(0, |outcome| outcome.together);
        let together: u64 = outcomes.iter().map(together).sum();
        assert!(
            together > 0 || !chosen.is_empty(),
            "nothing was ever written together"
        );
    });
}

/// Each of them on each server.
async fn play(share: Vec<&'static Application>) -> Outcomes {
    let parts = share
        .into_iter()
        .flat_map(|one| Flavour::ALL.map(|flavour| (one, flavour)));
    let parts: Vec<_> = parts.enumerate().collect();
    let next = Arc::new(Mutex::new(parts.into_iter()));
    let mut lanes = tokio::task::JoinSet::new();
    for _ in 0..LANES {
        let next = next.clone();
        lanes.spawn(async move {
            let mut outcomes = Vec::new();
            loop {
                let part = next.lock().expect("no lane has failed").next();
                let Some((index, (application, flavour))) = part else {
                    return outcomes;
                };
                let outcome = outcome(application, flavour).await;
                outcomes.push((index, (application, flavour, outcome)));
            }
        });
    }
    let mut outcomes: Vec<_> = lanes.join_all().await.into_iter().flatten().collect();
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// What came of one; or why it cannot play.
async fn outcome(application: &'static Application, flavour: Flavour) -> Result<Outcome, String> {
    // Package managers take their time, which the other lanes need not wait for.
    let obtained = tokio::task::spawn_blocking(|| application.obtain()).await;
    let process = obtained.expect("it can be tried")?;
    Ok(run::compare(application, &process, flavour).await)
}

fn shown(
    (application, flavour, outcome): &(&Application, Flavour, Result<Outcome, String>),
) -> String {
    let name = application.name;
    match outcome {
        Err(reason) => format!("{flavour:<8} {name:<32} skipped: {reason}"),
        Ok(outcome) => {
            let Outcome {
                version,
                together,
                wrong,
                ..
            } = outcome;
            let told = if wrong.is_empty() { "equal" } else { "DIFFERS" };
            format!("{flavour:<8} {name:<32} {version:<34} {told}, {together} written together")
        }
    }
}

fn faults(
    (application, flavour, outcome): &(&Application, Flavour, Result<Outcome, String>),
) -> Vec<String> {
    match outcome {
        Ok(outcome) => {
            let faults = became::faults(application.name, *flavour, &outcome.rows);
            let faults = faults
                .iter()
                .map(|fault| format!("{flavour}, {}: {fault}", application.name));
            outcome.wrong.iter().cloned().chain(faults).collect()
        }
        Err(reason) => {
            let is_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
            match is_ci && application.is_always_there() {
                true => vec![format!("{} is not tested: {reason}", application.name)],
                false => Vec::new(),
            }
        }
    }
}

fn sections(outcomes: &Outcomes) -> Vec<Section> {
    let pairs = outcomes.chunks(Flavour::ALL.len());
    let section = |pair: &[(&Application, Flavour, Result<Outcome, String>)]| {
        let of = |index: usize| pair[index].2.as_ref().expect("all have played");
        let head = format!("**{}** {}", pair[0].0.name, of(0).version);
        Section {
            head,
            by_flavour: [of(0), of(1)].map(|outcome| outcome.rows.clone()),
        }
    };
    pairs.map(section).collect()
}
