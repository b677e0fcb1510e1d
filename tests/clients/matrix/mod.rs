//! Client libraries: a small blog application for each, which says the same through the proxy as without it.
//!
//! The blog counts views and likes, sells a stock until it is sold out, counts sign-ups by day with upserts, draws
//! numbers of a sequence, and reads all of it: rows, lists, large values, a result that is streamed, errors, warnings.
//! It reconnects, and ends with four connections that increment one row at a time. Its tables are in blog.sql. Each
//! program plays it with one library, in that library's ordinary ways, and prints what it is told, line by line, but no
//! times and no ids of connections. Some lines are the same for all (common.txt); others, such as types and messages,
//! are the library's own.
//!
//! A program runs against a server directly, then through a proxy before its twin, with the tables at rest and with
//! slots. It must say the same each time, leave the same rows, and by the proxy's metrics its hot statements must have
//! been written together, or slotted, rather than folded for.
//!
//! What is not on this machine is named and passed over; tests/clients/matrix/install installs what Debian has of it.
//! In CI, Python and Node.js must be there.

mod blog;
mod compiled;
pub mod counted;
mod library;
mod program;
mod run;
mod tools;

use countersink_sandbox::Flavour;

use crate::support::on_both;
use crate::support::thorough::{is_thorough, say};
use library::{LIBRARIES, Library};
use program::Program;
use run::Outcome;
use tools::{a_dump_is_the_same, a_script_is_told_the_same};

/// How many libraries play at a time, on each server.
const LANES: usize = 2;

on_both!(
    libraries_are_told_the_same,
    a_script_is_told_the_same,
    a_dump_is_the_same,
);

async fn libraries_are_told_the_same(flavour: Flavour) {
    let chosen = std::env::var("COUNTERSINK_LIBRARY").unwrap_or_default();
    let all = LIBRARIES
        .iter()
        .filter(|library| library.name.contains(&chosen));
    let is_everything = is_thorough() || !chosen.is_empty();
    let (share, rest): (Vec<_>, Vec<_>) =
        all.partition(|library| library.is_of_every_run || is_everything);
    if !rest.is_empty() {
        let names: Vec<_> = rest.iter().map(|library| library.name).collect();
        let names = names.join(", ");
        say(&format!(
            "{flavour}: with COUNTERSINK_THOROUGH=1 also {names}"
        ));
    }
    let mut lanes = tokio::task::JoinSet::new();
    let next = std::sync::Arc::new(std::sync::Mutex::new(share.into_iter()));
    for _ in 0..LANES {
        let next = next.clone();
        lanes.spawn(async move {
            let mut outcomes = Vec::new();
            loop {
                let library = next.lock().expect("no lane has failed").next();
                let Some(library) = library else {
                    return outcomes;
                };
                outcomes.push((library, outcome(library, flavour).await));
            }
        });
    }
    let outcomes: Vec<_> = lanes.join_all().await.into_iter().flatten().collect();
    let shown = |(library, outcome): &(&Library, Outcome)| {
        let Outcome { version, told, .. } = outcome;
        format!("{flavour:<8} {:<50} {version:<28} {told}", library.name)
    };
    let mut table: Vec<_> = outcomes.iter().map(shown).collect();
    table.sort();
    say(&table.join("\n"));
    // Of no single program can this be said: four connections may take turns, and a busy machine may look like waits.
    let has_merged = outcomes.iter().any(|(_, outcome)| outcome.together > 0);
    let has_rested = outcomes.iter().any(|(_, outcome)| outcome.has_rested);
    let wrong: Vec<_> = outcomes
        .into_iter()
        .flat_map(|(_, outcome)| outcome.wrong)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if chosen.is_empty() {
        assert!(has_merged, "nothing was ever written together");
        assert!(has_rested, "the tables have never rested");
    }
}

/// What came of one library's blog.
async fn outcome(library: &'static Library, flavour: Flavour) -> Outcome {
    // Compilers and package managers take their time, which the other lane need not wait for.
    let obtained = tokio::task::spawn_blocking(|| Program::obtain(library)).await;
    match obtained.expect("it can be tried") {
        Ok(program) => run::compare(library, &program, flavour).await,
        Err(reason) => {
            let is_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
            let must_be_there = is_ci && library.is_always_there;
            Outcome {
                version: "-".to_owned(),
                together: 0,
                has_rested: false,
                told: format!("skipped: {}: {reason}", library.name),
                wrong: match must_be_there {
                    true => vec![format!("{} is not tested: {reason}", library.name)],
                    false => Vec::new(),
                },
            }
        }
    }
}
