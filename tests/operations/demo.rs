//! `countersink demo` leaves nothing behind, however it ends; and what it keeps on request can be used.
//!
//! Processes are found by an environment variable that all of them inherit, in /proc: Linux only.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::binary::{Binary, Ended, PATIENCE};

const MARK: &str = "COUNTERSINK_TEST_DEMO";
/// How often something is looked at that gives no sign of its own.
const GLANCE: Duration = Duration::from_millis(20);

/// What it prints at the beginning of each phase.
const PHASES: [&str; 5] = [
    "Looking for",
    "Starting",
    "one row:",
    "direct 1/2",
    "countersink 1/2",
];

#[test]
fn ctrl_c_leaves_nothing_in_any_phase() {
    for phase in PHASES {
        let demo = Demo::start("mariadb", &[]);
        let ended = demo.interrupt(phase, "INT");
        assert_eq!(ended.code, Some(130), "{phase}: {}", ended.errors);
        let told = "countersink: interrupted; the server, the proxy and their folder are gone\n";
        assert!(ended.errors.ends_with(told), "{phase}: {}", ended.errors);
    }
}

#[test]
fn ctrl_c_leaves_nothing_of_mysql() {
    for phase in ["Starting", "countersink 1/2"] {
        let ended = Demo::start("mysql", &[]).interrupt(phase, "INT");
        assert_eq!(ended.code, Some(130), "{phase}: {}", ended.errors);
    }
}

#[test]
fn nor_does_any_other_end() {
    for (signal, code, number) in [
        ("TERM", Some(143), None),
        ("HUP", None, Some(1)),
        ("KILL", None, Some(9)),
    ] {
        if signal == "HUP" && hang_ups_are_ignored() {
            continue; // by nohup, and so by the demo
        }
        for phase in ["Starting", "direct 1/2"] {
            let ended = Demo::start("mariadb", &[]).interrupt(phase, signal);
            let how = (ended.code, ended.signal);
            assert_eq!(
                how,
                (code, number),
                "{phase}, SIG{signal}: {}",
                ended.errors
            );
        }
    }
}

/// MySQL takes a second to start, and one interrupt waits for it.
#[test]
fn a_second_interrupt_does_not_wait() {
    let mut demo = Demo::start("mysql", &[]);
    demo.wait_for("Starting");
    // Two of a kind could arrive as one.
    let ended = demo.interrupted_by(&["INT", "TERM"]);
    assert!([Some(130), Some(143)].contains(&ended.code), "{ended:?}");
    assert!(ended.errors.contains("interrupted again"), "{ended:?}");
}

#[test]
fn the_report_holds_and_nothing_is_left() {
    let demo = Demo::start("mariadb", &[]);
    let (mark, before) = (demo.mark.clone(), demo.before.clone());
    let ended = demo.binary.wait();
    assert_eq!(ended.code, Some(0), "{}{}", ended.output, ended.errors);
    let exact = "\nEvery acknowledged increment is there, once\n";
    assert!(ended.output.contains(exact), "{}", ended.output);
    until_nothing_is_left(&mark, &before);
}

#[test]
fn what_is_kept_can_be_connected_to_as_printed() {
    for flavour in ["mysql", "mariadb"] {
        let mut demo = Demo::start(flavour, &["--keep"]);
        let read = demo.wait_for("SELECT views through the proxy");
        let read = read
            .split_whitespace()
            .nth(1)
            .expect("= N ..")
            .replace(',', "");
        demo.wait_for("Running until Ctrl-C");
        let proxied = demo.wait_for("  proxy  ").replacen("proxy", "", 1);
        let direct = demo.wait_for("  direct  ").replacen("direct", "", 1);
        assert_eq!(ask(&proxied, "SELECT views FROM posts WHERE id = 42"), read);
        let sum = "SELECT views + (SELECT COALESCE(SUM(views), 0) FROM posts_slots WHERE id = 42) FROM posts WHERE id = 42";
        assert_eq!(ask(&direct, sum), read);
        let ended = demo.interrupted_by(&["INT"]);
        assert_eq!(ended.code, Some(130), "{}", ended.errors);
    }
}

/// Manual: proc_pid_status(5), a mask of signals with SIGHUP as its lowest bit.
fn hang_ups_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(mask.expect("a mask").trim(), 16);
    mask.expect("hexadecimal") & 1 == 1
}

/// Runs a client's command line, as people would paste it.
fn ask(command: &str, query: &str) -> String {
    let line = format!("{} -N -B -e '{query}'", command.trim());
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &line]).output().expect("sh runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A running demo.
struct Demo {
    binary: Binary,
    mark: String,
    /// Folders that were nobody's before.
    before: BTreeSet<PathBuf>,
}

impl Demo {
    fn start(flavour: &str, more: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let short = [
            "demo",
            "--seconds",
            "1",
            "--clients",
            "3",
            "--flavour",
            flavour,
        ];
        Self {
            before: orphans(),
            binary: Binary::start_with(&[&short[..], more].concat(), &[(MARK, &mark)]),
            mark,
        }
    }

    fn wait_for(&mut self, text: &str) -> String {
        let line = self.binary.wait_for(text);
        line.unwrap_or_else(|| panic!("it ended before {text:?}"))
    }

    /// Sends the signal when the phase has begun; returns when it has ended and nothing of it is left.
    fn interrupt(mut self, phase: &str, signal: &str) -> Ended {
        self.wait_for(phase);
        if ["direct 1/2", "countersink 1/2"].contains(&phase) {
            // Else nothing being left would prove nothing.
            let processes = marked(&self.mark);
            let folder = folders()
                .into_iter()
                .find(|folder| is_used(folder, &processes));
            assert!(folder.is_some() && processes.len() > 2, "{processes:?}");
        }
        self.interrupted_by(&[signal])
    }

    fn interrupted_by(self, signals: &[&str]) -> Ended {
        self.binary.signals(signals);
        let ended = self.binary.wait();
        until_nothing_is_left(&self.mark, &self.before);
        ended
    }
}

fn until_nothing_is_left(mark: &str, before: &BTreeSet<PathBuf>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let processes = marked(mark);
        let orphans = orphans();
        let folders: Vec<_> = orphans.difference(before).collect();
        if processes.is_empty() && folders.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left: {processes:?} {folders:?}");
        thread::sleep(GLANCE);
    }
}

/// The command lines of the processes that the demo with this mark has begotten, its own too.
fn marked(mark: &str) -> Vec<String> {
    let variable = format!("{MARK}={mark}");
    let is_marked = |process: &PathBuf| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == variable.as_bytes())
    };
    let marked = processes().filter(is_marked);
    marked.map(|process| command_line(&process)).collect()
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    all.map(|entry| entry.path())
        .filter(|path| path.join("environ").exists())
}

fn command_line(process: &Path) -> String {
    let bytes = fs::read(process.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Servers' folders without a process that names them. Each has one, its guard, from before it is made.
fn orphans() -> BTreeSet<PathBuf> {
    let folders = folders();
    let lines: Vec<_> = processes().map(|process| command_line(&process)).collect();
    let nobody_s = |folder: &PathBuf| !is_used(folder, &lines) && folder.exists();
    folders.into_iter().filter(nobody_s).collect()
}

fn is_used(folder: &Path, command_lines: &[String]) -> bool {
    let name = folder.display().to_string();
    command_lines.iter().any(|line| line.contains(&name))
}

/// Wherever a demo may keep its data.
fn folders() -> Vec<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("target");
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let cache = cache.or_else(home).unwrap_or_default();
    let places = [
        target.join("servers"),
        cache.join("countersink/servers"),
        PathBuf::from("/var/tmp"),
    ];
    let entries = places
        .iter()
        .filter_map(|place| fs::read_dir(place).ok())
        .flatten()
        .flatten();
    let is_ours = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with("countersink-")
    };
    entries.map(|entry| entry.path()).filter(is_ours).collect()
}
