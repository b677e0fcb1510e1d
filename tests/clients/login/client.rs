//! The clients: command line programs, run once for each login, and drivers, whose scripts log in again and again.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use countersink_sandbox::{Flavour, Installation};

use crate::login::said::{Said, Session};
use crate::support::drivers;
use crate::support::twin::installation;

/// No login and session takes as long, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// MySQL's command line program.
    Mysql,
    /// MariaDB's.
    Mariadb,
    PyMySql,
    Mysql2,
    MariadbNode,
}

/// What a client is told.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    pub port: u16,
    pub user: &'a str,
    pub password: &'a str,
    /// It insists on TLS, or does without.
    pub tls: bool,
    /// Whether it changes to [`OTHER`] in the end; the command line programs and PyMySQL cannot.
    pub changes_user: bool,
}

/// The schema that sessions use.
pub const SCHEMA: &str = "login";
/// The account that COM_CHANGE_USER changes to.
pub const OTHER: (&str, &str) = ("other", "secret other");

/// A client that is ready to log in.
pub enum Client {
    Program {
        installation: Installation,
        options: Vec<String>,
    },
    Script(Script),
}

impl Client {
    /// The client, fetched if need be; or why it cannot be had on this machine.
    pub fn obtain(kind: Kind) -> Result<Self, String> {
        let program = |flavour, options: &[&str]| Self::Program {
            installation: installation(flavour),
            options: options.iter().map(|&option| option.to_owned()).collect(),
        };
        let node = |name: &str| {
            let mut command = Command::new("node");
            command.arg(Path::new(drivers::SCRIPTS).join(name));
            command.env("NODE_PATH", drivers::node_modules()?);
            Ok(Self::Script(Script::new(command)))
        };
        match kind {
            Kind::Mysql => Ok(program(
                Flavour::MySql,
                &["--get-server-public-key", COMMANDS],
            )),
            Kind::Mariadb => Ok(program(Flavour::MariaDb, &[])),
            Kind::PyMySql => {
                let mut command = Command::new(drivers::python()?);
                command.arg(Path::new(drivers::SCRIPTS).join("pymysql_session.py"));
                Ok(Self::Script(Script::new(command)))
            }
            Kind::Mysql2 => node("mysql2_session.js"),
            Kind::MariadbNode => node("mariadb_session.js"),
        }
    }

    /// `mysql` as it is unless told otherwise: without TLS it asks nobody for a key.
    pub fn without_key() -> Self {
        Self::Program {
            installation: installation(Flavour::MySql),
            options: vec![COMMANDS.to_owned()],
        }
    }

    /// `mysql` with one more option, which asks nobody for a key either.
    pub fn with_option(option: &str) -> Self {
        Self::Program {
            installation: installation(Flavour::MySql),
            options: vec![COMMANDS.to_owned(), option.to_owned()],
        }
    }

    /// Logs in and runs its ordinary session; an error is of the client, not of the server.
    pub fn login(&mut self, login: &Login<'_>) -> Result<Said, String> {
        match self {
            Self::Program {
                installation,
                options,
            } => run_program(installation, options, login),
            Self::Script(script) => script.login(login),
        }
    }
}

/// Since version 9, `mysql` has to be told to heed `\s`; earlier ones do not know the option.
const COMMANDS: &str = "--loose-commands=ON";

/// The session of a command line program: `\s` shows the connection id of the initial handshake, and whether there is
/// TLS. The error at its end ends the program.
const STATEMENTS: &str = r"\s
SELECT 'current_user', CURRENT_USER();
SELECT 'version', @@version;
SELECT 'connection_id', CONNECTION_ID();
SHOW SESSION STATUS LIKE 'Ssl_cipher';
CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO t VALUES (1, 'one'), (2, 'two');
SELECT 'inserted', ROW_COUNT();
PREPARE s FROM 'SELECT ''prepared'', v FROM t WHERE id = ?';
SET @id = 2;
EXECUTE s USING @id;
DEALLOCATE PREPARE s;
BEGIN;
UPDATE t SET v = 'gone' WHERE id = 1;
ROLLBACK;
SELECT 'rolled_back', v FROM t WHERE id = 1;
BEGIN;
UPDATE t SET v = 'kept' WHERE id = 1;
COMMIT;
SELECT 'committed', v FROM t WHERE id = 1;
SELECT 'large', REPEAT('x', 200000);
INSERT INTO t VALUES (1, 'again');
";

fn run_program(
    installation: &Installation,
    options: &[String],
    login: &Login<'_>,
) -> Result<Said, String> {
    let tls = match (installation.flavour, login.tls) {
        (Flavour::MySql, true) => "--ssl-mode=REQUIRED",
        (Flavour::MySql, false) => "--ssl-mode=DISABLED",
        (Flavour::MariaDb, true) => "--ssl",
        (Flavour::MariaDb, false) => "--skip-ssl",
    };
    let output = installation
        .client()
        .expect("the sandbox fetches the client too")
        .args(["--protocol=TCP", "--host=127.0.0.1"])
        .args([
            format!("--port={}", login.port),
            format!("--user={}", login.user),
        ])
        .args([
            "--batch",
            "--skip-column-names",
            "--connect-timeout=60",
            tls,
        ])
        .args(options)
        .args(["-e", STATEMENTS, SCHEMA])
        .env("MYSQL_PWD", login.password)
        .output()
        .map_err(|error| error.to_string())?;
    let (told, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    program_said(&told, &errors).ok_or_else(|| format!("it said: {told}{errors}"))
}

/// What the program's output means; nothing when it is not understood.
fn program_said(told: &str, errors: &str) -> Option<Said> {
    let mut said = Said::default();
    let mut session = Session::default();
    for line in errors.lines() {
        let Some(error) = line.strip_prefix("ERROR ") else {
            continue;
        };
        let (code, rest) = error.split_once(" (")?;
        let (state, message) = rest.split_once(')')?;
        let code = code.parse().ok()?;
        match message.starts_with(" at line ") {
            true => session.duplicate = code,
            false => {
                said.code = Some(code);
                said.sql_state = Some(state.to_owned());
                said.message = message.trim_start_matches(": ").to_owned();
                return Some(said);
            }
        }
    }
    for line in told.lines() {
        let (name, value) = line.split_once('\t').unwrap_or((line, ""));
        let value = value.trim();
        match name {
            "Connection id:" => said.thread_id = value.parse().ok()?,
            "SSL:" => said.client_tls = value.starts_with("Cipher in use"),
            "current_user" => said.current_user = value.to_owned(),
            "version" => said.version = value.to_owned(),
            "connection_id" => said.connection_id = value.parse().ok()?,
            "Ssl_cipher" => said.upstream_cipher = value.to_owned(),
            "inserted" => session.inserted = value.parse().ok()?,
            "prepared" => session.prepared = value.to_owned(),
            "rolled_back" => session.rolled_back = value.to_owned(),
            "committed" => session.committed = value.to_owned(),
            "large" => session.large = value.len(),
            _ => {}
        }
    }
    said.ok = session.duplicate > 0;
    said.session = Some(session);
    said.ok.then_some(said)
}

/// A script of tests/clients, which reads logins and writes what came of each.
pub struct Script {
    command: Command,
    running: Option<Running>,
}

struct Running {
    child: Child,
    logins: ChildStdin,
    lines: Receiver<String>,
}

impl Script {
    fn new(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self {
            command,
            running: None,
        }
    }

    fn login(&mut self, login: &Login<'_>) -> Result<Said, String> {
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(Running::start(&mut self.command)?),
        };
        let said = running.login(login);
        if said.is_err() {
            self.running = None; // the next login gets a new process
        }
        said
    }
}

impl Running {
    fn start(command: &mut Command) -> Result<Self, String> {
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let logins = child.stdin.take().expect("stdin is piped");
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut lines = output.lines().map_while(Result::ok);
            while lines.next().is_some_and(|line| sender.send(line).is_ok()) {}
        });
        Ok(Self {
            child,
            logins,
            lines,
        })
    }

    fn login(&mut self, login: &Login<'_>) -> Result<Said, String> {
        let port = login.port.to_string();
        let tls = if login.tls { "on" } else { "off" };
        let mut arguments = vec!["127.0.0.1", &port, login.user, login.password, tls, SCHEMA];
        if login.changes_user {
            arguments.extend([OTHER.0, OTHER.1]);
        }
        writeln!(self.logins, "{}", arguments.join("\t")).map_err(|error| error.to_string())?;
        let line = self.lines.recv_timeout(PATIENCE);
        Said::parse(&line.map_err(|error| format!("no answer from the script: {error}"))?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
