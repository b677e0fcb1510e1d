//! Downloads a server's packages from the distribution's own mirror and unpacks them into a folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::{Apt, Source};
use crate::distribution::{Distribution, Kind};
use crate::once::Once;
use crate::program::output_of;
use crate::{Error, Flavour, sources};

/// Incremented when the unpacked files change, so that older folders are replaced.
const RECIPE: &str = "1";
const STAMP: &str = "countersink-recipe";
/// Names the suite that MariaDB comes from, where it is not the machine's own.
const MARIADB_SUITE: &str = "COUNTERSINK_MARIADB_SUITE";

/// The suite that the environment asks for, of which not even the machine's own server may take the place.
pub(super) fn asked_suite(flavour: Flavour) -> Option<String> {
    let of_mariadb = flavour == Flavour::MariaDb;
    let suite = of_mariadb.then(|| env::var(MARIADB_SUITE).ok()).flatten()?;
    (!suite.is_empty()).then_some(suite)
}

/// What is fetched has this name in the cache.
fn cached_name(what: &str, flavour: Flavour) -> String {
    match asked_suite(flavour) {
        Some(suite) => format!("{what}-{}", suite.replace('/', "_")),
        None => what.to_owned(),
    }
}

/// Unpacks the packages under `cache`, unless an earlier call has. Returns their root folder.
pub(super) fn fetch(
    flavour: Flavour,
    cache: &Path,
    progress: &dyn Fn(&str),
) -> Result<PathBuf, Error> {
    Once {
        cache,
        name: &cached_name(flavour.word(), flavour),
        is_whole,
    }
    .get(progress, |part| {
        let root = part.join("root");
        download_and_unpack(flavour, &source(flavour)?, part, progress)?;
        fs::write(root.join(STAMP), RECIPE).map_err(Error::file("write", &root))?;
        Ok(root)
    })
}

/// Unpacks Galera's provider library under `cache`, unless an earlier call has. Returns the root folder.
pub(super) fn fetch_galera(cache: &Path, progress: &dyn Fn(&str)) -> Result<PathBuf, Error> {
    Once {
        cache,
        name: &cached_name("galera", Flavour::MariaDb),
        is_whole,
    }
    .get(progress, |part| {
        let root = part.join("root");
        let apt = Apt::prepare(&part.join("apt"), &source(Flavour::MariaDb)?)?;
        progress("downloading galera-4");
        apt.update()?;
        // What it needs beside the server's own libraries every machine has.
        apt.download_alone("galera-4")?;
        unpack(&apt, &root)?;
        fs::write(root.join(STAMP), RECIPE).map_err(Error::file("write", &root))?;
        Ok(root)
    })
}

/// Whether the folder is complete. The stamp is written last, and the folder is moved after that, so a folder with a
/// stamp is complete.
fn is_whole(root: &Path) -> bool {
    fs::read_to_string(root.join(STAMP)).is_ok_and(|recipe| recipe == RECIPE)
}

/// Where this machine gets the flavour's packages from.
fn source(flavour: Flavour) -> Result<Source, Error> {
    let not_available = |reason: String| Error::NotAvailable {
        flavour,
        reason,
        remedy: remedy(flavour),
    };
    let distribution = Distribution::of_this_machine()
        .ok_or_else(|| not_available("this is neither Debian nor Ubuntu".into()))?;
    for tool in ["apt-get", "apt-cache", "dpkg", "dpkg-deb"] {
        output_of(Command::new(tool).arg("--version"))
            .map_err(|_| not_available(format!("{tool} does not run")))?;
    }
    let entries = sources::of_this_machine();
    let (entry, release) = sources::mirror(&entries, &distribution).ok_or_else(|| {
        not_available(format!(
            "no entry in /etc/apt serves {} main",
            distribution.codename
        ))
    })?;
    let mut components = entry.components.clone();
    let universe = || "universe".to_owned();
    if distribution.kind == Kind::Ubuntu && !components.contains(&universe()) {
        components.push(universe()); // which contains MariaDB
    }
    let own_keyring = entry
        .signed_by
        .as_deref()
        .filter(|key| key.starts_with('/'))
        .map(PathBuf::from);
    Ok(Source {
        mirror: entry.uri.clone(),
        suite: asked_suite(flavour)
            .unwrap_or_else(|| distribution.suite(flavour, release).to_owned()),
        components,
        keyring: own_keyring.or_else(|| distribution.keyring()),
    })
}

fn remedy(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MySql => "install MySQL (`brew install mysql`, `dnf install mysql-server mysql`)",
        Flavour::MariaDb => {
            "install MariaDB (`brew install mariadb`, `dnf install mariadb-server mariadb`)"
        }
    }
}

fn download_and_unpack(
    flavour: Flavour,
    source: &Source,
    part: &Path,
    progress: &dyn Fn(&str),
) -> Result<(), Error> {
    progress(&format!(
        "reading the package list of {} from {}",
        source.suite, source.mirror
    ));
    let apt = Apt::prepare(&part.join("apt"), source)?;
    apt.update()?;
    let choose = |stem: String| {
        choose_package(&apt.names(&stem)?, &stem).ok_or_else(|| Error::NoPackage {
            flavour,
            stem,
            suite: source.suite.clone(),
            mirror: source.mirror.clone(),
        })
    };
    let server = choose(format!("{}-server-core", flavour.word()))?;
    let client = choose(format!("{}-client-core", flavour.word()))?;
    progress(&format!(
        "downloading {server}, {client} and their libraries"
    ));
    apt.download_with_libraries(&[&server, &client])?;
    if flavour == Flavour::MariaDb {
        // The loadable plugins (ed25519 among them) are in the full package. Its dependencies are useless to a server
        // that is not installed.
        apt.download_alone(&server.replace("-core", ""))?;
    }
    progress(&format!("unpacking {} packages", apt.archives()?.len()));
    unpack(&apt, &part.join("root"))
}

fn unpack(apt: &Apt, root: &Path) -> Result<(), Error> {
    fs::create_dir_all(root).map_err(Error::file("create", root))?;
    for archive in &apt.archives()? {
        output_of(
            Command::new("dpkg-deb")
                .arg("--extract")
                .arg(archive)
                .arg(root),
        )?;
    }
    Ok(())
}

/// Chooses the package without a version in its name, if there is one, otherwise the one with the highest version.
fn choose_package(names: &[String], stem: &str) -> Option<String> {
    let version = |name: &String| -> Option<Vec<u32>> {
        let rest = name.strip_prefix(stem)?;
        if rest.is_empty() {
            return Some(vec![u32::MAX]);
        }
        rest.strip_prefix('-')?
            .split('.')
            .map(|number| number.parse().ok())
            .collect()
    };
    names
        .iter()
        .filter_map(|name| Some((version(name)?, name)))
        .max()
        .map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> Option<String> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        choose_package(&names, "mysql-server-core")
    }

    #[test]
    fn the_highest_version_or_the_one_without() {
        assert_eq!(
            chosen(&[
                "mysql-server-core-8.0",
                "mysql-server-core-10.0",
                "mysql-server-core-9.7"
            ]),
            Some("mysql-server-core-10.0".into())
        );
        assert_eq!(
            chosen(&["mysql-server-core-8.0", "mysql-server-core"]),
            Some("mysql-server-core".into())
        );
        assert_eq!(
            chosen(&["mysql-server-core-dbgsym", "mysql-server-corelib"]),
            None
        );
    }

    #[test]
    fn a_folder_without_the_stamp_is_not_whole() {
        let folder = tempfile::tempdir().expect("a temp folder");
        assert!(!is_whole(folder.path()));
        fs::write(folder.path().join(STAMP), "0").expect("written");
        assert!(!is_whole(folder.path()));
        fs::write(folder.path().join(STAMP), RECIPE).expect("written");
        assert!(is_whole(folder.path()));
    }
}
