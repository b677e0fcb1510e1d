//! The prover for what happens at the same time: sessions increment and read one hot table through one or two proxies,
//! while another renames it, swaps it, empties it or drops it; some are killed, some are cut off, and rules go out of
//! force and come back. A ledger of all answers says which values may be found.
//!
//!     COUNTERSINK_STEPS=50000 COUNTERSINK_SEED=7 cargo test --test proxy concurrent

mod chance;
mod ddl;
mod ledger;
mod stage;
mod trouble;
mod worker;

use std::time::{Duration, Instant};

use countersink_sandbox::Flavour;

use crate::support::thorough::of_all;
use crate::support::{from_environment, on_both};
use chance::Chance;
use stage::{Plan, Stage};

on_both![through_one_proxy, through_two_proxies];

/// Statements that are acknowledged in a run unless the environment names a number: in every run, and where everything
/// is asked for.
const STEPS: u64 = 600;
const STEPS_OF_ALL: u64 = 2_000;

async fn through_one_proxy(flavour: Flavour) {
    prove(flavour, "cs_concurrent_one", 1).await;
}

async fn through_two_proxies(flavour: Flavour) {
    prove(flavour, "cs_concurrent_two", 2).await;
}

async fn prove(flavour: Flavour, schema: &'static str, proxies: usize) {
    let seed = from_environment("COUNTERSINK_SEED").unwrap_or_else(rand::random);
    let steps = from_environment("COUNTERSINK_STEPS").unwrap_or_else(|| {
        let what = format!("concurrent on {flavour}, {proxies} proxies, steps");
        of_all(&what, STEPS, STEPS_OF_ALL)
    });
    eprintln!("COUNTERSINK_SEED={seed} COUNTERSINK_STEPS={steps} on {flavour}, {proxies} proxies");
    let mut chance = Chance::new(seed);
    let mut stage = Stage::new(flavour, schema, proxies).await;
    let mut done = 0;
    let mut rounds = 0;
    let started = Instant::now();
    while done < steps {
        rounds += 1;
        let plan = Plan::new(&mut chance);
        let round = stage.round(plan).await;
        done += round.steps;
        let faults = stage.faults(&round).await;
        if !faults.is_empty() {
            let shorter = shorter(flavour, schema, proxies, plan).await;
            panic!(
                "COUNTERSINK_SEED={seed}, round {rounds} on {flavour}, {plan:?}:\n{}\n{}\n{shorter}",
                faults.join("\n"),
                round.shown(),
            );
        }
        stage.go_on_from(&round).await;
    }
    let each = f64::from(u32::try_from(done).unwrap_or(u32::MAX)) / started.elapsed().as_secs_f64();
    eprintln!(
        "{done} steps in {rounds} rounds on {flavour}, {each:.0} each second: {}",
        stage.told()
    );
}

/// The simplest round that is found to go wrong as well, on a stage of its own. What happens at the same time happens
/// otherwise each time, so each is tried more than once.
async fn shorter(flavour: Flavour, schema: &'static str, proxies: usize, plan: Plan) -> String {
    const TRIES: usize = 8;
    // The proxies of the first stage are still there.
    let schema: &'static str = Box::leak(format!("{schema}_again").into_boxed_str());
    let mut simplest = None;
    let mut next = vec![plan];
    let deadline = Instant::now() + Duration::from_secs(90);
    while let Some(plan) = next.pop() {
        let mut stage = Stage::new(flavour, schema, proxies).await;
        for _ in 0..TRIES {
            if Instant::now() > deadline {
                break;
            }
            let round = stage.round(plan).await;
            let faults = stage.faults(&round).await;
            if !faults.is_empty() {
                simplest = Some((plan, faults, round.shown()));
                next = plan.simpler();
                break;
            }
            stage.go_on_from(&round).await;
        }
    }
    match simplest {
        Some((plan, faults, shown)) => format!(
            "the simplest round that goes wrong as well, {plan:?}:\n{}\n{shown}",
            faults.join("\n")
        ),
        None => "this round by itself went well when it was tried again".to_owned(),
    }
}
