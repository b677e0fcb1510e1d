//! TLS between a proxy and a server that are both played.

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
        UpstreamConnector::new(&upstream.clone().into(), Verification::None, None).unwrap();
    let shown = ShownCertificate::self_signed(vec!["localhost".to_owned()]).unwrap();
    let acceptor = Acceptor::new(Arc::new(shown)).unwrap();
    let (ours, theirs) = duplex(1 << 16);
    let said = Said::default();
    let (client, server) = tokio::join!(
        connector.connect(&upstream, &said, ours),
        acceptor.accept(theirs)
    );
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

/// A server's side, which shows this certificate, and the client's of a connection to localhost.
async fn connected(
    shown: Arc<ShownCertificate>,
    verification: Verification,
    asked_for: Option<&str>,
) -> io::Result<(
    tokio_rustls::server::TlsStream<tokio::io::DuplexStream>,
    UpstreamStream<tokio::io::DuplexStream>,
)> {
    let upstream = Address::parse("localhost:3306").expect("an address");
    let connector = UpstreamConnector::new(&upstream.clone().into(), verification, None).unwrap();
    let said = Said {
        server_name: asked_for.map(str::to_owned),
        is_certified: false,
    };
    let acceptor = Acceptor::new(shown).unwrap();
    let (ours, theirs) = duplex(1 << 16);
    let (client, server) = tokio::join!(
        connector.connect(&upstream, &said, ours),
        acceptor.accept(theirs)
    );
    Ok((server?, client?))
}

fn self_signed(name: &str) -> (Vec<u8>, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    (certificate.into_bytes(), key.into_bytes())
}

#[tokio::test]
async fn a_server_is_told_the_name_that_the_client_asks_for_and_checked_against_its_own() {
    let (certificate, key) = self_signed("localhost");
    let roots = authorities(&certificate).unwrap();
    let verification = Verification::AuthorityAndName(roots);
    for asked_for in [None, Some("shop.example"), Some("127.0.0.1")] {
        let shown = Arc::new(ShownCertificate::new(&certificate, &key).unwrap());
        let (server, _client) = connected(shown, verification.clone(), asked_for)
            .await
            .unwrap();
        // An address is no name.
        let expected = asked_for.filter(|name| name.ends_with("example"));
        assert_eq!(server.get_ref().1.server_name(), expected);
    }
    let (other, key) = self_signed("shop.example");
    let roots = authorities(&other).unwrap();
    let verification = Verification::AuthorityAndName(roots);
    let shown = Arc::new(ShownCertificate::new(&other, &key).unwrap());
    let refused = connected(shown, verification, Some("shop.example")).await;
    assert!(refused.is_err(), "it is another host's");
}

#[tokio::test]
async fn a_certificate_is_replaced_unless_the_new_one_is_unusable() {
    let (first, first_key) = self_signed("localhost");
    let (second, second_key) = self_signed("localhost");
    let shown = Arc::new(ShownCertificate::new(&first, &first_key).unwrap());
    let is_shown = async |certificate: &[u8]| {
        let roots = authorities(certificate).unwrap();
        let verification = Verification::Authority(roots);
        connected(Arc::clone(&shown), verification, None)
            .await
            .is_ok()
    };
    assert!(is_shown(&first).await && !is_shown(&second).await);
    assert!(shown.replace(&second, &first_key).is_err());
    assert!(shown.replace(b"", &second_key).is_err());
    assert!(is_shown(&first).await);
    shown.replace(&second, &second_key).unwrap();
    assert!(is_shown(&second).await && !is_shown(&first).await);
}

/// `openssl x509 -req` makes such certificates. They are not verified, so they can only be taken unseen.
#[tokio::test]
async fn a_certificate_of_version_1_is_taken_where_none_is_verified() {
    let pem = include_bytes!("version_1.pem");
    let chain = certificates("certificate", pem).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pem).unwrap();
    let key = provider().key_provider.load_private_key(key).unwrap();
    // Made of its parts, it is not read.
    let shown = Arc::new(ShownCertificate::of(CertifiedKey::new(chain, key)));
    let unseen = connected(Arc::clone(&shown), Verification::None, None).await;
    assert!(unseen.is_ok(), "{:?}", unseen.err());
    let [.., authority] = signed("localhost");
    let verification = Verification::Authority(authorities(&authority).unwrap());
    assert!(connected(shown, verification, None).await.is_err());
}

/// A certificate that an authority of its own has signed, its key, and that authority.
fn signed(name: &str) -> [Vec<u8>; 3] {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = rcgen::KeyPair::generate().unwrap();
    let authority = rcgen::CertifiedIssuer::self_signed(params, authority).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    [certificate.pem(), key.serialize_pem(), authority.pem()].map(String::into_bytes)
}

/// Sessions are resumed, and none that was begun with a certificate for a client that has none.
#[tokio::test]
async fn the_proxys_own_certificate_is_shown_for_clients_that_have_shown_theirs() {
    let [certificate, key, authority] = signed("proxy");
    let own = OwnCertificate::new(&certificate, &key).unwrap();
    let shown = Arc::new(ShownCertificate::self_signed(vec!["localhost".to_owned()]).unwrap());
    let acceptor = Acceptor::asking(shown, &Trusted::new(&authority, None).unwrap()).unwrap();
    let upstream = Address::parse("localhost:3306").expect("an address");
    let connector =
        UpstreamConnector::new(&upstream.clone().into(), Verification::None, Some(&own)).unwrap();
    let mut resumed = 0;
    for is_certified in [false, true, false, true, true, false, false] {
        let said = Said {
            server_name: None,
            is_certified,
        };
        let (ours, theirs) = duplex(1 << 16);
        let (client, server) = tokio::join!(
            connector.connect(&upstream, &said, ours),
            acceptor.accept(theirs)
        );
        let (mut client, mut server) = (client.unwrap(), server.unwrap());
        assert_eq!(Said::by(&server), said);
        // The tickets for resumption come before it.
        server.write_all(b"answer").await.unwrap();
        server.flush().await.unwrap();
        client.read_exact(&mut [0; 6]).await.unwrap();
        let kind = server.get_ref().1.handshake_kind();
        resumed += usize::from(kind == Some(rustls::HandshakeKind::Resumed));
    }
    assert_eq!(resumed, 5, "all but the first of each kind");
}

#[tokio::test]
async fn a_certificate_that_another_authority_has_signed_fails_the_handshake() {
    let [certificate, key, _] = signed("proxy");
    let own = OwnCertificate::new(&certificate, &key).unwrap();
    let shown = Arc::new(ShownCertificate::self_signed(vec!["localhost".to_owned()]).unwrap());
    let [.., other] = signed("other");
    let acceptor = Acceptor::asking(shown, &Trusted::new(&other, None).unwrap()).unwrap();
    let upstream = Address::parse("localhost:3306").expect("an address");
    let connector =
        UpstreamConnector::new(&upstream.into(), Verification::None, Some(&own)).unwrap();
    let told = shown_to(&acceptor, &connector).await;
    let error = told.expect_err("it is not verified");
    assert!(error.contains("invalid peer certificate"), "{error}");
}

#[test]
fn a_certificate_needs_its_own_key() {
    let [certificate, ..] = signed("proxy");
    let [_, key, _] = signed("other");
    assert!(OwnCertificate::new(&certificate, &key).is_err());
}

/// What becomes of a client that shows the connector's certificate: whether its session is resumed, or the error.
async fn shown_to(acceptor: &Acceptor, connector: &UpstreamConnector) -> Result<bool, String> {
    let upstream = Address::parse("localhost:3306").expect("an address");
    let said = Said {
        server_name: None,
        is_certified: true,
    };
    let (ours, theirs) = duplex(1 << 16);
    let (client, server) = tokio::join!(
        connector.connect(&upstream, &said, ours),
        acceptor.accept(theirs)
    );
    let mut server = server.map_err(|error| error.to_string())?;
    // The tickets for resumption come before it.
    server.write_all(b"answer").await.unwrap();
    server.flush().await.unwrap();
    client.unwrap().read_exact(&mut [0; 6]).await.unwrap();
    let kind = server.get_ref().1.handshake_kind();
    Ok(kind == Some(rustls::HandshakeKind::Resumed))
}

/// An authority, a certificate of it, and lists of it: one that has the certificate, one that has none, and one that
/// has expired.
fn revoked() -> ([Vec<u8>; 3], [Vec<u8>; 3]) {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![
        rcgen::KeyUsagePurpose::KeyCertSign,
        rcgen::KeyUsagePurpose::CrlSign,
    ];
    let authority = rcgen::KeyPair::generate().unwrap();
    let authority = rcgen::CertifiedIssuer::self_signed(params, authority).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["client".to_owned()]).unwrap();
    params.serial_number = Some(7.into());
    let certificate = params.signed_by(&key, &authority).unwrap();
    let entry = rcgen::RevokedCertParams {
        serial_number: 7.into(),
        revocation_time: rcgen::date_time_ymd(2020, 1, 2),
        reason_code: None,
        invalidity_date: None,
    };
    let list = |entries: &[&rcgen::RevokedCertParams], until| {
        let list = rcgen::CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2020, 1, 1),
            next_update: rcgen::date_time_ymd(until, 1, 1),
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: entries.iter().map(|&entry| entry.clone()).collect(),
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        list.signed_by(&authority)
            .unwrap()
            .pem()
            .unwrap()
            .into_bytes()
    };
    (
        [certificate.pem(), key.serialize_pem(), authority.pem()].map(String::into_bytes),
        [list(&[&entry], 4000), list(&[], 4000), list(&[], 2021)],
    )
}

#[tokio::test]
async fn a_certificate_that_is_revoked_later_is_refused_and_not_resumed() {
    let ([certificate, key, authority], [revoking, empty, expired]) = revoked();
    let [.., other] = signed("other");
    let own = OwnCertificate::new(&certificate, &key).unwrap();
    let upstream = Address::parse("localhost:3306").expect("an address");
    let connector =
        UpstreamConnector::new(&upstream.into(), Verification::None, Some(&own)).unwrap();
    let shown = Arc::new(ShownCertificate::self_signed(vec!["localhost".to_owned()]).unwrap());
    let trusted = |authority: &[u8], list: Option<&[u8]>| Trusted::new(authority, list).unwrap();
    let acceptor = Acceptor::asking(shown, &trusted(&authority, None)).unwrap();
    assert_eq!(shown_to(&acceptor, &connector).await, Ok(false));
    assert_eq!(
        shown_to(&acceptor, &connector).await,
        Ok(true),
        "it is resumed"
    );
    for (authority, list, refused) in [
        (&authority, Some(&revoking), "Revoked"),
        (&authority, Some(&empty), ""),
        (&authority, Some(&expired), "expired"),
        // It has the same name.
        (&other, None, "BadSignature"),
        // An authority without a list.
        (&[&authority[..], &other[..]].concat(), Some(&empty), ""),
        (&authority, None, ""),
    ] {
        let trusted = trusted(authority, list.map(Vec::as_slice));
        acceptor.trust(&trusted).unwrap();
        match shown_to(&acceptor, &connector).await {
            Ok(is_resumed) => {
                assert_eq!(refused, "");
                assert!(!is_resumed, "it was verified by others");
            }
            Err(error) => assert!(
                !refused.is_empty() && error.contains(refused),
                "{refused}: {error}"
            ),
        }
    }
    let another = revoked().1.concat();
    let trusted = trusted(&authority, Some(&another));
    acceptor.trust(&trusted).unwrap();
    let told = shown_to(&acceptor, &connector).await;
    assert!(told.is_err(), "its authority has no list there: {told:?}");
}

#[tokio::test]
async fn a_session_with_a_certificate_is_resumed_for_a_while_only() {
    let [certificate, key, authority] = signed("client");
    let own = OwnCertificate::new(&certificate, &key).unwrap();
    let upstream = Address::parse("localhost:3306").expect("an address");
    let connector =
        UpstreamConnector::new(&upstream.into(), Verification::None, Some(&own)).unwrap();
    let shown = Arc::new(ShownCertificate::self_signed(vec!["localhost".to_owned()]).unwrap());
    let mut acceptor = Acceptor::asking(shown, &Trusted::new(&authority, None).unwrap()).unwrap();
    for (resumed, is_resumed) in [
        (RESUMED, false),
        (RESUMED, true),
        (Duration::ZERO, false),
        (RESUMED, true),
    ] {
        acceptor.resumed = resumed;
        assert_eq!(shown_to(&acceptor, &connector).await, Ok(is_resumed));
    }
}

#[tokio::test]
async fn the_way_to_a_server_is_replaced_for_all_that_use_it() {
    let [first, first_key, authority] = signed("localhost");
    let [.., other] = signed("localhost");
    let connector = |authority: &[u8]| {
        let upstream = Address::parse("localhost:3306").expect("an address");
        let verification = Verification::Authority(authorities(authority).unwrap());
        UpstreamConnector::new(&upstream.into(), verification, None).unwrap()
    };
    let shown = Arc::new(ShownCertificate::new(&first, &first_key).unwrap());
    let acceptor = Acceptor::new(shown).unwrap();
    let used = connector(&other);
    let clone = used.clone();
    assert!(shown_to(&acceptor, &clone).await.is_err());
    used.replace_by(&connector(&authority));
    assert_eq!(shown_to(&acceptor, &clone).await, Ok(false));
    assert_eq!(shown_to(&acceptor, &clone).await, Ok(true));
    used.replace_by(&connector(&other));
    assert!(shown_to(&acceptor, &clone).await.is_err());
}
