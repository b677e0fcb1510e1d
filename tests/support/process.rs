//! Programs of several languages that speak to a server: how they are started on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use countersink_sandbox::Address;
use tokio::process::Command;

use crate::support::drivers;

/// No program here takes as long, however busy the machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What to start, but for the place.
#[derive(Clone, Debug, Default)]
pub struct Process {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
}

/// A script in tests/clients, for Python with the packages of a list there.
pub fn python(list: &str, source: &str) -> Result<Process, String> {
    let name = list.trim_end_matches(".txt").replace('/', "-");
    Ok(script(drivers::python_with(&name, list)?, source))
}

/// A script in tests/clients, for Node.js with the packages of a list there.
pub fn node(list: &str, source: &str) -> Result<Process, String> {
    let folder = list.trim_end_matches("/package.json");
    let modules = drivers::node_modules_with(&format!("{folder}-node"), list)?;
    let mut process = script("node".into(), source);
    process.environment.push(("NODE_PATH", modules.into()));
    Ok(process)
}

/// A script in tests/clients, for PHP where it answers this question with 0; `what` is what it asks for.
pub fn php(what: &str, asks: &str, source: &str) -> Result<Process, String> {
    has("php", what, &["-r", asks])?;
    Ok(script("php".into(), source))
}

/// A script in tests/clients, for Ruby with a library.
pub fn ruby(library: &str, source: &str) -> Result<Process, String> {
    has("ruby", library, &["-r", library, "-e", "0"])?;
    Ok(script("ruby".into(), source))
}

/// A script in tests/clients, for Perl with a module.
pub fn perl(module: &str, source: &str) -> Result<Process, String> {
    has("perl", module, &[&format!("-M{module}"), "-e", "0"])?;
    Ok(script("perl".into(), source))
}

fn script(interpreter: PathBuf, source: &str) -> Process {
    Process {
        program: interpreter,
        arguments: vec![Path::new(drivers::SCRIPTS).join(source).into()],
        ..Process::default()
    }
}

/// Whether an interpreter that is asked so has a library; or what is missing.
fn has(program: &str, library: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = std::process::Command::new(program);
    let ended = command.args(arguments).stdin(Stdio::null()).output();
    let output = ended.map_err(|_| format!("{program} is not installed"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{library} is not installed")),
    }
}

impl Process {
    /// As a command with these arguments behind its own.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(arguments);
        command.envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Runs it to its end; what it has said.
    pub async fn run(&self, arguments: &[&str]) -> Result<Output, String> {
        let mut command = self.command(arguments);
        match tokio::time::timeout(PATIENCE, command.output()).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("it has not ended after {PATIENCE:?}")),
        }
    }

    /// What it says of its versions when it is given no place.
    pub async fn version(&self) -> String {
        let output = self.run(&[]).await.expect("it can be run");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

/// Host, port, user, password and schema.
pub fn place(server: &Address, schema: &str) -> [String; 5] {
    let Address {
        host,
        port,
        user,
        password,
        ..
    } = server.clone();
    [host, port.to_string(), user, password, schema.to_owned()]
}
