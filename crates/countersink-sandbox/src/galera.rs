//! What members of a Galera cluster need: the provider library, and a data folder that all of them begin with.
//!
//! A member that joins asks for the state of the others by a script. Members whose folders are copies of one, which was
//! a cluster's before, need nothing but what was written since, and get that from the library itself. So the script has
//! only to say so, and no tool is needed for the transfer.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::once::Once;
use crate::start::Ground;
use crate::{Error, Flavour, Installation, Options, Server, fetch};

/// Incremented when the seed changes, so that older ones are replaced.
const RECIPE: u32 = 1;

/// Where packages that are installed have it.
const INSTALLED: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib/galera-4/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
];

const LIBRARY: &str = "usr/lib/galera/libgalera_smm.so";

/// The name of the script is that of the method, behind `wsrep_sst_`.
const METHOD: &str = "seed";

const SCRIPT: &str = r#"#!/bin/sh
# One side says what all members begin with, the other that nothing before it is to be sent.
while [ $# -gt 0 ]; do
    case $1 in
    --role) role=$2 ;;
    --gtid) position=$2 ;;
    --bypass) bypass=yes ;;
    esac
    shift
done
case $role in
joiner)
    echo "ready 127.0.0.1:1/seed"
    echo "$COUNTERSINK_SEED 0"
    ;;
donor)
    [ "$bypass" ] || exit 22
    echo continue
    echo "done $position 0"
    ;;
esac
"#;

/// What all members begin with.
pub(super) struct Seed {
    library: PathBuf,
    folder: PathBuf,
    /// The state of its cluster: uuid and sequence number.
    position: String,
}

impl Seed {
    /// The options of every member.
    pub fn options(&self) -> Vec<String> {
        options(&self.library)
    }

    /// Its data, and the way to the script.
    pub fn ground(&self) -> Ground {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.folder.join("bin").display());
        Ground {
            data: self.folder.join("data"),
            environment: vec![
                ("PATH".into(), path),
                ("COUNTERSINK_SEED".into(), self.position.clone()),
            ],
        }
    }
}

fn options(library: &Path) -> Vec<String> {
    vec![
        "--wsrep-on=ON".into(),
        format!("--wsrep-provider={}", library.display()),
        "--wsrep-cluster-name=countersink".into(),
        format!("--wsrep-sst-method={METHOD}"),
        "--wsrep-slave-threads=4".into(),
        "--binlog-format=ROW".into(),
        "--log-slave-updates=ON".into(),
        "--innodb-autoinc-lock-mode=2".into(),
    ]
}

/// Makes the seed, unless an earlier call has.
pub(super) fn seed(installation: &Installation) -> Result<Seed, Error> {
    let library = library(&installation.cache)?;
    let name = format!(
        "{}-{}-galera{RECIPE}",
        Flavour::MariaDb.word(),
        installation.version
    );
    let once = Once {
        cache: &installation.cache,
        name: &name,
        is_whole: Path::is_dir,
    };
    let folder = once.get(&|text| tracing::info!("{text}"), |part| {
        let whole = part.join("whole");
        make(installation, &library, &whole)?;
        Ok(whole)
    })?;
    Ok(Seed {
        position: position(&folder.join("data/grastate.dat"))?,
        library,
        folder,
    })
}

/// The data folder of a cluster of one that has been shut down, and the script.
fn make(installation: &Installation, library: &Path, folder: &Path) -> Result<(), Error> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).map_err(Error::file("create", &bin))?;
    let script = bin.join(format!("wsrep_sst_{METHOD}"));
    fs::write(&script, SCRIPT).map_err(Error::file("write", &script))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&script, executable).map_err(Error::file("change", &script))?;
    let mut alone = Options::default();
    alone.extra.extend(options(library));
    alone.extra.extend([
        "--wsrep-new-cluster".into(),
        "--wsrep-cluster-address=gcomm://".into(),
        "--wsrep-node-address=127.0.0.1".into(),
        // It speaks to nobody, and listens on a port of the system's choice.
        "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:0".into(),
    ]);
    let server = Server::start_on(installation, &alone, &Ground::fresh(installation)?)?;
    server.stop_and_keep(&folder.join("data"))
}

/// From `grastate.dat`: `uuid: ..` and `seqno: ..`.
fn position(file: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(file).map_err(Error::file("read", file))?;
    let value = |name: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name));
        line.map(str::trim).unwrap_or_default().to_owned()
    };
    Ok(format!("{}:{}", value("uuid:"), value("seqno:")))
}

fn library(cache: &Path) -> Result<PathBuf, Error> {
    let installed = INSTALLED
        .iter()
        .map(PathBuf::from)
        .find(|path| path.exists());
    match installed {
        Some(path) if fetch::asked_suite(Flavour::MariaDb).is_none() => Ok(path),
        _ => Ok(fetch::fetch_galera(cache, &|text| tracing::info!("{text}"))?.join(LIBRARY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_s_state_is_read() {
        let folder = tempfile::tempdir().expect("a temp folder");
        let file = folder.path().join("grastate.dat");
        let text = "# GALERA saved state\nversion: 2.1\nuuid:    6c0a1b1e-01\nseqno:   17\n";
        fs::write(&file, text).expect("written");
        assert_eq!(position(&file).expect("read"), "6c0a1b1e-01:17");
    }
}
