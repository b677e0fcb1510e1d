//! `countersink check`: prints the findings as text or as JSON.

mod arguments;
mod json;
mod text;

use std::process::ExitCode;

use countersink_terminal as terminal;
use tokio::runtime::Runtime;

use super::Error;
use crate::check::{self, Report, Severity};
use crate::config::Config;
use crate::counter::control::Control;

pub(super) use arguments::{CheckArguments, EXAMPLES};

/// Prints the report and returns the exit code.
pub(super) fn run(arguments: &CheckArguments, runtime: &Runtime) -> Result<ExitCode, Error> {
    let file = &arguments.file.rules;
    let config = super::load(file)?;
    let report = runtime.block_on(ask(&config));
    let report = report.map_err(|error| error.in_file(file))?;
    let lines = match arguments.json {
        true => vec![json::text(&report)],
        false => text::lines(&report),
    };
    terminal::print(&lines).map_err(Error::Output)?;
    Ok(exit_code(&report))
}

async fn ask(config: &Config) -> Result<Report, Error> {
    let control = Control::open(config).await?;
    let mut conn = control.connect().await?;
    let report = check::check(&mut conn, config).await;
    drop(conn);
    control.close().await;
    Ok(report?)
}

fn exit_code(report: &Report) -> ExitCode {
    match report.worst() {
        Some(Severity::Error) => ExitCode::from(2),
        Some(Severity::Warning) => ExitCode::from(3),
        Some(Severity::Notice) | None => ExitCode::SUCCESS,
    }
}
