//! Where a server's programs are, and how to run them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Loader, Program, output_of, subfolders};
use crate::{Error, Flavour, Version, fetch, find};

/// A server's programs, ready to run.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Which family it is.
    pub flavour: Flavour,
    /// Version of the server.
    pub version: Version,
    pub(super) server: Program,
    client: Option<Program>,
    /// The folder above `bin`, `sbin`, `share` and `lib`.
    pub(super) prefix: PathBuf,
    /// Whether the programs are elsewhere than they were built for, and must be told where.
    moved: bool,
    /// Where initialised data folders are kept for the next start.
    pub(super) cache: PathBuf,
}

impl Installation {
    /// The machine's own server if it has one, else the distribution's packages fetched into `cache`.
    ///
    /// A server found without its client program is used only where fetching is impossible. The
    /// folder `cache`, such as `target/servers`, is made if need be and used again by later calls
    /// and by other processes; what it holds may be removed while nothing runs. `progress` is
    /// called with a short line before each slow step.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] where there is neither; its text says what to install.
    pub fn obtain(flavour: Flavour, cache: &Path, progress: &dyn Fn(&str)) -> Result<Self, Error> {
        let found = Self::find(flavour, cache)?;
        match found {
            Some(found) if found.client.is_some() => Ok(found),
            found => match (Self::fetch(flavour, cache, progress), found) {
                (Err(Error::NotAvailable { .. }), Some(found)) => Ok(found),
                (fetched, _) => fetched,
            },
        }
    }

    /// The server on PATH or in the system's usual places, or `None`.
    ///
    /// # Errors
    /// When AppArmor confines the server and no copy can be made in `cache`.
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

    /// The distribution's packages, fetched into `cache` unless an earlier call did; see [`obtain`](Self::obtain).
    ///
    /// # Errors
    /// [`Error::NotAvailable`] outside Debian and Ubuntu; others when the download fails.
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

    /// A command that runs the `mysql` or `mariadb` client, free of the user's option files.
    ///
    /// Add the connection's options, such as [`Server::client_options`](crate::Server::client_options).
    ///
    /// # Errors
    /// [`Error::NoClient`] when the machine's own server has no client program.
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
        // `--no-defaults` does not keep the client from the login file and these variables.
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

    /// A command that runs the server with the options that tell it where its own files are.
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

    /// The folder of error messages, character sets and the system tables' SQL.
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

/// Servers and apt run in folders of their own, so a relative path would lead elsewhere.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::file("resolve", path))
}
