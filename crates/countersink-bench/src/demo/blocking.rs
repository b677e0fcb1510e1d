//! Ctrl-C while waiting for other programs: they are ended too, and what they began is undone.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use countersink_terminal::Interrupt;
use tokio::task::JoinHandle;

use super::Error;

/// How often to look for child processes while a blocking step is being abandoned.
const GLANCE: Duration = Duration::from_millis(50);

/// How long a program may take to end by itself; its output is discarded. `mysqld --initialize` takes seconds.
const COURTESY: Duration = Duration::from_secs(1);

/// How long our own signal may still be in transit when a child has already died of it: the system sends Ctrl-C to all
/// processes of the group at once.
const DELIVERY: Duration = Duration::from_millis(200);

/// Runs `work` on a thread that may block. After a signal, the programs that it waits for are ended, and then `work` is
/// awaited, because it removes what it has half made.
pub(super) async fn or_blocking<T: Send + 'static>(
    interrupt: &Interrupt,
    work: impl FnOnce() -> Result<T, countersink_sandbox::Error> + Send + 'static,
) -> Result<T, Error> {
    let mut work = tokio::task::spawn_blocking(work);
    let number = tokio::select! {
        done = &mut work => {
            return unless_caught(interrupt, done.expect("it does not panic")).await;
        }
        number = interrupt.caught() => number,
    };
    give_up(work).await;
    Err(Error::Interrupted { number })
}

/// Returns the result, unless it failed because of Ctrl-C.
async fn unless_caught<T>(
    interrupt: &Interrupt,
    done: Result<T, countersink_sandbox::Error>,
) -> Result<T, Error> {
    match done {
        Ok(done) => Ok(done),
        Err(error) => match tokio::time::timeout(DELIVERY, interrupt.caught()).await {
            Ok(number) => Err(Error::Interrupted { number }),
            Err(_) => Err(error.into()),
        },
    }
}

async fn give_up<T>(mut work: JoinHandle<T>) {
    let mut glance = tokio::time::interval(GLANCE);
    let start = Instant::now();
    loop {
        tokio::select! {
            done = &mut work => return drop(done),
            _ = glance.tick() => {
                let signal = match start.elapsed() < COURTESY {
                    true => "TERM",
                    false => "KILL",
                };
                end(&in_our_group(children()), signal);
            }
        }
    }
}

/// Sends these processes the signal that Ctrl-C on a terminal would have sent them, because a signal may have been sent
/// to this process alone.
fn end(processes: &[String], signal: &str) {
    if processes.is_empty() {
        return;
    }
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -s \"$@\"", "kill", signal])
        .args(processes);
    if let Err(error) = kill.stderr(Stdio::null()).status() {
        tracing::debug!("cannot end {processes:?}: {error}");
    }
}

/// Leaves out processes in a process group of their own, such as the sandbox's guards: they have to clean up. Also
/// leaves out children that have not executed their program yet, because they may be about to leave the group.
fn in_our_group(processes: Vec<String>) -> Vec<String> {
    let (Some(own), Some(us)) = (group("self"), program("self")) else {
        return Vec::new();
    };
    let is_program = |process: &String| program(process).is_some_and(|program| program != us);
    let ours = |process: &String| is_program(process) && group(process) == Some(own);
    processes.into_iter().filter(ours).collect()
}

/// Process ids of this process's children, whichever thread spawned them.
///
/// It reads `/proc`. On systems other than Linux it finds none, so a step is waited for; nothing is fetched there.
fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|line| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The executable of a process.
fn program(process: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// The process group of a process.
fn group(process: &str) -> Option<u32> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    group_of(&line)
}

/// Parses `/proc/[pid]/stat` (manual: proc(5)): pid, (name), state, parent, group.
fn group_of(line: &str) -> Option<u32> {
    let (_, rest) = line.rsplit_once(')')?;
    rest.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_behind_any_name() {
        assert_eq!(group_of("12 (a) b (c)) S 1 34 56 0"), Some(34));
        assert_eq!(group_of("12 (a"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn children_in_our_group_are_ended_and_others_left() {
        use std::os::unix::process::{CommandExt, ExitStatusExt};
        let mut ours = Command::new("sleep").arg("1000").spawn().expect("sleep");
        let mut guard = Command::new("sleep");
        let mut guard = guard.arg("1000").process_group(0).spawn().expect("sleep");
        let both = vec![ours.id().to_string(), guard.id().to_string()];
        let found = children();
        assert!(both.iter().all(|child| found.contains(child)), "{found:?}");
        let chosen = in_our_group(both);
        assert_eq!(chosen, [ours.id().to_string()]);
        end(&chosen, "TERM");
        assert_eq!(ours.wait().expect("ended").signal(), Some(15));
        assert!(guard.try_wait().expect("a child").is_none());
        guard.kill().expect("killed");
        guard.wait().expect("ended");
    }
}
