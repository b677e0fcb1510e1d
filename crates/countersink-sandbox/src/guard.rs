//! The process between this one and the server. It kills the server and removes its folder when this process is gone.
//!
//! A `Drop` does not run when a test harness exits or a process is killed. A signal at the parent's death depends on
//! the thread that spawned, not on the process. A shell that waits for the end of a pipe has neither problem, and needs
//! nothing but the pipe.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Name of the file, in the folder, with the output of the server and its guard.
pub(super) const LOG: &str = "log";

const SCRIPT: &str = include_str!("guard.sh");
/// How often to poll for events without a notification.
pub(super) const GLANCE: Duration = Duration::from_millis(10);
/// How long killing and removing may take. It normally takes milliseconds, but a disk that hangs must not block
/// forever.
const CLEANUP_LIMIT: Duration = Duration::from_secs(20);

/// An order to a guard.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Terminate,
    Kill,
    Start,
    Pause,
    Resume,
}

/// A running guard. Dropping it kills the server and removes the folder.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
    /// `None` once the pipe is closed, which is the order to clean up.
    orders: Option<ChildStdin>,
    ended: PathBuf,
}

impl Guard {
    /// Spawns a guard that creates `folder` and owns it from then on. It runs `server` when it gets the order to start.
    /// The output of both goes to the file [`LOG`] in the folder.
    ///
    /// # Errors
    /// An error of kind [`io::ErrorKind::AlreadyExists`] if something has that name already.
    pub fn spawn(server: &Command, folder: &Path) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "guard"]).arg(folder);
        shell.arg(server.get_program()).args(server.get_args());
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        // In a process group of its own, so that Ctrl-C reaches only this process. The guard notices when this process
        // ends.
        shell.process_group(0).current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let run = |why| io::Error::other(format!("sh does not run: {why}"));
        let mut shell = shell.stderr(Stdio::null()).spawn().map_err(run)?;
        let mut said = String::new();
        BufReader::new(shell.stdout.take().expect("piped")).read_line(&mut said)?;
        if said != "made\n" {
            return Err(match (shell.wait()?.code(), folder.symlink_metadata()) {
                (Some(_), Ok(_)) => io::ErrorKind::AlreadyExists.into(),
                (Some(_), Err(_)) => io::Error::other(said.trim().to_owned()),
                (None, _) => {
                    // The guard was killed, perhaps between creating the folder and reporting it.
                    let _ = fs::remove_dir(folder);
                    io::Error::other("its guard was killed")
                }
            });
        }
        Ok(Self {
            orders: shell.stdin.take(),
            shell,
            ended: folder.join("ended"),
        })
    }

    /// Sends an order to the guard. Does nothing if the guard is gone, which [`ended`](Self::ended) shows.
    pub fn order(&mut self, order: Order) {
        let line: &[u8] = match order {
            Order::Terminate => b"TERM\n",
            Order::Kill => b"KILL\n",
            Order::Start => b"START\n",
            Order::Pause => b"STOP\n",
            Order::Resume => b"CONT\n",
        };
        if let Order::Start = order {
            let _ = fs::remove_file(&self.ended); // it exists only after an earlier end
        }
        if let Some(pipe) = &mut self.orders {
            let _: io::Result<()> = pipe.write_all(line);
        }
    }

    /// The server's exit status after it has ended: 0 to 127, or 128 plus a signal's number. -1 if the guard was
    /// killed.
    pub fn ended(&mut self) -> Option<i32> {
        if let Ok(text) = fs::read_to_string(&self.ended) {
            // The file exists an instant before its content does.
            return text.trim().parse().ok();
        }
        // A guard that was killed writes no file.
        matches!(self.shell.try_wait(), Ok(Some(_))).then_some(-1)
    }

    /// Waits until the server ends, but not beyond `deadline`. Returns the exit status.
    pub fn wait(&mut self, deadline: Instant) -> Option<i32> {
        loop {
            match self.ended() {
                None if Instant::now() < deadline => thread::sleep(GLANCE),
                outcome => return outcome,
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.orders = None;
        let deadline = Instant::now() + CLEANUP_LIMIT;
        while matches!(self.shell.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(GLANCE);
        }
        // A guard that was killed, for example by Ctrl-C before it had a process group of its own, removes nothing.
        if let Some(folder) = self.ended.parent().filter(|folder| folder.exists()) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded(script: &str) -> (Guard, PathBuf) {
        let mut server = Command::new("sh");
        server.args(["-c", script]);
        let spawn = |folder: &Path| Guard::spawn(&server, folder);
        let made = tempfile::Builder::new().make(spawn).expect("a shell");
        let (mut guard, folder) = made.into_parts();
        guard.order(Order::Start);
        (guard, folder.keep().expect("a folder"))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn somebody_else_s_folder_is_left_alone() {
        let theirs = tempfile::tempdir().expect("a temp folder");
        let spawned = Guard::spawn(&Command::new("true"), theirs.path());
        let error = spawned.expect_err("it is there already");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(theirs.path().exists());
        let nowhere = theirs.path().join("none/folder");
        let spawned = Guard::spawn(&Command::new("true"), &nowhere);
        let why = spawned.expect_err("nowhere to make it").to_string();
        assert!(why.contains("none/folder"), "{why}");
    }

    #[test]
    fn the_folder_goes_though_its_owner_died_before_it_was_made() {
        let parent = tempfile::tempdir().expect("a temp folder");
        let folder = parent.path().join("folder");
        let (nobody, output) = io::pipe().expect("a pipe");
        drop(nobody);
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "guard"]).arg(&folder).arg("true");
        let status = shell.stdin(Stdio::null()).stdout(output).status();
        assert_eq!(status.expect("sh runs").code(), Some(0));
        assert!(!folder.exists());
    }

    #[test]
    fn dropping_kills_the_server_and_removes_the_folder() {
        let (guard, folder) = guarded("exec sleep 1000");
        assert!(folder.exists());
        drop(guard);
        assert!(!folder.exists());
    }

    #[test]
    fn the_folder_goes_even_when_the_guard_was_killed() {
        let (mut guard, folder) = guarded("exec sleep 1000");
        guard.shell.kill().expect("killed");
        guard.shell.wait().expect("ended");
        assert!(folder.exists());
        drop(guard);
        assert!(!folder.exists());
    }

    #[test]
    fn the_exit_status_is_told_and_the_folder_stays_until_the_drop() {
        let (mut guard, folder) = guarded("echo said; exit 7");
        assert_eq!(guard.wait(soon()), Some(7));
        assert_eq!(
            fs::read_to_string(folder.join(LOG)).expect("a log"),
            "said\n"
        );
        drop(guard);
        assert!(!folder.exists());
    }

    #[test]
    fn signals_reach_the_server_and_it_can_be_started_again() {
        let (mut guard, folder) = guarded("exec sleep 1000");
        for (order, status) in [(Order::Terminate, 128 + 15), (Order::Kill, 128 + 9)] {
            guard.order(order);
            assert_eq!(guard.wait(soon()), Some(status));
            guard.order(Order::Start);
            assert_eq!(guard.ended(), None);
        }
        drop(guard);
        assert!(!folder.exists());
    }
}
