//! The applications in Rust, which Cargo builds into target/clients.

use std::path::Path;
use std::process::Command;

use crate::support::drivers::{SCRIPTS, needs, run};
use crate::support::process::Process;

const CACHE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/clients");

/// A program with one library only, for not every machine has what each of them needs. What was built before, Cargo
/// leaves as it is.
pub fn rust(feature: &str, with_libmysqlclient: bool, program: &str) -> Result<Process, String> {
    needs("cargo")?;
    if with_libmysqlclient {
        has_libmysqlclient()?;
    }
    let target = Path::new(CACHE).join("applications-rust");
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--locked", "--features", feature]);
    command
        .args(["--bin", program, "--target-dir"])
        .arg(&target);
    command.current_dir(Path::new(SCRIPTS).join("applications/rust"));
    run(&mut command);
    Ok(Process {
        program: target.join("debug").join(program),
        ..Process::default()
    })
}

/// Whether pkg-config or mysql_config leads to one, as mysqlclient-sys looks for it.
fn has_libmysqlclient() -> Result<(), String> {
    let finds = |library: &str| {
        let mut command = Command::new("pkg-config");
        let output = command.args(["--exists", library]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if ["mysqlclient", "libmariadb"].into_iter().any(finds) {
        return Ok(());
    }
    needs("mysql_config").map_err(|_| "neither libmysqlclient nor libmariadb is installed".into())
}
