//! TLS on both sides: what certificate clients see, and how the upstream's is verified.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName,
    SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    ClientHello, ParsedCertificate, ResolvesServerCert, VerifierBuilderError, WebPkiClientVerifier,
};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_rustls::{client, server};

use super::Transport;
use crate::config::{Address, Upstreams};

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not PEM, or contains no certificate or key.
    #[error("{what}: {source}")]
    Pem {
        /// Which of the inputs.
        what: &'static str,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("certificate or key is not usable: {0}")]
    Unusable(#[from] rustls::Error),
    /// The revocation lists of authorities are unusable.
    #[error("revocation lists are not usable: {0}")]
    Lists(#[from] VerifierBuilderError),
    /// The certificate for clients could not be generated.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The upstream's host name cannot be in a certificate.
    #[error("'{0}' is no name that a certificate can be checked against")]
    Name(String),
}

/// The certificate that clients are shown. It can be replaced; connections that there are go on.
#[derive(Debug)]
pub struct ShownCertificate(ArcSwap<CertifiedKey>);

impl ShownCertificate {
    /// This certificate chain and key, both PEM.
    pub fn new(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        certified(certificate, key).map(Self::of)
    }

    /// A self-signed one for `names` (host names or IP addresses). It is generated now and lasts as long as the
    /// process. The key is ECDSA on P-256.
    pub fn self_signed(names: Vec<String>) -> Result<Self, TlsError> {
        let made = rcgen::generate_simple_self_signed(names)?;
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let chain = vec![made.cert.der().clone()];
        Ok(Self::of(CertifiedKey::from_der(chain, key, &provider())?))
    }

    fn of(certified: CertifiedKey) -> Self {
        Self(ArcSwap::from_pointee(certified))
    }

    /// Shows this certificate chain and key instead, both PEM; not if they are unusable.
    pub fn replace(&self, certificate: &[u8], key: &[u8]) -> Result<(), TlsError> {
        self.0.store(Arc::new(certified(certificate, key)?));
        Ok(())
    }
}

impl ResolvesServerCert for ShownCertificate {
    fn resolve(&self, _client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

fn certified(certificate: &[u8], key: &[u8]) -> Result<CertifiedKey, TlsError> {
    let chain = certificates("certificate", certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|source| TlsError::Pem {
        what: "key",
        source,
    })?;
    Ok(CertifiedKey::from_der(chain, key, &provider())?)
}

/// For how long sessions of TLS are resumed: as long as MySQL's (manual: ssl_session_cache_timeout).
const RESUMED: Duration = Duration::from_secs(300);

/// TLS 1.2 and 1.3 for clients, who are shown a certificate.
pub struct Acceptor {
    shown: Arc<ShownCertificate>,
    accepting: ArcSwap<Accepting>,
    resumed: Duration,
}

/// What resumes the sessions that it has begun.
struct Accepting {
    acceptor: TlsAcceptor,
    clients: Arc<dyn ClientCertVerifier>,
    since: Instant,
}

impl Acceptor {
    /// For clients who show none themselves.
    pub fn new(shown: Arc<ShownCertificate>) -> Result<Self, TlsError> {
        Self::with(shown, WebPkiClientVerifier::no_client_auth())
    }

    /// For clients who may show one. The handshake fails unless it is trusted.
    pub fn asking(shown: Arc<ShownCertificate>, trusted: &Trusted) -> Result<Self, TlsError> {
        Self::with(shown, trusted.verifier()?)
    }

    fn with(
        shown: Arc<ShownCertificate>,
        clients: Arc<dyn ClientCertVerifier>,
    ) -> Result<Self, TlsError> {
        let accepting = Accepting::new(Arc::clone(&shown), clients)?;
        Ok(Self {
            shown,
            accepting: ArcSwap::from_pointee(accepting),
            resumed: RESUMED,
        })
    }

    /// Trusts these from now on, and not those before. Sessions of TLS that were begun before are not resumed.
    pub fn trust(&self, trusted: &Trusted) -> Result<(), TlsError> {
        self.begin_anew(trusted.verifier()?)
    }

    fn begin_anew(&self, clients: Arc<dyn ClientCertVerifier>) -> Result<(), TlsError> {
        let accepting = Accepting::new(Arc::clone(&self.shown), clients)?;
        self.accepting.store(Arc::new(accepting));
        Ok(())
    }

    /// Performs the TLS handshake. Not cancel safe.
    pub async fn accept<T: Transport>(&self, transport: T) -> io::Result<server::TlsStream<T>> {
        let mut accepting = self.accepting.load_full();
        // A client's certificate is not verified again when its session is resumed, and may have expired meanwhile.
        if accepting.clients.offer_client_auth() && accepting.since.elapsed() >= self.resumed {
            let begun = self.begin_anew(Arc::clone(&accepting.clients));
            begun.map_err(io::Error::other)?;
            accepting = self.accepting.load_full();
        }
        accepting.acceptor.accept(transport).await
    }
}

impl Accepting {
    fn new(
        shown: Arc<ShownCertificate>,
        clients: Arc<dyn ClientCertVerifier>,
    ) -> Result<Self, TlsError> {
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::clone(&clients))
            .with_cert_resolver(shown);
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            clients,
            since: Instant::now(),
        })
    }
}

/// Whose certificates clients may show.
pub struct Trusted {
    authorities: Arc<RootCertStore>,
    /// None is looked for without any.
    revoked: Vec<CertificateRevocationListDer<'static>>,
}

impl Trusted {
    /// These authorities, both PEM, but for certificates that they have revoked: then each authority of a chain must
    /// have a list that has not expired, as with MySQL's `ssl_crl`.
    pub fn new(authorities_pem: &[u8], revoked_pem: Option<&[u8]>) -> Result<Self, TlsError> {
        let revoked = revoked_pem.map(|text| sections("revocation lists", text));
        Ok(Self {
            authorities: Arc::new(authorities(authorities_pem)?),
            revoked: revoked.transpose()?.unwrap_or_default(),
        })
    }

    fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let roots = Arc::clone(&self.authorities);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
            .with_crls(self.revoked.iter().cloned())
            .enforce_revocation_expiration()
            .allow_unauthenticated();
        Ok(verifier.build()?)
    }
}

/// [`Acceptor::new`] with a self-signed certificate for these names.
pub fn self_signed_acceptor(names: Vec<String>) -> Result<Acceptor, TlsError> {
    Acceptor::new(Arc::new(ShownCertificate::self_signed(names)?))
}

/// How thoroughly the upstream's certificate is verified.
#[derive(Clone, Debug)]
pub enum Verification {
    /// Not at all: encryption protects only against eavesdroppers, as with MySQL's `ssl-mode=PREFERRED` and `REQUIRED`.
    None,
    /// It must be signed by one of these authorities, as with `ssl-mode=VERIFY_CA`.
    Authority(RootCertStore),
    /// It must be signed by one of these authorities and issued for the upstream's host, as with
    /// `ssl-mode=VERIFY_IDENTITY`.
    AuthorityAndName(RootCertStore),
}

impl Verification {
    /// Whether any certificate will do. Then the signature that its key has made proves nothing either, and the
    /// certificate need not be read: rustls cannot read X.509 version 1, which MySQL's clients accept.
    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// Reads certificate authorities from PEM.
pub fn authorities(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("certificate authorities", pem)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

/// The proxy's own certificate, which servers are shown.
#[derive(Clone, Debug)]
pub struct OwnCertificate(Arc<SingleCertAndKey>);

impl OwnCertificate {
    /// This certificate chain and key, both PEM.
    pub fn new(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let certified = certified(certificate, key)?;
        Ok(Self(Arc::new(certified.into())))
    }
}

/// What a client has said by TLS, as far as the server is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The name that it has asked for (SNI).
    pub server_name: Option<String>,
    /// It has shown a certificate, which was verified.
    pub is_certified: bool,
}

impl Said {
    /// By the client of this stream, whose handshake is complete.
    pub fn by<T>(stream: &server::TlsStream<T>) -> Self {
        let (_, session) = stream.get_ref();
        Self {
            server_name: session.server_name().map(str::to_owned),
            is_certified: session.peer_certificates().is_some(),
        }
    }
}

/// TLS to the upstream. Its clones are one.
#[derive(Clone)]
pub struct UpstreamConnector(Arc<ArcSwap<Vec<ServerConnector>>>);

/// TLS to one of its servers.
struct ServerConnector {
    address: Address,
    name: ServerName<'static>,
    /// For all clients.
    uncertified: Connectors,
    /// Shows the proxy's own certificate, if it has one.
    certified: Option<Connectors>,
}

/// Both have the same verifier, without which rustls resumes no session. The store of sessions is theirs alone: the
/// server takes one that is resumed for certified if it was begun so.
struct Connectors {
    /// Tells the server no name.
    nameless: TlsConnector,
    /// Tells it a name.
    naming: TlsConnector,
}

impl Connectors {
    fn new(verifier: Arc<UpstreamVerifier>, own: Option<OwnCertificate>) -> Result<Self, TlsError> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match own {
            Some(OwnCertificate(own)) => config.with_client_cert_resolver(own),
            None => config.with_no_client_auth(),
        };
        let naming = Arc::new(config.clone());
        config.enable_sni = false;
        Ok(Self {
            nameless: Arc::new(config).into(),
            naming: naming.into(),
        })
    }
}

impl UpstreamConnector {
    /// TLS to these servers, verified according to `verification`. They are shown the proxy's own certificate for
    /// clients that have shown theirs.
    pub fn new(
        upstreams: &Upstreams,
        verification: Verification,
        own: Option<&OwnCertificate>,
    ) -> Result<Self, TlsError> {
        let verification = Arc::new(verification);
        let servers = upstreams.addresses().map(|address| {
            let name = server_name(address)?;
            let verifier = Arc::new(UpstreamVerifier {
                verification: Arc::clone(&verification),
                name: name.clone(),
                provider: provider(),
            });
            let certified = own.map(|own| Connectors::new(verifier.clone(), Some(own.clone())));
            Ok(ServerConnector {
                address: address.clone(),
                name,
                uncertified: Connectors::new(verifier, None)?,
                certified: certified.transpose()?,
            })
        });
        let servers: Result<Vec<_>, TlsError> = servers.collect();
        Ok(Self(Arc::new(ArcSwap::from_pointee(servers?))))
    }

    /// Connects as this other one does from now on. Sessions of TLS that were begun before are not resumed.
    pub fn replace_by(&self, other: &Self) {
        self.0.store(other.0.load_full());
    }

    /// Performs the TLS handshake with the server at this address, one of those it was made for. The server is told
    /// the name that the client has asked for (SNI), if any, and no other, as without a proxy; its certificate is
    /// checked against its address. It is shown the proxy's own certificate only if the client has shown one: otherwise
    /// whoever knows a password could use an account that requires a certificate. Not cancel safe.
    pub async fn connect<T: Transport>(
        &self,
        upstream: &Address,
        said: &Said,
        transport: T,
    ) -> io::Result<UpstreamStream<T>> {
        let servers = self.0.load_full();
        let server = servers.iter().find(|server| server.address == *upstream);
        let server = server.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let certified = server.certified.as_ref().filter(|_| said.is_certified);
        let connectors = certified.unwrap_or(&server.uncertified);
        let asked_for = said.server_name.clone();
        let asked_for = asked_for.and_then(|name| ServerName::try_from(name).ok());
        let stream = match asked_for {
            Some(name) => connectors.naming.connect(name, transport).await?,
            None => {
                let name = server.name.clone();
                connectors.nameless.connect(name, transport).await?
            }
        };
        Ok(UpstreamStream(stream))
    }
}

/// The name that a server's certificate is checked against. A unix socket has none; it is never wrapped in TLS, so any
/// name will do.
fn server_name(upstream: &Address) -> Result<ServerName<'static>, TlsError> {
    let host = match upstream {
        Address::Tcp(tcp) => tcp.host.as_str(),
        Address::Unix(_) => "localhost",
    };
    ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))
}

/// A TLS stream to the upstream that is closed for writing without TLS's close_notify.
///
/// A server that waits within a statement (SLEEP, GET_LOCK, metadata locks) checks now and then whether its client is
/// still there. It takes unread bytes as a sign of life, and close_notify would be such bytes.
pub struct UpstreamStream<T>(client::TlsStream<T>);

impl<T: Transport> AsyncRead for UpstreamStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<T: Transport> AsyncWrite for UpstreamStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        std::task::ready!(Pin::new(&mut self.0).poll_flush(context))?;
        Pin::new(self.0.get_mut().0).poll_shutdown(context)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Checks that this is the PEM of a public key.
pub fn check_public_key(pem: &[u8]) -> Result<(), TlsError> {
    sections::<SubjectPublicKeyInfoDer<'_>>("public key", pem).map(drop)
}

fn certificates(what: &'static str, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    sections(what, text)
}

/// Everything of one kind in a PEM text, of which there must be some.
fn sections<T: PemObject>(what: &'static str, text: &[u8]) -> Result<Vec<T>, TlsError> {
    let wrong = |source| TlsError::Pem { what, source };
    let found = T::pem_slice_iter(text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(wrong)?;
    match found.is_empty() {
        true => Err(wrong(pem::Error::NoItemsFound)),
        false => Ok(found),
    }
}

/// Verifies the upstream's certificate according to [`Verification`]. The signatures of the TLS handshake itself are
/// always verified.
#[derive(Debug)]
struct UpstreamVerifier {
    verification: Arc<Verification>,
    /// What the certificate is checked against; the name that the server is told may be another.
    name: ServerName<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for UpstreamVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _told: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let (roots, check_name) = match &*self.verification {
            Verification::None => return Ok(ServerCertVerified::assertion()),
            Verification::Authority(roots) => (roots, false),
            Verification::AuthorityAndName(roots) => (roots, true),
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(
            &certificate,
            roots,
            intermediates,
            now,
            algorithms,
        )?;
        if check_name {
            verify_server_name(&certificate, &self.name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.verification.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.verification.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests;
