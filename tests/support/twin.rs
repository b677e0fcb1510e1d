//! Servers of each family with nothing in them: one that is asked directly, its twin behind a proxy, and one for tests
//! that take turns.
//!
//! They start once per test process, each when it is first asked for. COUNTERSINK_TEST_SERVERS names other ones to use
//! instead: the first of a family is the plain one, the second the other (tests that compare the two fail when there is
//! one only), the third that of the turns. A family that it does not name runs on our own, for no test is skipped.

use std::path::PathBuf;
use std::sync::OnceLock;

use countersink_sandbox::{Address, Flavour, Installation, Options, Server, from_env};
use tokio::sync::{Mutex, MutexGuard};

/// Which of a family's servers takes one test at a time.
const OF_TURNS: usize = 2;

/// Two servers of one family.
#[derive(Debug)]
pub struct Twin {
    /// Which family.
    pub flavour: Flavour,
    /// Their version.
    pub version: String,
    /// The one that is asked directly.
    pub plain: Address,
    /// The one behind the proxy.
    pub proxied: Address,
}

/// A server that goes with the process, unless it is somebody else's.
#[derive(Debug)]
struct Running {
    address: Address,
    version: String,
    _server: Option<Server>,
}

/// One server of this family, for tests that compare nothing.
pub fn single(flavour: Flavour) -> &'static Address {
    &running(flavour, 0).address
}

/// A server on which nothing else runs meanwhile: for tests that change what all its sessions share, or count what all
/// of them do.
pub async fn alone(flavour: Flavour) -> (&'static Address, MutexGuard<'static, ()>) {
    static MYSQL: Mutex<()> = Mutex::const_new(());
    static MARIADB: Mutex<()> = Mutex::const_new(());
    let turns = match flavour {
        Flavour::MySql => &MYSQL,
        Flavour::MariaDb => &MARIADB,
    };
    let turn = turns.lock().await;
    (&running(flavour, OF_TURNS).address, turn)
}

/// The twin of this family.
pub fn twin(flavour: Flavour) -> &'static Twin {
    static MYSQL: OnceLock<Twin> = OnceLock::new();
    static MARIADB: OnceLock<Twin> = OnceLock::new();
    let twin = match flavour {
        Flavour::MySql => &MYSQL,
        Flavour::MariaDb => &MARIADB,
    };
    twin.get_or_init(|| {
        let (plain, proxied) = (running(flavour, 0), running(flavour, 1));
        Twin {
            flavour,
            version: plain.version.clone(),
            plain: plain.address.clone(),
            proxied: proxied.address.clone(),
        }
    })
}

/// Where servers keep their data: on disk, whatever the temp folder is.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// The programs of this family, fetched at first.
pub fn installation(flavour: Flavour) -> Installation {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/target/servers");
    Installation::obtain(flavour, cache.as_ref(), &|step| eprintln!("{step}"))
        .expect("a server, found or fetched")
}

/// How the tests start servers: nothing waits for the disk.
pub fn options() -> Options {
    Options {
        durable: false,
        extra: [
            "--max-allowed-packet=1G",
            "--max-connections=1000",
            "--local-infile=1",
            "--innodb-lock-wait-timeout=10",
            "--default-time-zone=+00:00",
            // All tests are about snapshots as MySQL has them, but for those that switch this on in their sessions:
            // MariaDB has it on since 11.6.
            "--loose-innodb-snapshot-isolation=OFF",
        ]
        .map(str::to_owned)
        .to_vec(),
        under: Some(folder()),
        ..Options::default()
    }
}

/// The first, the second or the third server of this family.
fn running(flavour: Flavour, index: usize) -> &'static Running {
    static MYSQL: [OnceLock<Running>; 3] = [const { OnceLock::new() }; 3];
    static MARIADB: [OnceLock<Running>; 3] = [const { OnceLock::new() }; 3];
    let servers = match flavour {
        Flavour::MySql => &MYSQL,
        Flavour::MariaDb => &MARIADB,
    };
    servers[index].get_or_init(|| given(flavour, index).unwrap_or_else(|| own(flavour)))
}

fn own(flavour: Flavour) -> Running {
    let server = Server::start(&installation(flavour), &options()).expect("a server");
    Running {
        address: server.address(),
        version: server.version.to_string(),
        _server: Some(server),
    }
}

/// Of those that the environment names; the last one stands in for the second where that is missing.
fn given(flavour: Flavour, index: usize) -> Option<Running> {
    let all = from_env().expect("COUNTERSINK_TEST_SERVERS")?;
    let mut ours = all.into_iter().filter_map(|address| {
        let (found, version) = address.identify().expect("a server that answers");
        (found == flavour).then_some((address, version))
    });
    let (address, version) = match index {
        OF_TURNS => ours.nth(OF_TURNS),
        _ => ours.take(index + 1).last(),
    }?;
    Some(Running {
        address,
        version: version.to_string(),
        _server: None,
    })
}
