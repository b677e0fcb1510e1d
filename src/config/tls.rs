//! What the rules say of TLS, on both sides.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Config;

/// A certificate and its private key, both in PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, with its chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// TLS toward clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// Whether clients over TCP that do not use it are refused.
    pub is_required: bool,
    /// The certificate that clients are shown; without these files, one that is made at start.
    pub certificate: Option<CertificateFiles>,
    /// Certificates of clients; none is asked for without this.
    pub clients: Option<ClientCertificates>,
}

/// The certificates that clients show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificates {
    /// PEM file with the authorities, one of which must have signed them.
    pub ca: PathBuf,
    /// PEM file with the authorities' lists of revoked certificates. Without it none is looked for.
    pub crl: Option<PathBuf>,
    /// Whether clients that use TLS and show none are refused.
    pub is_required: bool,
}

/// TLS toward the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamTls {
    /// Never.
    Disabled,
    /// When the server offers it; its certificate is not verified.
    Preferred,
    /// For clients that use TLS themselves: if the server offers it, or always if its certificate is verified.
    AsClient(Option<Verify>),
    /// Always.
    Required(Verify),
}

/// How the server's certificate is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verify {
    /// PEM file with the certificates to trust.
    pub ca: PathBuf,
    /// Whether the certificate must name the upstream's host.
    pub host: bool,
}

impl UpstreamTls {
    /// How the server's certificate is verified, if it is.
    pub fn verify(&self) -> Option<&Verify> {
        match self {
            Self::Disabled | Self::Preferred => None,
            Self::AsClient(verify) => verify.as_ref(),
            Self::Required(verify) => Some(verify),
        }
    }
}

/// What the files hold that `upstream_tls` names for connections in TLS, all PEM.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UpstreamFiles {
    /// The authorities for the server's certificate.
    pub ca: Option<Vec<u8>>,
    /// The proxy's own certificate, with its chain, and its key.
    pub own: Option<[Vec<u8>; 2]>,
}

impl UpstreamFiles {
    /// The paths of all of them.
    pub fn paths(config: &Config) -> impl Iterator<Item = &Path> {
        let ca = config.upstream_tls.verify().map(|verify| &*verify.ca);
        let own = config.upstream_certificate.as_ref();
        let own = own.map(|CertificateFiles { certificate, key }| [&**certificate, &**key]);
        ca.into_iter().chain(own.into_iter().flatten())
    }

    /// Reads them by `read`.
    ///
    /// # Errors
    ///
    /// The first one of `read`.
    pub fn read<E>(config: &Config, read: impl Fn(&Path) -> Result<Vec<u8>, E>) -> Result<Self, E> {
        let ca = config.upstream_tls.verify().map(|verify| read(&verify.ca));
        let own = match &config.upstream_certificate {
            Some(CertificateFiles { certificate, key }) => Some([read(certificate)?, read(key)?]),
            None => None,
        };
        let ca = ca.transpose()?;
        Ok(Self { ca, own })
    }
}

/// One of them is a private key.
impl fmt::Debug for UpstreamFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("UpstreamFiles")
            .finish_non_exhaustive()
    }
}
