//! rules.yaml, read and checked.
//!
//! The text is parsed into `raw` (every scalar a string with its line), then `check` turns that into
//! [`Config`]: no other room has to ask again whether a value makes sense.

mod address;
mod admin;
mod adopted;
mod check;
mod compression;
mod connections;
mod environment;
mod error;
mod files;
mod limits;
mod memory;
mod names;
mod near;
mod proxy_protocol;
mod raw;
mod rule;
mod secret;
mod tls;

use std::path::{Path, PathBuf};
use std::time::Duration;

use zeroize::Zeroizing;

pub use address::{Address, HostPort, Listen, Upstreams};
pub use admin::{Admin, PasswordHashes};
pub use adopted::Adopted;
pub use compression::UpstreamCompression;
pub use connections::{Connections, Reserved};
pub(crate) use error::line_suffix;
pub use error::{Error, Place, Problem};
pub(crate) use limits::Range as DurationRange;
pub use memory::Memory;
pub use names::{SlotTable, TableName};
pub(crate) use near::did_you_mean;
pub use proxy_protocol::ProxyProtocol;
pub use rule::{Mode, Rest, Rule};
pub use secret::Secret;
pub use tls::{
    CertificateFiles, ClientCertificates, ClientTls, UpstreamFiles, UpstreamTls, Verify,
};

/// Everything that rules.yaml says, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where clients connect; port 0 lets the system choose one.
    pub listen: Listen,
    /// The MySQL or MariaDB server that the proxy connects to, or several of which one takes writes.
    pub upstream: Upstreams,
    /// In a cluster whose members all take writes: one member is given all of them, by this proxy, others, and whoever
    /// else writes hot tables.
    pub single_writer: bool,
    /// The SQL console, if there is one.
    pub admin: Option<Admin>,
    /// Where metrics are shown over HTTP, if anywhere.
    pub http: Option<HostPort>,
    /// The proxy's own account on the upstream.
    pub control: Account,
    /// TLS toward clients, if it is offered.
    pub tls: Option<ClientTls>,
    /// TLS toward the upstream.
    pub upstream_tls: UpstreamTls,
    /// The proxy's own certificate toward the upstream.
    pub upstream_certificate: Option<CertificateFiles>,
    /// PEM file with the server's RSA key, for passwords that cross from TLS to a plain upstream.
    pub upstream_public_key: Option<PathBuf>,
    /// Compression toward the upstream.
    pub upstream_compression: UpstreamCompression,
    /// As which replica the sentinel reads the server's binary log, if it does.
    pub sentinel: Option<u32>,
    /// Headers that say where clients have connected from.
    pub proxy_protocol: ProxyProtocol,
    /// How slot tables are named, unless a rule says otherwise.
    pub slot_table: SlotTable,
    /// How long the connection phase of a client may take.
    pub handshake_timeout: Duration,
    /// How long open transactions may take to end once the proxy is told to stop.
    pub drain_timeout: Duration,
    /// How many clients there may be at the same time.
    pub connections: Connections,
    /// How much is kept of texts.
    pub memory: Memory,
    /// Sessions that are not rewritten.
    pub bypass: Bypass,
    /// The rules, in the order of the file; those that are off too.
    pub rules: Vec<Rule>,
}

impl Config {
    /// Reads the file at `path`, with the process's environment, and checks that the files it names can be used.
    ///
    /// # Errors
    ///
    /// What is wrong and where; the path of the rules file itself is the caller's to say.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text =
            std::fs::read_to_string(path).map_err(|source| Problem::Unreadable { source })?;
        // There may be passwords in it.
        let text = Zeroizing::new(text);
        let config = Self::from_str(&text, &|name| std::env::var(name).ok())?;
        check::passwords(&config)?;
        files::check(&config)?;
        Ok(config)
    }

    /// Reads the file at `path` for work without a server: variables that are not set count as empty, and the files
    /// that it names need not be here.
    ///
    /// # Errors
    ///
    /// As [`Config::load`].
    pub fn load_offline(path: &Path) -> Result<Self, Error> {
        let text =
            std::fs::read_to_string(path).map_err(|source| Problem::Unreadable { source })?;
        Self::from_str(&text, &|name| Some(std::env::var(name).unwrap_or_default()))
    }

    /// Parses and checks `text`; `environment` answers for `${NAME}`. Opens no file.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its place and the remedy.
    pub fn from_str(
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        check::config(raw::parse(text)?, environment)
    }
}

/// A user and its password on the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: Secret,
}

/// Sessions that are not rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bypass {
    /// User names, compared as MySQL does: by letter case.
    pub users: Vec<String>,
    /// Values of the connection attribute `program_name`, in any letter case.
    pub programs: Vec<String>,
}

impl Bypass {
    /// Whether the session of `user`, whose client calls itself `program` (a path loses its folders), is not rewritten.
    pub fn covers(&self, user: &str, program: Option<&str>) -> bool {
        let base = program.map(|program| program.rsplit(['/', '\\']).next().unwrap_or(program));
        self.users.iter().any(|listed| listed == user)
            || base.is_some_and(|base| {
                self.programs
                    .iter()
                    .any(|listed| listed.eq_ignore_ascii_case(base))
            })
    }
}

#[cfg(test)]
mod tests;
