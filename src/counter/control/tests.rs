use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::net::tls::{Acceptor, ShownCertificate};
use crate::wire::packet::encode_packet;

/// MySQL 9.7.4's, with TLS.
const GREETING: &[u8] = b"\n9.7.4-2\0\x16\0\0\0N%aT-S{\x7f\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0 \x1f:d<y\x07oA|E@\0caching_sha2_password\0";
/// Header and payload of the client's request for TLS.
const SSL_REQUEST: usize = 4 + 32;

fn config(more: &str) -> Config {
    let text = format!(
        "upstream: 127.0.0.1:1\n{more}\ncounters:\n- {{table: shop.posts, columns: [views]}}\n"
    );
    Config::from_str(&text, &|_| None).unwrap()
}

fn denied(message: &str) -> String {
    let config = config("");
    let remedies = Remedies::of(&config);
    let failure = mysql_async::ServerError {
        code: 1045,
        message: message.to_owned(),
        state: "28000".to_owned(),
    };
    remedies
        .explain(config.upstream.first(), failure.into())
        .to_string()
}

#[test]
fn a_refused_account_gets_its_statements() {
    let text = denied("Access denied for user 'countersink'@'10.0.0.7' (using password: YES)");
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        [
            "  CREATE USER 'countersink'@'10.0.0.7' IDENTIFIED BY '<control.password>';",
            "  GRANT SELECT, UPDATE, TRIGGER ON `shop`.`posts` TO 'countersink'@'10.0.0.7';",
            "  GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON `shop`.`posts_slots` TO 'countersink'@'10.0.0.7';",
            "  GRANT LOCK TABLES ON `shop`.* TO 'countersink'@'10.0.0.7';",
        ]
    );
    let text = denied("Host '10.0.0.9' is not allowed to connect to this MySQL server");
    assert!(
        text.contains("CREATE USER 'countersink'@'10.0.0.9'"),
        "{text}"
    );
}

#[test]
fn tls_follows_the_mode() {
    let options = |more: &str| {
        let config = config(more);
        let files = UpstreamFiles::read(&config, |_| Ok::<_, ()>(Vec::new())).unwrap();
        way::tls(&config, config.upstream.first(), &files)
    };
    assert!(options("upstream_tls: {mode: disabled}").is_none());
    assert!(options("").unwrap().accept_invalid_certs());
    let required = options("upstream_tls: {mode: required, ca: /ca.pem}").unwrap();
    assert!(!required.accept_invalid_certs() && required.skip_domain_validation());
    assert!(required.disable_built_in_roots());
    assert_eq!(required.root_certs().len(), 1);
    assert!(required.client_identity().is_none());
    let own = options("upstream_tls: {certificate: /c.pem, key: /k.pem}");
    assert!(own.unwrap().client_identity().is_some());
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// What becomes of the control account at a server with this certificate, when it trusts `trusted`: the error, which
/// there is in any case as the server leaves after the handshake of TLS, and whether it came to the end of that one.
async fn meet(shown: &CertificateParams, signer: &Authority, trusted: &Authority) -> (Error, bool) {
    let key = KeyPair::generate().unwrap();
    let chain = shown.signed_by(&key, signer).unwrap().pem();
    let shown = ShownCertificate::new(chain.as_bytes(), key.serialize_pem().as_bytes());
    let acceptor = Acceptor::new(Arc::new(shown.unwrap())).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut initial_handshake = Vec::new();
        encode_packet(&mut initial_handshake, 0, GREETING);
        socket.write_all(&initial_handshake).await.unwrap();
        socket.read_exact(&mut [0; SSL_REQUEST]).await.unwrap();
        acceptor.accept(socket).await.is_ok()
    });
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, trusted.pem()).unwrap();
    let mut config = config(&format!(
        "upstream_tls: {{mode: required, ca: '{}'}}",
        ca.display()
    ));
    config.upstream = Address::Tcp(crate::config::HostPort {
        host: "127.0.0.1".to_owned(),
        port,
    })
    .into();
    let error = Control::open(&config).await.expect_err("nobody is let in");
    (error, server.await.unwrap())
}

#[tokio::test]
async fn any_name_does_in_a_certificate_of_the_authority() {
    let ours = authority("ours");
    for names in [
        &[][..],
        &["db.example".to_owned()],
        &["127.0.0.1".to_owned()],
    ] {
        let shown = CertificateParams::new(names).unwrap();
        let (error, is_welcome) = meet(&shown, &ours, &ours).await;
        assert!(is_welcome, "{names:?}: {error}");
    }
}

#[tokio::test]
async fn a_certificate_of_another_authority_or_time_is_refused() {
    let (ours, other) = (authority("ours"), authority("other"));
    let fresh = CertificateParams::new(["NotValidForName".to_owned()]).unwrap();
    let mut expired = fresh.clone();
    expired.not_after = date_time_ymd(2020, 1, 1);
    for (shown, signer, why) in [
        (&fresh, &other, "UnknownIssuer"),
        (&expired, &ours, "certificate expired"),
    ] {
        let (error, is_welcome) = meet(shown, signer, &ours).await;
        let text = error.to_string();
        assert!(
            matches!(error, Error::Tls { .. }) && text.contains(why),
            "{text}"
        );
        assert!(!is_welcome, "{why}");
    }
}

/// A file that is half written must not fail what looks for a primary.
#[test]
fn ways_are_made_with_the_files_that_were_read_last() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, "first").unwrap();
    let config = config(&format!(
        "upstream_tls: {{mode: required, ca: '{}'}}",
        ca.display()
    ));
    let address = config.upstream.first().clone();
    let ways = Ways::of(Arc::new(config)).unwrap();
    let trusted = |way: &Way| {
        let tls = way.looks.ssl_opts().expect("it is required");
        let [ca] = tls.root_certs() else {
            panic!("{tls:?}");
        };
        ca.clone()
    };
    std::fs::write(&ca, "sec").unwrap();
    let first = ways.encrypted(&address);
    assert_eq!(trusted(&first), b"first".to_vec().into());
    let held = |ca: &str| UpstreamFiles {
        ca: Some(ca.as_bytes().to_vec()),
        own: None,
    };
    assert!(!ways.renew(held("first")), "it is no change");
    assert!(ways.renew(held("second")));
    // Of a server that was looked at before.
    let second = ways.renewed(first);
    assert_eq!(trusted(&second), b"second".to_vec().into());
}
