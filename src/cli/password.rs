//! Reads passwords from places that, unlike the command line, other users of the machine cannot read.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The environment variable is not set.
    #[error("--password-env: the environment has no {variable}; export it")]
    NoVariable {
        /// Name of the variable.
        variable: String,
    },
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Reads the password from this environment variable or from this file, without the line break at its end. Returns
/// `None` if neither is given.
pub(super) fn read(variable: Option<&str>, file: Option<&Path>) -> Result<Option<String>, Error> {
    if let Some(variable) = variable {
        let password = std::env::var(variable).map_err(|_| Error::NoVariable {
            variable: variable.to_owned(),
        });
        return password.map(Some);
    }
    let Some(file) = file else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(file).map_err(|source| Error::Unreadable {
        file: file.to_owned(),
        source,
    })?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Some(line.strip_suffix('\r').unwrap_or(line).to_owned()))
}
