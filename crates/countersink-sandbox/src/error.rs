//! What can go wrong before a server runs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::Flavour;

/// Why there is no server, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server was not found and cannot be fetched: the system is another, or a tool is missing.
    #[error(
        "no {flavour} server on PATH, and its packages cannot be fetched here because {reason}: \
         {remedy}, or name running servers in COUNTERSINK_TEST_SERVERS"
    )]
    NotAvailable {
        /// Which server was wanted.
        flavour: Flavour,
        /// Why it cannot be fetched.
        reason: String,
        /// A command that installs the server on this system.
        remedy: &'static str,
    },

    /// The suite's package list has no package of that name.
    #[error(
        "suite {suite} of {mirror} has no package {stem}: install {flavour} so that it is on PATH"
    )]
    NoPackage {
        /// Which server was wanted.
        flavour: Flavour,
        /// The package's name, without a version.
        stem: String,
        /// The suite that was searched.
        suite: String,
        /// The mirror that was searched, as the machine's apt sources name it.
        mirror: String,
    },

    /// The installation has a server but no client program.
    #[error(
        "no {flavour} client program beside the server or on PATH: install it so that it is on PATH"
    )]
    NoClient {
        /// Which client was wanted.
        flavour: Flavour,
    },

    /// A program could not be executed.
    #[error("could not run `{program}`: {source}")]
    Run {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },

    /// A program ran and reported failure.
    #[error("`{program}` failed with {status}: {output}")]
    Failed {
        /// The program and its first arguments.
        program: String,
        /// Its exit status.
        status: ExitStatus,
        /// The end of its output.
        output: String,
    },

    /// A file or folder could not be read or written.
    #[error("could not {doing} {}: {source}", path.display())]
    File {
        /// What was attempted, such as `create`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// The unpacked packages or the server on the machine lack a required file.
    #[error("no {what} under {}: remove the folder so that it is fetched anew, or install the server's full package", path.display())]
    Incomplete {
        /// What is missing.
        what: &'static str,
        /// Where it was expected.
        path: PathBuf,
    },

    /// A path is too long for a unix socket's address.
    #[error("socket path {} is longer than {limit} bytes: choose a shorter folder, for example by TMPDIR", path.display())]
    SocketPath {
        /// The path.
        path: PathBuf,
        /// The maximum length that every system accepts, in bytes.
        limit: usize,
    },

    /// The server ended before it responded, or did not respond in time.
    #[error("{flavour} {version} did not start: {reason}; its log ends with:\n{log}")]
    Start {
        /// Which server.
        flavour: Flavour,
        /// Its version.
        version: String,
        /// Exit status or time limit.
        reason: String,
        /// The last lines of its error log.
        log: String,
    },

    /// The server did not end after SIGTERM, or ended with a failure.
    #[error("{flavour} {version} did not stop cleanly: {reason}; its log ends with:\n{log}")]
    Stop {
        /// Which server.
        flavour: Flavour,
        /// Its version.
        version: String,
        /// Exit status or time limit.
        reason: String,
        /// The last lines of its error log.
        log: String,
    },

    /// An entry of COUNTERSINK_TEST_SERVERS is not a server's URL. The entry is not shown, because it may contain a
    /// password.
    #[error(
        "entry {position} of COUNTERSINK_TEST_SERVERS: {reason}; write mysql://user:password@host:port"
    )]
    Url {
        /// Which entry, from 1.
        position: usize,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// A server named in COUNTERSINK_TEST_SERVERS does not respond as a MySQL server.
    #[error("no MySQL server answers at {host}:{port}: {source}")]
    NoAnswer {
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// Wraps an I/O error with what was attempted on which file.
    pub(super) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}
