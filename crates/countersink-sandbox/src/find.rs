//! Looks for a server and its client among the machine's programs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::once::Once;
use crate::program::output_of;
use crate::{Error, Flavour, Version};

/// Where systems keep daemons outside PATH, and where Homebrew keeps programs that it does not link.
const MORE_FOLDERS: [&str; 9] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/opt/homebrew/opt/mysql/bin",
    "/opt/homebrew/opt/mariadb/bin",
    "/usr/local/opt/mysql/bin",
    "/usr/local/opt/mariadb/bin",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
];

/// A server that the machine has.
#[derive(Debug)]
pub(super) struct Found {
    pub server: PathBuf,
    pub client: Option<PathBuf>,
    pub version: Version,
}

/// Finds the flavour's server on PATH or in the usual places.
pub(super) fn find(flavour: Flavour) -> Option<Found> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path)
        .chain(MORE_FOLDERS.iter().map(PathBuf::from))
        .collect();
    let (servers, clients): (&[&str], &[&str]) = match flavour {
        Flavour::MySql => (&["mysqld"], &["mysql"]),
        Flavour::MariaDb => (&["mariadbd", "mysqld"], &["mariadb", "mysql"]),
    };
    let (server, line) = first_of(flavour, servers, &folders)?;
    let version = Version::from_version_line(&line)?;
    let client = first_of(flavour, clients, &folders).map(|(client, _)| client);
    Some(Found {
        server,
        client,
        version,
    })
}

/// The first program with one of these names whose version line is of the flavour, and that line.
fn first_of(flavour: Flavour, names: &[&str], folders: &[PathBuf]) -> Option<(PathBuf, String)> {
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .filter(|program| program.is_file())
        .find_map(|program| {
            let line = output_of(Command::new(&program).arg("--version")).ok()?;
            (Flavour::of(&line) == flavour).then_some((program, line))
        })
}

/// The path of the server's program, or of a copy in `cache` if AppArmor has a rule for the program's path.
///
/// Ubuntu's rule for `/usr/sbin/mysqld` permits only the system's data folder. Rules apply to a program's path, so a
/// copy elsewhere is as unconfined as any program that its user built.
pub(super) fn unconfined(server: &Path, cache: &Path, name: &str) -> Result<PathBuf, Error> {
    let server = server
        .canonicalize()
        .map_err(Error::file("resolve", server))?;
    if !has_rule(&server, Path::new("/etc/apparmor.d")) {
        return Ok(server);
    }
    Once {
        cache,
        name,
        is_whole: Path::is_file,
    }
    .get(&|_| {}, |part| {
        let copy = part.join("program");
        fs::copy(&server, &copy).map_err(Error::file("copy", &server))?;
        Ok(copy)
    })
}

fn has_rule(server: &Path, rules: &Path) -> bool {
    let name = server
        .to_string_lossy()
        .trim_start_matches('/')
        .replace('/', ".");
    rules.join(&name).exists() && !rules.join("disable").join(&name).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &Path, name: &str, says: &str) {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    #[test]
    fn a_program_is_told_by_what_it_says_not_by_its_name() {
        let folder = tempfile::tempdir().expect("a temp folder");
        program(
            folder.path(),
            "mysqld",
            "mysqld  Ver 10.11.18-MariaDB for Linux",
        );
        let folders = [folder.path().to_owned()];
        assert!(first_of(Flavour::MySql, &["mysqld"], &folders).is_none());
        let (found, _) =
            first_of(Flavour::MariaDb, &["mariadbd", "mysqld"], &folders).expect("found");
        assert_eq!(found, folder.path().join("mysqld"));
    }

    #[test]
    fn apparmor_rules_go_by_the_program_s_path() {
        let rules = tempfile::tempdir().expect("a temp folder");
        let server = Path::new("/usr/sbin/mysqld");
        assert!(!has_rule(server, rules.path()));
        fs::write(rules.path().join("usr.sbin.mysqld"), "").expect("written");
        assert!(has_rule(server, rules.path()));
        fs::create_dir(rules.path().join("disable")).expect("made");
        fs::write(rules.path().join("disable/usr.sbin.mysqld"), "").expect("written");
        assert!(!has_rule(server, rules.path()));
    }
}
