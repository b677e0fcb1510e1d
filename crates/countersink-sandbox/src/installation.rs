//! Where a server's programs are, and how to run them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Loader, Program, output_of, subfolders};
use crate::{Error, Flavour, Version, fetch, find};

/// A server's programs, ready to run.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The server's family.
    pub flavour: Flavour,
    /// The server's version.
    pub version: Version,
    pub(super) server: Program,
    client: Option<Program>,
    /// The folder that contains `bin`, `sbin`, `share` and `lib`.
    pub(super) prefix: PathBuf,
    /// Whether the programs are not where they were built for, so that they need options with their files' paths.
    moved: bool,
    /// Where initialised data folders are kept for the next start.
    pub(super) cache: PathBuf,
}

impl Installation {
    /// Finds the machine's own server, or otherwise fetches the distribution's packages into `cache`. The variable
    /// COUNTERSINK_MARIADB_SUITE names a suite to fetch MariaDB from, whatever the machine has.
    ///
    /// A server without a client program is used only if fetching is impossible. The folder `cache`, such as
    /// `target/servers`, is created if necessary, and reused by later calls and by other processes. Its contents may be
    /// removed while nothing is running. `progress` is called with a short line before each slow step.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] if neither is possible; its text says what to install.
    pub fn obtain(flavour: Flavour, cache: &Path, progress: &dyn Fn(&str)) -> Result<Self, Error> {
        let found = match fetch::asked_suite(flavour) {
            Some(_) => None,
            None => Self::find(flavour, cache)?,
        };
        match found {
            Some(found) if found.client.is_some() => Ok(found),
            found => match (Self::fetch(flavour, cache, progress), found) {
                (Err(Error::NotAvailable { .. }), Some(found)) => Ok(found),
                (fetched, _) => fetched,
            },
        }
    }

    /// Finds the server on PATH or in the system's usual places, if there is one.
    ///
    /// # Errors
    /// If AppArmor confines the server and no copy can be made in `cache`.
    pub fn find(flavour: Flavour, cache: &Path) -> Result<Option<Self>, Error> {
        let Some(found) = find::find(flavour) else {
            return Ok(None);
        };
        let cache = absolute(cache)?;
        let own = found
            .server
            .canonicalize()
            .map_err(Error::file("resolve", &found.server))?;
        let name = format!("{}-{}-program", flavour.word(), found.version);
        let server = find::unconfined(&own, &cache, &name)?;
        let prefix = own.ancestors().nth(2).unwrap_or(Path::new("/")).to_owned();
        let program = |path| Program { path, loader: None };
        Ok(Some(Self {
            flavour,
            version: found.version,
            moved: server != own,
            server: program(server),
            client: found.client.map(program),
            prefix,
            cache,
        }))
    }

    /// Fetches the distribution's packages into `cache`, unless an earlier call has; see [`obtain`](Self::obtain).
    ///
    /// # Errors
    /// [`Error::NotAvailable`] outside Debian and Ubuntu; others if the download fails.
    pub fn fetch(flavour: Flavour, cache: &Path, progress: &dyn Fn(&str)) -> Result<Self, Error> {
        let cache = absolute(cache)?;
        let root = fetch::fetch(flavour, &cache, progress)?;
        let loader = Loader::under(&root)?;
        let prefix = root.join("usr");
        let program = |name: &str| Program {
            path: prefix.join(name),
            loader: Some(loader.clone()),
        };
        let (server, client) = match flavour {
            Flavour::MySql => (program("sbin/mysqld"), program("bin/mysql")),
            Flavour::MariaDb => (program("sbin/mariadbd"), program("bin/mariadb")),
        };
        let line = output_of(server.command().arg("--version"))?;
        let version = Version::from_version_line(&line).ok_or(Error::Incomplete {
            what: "server that tells its version",
            path: root,
        })?;
        Ok(Self {
            flavour,
            version,
            server,
            client: Some(client),
            prefix,
            moved: true,
            cache,
        })
    }

    /// A command that runs the `mysql` or `mariadb` client without the user's option files.
    ///
    /// Add options for the connection, such as [`Server::client_options`](crate::Server::client_options).
    ///
    /// # Errors
    /// [`Error::NoClient`] if the machine's own server has no client program.
    pub fn client(&self) -> Result<Command, Error> {
        let client = self.client.as_ref().ok_or(Error::NoClient {
            flavour: self.flavour,
        })?;
        let mut command = client.command();
        command.arg("--no-defaults");
        if self.moved && client.loader.is_some() {
            command.args(self.folder_option("--plugin-dir", self.client_plugins()));
            command.args(self.folder_option(
                "--character-sets-dir",
                self.share().map(|share| share.join("charsets")),
            ));
        }
        // `--no-defaults` does not keep the client from reading the login file and these variables.
        command.env("MYSQL_TEST_LOGIN_FILE", "/nonexistent/login-file");
        for name in [
            "MYSQL_HOST",
            "MYSQL_TCP_PORT",
            "MYSQL_UNIX_PORT",
            "MYSQL_PWD",
        ] {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// A command that runs the server with options for the paths of its own files.
    pub(super) fn server_command(&self) -> Command {
        let mut command = self.server.command();
        command.arg("--no-defaults");
        if self.moved {
            let share = self.share();
            let charsets = share.as_ref().map(|share| share.join("charsets"));
            command.args(self.folder_option("--basedir", Some(self.prefix.clone())));
            command.args(self.folder_option("--lc-messages-dir", share));
            command.args(self.folder_option("--character-sets-dir", charsets));
            command.args(
                self.folder_option("--plugin-dir", Some(self.prefix.join("lib/mysql/plugin"))),
            );
        }
        command
    }

    /// The folder that contains error messages, character sets and the SQL of the system tables.
    pub(super) fn share(&self) -> Option<PathBuf> {
        let names: &[&str] = match self.flavour {
            Flavour::MySql => &["mysql", "mysql-8.4", "mysql-8.0"],
            Flavour::MariaDb => &["mariadb", "mysql"],
        };
        names
            .iter()
            .map(|name| self.prefix.join("share").join(name))
            .find(|share| share.join("charsets").is_dir())
    }

    fn client_plugins(&self) -> Option<PathBuf> {
        match self.flavour {
            Flavour::MySql => Some(self.prefix.join("lib/mysql/plugin")),
            Flavour::MariaDb => subfolders(&self.prefix.join("lib"))
                .into_iter()
                .map(|folder| folder.join("libmariadb3/plugin"))
                .find(|folder| folder.is_dir()),
        }
    }

    fn folder_option(&self, name: &str, folder: Option<PathBuf>) -> Option<String> {
        folder
            .filter(|folder| folder.is_dir())
            .map(|folder| format!("{name}={}", folder.display()))
    }
}

/// Makes a path absolute. Servers and apt run in folders of their own, where a relative path would mean something else.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::file("resolve", path))
}
