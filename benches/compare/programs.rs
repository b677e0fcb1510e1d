//! The programs that are measured and measured with: where they come from, and their versions.

use std::process::{Command, Stdio};

/// Runs a program of a Debian package to its end; an error names the package when the program is missing.
pub fn output(command: &mut Command, package: &str) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ran = command.stdin(Stdio::null()).output();
    let output = ran.map_err(|error| missing(&name, package, &error))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!(
            "{name}: {}\n{said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// What to say of a program that does not start.
pub fn missing(name: &str, package: &str, error: &std::io::Error) -> String {
    format!("{name} does not start ({error}): install the Debian package `{package}`")
}

/// The first line of what a program says of its version.
pub fn version(command: &mut Command, package: &str) -> Result<String, String> {
    let said = output(command, package)?;
    Ok(said.lines().next().unwrap_or_default().trim().to_owned())
}
