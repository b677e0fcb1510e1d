//! A running server: started on a copy of the template, watched until it answers, taken down.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::guard::{GLANCE, Guard, LOG, Order};
use crate::program::last_lines;
use crate::{Address, Error, Flavour, Installation, Version, initial_handshake, template};

/// The shortest limit on a unix socket's path among the systems we know, macOS's, with its final zero.
const SOCKET_PATH_LIMIT: usize = 103;
/// Times that a port is chosen anew because another process took it before the server did.
const PORT_ATTEMPTS: usize = 5;
const LOG_LINES: usize = 20;

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Server options such as `--max-connections=2000`; they win over our own.
    pub extra: Vec<String>,
    /// Whether each commit is on disk before it is answered; true unless set.
    ///
    /// On: `sync_binlog=1`, `innodb_flush_log_at_trx_commit=1`. Off: neither waits for the disk.
    /// The binary log is on in either case.
    pub durable: bool,
    /// Time for the server to answer, and again for it to stop.
    pub patience: Duration,
    /// Folder to make the server's own folder in; the system's temp folder unless set.
    ///
    /// The temp folder may be memory, where waiting for the disk costs nothing: set this to
    /// measure commits. The path must be short, since the unix socket is in it.
    pub under: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            extra: Vec::new(),
            durable: true,
            patience: Duration::from_secs(60),
            under: None,
        }
    }
}

/// A private server; dropping it kills it and removes all that it wrote.
///
/// User `root` has an empty password, from 127.0.0.1 and over the socket.
#[derive(Debug)]
pub struct Server {
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// Path of its unix socket.
    pub socket: PathBuf,
    /// Which family it is.
    pub flavour: Flavour,
    /// Version, as its initial handshake names it.
    pub version: Version,
    folder: PathBuf,
    patience: Duration,
    guard: Guard,
}

impl Server {
    /// Starts a server on a fresh data folder and waits until it answers.
    ///
    /// # Errors
    /// [`Error::Start`] with the end of the server's log; others when folders cannot be made.
    pub fn start(installation: &Installation, options: &Options) -> Result<Self, Error> {
        let mut attempts = 1..=PORT_ATTEMPTS;
        loop {
            let last = attempts.next() == Some(PORT_ATTEMPTS);
            match Self::attempt(installation, options) {
                Err(Error::Start { log, .. })
                    if !last && log.contains("Address already in use") =>
                {
                    tracing::debug!("the port was taken meanwhile, choosing another");
                }
                outcome => return outcome,
            }
        }
    }

    fn attempt(installation: &Installation, options: &Options) -> Result<Self, Error> {
        let parent = options.under.clone().unwrap_or_else(std::env::temp_dir);
        let parent = std::path::absolute(&parent).map_err(Error::file("resolve", &parent))?;
        fs::create_dir_all(&parent).map_err(Error::file("create", &parent))?;
        let port = free_port()?;
        let user = template::user_option()?;
        let spawn = |folder: &Path| {
            let mut command = installation.server_command();
            command.args(user);
            arguments(&mut command, installation.flavour, folder, port, options);
            Guard::spawn(&command, folder)
        };
        let made = tempfile::Builder::new()
            .prefix("countersink-")
            .make_in(&parent, spawn)
            .map_err(Error::file("create a folder in", &parent))?;
        let (guard, folder) = made.into_parts();
        // The guard's to remove, and not a file.
        let folder = folder.keep().map_err(|error| error.error);
        let folder = folder.map_err(Error::file("create a folder in", &parent))?;
        let socket = folder.join("socket");
        if socket.as_os_str().len() > SOCKET_PATH_LIMIT {
            return Err(Error::SocketPath {
                path: socket,
                limit: SOCKET_PATH_LIMIT,
            });
        }
        let mut server = Self {
            port,
            socket,
            flavour: installation.flavour,
            version: installation.version.clone(),
            folder,
            patience: options.patience,
            guard,
        };
        let scratch = server.folder.join("tmp");
        fs::create_dir(&scratch).map_err(Error::file("create", &scratch))?;
        template::copy_into(installation, &server.data_folder())?;
        server.guard.order(Order::Start);
        server.wait_until_it_answers()?;
        tracing::debug!(flavour = %server.flavour, version = %server.version, port, "server answers");
        Ok(server)
    }

    /// Where it is, and its account.
    pub fn address(&self) -> Address {
        Address {
            host: "127.0.0.1".into(),
            port: self.port,
            user: "root".into(),
            password: String::new(),
        }
    }

    /// Options for a `mysql` or `mariadb` client that connects straight to it over TCP.
    pub fn client_options(&self) -> Vec<String> {
        self.address().client_options()
    }

    /// Its data folder. MySQL's holds the certificates that it made: `ca.pem`, `server-cert.pem`.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The last lines of its error log.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.join(LOG)).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&bytes), LOG_LINES)
    }

    /// Kills it as a power cut would, but keeps its folder for [`start_again`](Self::start_again).
    ///
    /// # Errors
    /// [`Error::Stop`] when it lives on after the time in [`Options::patience`].
    pub fn crash(&mut self) -> Result<(), Error> {
        self.guard.order(Order::Kill);
        match self.guard.wait(Instant::now() + self.patience) {
            Some(_) => Ok(()),
            None => Err(self.stop_error("it lives on after SIGKILL".into())),
        }
    }

    /// Runs it again after [`crash`](Self::crash), on the same folder and port, and waits until it answers.
    ///
    /// # Errors
    /// [`Error::Start`] with the end of its log.
    pub fn start_again(&mut self) -> Result<(), Error> {
        for name in ["socket", "socket.lock"] {
            let _ = fs::remove_file(self.folder.join(name)); // left by the crash, if at all
        }
        self.guard.order(Order::Start);
        self.wait_until_it_answers()
    }

    /// Asks it to shut down, waits, and removes its folder.
    ///
    /// # Errors
    /// [`Error::Stop`] when it had to be killed, or had ended otherwise than by this request.
    pub fn stop(mut self) -> Result<(), Error> {
        self.guard.order(Order::Terminate);
        match self.guard.wait(Instant::now() + self.patience) {
            Some(0) => Ok(()),
            Some(status) => Err(self.stop_error(ended_with(status))),
            None => Err(self.stop_error(format!("it runs on {:?} after SIGTERM", self.patience))),
        }
    }

    /// The socket is in a folder of ours alone, so whatever answers there is this server; and a
    /// server takes its TCP port before it makes the socket.
    fn wait_until_it_answers(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + self.patience;
        loop {
            if let Ok((_, version)) =
                initial_handshake::at_socket(&self.socket, Duration::from_secs(1))
            {
                self.version = version;
                return Ok(());
            }
            if let Some(status) = self.guard.ended() {
                return Err(self.start_error(ended_with(status)));
            }
            if Instant::now() >= deadline {
                return Err(
                    self.start_error(format!("it does not answer within {:?}", self.patience))
                );
            }
            thread::sleep(GLANCE);
        }
    }

    fn start_error(&self, reason: String) -> Error {
        let (flavour, version, log) = (self.flavour, self.version.text.clone(), self.log());
        Error::Start {
            flavour,
            version,
            reason,
            log,
        }
    }

    fn stop_error(&self, reason: String) -> Error {
        let (flavour, version, log) = (self.flavour, self.version.text.clone(), self.log());
        Error::Stop {
            flavour,
            version,
            reason,
            log,
        }
    }
}

fn ended_with(status: i32) -> String {
    match status {
        -1 => "its guard was killed".into(),
        129.. => format!("it was ended by signal {}", status - 128),
        _ => format!("it ended with exit status {status}"),
    }
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16, Error> {
    let name = Path::new("127.0.0.1:0");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(Error::file("listen on", name))?;
    Ok(listener
        .local_addr()
        .map_err(Error::file("listen on", name))?
        .port())
}

fn arguments(command: &mut Command, flavour: Flavour, folder: &Path, port: u16, options: &Options) {
    for (name, part) in [
        ("datadir", "data"),
        ("tmpdir", "tmp"),
        ("socket", "socket"),
        ("pid-file", "pid"),
    ] {
        command.arg(format!("--{name}={}", folder.join(part).display()));
    }
    command.args([format!("--port={port}"), "--bind-address=127.0.0.1".into()]);
    command.args(["--secure-file-priv=", "--server-id=1", "--log-bin=binlog"]);
    if flavour == Flavour::MySql {
        command.arg("--loose-mysqlx=OFF"); // its X protocol would take a port that all share
    }
    command.args(match options.durable {
        true => ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"],
        false => ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0"],
    });
    command.args(&options.extra);
}
