//! The `countersink` binary in a process of its own: listened to, signalled, waited for; killed when dropped.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use countersink_sandbox::Address;
use tempfile::TempDir;

/// How long anything may take that is waited for.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often a process that has closed its outputs is looked at until it is gone.
const GLANCE: Duration = Duration::from_millis(2);

/// A running process of the binary.
pub struct Binary {
    child: Child,
    lines: Receiver<Line>,
    output: String,
    errors: String,
}

/// A process that has ended, and what it said.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

enum Line {
    Output(String),
    Error(String),
}

impl Binary {
    /// Starts it with these arguments.
    pub fn start<S: AsRef<OsStr>>(arguments: &[S]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// Starts it with these arguments and environment variables, and the log as users have it.
    pub fn start_with<S: AsRef<OsStr>>(arguments: &[S], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersink"));
        command.args(arguments).env_remove("COUNTERSINK_LOG");
        command.envs(environment.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let (say, lines) = mpsc::channel();
        // Somebody has to read, or the pipes fill up and the process stands still.
        pass_on(child.stdout.take(), Line::Output, say.clone());
        pass_on(child.stderr.take(), Line::Error, say);
        Self {
            child,
            lines,
            output: String::new(),
            errors: String::new(),
        }
    }

    /// The system's number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with this text, on either stream; none when the process ends first.
    pub fn wait_for(&mut self, text: &str) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.next_line(deadline, text)?;
            if line.contains(text) {
                return Some(line);
            }
        }
    }

    /// Waits for a line with this text, and gives the address that stands behind it; none when the process ends first.
    pub fn address_behind(&mut self, text: &str) -> Option<SocketAddr> {
        let line = self.wait_for(text)?;
        let (_, rest) = line.split_once(text).expect("it is in there");
        let is_end = |letter: char| letter == ',' || letter == '/' || letter.is_whitespace();
        let address = rest.split(is_end).next().unwrap_or_default();
        let address = address.parse();
        Some(address.unwrap_or_else(|_| panic!("no address: {line}")))
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        self.signals(&[name]);
    }

    /// Sends signals one behind the other.
    pub fn signals(&self, names: &[&str]) {
        const SCRIPT: &str = "id=$1; shift; for name; do kill -s \"$name\" \"$id\" || exit; done";
        let sent = Command::new("sh")
            .args(["-c", SCRIPT, "kill", &self.id().to_string()])
            .args(names)
            .status()
            .expect("sh runs");
        assert!(sent.success(), "{names:?} cannot be sent to {}", self.id());
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        while self.next_line(deadline, "its end").is_some() {}
        let status = loop {
            match self.child.try_wait().expect("a child of ours") {
                Some(status) => break status,
                None if Instant::now() < deadline => thread::sleep(GLANCE),
                None => self.give_up("its end"),
            }
        };
        Ended {
            code: status.code(),
            signal: status.signal(),
            output: std::mem::take(&mut self.output),
            errors: std::mem::take(&mut self.errors),
        }
    }

    /// The next line of either stream; none when both are closed.
    fn next_line(&mut self, deadline: Instant, awaited: &str) -> Option<String> {
        let left = deadline.saturating_duration_since(Instant::now());
        let (line, said) = match self.lines.recv_timeout(left) {
            Ok(Line::Output(line)) => (line, &mut self.output),
            Ok(Line::Error(line)) => (line, &mut self.errors),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => self.give_up(awaited),
        };
        said.push_str(&line);
        Some(line)
    }

    fn give_up(&self, awaited: &str) -> ! {
        panic!(
            "waited {PATIENCE:?} for {awaited:?}; it said\n{}{}",
            self.output, self.errors
        );
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Passes lines on until the stream or the test ends.
fn pass_on(
    stream: Option<impl Read + Send + 'static>,
    line_of: fn(String) -> Line,
    say: Sender<Line>,
) {
    let mut stream = BufReader::new(stream.expect("piped"));
    thread::spawn(move || {
        let mut bytes = Vec::new();
        while stream
            .read_until(b'\n', &mut bytes)
            .is_ok_and(|length| length > 0)
        {
            // Nobody may listen any more, but the pipe has to be emptied.
            say.send(line_of(String::from_utf8_lossy(&bytes).into_owned()))
                .ok();
            bytes.clear();
        }
    });
}

/// rules.yaml with this text, in a folder that goes with the first of the two.
pub fn rules_file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rules.yaml");
    std::fs::write(&file, text).expect("rules can be written");
    (folder, file)
}

/// Runs the binary with these rules to its end: exit code, standard output and standard error.
pub fn countersink(arguments: &[&str], rules: &Path) -> (i32, String, String) {
    let mut arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    arguments.extend([OsStr::new("--rules"), rules.as_os_str()]);
    let ended = Binary::start(&arguments).wait();
    let code = ended.code.expect("no signal");
    (code, ended.output, ended.errors)
}

/// `countersink serve`, listening; killed when dropped.
pub struct Serving {
    /// Its process.
    pub binary: Binary,
    /// Where clients connect.
    pub address: SocketAddr,
}

impl Serving {
    /// Serves on a free port.
    ///
    /// # Errors
    ///
    /// What it said when it ended rather than listen.
    pub fn start(rules: &Path) -> Result<Self, Ended> {
        Self::start_with(rules, &["--listen", "127.0.0.1:0"])
    }

    /// Serves with these arguments.
    ///
    /// # Errors
    ///
    /// As [`Serving::start`].
    pub fn start_with(rules: &Path, arguments: &[&str]) -> Result<Self, Ended> {
        let arguments = [&["serve"], arguments, &["--rules"]].concat();
        let arguments: Vec<_> = arguments.into_iter().map(OsStr::new).collect();
        let mut binary = Binary::start(&[&arguments[..], &[rules.as_os_str()]].concat());
        let Some(address) = binary.address_behind("listening on ") else {
            return Err(binary.wait());
        };
        Ok(Self { binary, address })
    }

    /// Where clients connect, with their account on the server behind it.
    pub fn in_front_of(&self, server: &Address) -> Address {
        Address {
            host: self.address.ip().to_string(),
            port: self.address.port(),
            ..server.clone()
        }
    }

    /// Tells it to stop, as an operator does, and waits for its end.
    pub fn stop(self) -> Ended {
        self.binary.signal("TERM");
        self.binary.wait()
    }
}
