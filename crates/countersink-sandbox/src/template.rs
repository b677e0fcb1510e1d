//! Initialised data folders, which are made once for each version and copied for each start.

use std::fs;
use std::io::{Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::once::Once;
use crate::program::output_of;
use crate::{Error, Flavour, Installation};

/// Incremented when the initialised data changes, so that older templates are replaced.
const RECIPE: u32 = 1;

/// The option that root needs to run a server, and that others must not use.
pub(super) fn user_option() -> Result<Option<&'static str>, Error> {
    // The owner of a new file is the user that runs this process.
    let owner = tempfile::tempfile().and_then(|file| Ok(file.metadata()?.uid()));
    let owner = owner.map_err(Error::file("create", Path::new("temp file")))?;
    Ok((owner == 0).then_some("--user=root"))
}

/// The data folder of a freshly initialised server, to be copied.
pub(super) fn template(installation: &Installation) -> Result<PathBuf, Error> {
    let name = format!(
        "{}-{}-data{RECIPE}",
        installation.flavour.word(),
        installation.version
    );
    let once = Once {
        cache: &installation.cache,
        name: &name,
        is_whole: Path::is_dir,
    };
    once.get(&|text| tracing::info!("{text}"), |part| {
        let data = part.join("data");
        fs::create_dir(&data).map_err(Error::file("create", &data))?;
        let mut command = installation.server_command();
        command
            .args(user_option()?)
            .arg(format!("--datadir={}", data.display()));
        // A half-made template is discarded, so nothing has to be on disk before everything is.
        command.args([
            "--innodb-flush-log-at-trx-commit=0",
            "--sync-binlog=0",
            "--skip-log-bin",
        ]);
        match installation.flavour {
            Flavour::MySql => initialise_mysql(command)?,
            Flavour::MariaDb => initialise_mariadb(command, installation)?,
        }
        // Contains the server's UUID. Each server must generate its own.
        let _ = fs::remove_file(data.join("auto.cnf"));
        Ok(data)
    })
}

/// Initialises MySQL: root has no password, and TLS certificates and the RSA key pair are generated.
fn initialise_mysql(mut command: Command) -> Result<(), Error> {
    output_of(command.args(["--initialize-insecure", "--loose-mysqlx=OFF"])).map(drop)
}

/// Does what the package's `mariadb-install-db` does. That script cannot be used, because its paths are fixed to the
/// system's.
fn initialise_mariadb(mut command: Command, installation: &Installation) -> Result<(), Error> {
    let share = installation.share().ok_or_else(|| Error::Incomplete {
        what: "share folder",
        path: installation.prefix.clone(),
    })?;
    let mut statements =
        tempfile::tempfile().map_err(Error::file("create", Path::new("temp file")))?;
    let mut write = |bytes: &[u8]| {
        statements
            .write_all(bytes)
            .map_err(Error::file("write", Path::new("temp file")))
    };
    // If there is no socket user, root's account is the one with an empty password. In this mode, the server reads one
    // statement per line.
    write(b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")?;
    for (name, needed) in [
        ("system_tables", true),
        ("performance_tables", false),
        ("system_tables_data", true),
        ("sys_schema", false),
    ] {
        // The prefix is `mysql` up to MariaDB 10, and `mariadb` since.
        let script = ["mariadb", "mysql"]
            .iter()
            .map(|prefix| share.join(format!("{prefix}_{name}.sql")))
            .find(|path| path.exists());
        match script {
            Some(path) => write(&fs::read(&path).map_err(Error::file("read", &path))?)?,
            None if needed => {
                return Err(Error::Incomplete {
                    what: "SQL file of the system tables",
                    path: share,
                });
            }
            None => {}
        }
    }
    statements
        .rewind()
        .map_err(Error::file("rewind", Path::new("temp file")))?;
    command.args(["--bootstrap", "--log-warnings=0", "--max-allowed-packet=8M"]);
    command.stdin(Stdio::from(statements));
    output_of(&mut command).map(drop)
}

/// Copies a folder with all below it.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::file("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::file("read", from))? {
        let entry = entry.map_err(Error::file("read", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_folder(&source, &target)?;
        } else if source.is_file() {
            fs::copy(&source, &target).map_err(Error::file("copy", &source))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_with_all_below_it() {
        let folder = tempfile::tempdir().expect("a temp folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("inner")).expect("made");
        fs::write(from.join("inner/file"), "text").expect("written");
        copy_folder(&from, &to).expect("copied");
        assert_eq!(
            fs::read_to_string(to.join("inner/file")).expect("there"),
            "text"
        );
    }
}
