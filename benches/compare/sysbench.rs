//! sysbench: one turn of a number of clients against one target.

use std::path::Path;
use std::process::Command;

use countersink_sandbox::Address;

use crate::programs;

/// What one turn says.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Statements per second.
    pub rate: f64,
    /// Median latency in milliseconds.
    pub median: f64,
}

/// What is run.
pub struct Run<'a> {
    pub statement: &'a str,
    pub schema: &'a str,
    pub clients: usize,
    /// In seconds.
    pub length: u64,
}

/// Runs it, and fails with what sysbench says when any statement fails.
pub fn run(to: &Address, run: &Run<'_>) -> Result<Turn, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/compare/statement.lua");
    let mut command = Command::new("sysbench");
    command
        .arg("--db-driver=mysql")
        .arg(format!("--mysql-host={}", to.host))
        .arg(format!("--mysql-port={}", to.port))
        .arg(format!("--mysql-user={}", to.user))
        .arg(format!("--mysql-password={}", to.password))
        .arg(format!("--mysql-db={}", run.schema))
        .arg(format!("--threads={}", run.clients))
        .arg(format!("--time={}", run.length))
        .args(["--events=0", "--percentile=50", "--db-ps-mode=disable"])
        .arg(format!("--statement={}", run.statement))
        .arg(script)
        .arg("run");
    let output = programs::output(&mut command, "sysbench")?;
    parse(&output).ok_or_else(|| format!("sysbench said what is not understood:\n{output}"))
}

/// `queries: 51423 (25707.05 per sec.)` and `50th percentile: 0.04`.
fn parse(output: &str) -> Option<Turn> {
    let behind = |name: &str| {
        let line = output
            .lines()
            .find_map(|line| line.trim().strip_prefix(name));
        line.map(str::trim)
    };
    let (_, rate) = behind("queries:")?.split_once('(')?;
    Some(Turn {
        rate: rate.split_whitespace().next()?.parse().ok()?,
        median: behind("50th percentile:")?.parse().ok()?,
    })
}
