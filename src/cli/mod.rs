//! The command line: arguments in, exit code out.

mod advise;
mod bench;
mod check;
mod client;
mod completions;
mod demo;
mod drain;
mod error;
mod explain;
mod health;
mod log;
mod man;
mod password;
mod provision;
mod proxy;
mod rollup;
mod serve;
mod target;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::admin::RecentLog;
use crate::config::{Config, Listen};

pub use error::Error;
pub use serve::{prepare, prepare_with};

/// Makes hot counter rows of MySQL and MariaDB fast, without changing the application.
///
/// Point the application at Countersink's port instead of the server's, name the hot tables in rules.yaml,
/// and increments of their counters no longer queue on one row.
#[derive(Debug, Parser)]
#[command(name = "countersink", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  countersink demo                                  a server, a hot row, and what the proxy makes of it
  countersink serve                                 with ./rules.yaml
  countersink serve --rules /etc/countersink/rules.yaml --listen 0.0.0.0:6033
  countersink check                                 what is wrong between the rules and the server
  countersink provision --print                     the statements for a DBA
  countersink rollup --now                          slots into base rows, at once
  countersink drain                                 out again: slots into base rows, slot tables dropped
  countersink explain 'SELECT views FROM posts'     what becomes of a statement, and why
  countersink bench --rules rules.yaml              what it is worth on your own server
  countersink advise --for 10s                      which counters are hot, and the rules for them
  countersink health --ready                        whether clients should be sent to the proxy
  source <(countersink completions bash)            completes this command line
  COUNTERSINK_LOG=debug countersink serve           more of the log
  COUNTERSINK_LOG_FORMAT=json countersink serve     an object in each line of it

Exit codes:
  0  all went well
  1  a failure while running, such as a server that cannot be reached; `health` found the proxy ill
  2  wrong usage, or rules.yaml does not fit itself, the server or the tables; `check` found errors
  3  `check` found warnings, and no errors
  130  `demo` or `bench` was interrupted";

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the proxy.
    #[command(after_help = "\
Examples:
  countersink serve --rules rules.yaml
  countersink serve --listen 127.0.0.1:7000         instead of the file's listen
  countersink serve --take-over                     a new version: once it listens, end the old one by SIGTERM

Signals:
  HUP         reads the rules again, as it does by itself when the file changes; what is wrong changes nothing
  TERM, INT   accepts no more clients, closes idle sessions, gives open transactions drain_timeout to end")]
    Serve(ServeArguments),
    /// Looks for everything that is wrong, or will be, between the rules and the live server; changes nothing.
    #[command(after_help = check::EXAMPLES)]
    Check(check::CheckArguments),
    /// Creates the slot tables that the rules need, or prints the statements for it.
    #[command(after_help = "\
Examples:
  countersink provision                             as the control account; `serve` does the same at start
  countersink provision --print > slots.sql         for a DBA, when the control account may not create tables")]
    Provision(ProvisionArguments),
    /// Shows what slots hold, or moves it into the base rows now; a running proxy does so by itself.
    #[command(name = "rollup", after_help = rollup::EXAMPLES)]
    RollUp(rollup::RollUpArguments),
    /// Takes rules out of force while proxies run: moves all slots into the rows and drops the slot tables.
    #[command(after_help = drain::EXAMPLES)]
    Drain(drain::DrainArguments),
    /// Shows what is done with statements: the plan and why, the SQL that is sent, the locks that it takes.
    #[command(after_help = explain::EXAMPLES)]
    Explain(explain::ExplainArguments),
    /// Shows on this machine what the proxy gains: fetches a server, loads one hot row, compares.
    #[command(after_help = demo::EXAMPLES)]
    Demo(demo::DemoArguments),
    /// Finds the hot counters of a server, or of the traffic through a proxy, and prints the rules to add.
    #[command(after_help = advise::EXAMPLES)]
    Advise(advise::AdviseArguments),
    /// Measures on your own server what the proxy gains at each number of clients, and what a read costs.
    #[command(after_help = bench::EXAMPLES)]
    Bench(bench::BenchArguments),
    /// Reports whether the proxy of these rules is healthy, for the health checks of containers.
    #[command(after_help = health::EXAMPLES)]
    Health(health::HealthArguments),
    /// Prints what a shell needs to complete this command line.
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::CompletionsArguments),
    /// Prints the manual page, of countersink or of one of its commands.
    #[command(after_help = man::EXAMPLES)]
    Man(man::ManArguments),
}

impl Command {
    /// The log level unless the environment specifies another. Most commands print reports instead.
    fn log_level(&self) -> &'static str {
        match self {
            Self::Serve(_) | Self::Provision(_) => "info",
            _ => "warn",
        }
    }
}

#[derive(Debug, Args)]
struct RulesArguments {
    /// The rules file.
    #[arg(long, value_name = "FILE", default_value = "rules.yaml")]
    rules: PathBuf,
}

#[derive(Debug, Args)]
struct ServeArguments {
    #[command(flatten)]
    file: RulesArguments,
    /// Where to listen, instead of the rules file's `listen`.
    #[arg(long, value_name = "ADDRESS,..", value_parser = Listen::parse)]
    listen: Option<Listen>,
    /// Listen beside a running Countersink, which you then stop with SIGTERM: no client is refused.
    #[arg(long)]
    take_over: bool,
}

#[derive(Debug, Args)]
struct ProvisionArguments {
    #[command(flatten)]
    file: RulesArguments,
    /// Only print the statements, with the GRANTs that are needed.
    #[arg(long)]
    print: bool,
}

/// Runs the command that the process's arguments specify.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let command = arguments.command;
    match log::start(command.log_level()).and_then(|log| run_command(command, log)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("countersink: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run_command(command: Command, log: Arc<RecentLog>) -> Result<ExitCode, Error> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Command::Serve(_) = &command {
        // With huge pages, memory would grow by 2 MiB at a time, of which a proxy uses little. If the system does not
        // have them, that is fine.
        #[cfg(target_os = "linux")]
        rustix::thread::disable_transparent_huge_pages(true).ok();
        // Sessions have threads of their own. Each further thread would use memory of its own for the little that
        // remains.
        builder.worker_threads(1);
    }
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|source| Error::Runtime { source })?;
    match command {
        Command::Serve(arguments) => {
            let file = arguments.file.rules;
            let mut config = load(&file)?;
            config.listen = arguments.listen.unwrap_or(config.listen);
            let serving = serve::serve(config, &file, arguments.take_over, log);
            let serving = runtime.block_on(serving);
            serving.map_err(|error| error.in_file(&file))?;
        }
        Command::Check(arguments) => return check::run(&arguments, &runtime),
        Command::Provision(arguments) => {
            let file = arguments.file.rules;
            let config = load(&file)?;
            let provisioned = runtime.block_on(provision::provision(&config, arguments.print));
            write(provisioned.map_err(|error| error.in_file(&file))?)?;
        }
        Command::RollUp(arguments) => {
            let file = &arguments.file.rules;
            let config = load(file)?;
            let rolled_up = runtime.block_on(rollup::roll_up(&config, &arguments));
            rolled_up.map_err(|error| error.in_file(file))?;
        }
        Command::Drain(arguments) => {
            let file = &arguments.file.rules;
            let config = load(file)?;
            let drained = runtime.block_on(drain::drain(&config, &arguments));
            drained.map_err(|error| error.in_file(file))?;
        }
        Command::Explain(arguments) => write(explain::run(&arguments, &runtime)?)?,
        Command::Demo(arguments) => demo::run(arguments, &runtime)?,
        Command::Advise(arguments) => advise::run(&arguments, &runtime)?,
        Command::Bench(arguments) => bench::run(&arguments, &runtime)?,
        Command::Health(arguments) => {
            let file = &arguments.file.rules;
            // The environment of a health check need not have the secrets.
            let config = Config::load_offline(file);
            let config = config.map_err(|error| Error::from(error).in_file(file))?;
            let health = runtime.block_on(health::health(&config, &arguments));
            write(health.map_err(|error| Error::from(error).in_file(file))?)?;
        }
        Command::Completions(arguments) => {
            write(completions::script(Arguments::command(), &arguments))?;
        }
        Command::Man(arguments) => write(man::run(Arguments::command(), &arguments)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes to standard output, which may be closed.
fn write(text: impl AsRef<[u8]>) -> Result<(), Error> {
    std::io::stdout()
        .write_all(text.as_ref())
        .map_err(Error::Output)
}

fn load(file: &Path) -> Result<Config, Error> {
    Config::load(file).map_err(|error| Error::from(error).in_file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn serve_takes_rules_and_listen() {
        let parse = |words: &[&str]| Arguments::try_parse_from(words).map(|parsed| parsed.command);
        let Ok(Command::Serve(serve)) = parse(&["countersink", "serve"]) else {
            panic!("serve needs no arguments");
        };
        assert_eq!(serve.file.rules, Path::new("rules.yaml"));
        assert_eq!(serve.listen, None);
        let Ok(Command::Serve(serve)) = parse(&[
            "countersink",
            "serve",
            "--rules",
            "r.yaml",
            "--listen",
            "[::1]:0",
        ]) else {
            panic!("serve takes --rules and --listen");
        };
        assert_eq!(serve.file.rules, Path::new("r.yaml"));
        assert_eq!(
            serve.listen.map(|listen| listen.to_string()).as_deref(),
            Some("[::1]:0")
        );
        let error = parse(&["countersink", "serve", "--listen", "6033"]).unwrap_err();
        assert!(error.to_string().contains("the port is missing"), "{error}");
    }
}
