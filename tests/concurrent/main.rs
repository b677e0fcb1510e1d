//! The prover for what happens at the same time: sessions increment and read one hot table through one or two proxies, while
//! another renames it, swaps it, empties it or drops it. A ledger of all answers says which values may be found.
//!
//!     COUNTERSINK_STEPS=50000 COUNTERSINK_SEED=7 cargo test --test concurrent

mod chance;
mod ddl;
mod ledger;
mod stage;
#[path = "../support/mod.rs"]
mod support;

use countersink::sandbox::Flavour;

use chance::Chance;
use stage::Stage;
use support::on_both;

on_both![through_one_proxy, through_two_proxies];

/// Statements that are acknowledged in a run, where nothing else is asked for.
const STEPS: u64 = 2_000;

async fn through_one_proxy(flavour: Flavour) {
    prove(flavour, "cs_concurrent_one", 1).await;
}

async fn through_two_proxies(flavour: Flavour) {
    prove(flavour, "cs_concurrent_two", 2).await;
}

async fn prove(flavour: Flavour, schema: &'static str, proxies: usize) {
    let seed = from_environment("COUNTERSINK_SEED").unwrap_or_else(rand::random);
    let steps = from_environment("COUNTERSINK_STEPS").unwrap_or(STEPS);
    eprintln!("COUNTERSINK_SEED={seed} COUNTERSINK_STEPS={steps} on {flavour}, {proxies} proxies");
    let mut chance = Chance::new(seed);
    let mut stage = Stage::new(flavour, schema, proxies).await;
    let mut done = 0;
    let mut rounds = 0;
    while done < steps {
        rounds += 1;
        let round = stage.round(&mut chance).await;
        done += round.steps;
        let faults = stage.faults(&round).await;
        assert!(
            faults.is_empty(),
            "COUNTERSINK_SEED={seed}, round {rounds} on {flavour}:\n{}\n{}",
            faults.join("\n"),
            round.shown(),
        );
        stage.go_on_from(&round).await;
    }
    eprintln!(
        "{done} steps in {rounds} rounds on {flavour}: {}",
        stage.told()
    );
}

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}
