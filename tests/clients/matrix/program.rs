//! A library's program, ready to run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use countersink_sandbox::Address;
use tokio::process::Command;

use crate::matrix::blog;
use crate::matrix::compiled;
use crate::matrix::library::{Kind, Library};
use crate::support::drivers;

/// No blog takes as long, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that plays the blog, given where.
pub enum Program {
    /// A process of its own.
    Process(Process),
    /// This one.
    MysqlAsync,
}

/// What to start, but for the place.
#[derive(Default)]
pub struct Process {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
}

impl Program {
    /// The program of this library, made if need be; or why it cannot be had on this machine.
    pub fn obtain(library: &Library) -> Result<Self, String> {
        let source = Path::new(drivers::SCRIPTS)
            .join("matrix")
            .join(library.source);
        let mut process = match library.kind {
            Kind::MysqlAsync => return Ok(Self::MysqlAsync),
            Kind::Python(name) => {
                let list = format!("matrix/{name}.txt");
                script(
                    drivers::python_with(&format!("matrix-{name}"), &list)?,
                    source,
                )
            }
            Kind::PythonWithLibmariadb => {
                drivers::needs("mariadb_config")?;
                let list = "matrix/with_libmariadb.txt";
                script(
                    drivers::python_with("matrix-with_libmariadb", list)?,
                    source,
                )
            }
            Kind::Node => {
                let modules = drivers::node_modules_with("matrix-node", "matrix/package.json")?;
                let mut process = script("node".into(), source);
                process.environment.push(("NODE_PATH", modules.into()));
                process
            }
            Kind::Php(extension) => {
                let asks = format!("exit(extension_loaded('{extension}') ? 0 : 1);");
                has("php", extension, &["-r", &asks])?;
                script("php".into(), source)
            }
            Kind::Ruby(library) => {
                has("ruby", library, &["-r", library, "-e", "0"])?;
                script("ruby".into(), source)
            }
            Kind::Perl(module) => {
                has("perl", module, &[&format!("-M{module}"), "-e", "0"])?;
                script("perl".into(), source)
            }
            Kind::C => compiled::c()?,
            Kind::Go => compiled::go()?,
            Kind::Java => compiled::java()?,
        };
        process.arguments.push(library.driver.into());
        Ok(Self::Process(process))
    }

    /// The library's version.
    pub async fn version(&self) -> String {
        match self {
            Self::Process(process) => {
                let output = process.run(&[]).await.expect("it can be run");
                String::from_utf8_lossy(&output.stdout).trim().to_owned()
            }
            Self::MysqlAsync => blog::version(),
        }
    }

    /// Plays the blog in a schema of this server; what it said, or what went wrong.
    pub async fn play(&self, server: &Address, schema: &str) -> Result<Vec<String>, String> {
        let process = match self {
            Self::Process(process) => process,
            Self::MysqlAsync => {
                let played = blog::play(server, schema).await;
                return played.map_err(|error| error.to_string());
            }
        };
        let port = server.port.to_string();
        let place = [&server.host, &port, &server.user, &server.password, schema];
        let output = process.run(&place).await?;
        let said = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<_> = said.lines().map(str::to_owned).collect();
        let has_finished = lines.last().is_some_and(|line| line == "finished");
        if output.status.success() && has_finished && output.stderr.is_empty() {
            return Ok(lines);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("{}\n{said}{errors}", output.status))
    }
}

impl Process {
    async fn run(&self, place: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(place);
        command
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null());

        command.kill_on_drop(true);
        match tokio::time::timeout(PATIENCE, command.output()).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("it has not ended after {PATIENCE:?}")),
        }
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

fn script(interpreter: PathBuf, source: PathBuf) -> Process {
    Process {
        program: interpreter,
        arguments: vec![source.into()],
        ..Process::default()
    }
}
