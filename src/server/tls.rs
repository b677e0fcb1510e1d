//! TLS on both sides, from what the rules say.

use std::sync::Arc;

use super::certificate::Renewed;
use super::{Error, read};
use crate::config::{CertificateFiles, ClientTls, Config, UpstreamTls, Verify};
use crate::net::tls::{
    OwnCertificate, ShownCertificate, UpstreamConnector, Verification, acceptor, asking_acceptor,
    authorities,
};
use crate::session::connect::{self, OfferedTls};

/// What a certificate is for that is made at start.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The TLS that clients are offered, if any, and the certificate that may change.
pub(super) fn offered(
    tls: Option<&ClientTls>,
) -> Result<(Option<OfferedTls>, Option<Renewed>), Error> {
    let Some(tls) = tls else {
        return Ok((None, None));
    };
    let renewed = match &tls.certificate {
        Some(CertificateFiles { certificate, key }) => Some(Renewed::read(certificate, key)?),
        None => None,
    };
    let shown = match &renewed {
        Some(files) => files.shown(),
        None => {
            let names = OWN_NAMES.map(str::to_owned).to_vec();
            Arc::new(ShownCertificate::self_signed(names)?)
        }
    };
    let clients = tls.clients.as_ref();
    let acceptor = match clients {
        Some(clients) => asking_acceptor(shown, &read(&clients.ca)?)?,
        None => acceptor(shown)?,
    };
    let offered = OfferedTls {
        acceptor,
        is_required: tls.is_required,
        needs_certificate: clients.is_some_and(|clients| clients.is_required),
    };
    Ok((Some(offered), renewed))
}

/// TLS to MySQL, for the clients' connections.
pub(super) fn toward_upstream(config: &Config) -> Result<connect::UpstreamTls, Error> {
    let own = match &config.upstream_certificate {
        Some(CertificateFiles { certificate, key }) => {
            Some(OwnCertificate::new(&read(certificate)?, &read(key)?)?)
        }
        None => None,
    };
    let connector =
        |verification| UpstreamConnector::new(&config.upstream, verification, own.as_ref());
    Ok(match &config.upstream_tls {
        UpstreamTls::Disabled => connect::UpstreamTls::Disabled,
        UpstreamTls::Preferred => connect::UpstreamTls::Preferred(connector(Verification::None)?),
        UpstreamTls::AsClient(verify) => connect::UpstreamTls::AsClient {
            connector: match verify {
                Some(verify) => connector(verification(verify)?)?,
                None => connector(Verification::None)?,
            },
            is_required: verify.is_some(),
        },
        UpstreamTls::Required(verify) => {
            connect::UpstreamTls::Required(connector(verification(verify)?)?)
        }
    })
}

/// The certificates that MySQL makes for itself carry no host name, so the chain alone is checked unless the rules say
/// otherwise, as by the clients' own VERIFY_CA.
fn verification(verify: &Verify) -> Result<Verification, Error> {
    let trusted = authorities(&read(&verify.ca)?)?;
    Ok(match verify.host {
        true => Verification::AuthorityAndName(trusted),
        false => Verification::Authority(trusted),
    })
}
