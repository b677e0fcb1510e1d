//! Two servers of each family with nothing in them: the plain one is asked directly, the other by way of a proxy.
//!
//! They start once per test process. COUNTERSINK_TEST_SERVERS names other ones to use instead: the first of a family
//! is the plain one, the second the other. A family that it does not name runs on our own, for no test is skipped.

use std::path::PathBuf;
use std::sync::OnceLock;

use countersink::sandbox::{Address, Flavour, Installation, Options, Server, from_env};

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
    /// They go with the process.
    _servers: Vec<Server>,
}

/// The twin of this family.
pub fn twin(flavour: Flavour) -> &'static Twin {
    static MYSQL: OnceLock<Twin> = OnceLock::new();
    static MARIADB: OnceLock<Twin> = OnceLock::new();
    let twin = match flavour {
        Flavour::MySql => &MYSQL,
        Flavour::MariaDb => &MARIADB,
    };
    twin.get_or_init(|| given(flavour).unwrap_or_else(|| own(flavour)))
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
        ]
        .map(str::to_owned)
        .to_vec(),
        under: Some(folder()),
        ..Options::default()
    }
}

fn own(flavour: Flavour) -> Twin {
    let installation = installation(flavour);
    let start = || Server::start(&installation, &options()).expect("a server");
    let (plain, proxied) = (start(), start());
    Twin {
        flavour,
        version: plain.version.to_string(),
        plain: plain.address(),
        proxied: proxied.address(),
        _servers: vec![plain, proxied],
    }
}

fn given(flavour: Flavour) -> Option<Twin> {
    let all = from_env().expect("COUNTERSINK_TEST_SERVERS")?;
    let mut ours = all.into_iter().filter_map(|address| {
        let (found, version) = address.identify().expect("a server that answers");
        (found == flavour).then_some((address, version))
    });
    let (plain, version) = ours.next()?;
    let (proxied, _) = ours.next().unwrap_or_else(|| {
        panic!(
            "COUNTERSINK_TEST_SERVERS names one {flavour} server only, and the tests compare two"
        )
    });
    Some(Twin {
        flavour,
        version: version.to_string(),
        plain,
        proxied,
        _servers: Vec::new(),
    })
}
