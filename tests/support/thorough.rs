//! How much the long provers try: COUNTERSINK_THOROUGH=1 asks for everything, as `.ci/run` does.

use std::fmt::Display;
use std::io::Write;

/// Whether everything is asked for.
pub fn is_thorough() -> bool {
    match std::env::var("COUNTERSINK_THOROUGH").as_deref() {
        Ok("1") => true,
        Ok("" | "0") | Err(_) => false,
        Ok(other) => panic!("COUNTERSINK_THOROUGH={other} is neither 0 nor 1"),
    }
}

/// `all`, where everything is asked for, or else the share that every run has; says which.
pub fn of_all<T: Display>(what: &str, share: T, all: T) -> T {
    if is_thorough() {
        return all;
    }
    say(&format!(
        "{what}: {share} of {all}, which COUNTERSINK_THOROUGH=1 asks for"
    ));
    share
}

/// Every `nth` of these, where not everything is asked for; says how many there are.
pub fn every_nth<T>(what: &str, nth: usize, all: Vec<T>) -> Vec<T> {
    let share = of_all(what, all.len().div_ceil(nth), all.len());
    let step = if share == all.len() { 1 } else { nth };
    all.into_iter().step_by(step).collect()
}

/// Past the harness, which keeps what a passing test prints.
pub fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("stderr");
}
