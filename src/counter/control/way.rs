//! How one server is reached by the control account: the options of its connections, and their pool.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use mysql_async::{ClientIdentity, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts, SslOpts};

use super::error::{Error, WRONG_FILES};
use crate::config::{Address, Config, UpstreamFiles, UpstreamTls};

/// The way to one server.
#[derive(Debug)]
pub(in crate::counter) struct Way {
    /// Where it is.
    pub(super) address: Address,
    /// Connections in autocommit mode.
    pub(super) pool: Pool,
    /// What these are made with.
    pub(super) pooled: Opts,
    /// For connections that read what is not committed.
    pub(super) looks: Opts,
    /// For connections that roll up.
    pub(super) roll_ups: Opts,
    /// What all these show and trust.
    files: Arc<UpstreamFiles>,
}

/// How each server is reached: by the rules, and by what the files hold that these name.
#[derive(Debug)]
pub(crate) struct Ways {
    config: Arc<Config>,
    files: ArcSwap<UpstreamFiles>,
}

impl Ways {
    /// By these rules. Reads the files.
    pub(in crate::counter) fn of(config: Arc<Config>) -> Result<Self, Error> {
        let files = UpstreamFiles::read(&config, |path| {
            fs::read(path).map_err(|why| Error::Tls {
                address: config.upstream.first().to_string(),
                why: format!("{}: {why}", path.display()),
                remedy: WRONG_FILES,
            })
        });
        Ok(Self {
            files: ArcSwap::from_pointee(files?),
            config,
        })
    }

    pub(in crate::counter) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// To this server, with TLS if the rules say so, even where they would do without.
    pub(in crate::counter) fn encrypted(&self, address: &Address) -> Way {
        let files = self.files.load_full();
        Way::with(
            &self.config,
            address,
            (tls(&self.config, address, &files), files),
        )
    }

    /// To this server without TLS, if the rules would do without.
    pub(super) fn plain(&self, address: &Address) -> Option<Way> {
        let files = self.files.load_full();
        is_optional(&self.config).then(|| Way::with(&self.config, address, (None, files)))
    }

    /// Ways are made with these files from now on. Whether that is a change.
    pub(super) fn renew(&self, files: UpstreamFiles) -> bool {
        let is_change = **self.files.load() != files;
        if is_change {
            self.files.store(Arc::new(files));
        }
        is_change
    }

    /// This way, with the files as they are now. Where the rules name any, it is one with TLS.
    pub(super) fn renewed(&self, way: Way) -> Way {
        match Arc::ptr_eq(&way.files, &self.files.load()) {
            true => way,
            false => self.encrypted(&way.address),
        }
    }
}

impl Way {
    fn with(
        config: &Config,
        address: &Address,
        (tls, files): (Option<SslOpts>, Arc<UpstreamFiles>),
    ) -> Self {
        let to = |tls: Option<SslOpts>| builder(config, address, tls);
        let pooled = options(to(tls.clone()));
        Self {
            files,
            address: address.clone(),
            pool: Pool::new(pooled.clone()),
            pooled,
            looks: looking(to(tls.clone())),
            roll_ups: rolling_up(to(tls)),
        }
    }

    /// The same way, with a pool of its own: the address leads to another server.
    pub(in crate::counter) fn anew(&self) -> Self {
        Self {
            address: self.address.clone(),
            pool: Pool::new(self.pooled.clone()),
            pooled: self.pooled.clone(),
            looks: self.looks.clone(),
            roll_ups: self.roll_ups.clone(),
            files: Arc::clone(&self.files),
        }
    }
}

/// The name that certificates are checked against. It makes mysql_async accept any name, as the sessions' connections
/// do.
///
/// mysql_async up to 0.37 ignores an error that has this word in its text, because that is how rustls once reported a
/// wrong name. Today's text has another wording, but quotes the expected name; no other error of rustls quotes one. If
/// that changes too, certificates are refused rather than accepted. Later versions of mysql_async compare the error
/// itself (blackbeam/mysql_async#408), and need no name of this kind.
const ANY_NAME: &str = "NotValidForName";

/// `None` for a connection without TLS. The proxy's own certificate is shown, if it has one.
pub(super) fn tls(config: &Config, upstream: &Address, files: &UpstreamFiles) -> Option<SslOpts> {
    let own = files.own.clone();
    let own = own.map(|[certificate, key]| ClientIdentity::new(certificate.into(), key.into()));
    let verified = verified(&config.upstream_tls, upstream, files.ca.as_ref());
    verified.map(|tls| tls.with_client_identity(own))
}

fn verified(tls: &UpstreamTls, upstream: &Address, ca: Option<&Vec<u8>>) -> Option<SslOpts> {
    let ca = ca.cloned().unwrap_or_default();
    match (tls, upstream) {
        (UpstreamTls::Disabled, _) | (_, Address::Unix(_)) => None,
        (UpstreamTls::Preferred | UpstreamTls::AsClient(None), _) => Some(any_certificate()),
        (UpstreamTls::AsClient(Some(verify)) | UpstreamTls::Required(verify), _) => {
            Some(match verify.host {
                true => signed_for_its_host(ca),
                false => signed_for_any_host(ca),
            })
        }
    }
}

/// TLS in which any certificate will do, as with MySQL's `ssl-mode=PREFERRED` and `REQUIRED`.
pub(crate) fn any_certificate() -> SslOpts {
    SslOpts::default().with_danger_accept_invalid_certs(true)
}

/// TLS in which one of these authorities, which are PEM, must have signed the certificate, whatever host it names, as
/// with `ssl-mode=VERIFY_CA`.
pub(crate) fn signed_for_any_host(ca: Vec<u8>) -> SslOpts {
    signed_for_its_host(ca)
        .with_danger_skip_domain_validation(true)
        .with_danger_tls_hostname_override(Some(ANY_NAME))
}

/// The same, but it must name the host, as with `ssl-mode=VERIFY_IDENTITY`.
fn signed_for_its_host(ca: Vec<u8>) -> SslOpts {
    SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(vec![ca.into()])
}

/// Whether a server without TLS will do. The control account has no client whose TLS it could follow. A certificate of
/// the proxy's own is shown by TLS alone.
fn is_optional(config: &Config) -> bool {
    let tls = &config.upstream_tls;
    let is_left_open = matches!(tls, UpstreamTls::Preferred | UpstreamTls::AsClient(None));
    is_left_open && config.upstream_certificate.is_none()
}

fn options(builder: OptsBuilder) -> Opts {
    // MariaDB lets a global switch off CHECK, on which slots rely; MySQL takes that part for a comment.
    let setup = "SET autocommit = 1, completion_type = 'NO_CHAIN', \
                 sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
                 sql_quote_show_create = 1 /*M!100201 , check_constraint_checks = 1 */";
    builder.setup(vec![setup]).into()
}

/// For connections that see what is not committed. They keep no state that would have to be reset.
fn looking(builder: OptsBuilder) -> Opts {
    let setup = "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED";
    builder.setup(vec![setup]).into()
}

/// Row locks are not waited for at all; tables that are locked, for a second, which is the least (manual:
/// lock_wait_timeout). The statements name keys and few rows, whatever the server's globals have sessions beware of.
/// Times are read and written where no hour comes twice.
fn rolling_up(builder: OptsBuilder) -> Opts {
    let setup = "SET autocommit = 1, completion_type = 'NO_CHAIN', sql_safe_updates = 0, sql_big_selects = 1, \
                 time_zone = '+00:00', \
                 sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', lock_wait_timeout = 1, \
                 innodb_lock_wait_timeout = 1 /*M!100201 , check_constraint_checks = 1 */";
    let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    builder.setup(vec![setup, isolation]).into()
}

fn pool() -> PoolOpts {
    let idle = Duration::from_secs(60);
    // The default of no idle time opens a new connection for nearly every use.
    PoolOpts::new()
        .with_constraints(PoolConstraints::new(0, 8).expect("0 is not more than 8"))
        .with_inactive_connection_ttl(idle)
}

fn builder(config: &Config, address: &Address, tls: Option<SslOpts>) -> OptsBuilder {
    let builder = OptsBuilder::default()
        .user(Some(config.control.user.as_str()))
        .pass(Some(config.control.password.reveal()))
        .pool_opts(pool())
        .prefer_socket(false)
        .tcp_nodelay(true)
        .connect_attribute("program_name", "countersink")
        .ssl_opts(tls);
    match address {
        Address::Tcp(tcp) => builder.ip_or_hostname(tcp.host.clone()).tcp_port(tcp.port),
        Address::Unix(path) => builder.socket(Some(path.to_string_lossy())),
    }
}
