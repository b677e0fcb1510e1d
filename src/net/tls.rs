//! TLS on both sides: what certificate clients see, and how the upstream's is verified.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

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
    /// The certificate for clients could not be generated.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The upstream's host name cannot be in a certificate.
    #[error("'{0}' is no name that a certificate can be checked against")]
    Name(String),
}

/// TLS 1.2 and 1.3 for clients, with this certificate chain and key, both PEM.
pub fn acceptor(certificate: &[u8], key: &[u8]) -> Result<TlsAcceptor, TlsError> {
    let chain = certificates("certificate", certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|source| TlsError::Pem {
        what: "key",
        source,
    })?;
    acceptor_of(chain, key)
}

/// TLS for clients with a self-signed certificate for `names` (host names or IP addresses). It is generated now and
/// lasts as long as the process. The key is ECDSA on P-256.
pub fn self_signed_acceptor(names: Vec<String>) -> Result<TlsAcceptor, TlsError> {
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    acceptor_of(vec![made.cert.der().clone()], key)
}

fn acceptor_of(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<TlsAcceptor, TlsError> {
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
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

/// Reads certificate authorities from PEM.
pub fn authorities(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("certificate authorities", pem)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

/// TLS to the upstream.
#[derive(Clone)]
pub struct UpstreamConnector(TlsConnector);

impl UpstreamConnector {
    /// TLS to these servers, verified according to `verification`.
    pub fn new(upstreams: &Upstreams, verification: Verification) -> Result<Self, TlsError> {
        for upstream in upstreams.addresses() {
            server_name(upstream)?;
        }
        let verifier = UpstreamVerifier {
            verification,
            provider: provider(),
        };
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Performs the TLS handshake with the server at this address. Not cancel safe.
    pub async fn connect<T: Transport>(
        &self,
        upstream: &Address,
        transport: T,
    ) -> io::Result<UpstreamStream<T>> {
        let name = server_name(upstream).map_err(io::Error::other)?;
        let stream = self.0.connect(name, transport).await?;
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
pub struct UpstreamStream<T>(TlsStream<T>);

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

fn certificates(what: &'static str, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |source| TlsError::Pem { what, source };
    let found = CertificateDer::pem_slice_iter(text)
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
    verification: Verification,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for UpstreamVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let (roots, check_name) = match &self.verification {
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
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
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
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::config::HostPort;

    #[tokio::test]
    async fn the_upstream_s_writing_side_closes_without_a_byte() {
        let upstream = Address::Tcp(HostPort {
            host: "localhost".to_owned(),
            port: 3306,
        });
        let connector =
            UpstreamConnector::new(&upstream.clone().into(), Verification::None).unwrap();
        let acceptor = self_signed_acceptor(vec!["localhost".to_owned()]).unwrap();
        let (ours, theirs) = duplex(1 << 16);
        let (client, server) =
            tokio::join!(connector.connect(&upstream, ours), acceptor.accept(theirs));
        let (mut client, mut server) = (client.unwrap(), server.unwrap());
        client.write_all(b"last").await.unwrap();
        client.shutdown().await.unwrap();
        server.read_exact(&mut [0; 4]).await.unwrap();
        server.write_all(b"answer").await.unwrap();
        server.flush().await.unwrap();
        let mut unread = Vec::new();
        let (mut socket, _) = server.into_inner();
        socket.read_to_end(&mut unread).await.unwrap();
        assert_eq!(unread, b"");
        client.read_exact(&mut [0; 6]).await.unwrap();
    }
}
