//! The programs of an installation, and how to run them: directly, or with the dynamic loader of their own folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// A server or client program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub path: PathBuf,
    /// Set for programs of unpacked packages, whose C library may be newer than the machine's.
    pub loader: Option<Loader>,
}

/// An unpacked dynamic loader, and the library folders beside it.
#[derive(Clone, Debug)]
pub(super) struct Loader {
    path: PathBuf,
    libraries: String,
}

impl Program {
    /// A command that runs the program.
    pub fn command(&self) -> Command {
        let Some(loader) = &self.loader else {
            return Command::new(&self.path);
        };
        let mut command = Command::new(&loader.path);
        command
            .arg("--library-path")
            .arg(&loader.libraries)
            .arg(&self.path);
        // A library built for the machine's own C library would not load here.
        command.env_remove("LD_PRELOAD");
        command
    }
}

impl Loader {
    /// Finds the loader and the library folders of packages unpacked under `root`.
    pub fn under(root: &Path) -> Result<Self, Error> {
        let folders: Vec<PathBuf> = ["lib", "usr/lib", "lib64", "usr/lib64"]
            .iter()
            .flat_map(|name| {
                let folder = root.join(name);
                subfolders(&folder).into_iter().chain([folder])
            })
            .filter(|folder| {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                name.ends_with("-linux-gnu") || name.ends_with("64")
            })
            .collect();
        // Symbolic links are skipped: the packages' links to the loader are absolute, so they would lead to the
        // machine's own.
        let path = folders
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten()
            .flatten()
            .find(|file| {
                file.file_name().to_string_lossy().starts_with("ld-linux")
                    && file.file_type().is_ok_and(|kind| kind.is_file())
            })
            .map(|file| file.path())
            .ok_or(Error::Incomplete {
                what: "dynamic loader",
                path: root.to_owned(),
            })?;
        let private = root.join("usr/lib/mysql/private");
        let libraries: Vec<String> = folders
            .iter()
            .chain([&private])
            .filter(|folder| folder.is_dir())
            .map(|folder| folder.display().to_string())
            .collect();
        Ok(Self {
            path,
            libraries: libraries.join(":"),
        })
    }
}

/// The folders directly in `folder`. Empty if there is no such folder.
pub(super) fn subfolders(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect()
}

/// Runs a command to its end and returns its output. On failure, the error contains the end of the output.
pub(super) fn output_of(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| Error::Run {
        program: name.clone(),
        source,
    })?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let said = format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    let action = command
        .get_args()
        .find(|argument| !argument.to_string_lossy().starts_with('-'));
    let program = match action {
        Some(action) => format!("{name} {}", action.to_string_lossy()),
        None => name,
    };
    Err(Error::Failed {
        program,
        status: output.status,
        output: last_lines(&said, 12),
    })
}

/// The last non-empty lines of a text.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text() {
        assert_eq!(last_lines("a\n\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }

    #[test]
    fn a_failure_shows_what_was_said() {
        let failed = output_of(Command::new("sh").args(["-c", "echo out; echo no >&2; exit 3"]));
        let text = failed.expect_err("exit 3").to_string();
        assert!(text.contains("out\nno") && text.contains('3'), "{text}");
        let missing = output_of(&mut Command::new("/nonexistent/program"));
        assert!(matches!(missing, Err(Error::Run { .. })));
    }
}
