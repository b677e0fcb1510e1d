//! How an application in Rust talks to tests/clients/applications/played.rs; stage.py says what is said.

use std::io::{BufRead, stdin};

pub const WORKERS: usize = 4;
pub const DAYS: [&str; 5] = [
    "2026-11-22",
    "2026-11-22",
    "2026-11-22",
    "2026-11-23",
    "2026-11-23",
];

/// What the application is asked for.
pub enum Task {
    Make,
    Play,
}

/// What to do, and the URL of where; or the end, where only the versions are asked for.
pub fn asked(library: &str, driver: &str) -> (Task, String) {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [task, host, port, user, password, schema] = &arguments[..] else {
        println!("{}, {driver} {}", version(library), version(driver));
        std::process::exit(0);
    };
    let task = match task.as_str() {
        "make" => Task::Make,
        _ => Task::Play,
    };
    let [user, password] = [user, password].map(|text| escaped(text));
    let url = format!("mysql://{user}:{password}@{host}:{port}/{schema}");
    (task, url)
}

/// A post's first stock.
pub fn stock_of(id: i32) -> u32 {
    match id {
        1 => 5,
        3 => 12,
        _ => 0,
    }
}

/// Says that a step begins, and waits until it may.
pub fn begin(step: &str) {
    println!("> {step}");
    let mut line = String::new();
    stdin().lock().read_line(&mut line).expect("a line");
}

/// Says the values, with a space between each two.
#[macro_export]
macro_rules! say {
    ($($value:expr),+ $(,)?) => {
        println!("   {}", [$($value.to_string()),+].join(" "))
    };
}

/// Values with a space between each two.
pub fn joined(values: impl IntoIterator<Item = impl ToString>) -> String {
    let texts: Vec<_> = values.into_iter().map(|one| one.to_string()).collect();
    texts.join(" ")
}

/// How much the workers have done.
pub fn sum_of(done: &[u64]) -> String {
    format!("{} of {}", done.iter().sum::<u64>(), done.len())
}

/// The version of a package that this is built with.
fn version(package: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let name = format!("name = \"{package}\"\nversion = \"");
    let (_, behind) = lock.split_once(&name).expect("it is locked");
    behind.split('"').next().expect("a version")
}

/// As it stands in a URL.
fn escaped(text: &str) -> String {
    let bytes = text.bytes().map(|byte| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    bytes.collect()
}
