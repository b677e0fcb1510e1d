//! Everything that can fail, fails under load, and each client keeps a ledger of what it was told.
//!
//! Two proxies stand before one server, behind a relay that can break the connections between them. Clients increment,
//! guard, draw numbers and read, through one proxy or the other, and connect again when they are cut off. In each round
//! a fault happens, chosen by chance, or two at once; then the clients stop, and of each key
//!
//!     acknowledged <= value <= acknowledged + ambiguous
//!
//! must hold, through both proxies and directly. Ambiguous is what was lost before its answer; what was refused must
//! not have been done. Every read, at any moment, must lie between what was acknowledged before it and what was begun
//! before its end. A guarded counter never falls below zero, and no number is drawn twice.
//!
//! `COUNTERSINK_SEED` and `COUNTERSINK_ROUNDS` choose; `COUNTERSINK_FAULT=name,..` has these faults only.

#[path = "../support/mod.rs"]
mod support;

mod clients;
mod disk;
mod fault;
mod ledger;
mod relay;
mod stage;

use std::collections::BTreeMap;

use countersink_sandbox::Flavour;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use fault::Fault;
use stage::Stage;
use support::on_both;
use support::thorough::{of_all, say};

on_both![nothing_is_lost_whatever_fails];

async fn nothing_is_lost_whatever_fails(flavour: Flavour) {
    let mut stage = Stage::new(flavour).await;
    let mut faults = faults();
    if stage.disk.is_none() {
        say("SKIPPED: a disk that is full, for which a file system must be mounted");
        faults.retain(|fault| *fault != Fault::FullDisk);
    }
    let what = format!("faults on {flavour}, rounds");
    let rounds = support::from_environment("COUNTERSINK_ROUNDS")
        .map_or_else(|| of_all(&what, 5, faults.len()), |rounds| rounds as usize);
    let seed = support::from_environment("COUNTERSINK_SEED").unwrap_or_else(rand::random);
    say(&format!(
        "COUNTERSINK_SEED={seed} COUNTERSINK_ROUNDS={rounds} of faults on {flavour}"
    ));
    let mut random = StdRng::seed_from_u64(seed);
    let mut counts = BTreeMap::new();
    let mut left: Vec<Fault> = Vec::new();
    for number in 1..=rounds {
        // Each comes before any comes again.
        if left.is_empty() {
            left.clone_from(&faults);
        }
        let load = stage.load(random.random());
        load.goes_on().await;
        let mut round = Round {
            number,
            happened: Vec::new(),
        };
        for _ in 0..random.random_range(1..=left.len().min(2)) {
            let fault = left.swap_remove(random.random_range(0..left.len()));
            *counts.entry(fault.name()).or_insert(0) += 1;
            round.happened.push(fault.name());
            fault.happen(&mut stage, &mut random).await;
        }
        load.goes_on().await;
        load.end().await;
        stage.check(&round.happened.join(", then ")).await;
    }
    say(&format!(
        "faults on {flavour}: {counts:?}\n  {}",
        stage.ledger.summary()
    ));
}

/// What has happened in a round, which is said when it fails.
struct Round {
    number: usize,
    happened: Vec<&'static str>,
}

impl Drop for Round {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let happened = self.happened.join(", then ");
            say(&format!("round {}: {happened}", self.number));
        }
    }
}

/// All, or those that the environment names.
fn faults() -> Vec<Fault> {
    let Ok(names) = std::env::var("COUNTERSINK_FAULT") else {
        return Fault::ALL.to_vec();
    };
    let named = names.split(',').map(|name| {
        let mut all = Fault::ALL.iter().copied();
        let named = all.find(|fault| fault.name() == name);
        named.unwrap_or_else(|| panic!("COUNTERSINK_FAULT={name} is no fault"))
    });
    named.collect()
}
