//! TLS on both sides, from what the rules say.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::certificate::{Files, Renewal};
use super::{Error, read};
use crate::config::{
    CertificateFiles, ClientCertificates, ClientTls, Config, UpstreamFiles, UpstreamTls, Verify,
};
use crate::counter::control::Control;
use crate::net::tls::{
    Acceptor, OwnCertificate, ShownCertificate, Trusted, UpstreamConnector, Verification,
    authorities, check_public_key,
};
use crate::session::connect::{self, OfferedTls};

/// What a certificate is for that is made at start.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The TLS that clients are offered, if any. What becomes of changes of its files goes into `renewals`.
pub(super) fn offered(
    tls: Option<&ClientTls>,
    renewals: &mut Vec<Renewal>,
) -> Result<Option<OfferedTls>, Error> {
    let Some(tls) = tls else {
        return Ok(None);
    };
    let shown = match tls.certificate.clone() {
        Some(CertificateFiles { certificate, key }) => {
            let files = Files::now([&*certificate, &*key]);
            let shown = ShownCertificate::new(&read(&certificate)?, &read(&key)?)?;
            let shown = Arc::new(shown);
            renewals.push(Renewal::new(files, {
                let shown = Arc::clone(&shown);
                move || Ok(shown.replace(&read(&certificate)?, &read(&key)?)?)
            }));
            shown
        }
        None => Arc::new(ShownCertificate::self_signed(
            OWN_NAMES.map(str::to_owned).to_vec(),
        )?),
    };
    let acceptor = match tls.clients.clone() {
        Some(clients) => {
            let files = Files::now(
                [Some(&*clients.ca), clients.crl.as_deref()]
                    .into_iter()
                    .flatten(),
            );
            let acceptor = Arc::new(Acceptor::asking(shown, &trusted(&clients)?)?);
            renewals.push(Renewal::new(files, {
                let acceptor = Arc::clone(&acceptor);
                move || Ok(acceptor.trust(&trusted(&clients)?)?)
            }));
            acceptor
        }
        None => Arc::new(Acceptor::new(shown)?),
    };
    Ok(Some(OfferedTls {
        acceptor,
        is_required: tls.is_required,
        needs_certificate: tls
            .clients
            .as_ref()
            .is_some_and(|clients| clients.is_required),
    }))
}

/// Whose certificates clients may show.
fn trusted(clients: &ClientCertificates) -> Result<Trusted, Error> {
    let revoked = clients.crl.as_deref().map(read).transpose()?;
    Ok(Trusted::new(&read(&clients.ca)?, revoked.as_deref())?)
}

/// TLS to MySQL, for the clients' connections. What becomes of changes of its files, there and for the control
/// account's connections, goes into `renewals`.
pub(super) fn toward_upstream(
    config: &Arc<Config>,
    control: &Control,
    renewals: &mut Vec<Renewal>,
) -> Result<connect::UpstreamTls, Error> {
    let paths = UpstreamFiles::paths(config);
    let files = Files::now(paths);
    let held = UpstreamFiles::read(config, read)?;
    let Some(connector) = connector(config, &held)? else {
        return Ok(connect::UpstreamTls::Disabled);
    };
    if !files.is_empty() {
        // They may have changed since it has read them.
        control.renew(held);
        let (config, connector) = (Arc::clone(config), connector.clone());
        let control = control.clone();
        renewals.push(Renewal::new(files, move || {
            let held = UpstreamFiles::read(&config, read)?;
            if let Some(new) = self::connector(&config, &held)? {
                connector.replace_by(&new);
                control.renew(held);
            }
            Ok(())
        }));
    }
    Ok(match &config.upstream_tls {
        UpstreamTls::Disabled => connect::UpstreamTls::Disabled,
        UpstreamTls::Preferred => connect::UpstreamTls::Preferred(connector),
        UpstreamTls::AsClient(verify) => connect::UpstreamTls::AsClient {
            connector,
            is_required: verify.is_some(),
        },
        UpstreamTls::Required(_) => connect::UpstreamTls::Required(connector),
    })
}

/// The server's RSA key, if the rules name one. What becomes of its change goes into `renewals`.
pub(super) fn upstream_key(
    config: &Config,
    renewals: &mut Vec<Renewal>,
) -> Result<Option<Arc<ArcSwap<Vec<u8>>>>, Error> {
    let Some(path) = config.upstream_public_key.clone() else {
        return Ok(None);
    };
    let files = Files::now([&*path]);
    let key = Arc::new(ArcSwap::from_pointee(read(&path)?));
    renewals.push(Renewal::new(files, {
        let key = Arc::clone(&key);
        move || {
            let pem = read(&path)?;
            check_public_key(&pem)?;
            key.store(Arc::new(pem));
            Ok(())
        }
    }));
    Ok(Some(key))
}

/// `None` where there is no TLS to MySQL.
fn connector(config: &Config, files: &UpstreamFiles) -> Result<Option<UpstreamConnector>, Error> {
    let own = match &files.own {
        Some([certificate, key]) => Some(OwnCertificate::new(certificate, key)?),
        None => None,
    };
    let ca = files.ca.as_deref().unwrap_or_default();
    let verification = match (&config.upstream_tls, config.upstream_tls.verify()) {
        (UpstreamTls::Disabled, _) => return Ok(None),
        (_, Some(verify)) => verification(verify, ca)?,
        (_, None) => Verification::None,
    };
    let connector = UpstreamConnector::new(&config.upstream, verification, own.as_ref())?;
    Ok(Some(connector))
}

/// The certificates that MySQL makes for itself carry no host name, so the chain alone is checked unless the rules say
/// otherwise, as by the clients' own VERIFY_CA.
fn verification(verify: &Verify, ca: &[u8]) -> Result<Verification, Error> {
    let trusted = authorities(ca)?;
    Ok(match verify.host {
        true => Verification::AuthorityAndName(trusted),
        false => Verification::Authority(trusted),
    })
}
