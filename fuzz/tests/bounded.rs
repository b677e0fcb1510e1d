//! A run of each target without libFuzzer: the seeds and what is kept are played, and then some thousand changes of
//! them.
//!
//! `COUNTERSINK_SEED=7` begins elsewhere, `COUNTERSINK_EXECUTIONS=1000000` makes so many inputs for each target. An
//! input that fails is printed, and written to `artifacts`.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use countersink_fuzz::{TARGETS, Target, corpus, mutation};
use rand::SeedableRng;
use rand::rngs::StdRng;

/// Where a run begins, unless it is told to begin elsewhere: it must not fail by chance.
const SEED: u64 = 1;

/// How long one input may take. Most take less than a millisecond.
const LONGEST: Duration = Duration::from_secs(60);

/// As much as libFuzzer's own thread has.
const STACK: usize = 8 << 20;

macro_rules! targets {
    ($($target:ident,)*) => {
        const NAMES: &[&str] = &[$(stringify!($target)),*];

        $(#[test]
        fn $target() {
            run(stringify!($target));
        })*
    };
}

targets![
    response_tracker,
    packets,
    proxy_header,
    compressed,
    login,
    lexer,
    planner,
    shapes,
    rules,
];

#[test]
fn every_target_is_run_and_has_a_binary() {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, NAMES);
    for name in names {
        let binary = format!("{}/fuzz_targets/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(Path::new(&binary).exists(), "{binary}");
    }
}

/// The input that is being tried, and what it comes from.
#[derive(Clone, Default)]
struct Trial {
    from: String,
    data: Vec<u8>,
}

fn run(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = *target.expect("a target of this name");
    let seed = number("COUNTERSINK_SEED").unwrap_or(SEED);
    let executions = number("COUNTERSINK_EXECUTIONS").unwrap_or(target.executions);
    let trial = Arc::new(Mutex::new(Trial::default()));
    let (beats, heard) = channel();
    let running = {
        let trial = Arc::clone(&trial);
        thread::Builder::new().stack_size(STACK).spawn(move || {
            play(&target, seed, executions, |tried| {
                *trial.lock().unwrap_or_else(PoisonError::into_inner) = tried;
                beats.send(()).expect("the test waits");
            });
        })
    };
    let running = running.expect("a thread");
    // A thread that hangs cannot be ended, but what it hangs at can be told.
    let ended = loop {
        match heard.recv_timeout(LONGEST) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => break None,
            Err(RecvTimeoutError::Disconnected) => break Some(running.join()),
        }
    };
    if matches!(ended, Some(Ok(()))) {
        return;
    }
    let Trial { from, data } = trial.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    let file = kept(name, &data);
    eprintln!(
        "{name} fails at {from}; COUNTERSINK_SEED={seed} COUNTERSINK_EXECUTIONS={executions}\n\
         its input, also in {file}:\n{hex}"
    );
    match ended {
        Some(Err(panic)) => resume_unwind(panic),
        _ => panic!("{name} hangs"),
    }
}

/// Plays a target's seeds, what is kept of it, and changes of both. Tells what is tried before it is tried.
fn play(target: &Target, seed: u64, executions: u64, tell: impl Fn(Trial)) {
    let tried = |from: String, data: &[u8]| {
        let data = data.to_vec();
        tell(Trial { from, data });
    };
    let mut inputs = Vec::new();
    for entry in corpus::seeds(target)
        .into_iter()
        .chain(corpus::kept(target))
    {
        tried(entry.name, &entry.data);
        (target.check)(&entry.data);
        inputs.push(entry.data);
    }
    let mut dice = StdRng::seed_from_u64(seed);
    for execution in 0..executions {
        let data = mutation::changed(&inputs, target.words, &mut dice);
        tried(format!("execution {execution}"), &data);
        (target.check)(&data);
    }
}

/// Writes an input to `artifacts`, where libFuzzer writes those that it finds as well.
fn kept(name: &str, data: &[u8]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("artifacts")
        .join(name);
    std::fs::create_dir_all(&folder).expect("a folder for what fails");
    std::fs::write(folder.join("bounded"), data).expect("the input is written");
    format!("fuzz/artifacts/{name}/bounded")
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}
