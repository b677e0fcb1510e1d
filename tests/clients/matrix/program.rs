//! A library's program, ready to run.

use countersink_sandbox::Address;

use crate::matrix::blog;
use crate::matrix::compiled;
use crate::matrix::library::{Kind, Library};
use crate::support::drivers;
use crate::support::process::{self, Process};

/// A program that plays the blog, given where.
pub enum Program {
    /// A process of its own.
    Process(Process),
    /// This one.
    MysqlAsync,
}

impl Program {
    /// The program of this library, made if need be; or why it cannot be had on this machine.
    pub fn obtain(library: &Library) -> Result<Self, String> {
        let source = format!("matrix/{}", library.source);
        let mut process = match library.kind {
            Kind::MysqlAsync => return Ok(Self::MysqlAsync),
            Kind::Python(name) => process::python(&format!("matrix/{name}.txt"), &source)?,
            Kind::PythonWithLibmariadb => {
                drivers::needs("mariadb_config")?;
                process::python("matrix/with_libmariadb.txt", &source)?
            }
            Kind::Node => process::node("matrix/package.json", &source)?,
            Kind::Php(extension) => {
                let asks = format!("exit(extension_loaded('{extension}') ? 0 : 1);");
                process::php(extension, &asks, &source)?
            }
            Kind::Ruby(library) => process::ruby(library, &source)?,
            Kind::Perl(module) => process::perl(module, &source)?,
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
            Self::Process(process) => process.version().await,
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
        let place = process::place(server, schema);
        let output = process.run(&place.each_ref().map(String::as_str)).await?;
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
