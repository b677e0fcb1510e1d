//! A running server: started on a copy of the template, watched until it responds, and removed again.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::guard::{GLANCE, Guard, LOG, Order};
use crate::program::last_lines;
use crate::{Address, Error, Flavour, Installation, Version, initial_handshake, template};

/// Maximum length of a unix socket's path: the smallest of the known systems, that of macOS, without the final NUL.
const SOCKET_PATH_LIMIT: usize = 103;
/// How often another port is chosen because another process took it before the server did.
const PORT_ATTEMPTS: usize = 5;
const LOG_LINES: usize = 20;

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Server options such as `--max-connections=2000`, which override the sandbox's own.
    pub extra: Vec<String>,
    /// Whether each commit is on disk before the server responds. True by default.
    ///
    /// If true, `sync_binlog=1` and `innodb_flush_log_at_trx_commit=1`. If false, neither waits for the disk. The
    /// binary log is on in both cases.
    pub durable: bool,
    /// How long the server may take to respond after its start, and how long to stop.
    pub patience: Duration,
    /// The folder to create the server's own folder in. By default, the system's temp folder.
    ///
    /// The temp folder may be in memory, where waiting for the disk costs nothing: set this to measure commits. The
    /// path must be short, since it is part of the unix socket's path.
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

/// What a server is started on.
pub(super) struct Ground {
    /// The data folder that it gets a copy of.
    pub data: PathBuf,
    /// Variables of its environment, beside those of this process.
    pub environment: Vec<(String, String)>,
}

impl Ground {
    /// A freshly initialised data folder.
    pub fn fresh(installation: &Installation) -> Result<Self, Error> {
        Ok(Self {
            data: template::template(installation)?,
            environment: Vec::new(),
        })
    }
}

/// A private server. Dropping it kills it and removes everything that it wrote.
///
/// The user `root` has an empty password, both from 127.0.0.1 and over the socket.
#[derive(Debug)]
pub struct Server {
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// Path of its unix socket.
    pub socket: PathBuf,
    /// Its family.
    pub flavour: Flavour,
    /// Its version, from its initial handshake.
    pub version: Version,
    folder: PathBuf,
    patience: Duration,
    guard: Guard,
}

impl Server {
    /// Starts a server on a fresh data folder, and waits until it responds.
    ///
    /// # Errors
    /// [`Error::Start`] with the end of the server's log; others if folders cannot be created.
    pub fn start(installation: &Installation, options: &Options) -> Result<Self, Error> {
        Self::start_on(installation, options, &Ground::fresh(installation)?)
    }

    /// The same, on a copy of another data folder.
    pub(super) fn start_on(
        installation: &Installation,
        options: &Options,
        ground: &Ground,
    ) -> Result<Self, Error> {
        let mut attempts = 1..=PORT_ATTEMPTS;
        loop {
            let last = attempts.next() == Some(PORT_ATTEMPTS);
            match Self::attempt(installation, options, ground) {
                Err(Error::Start { log, .. })
                    if !last && log.contains("Address already in use") =>
                {
                    tracing::debug!("the port was taken meanwhile, choosing another");
                }
                outcome => return outcome,
            }
        }
    }

    fn attempt(
        installation: &Installation,
        options: &Options,
        ground: &Ground,
    ) -> Result<Self, Error> {
        let parent = options.under.clone().unwrap_or_else(std::env::temp_dir);
        let parent = std::path::absolute(&parent).map_err(Error::file("resolve", &parent))?;
        fs::create_dir_all(&parent).map_err(Error::file("create", &parent))?;
        let port = free_port()?;
        let user = template::user_option()?;
        let spawn = |folder: &Path| {
            let mut command = installation.server_command();
            command.args(user).envs(ground.environment.iter().cloned());
            arguments(&mut command, installation.flavour, folder, port, options);
            Guard::spawn(&command, folder)
        };
        let made = tempfile::Builder::new()
            .prefix("countersink-")
            .make_in(&parent, spawn)
            .map_err(Error::file("create a folder in", &parent))?;
        let (guard, folder) = made.into_parts();
        // Keep it: the guard removes the folder, and a `TempPath` would remove a file.
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
        template::copy_folder(&ground.data, &server.data_folder())?;
        server.guard.order(Order::Start);
        server.wait_until_it_answers()?;
        tracing::debug!(flavour = %server.flavour, version = %server.version, port, "server answers");
        Ok(server)
    }

    /// Its address and account.
    pub fn address(&self) -> Address {
        Address {
            host: "127.0.0.1".into(),
            port: self.port,
            user: "root".into(),
            password: String::new(),
        }
    }

    /// Options for a `mysql` or `mariadb` client that connects directly to it over TCP.
    pub fn client_options(&self) -> Vec<String> {
        self.address().client_options()
    }

    /// Its data folder. MySQL's contains the certificates that it generated: `ca.pem`, `server-cert.pem`.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The last lines of its error log.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.join(LOG)).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&bytes), LOG_LINES)
    }

    /// Kills it as a power failure would, but keeps its folder for [`start_again`](Self::start_again).
    ///
    /// # Errors
    /// [`Error::Stop`] if it is still running after the time in [`Options::patience`].
    pub fn crash(&mut self) -> Result<(), Error> {
        self.guard.order(Order::Kill);
        match self.guard.wait(Instant::now() + self.patience) {
            Some(_) => Ok(()),
            None => Err(self.stop_error("it lives on after SIGKILL".into())),
        }
    }

    /// Lets it hang, as SIGSTOP does: its port takes connections, and nothing is answered.
    pub fn pause(&mut self) {
        self.guard.order(Order::Pause);
    }

    /// Lets it go on after [`pause`](Self::pause).
    pub fn resume(&mut self) {
        self.guard.order(Order::Resume);
    }

    /// Starts it again after [`crash`](Self::crash), on the same folder and port, and waits until it responds.
    ///
    /// # Errors
    /// [`Error::Start`] with the end of its log.
    pub fn start_again(&mut self) -> Result<(), Error> {
        for name in ["socket", "socket.lock"] {
            let _ = fs::remove_file(self.folder.join(name)); // the crash may have left them
        }
        self.guard.order(Order::Start);
        self.wait_until_it_answers()
    }

    /// Shuts it down, waits for its end, and removes its folder.
    ///
    /// # Errors
    /// [`Error::Stop`] if it had to be killed, or had ended for another reason.
    pub fn stop(mut self) -> Result<(), Error> {
        self.shut_down()
    }

    /// The same, but its data folder is copied to this place.
    pub(super) fn stop_and_keep(mut self, data: &Path) -> Result<(), Error> {
        self.shut_down()?;
        template::copy_folder(&self.data_folder(), data)
    }

    fn shut_down(&mut self) -> Result<(), Error> {
        self.guard.order(Order::Terminate);
        match self.guard.wait(Instant::now() + self.patience) {
            Some(0) => Ok(()),
            Some(status) => Err(self.stop_error(ended_with(status))),
            None => Err(self.stop_error(format!("it runs on {:?} after SIGTERM", self.patience))),
        }
    }

    /// Waits until it responds on its socket. The socket is in a folder of this server only, so whatever responds there
    /// is this server. A server opens its TCP port before it creates the socket.
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

    pub(super) fn start_error(&self, reason: String) -> Error {
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

/// A port that was free a moment ago, and that this process has been given no other time: two members of a cluster
/// would be told the same one before either listens there.
pub(super) fn free_port() -> Result<u16, Error> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let name = Path::new("127.0.0.1:0");
    // Those that are refused stay taken, so that the system offers others.
    let mut refused = Vec::new();
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(Error::file("listen on", name))?;
        let address = listener.local_addr();
        let port = address.map_err(Error::file("listen on", name))?.port();
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if given.insert(port) {
            return Ok(port);
        }
        refused.push(listener);
    }
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
        command.arg("--loose-mysqlx=OFF"); // its X protocol would take a port that all servers share
    }
    command.args(match options.durable {
        true => ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"],
        false => ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0"],
    });
    command.args(&options.extra);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let ports: Result<Vec<_>, _> = (0..2_000).map(|_| free_port()).collect();
        let mut ports = ports.expect("ports");
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 2_000);
    }
}
