//! A server with the accounts, and the proxies in front of it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use countersink::driver::{Driver, Login, Reply};
use countersink_sandbox::{Flavour, Server};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;

use super::case::{Column, PASSWORD, SECOND, Way};
use super::played::Played;
use super::speaker::Who;
use super::{mariadb, mysql};
use crate::login::socket_accounts::own_user;
use crate::login::upstream::{rules_of, start_proxy};
use crate::support::twin;

/// The account that COM_CHANGE_USER begins with.
pub const FIRST: Who = Who {
    user: "first",
    passwords: &[PASSWORD],
    schema: None,
    announces: None,
    handles_expired: true,
    knows_plugins: true,
    from: 1,
    says: None,
};

/// What the tables are made of.
pub struct Place {
    pub runtime: Runtime,
    /// The server's port.
    pub server: u16,
    /// The proxies' ports.
    pub columns: Vec<(Column, u16)>,
    /// Without a certificate, and with one.
    connectors: [TlsConnector; 2],
    /// None where the server is played.
    root: Option<Mutex<Driver>>,
    own_user: &'static str,
    _server: Server,
}

impl Place {
    pub fn of(flavour: Flavour) -> Self {
        let (server, certificate) = start(flavour);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let root = runtime.block_on(async {
            let stream = TcpStream::connect(("127.0.0.1", server.port)).await;
            let stream = stream.expect("the server listens");
            let login = Login::new("root", "");
            Driver::connect(Box::new(stream), &login).await
        });
        let mut place = Self {
            runtime,
            server: server.port,
            columns: Vec::new(),
            connectors: [connector(None), connector(Some(&certificate))],
            root: Some(Mutex::new(root.expect("root may log in"))),
            own_user: own_user().leak(),
            _server: server,
        };
        place.runtime.block_on(place.make(flavour));
        let upstream = [
            format!("127.0.0.1:{}", place.server),
            format!("unix:{}", place._server.socket.display()),
        ];
        let key = place._server.data_folder().join("public_key.pem");
        let key = (flavour == Flavour::MySql).then_some(key);
        place.columns = place.runtime.block_on(proxies(&upstream, key));
        place
    }

    /// A server that is played: its accounts' plugins are none that a free server has.
    pub fn played() -> Self {
        let mut place = Self::of(Flavour::MySql);
        let played = place.runtime.block_on(Played::start(&place._server));
        let upstream = [
            format!("127.0.0.1:{}", played.port),
            format!("unix:{}", played.socket.display()),
        ];
        place.server = played.port;
        place.columns = place.runtime.block_on(proxies(&upstream, None));
        place.root = None;
        played.begin();
        place
    }

    async fn make(&self, flavour: Flavour) {
        self.administer(&[
            "CREATE DATABASE login",
            "CREATE DATABASE closed",
            "CREATE TABLE login.hot (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
            "CREATE USER control@'%' IDENTIFIED BY '' WITH MAX_USER_CONNECTIONS 500",
            "GRANT ALL ON *.* TO control@'%' WITH GRANT OPTION",
            "CREATE USER first@'%' IDENTIFIED BY '{PASSWORD}' WITH MAX_USER_CONNECTIONS 500",
        ])
        .await;
        match flavour {
            Flavour::MySql => {
                self.administer(&[
                    "GRANT CONNECTION_ADMIN ON *.* TO first@'%'",
                    "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'",
                    "ALTER USER root@'localhost' WITH MAX_USER_CONNECTIONS 500",
                ])
                .await;
                self.administer(mysql::ACCOUNTS).await;
            }
            Flavour::MariaDb => self.administer(mariadb::ACCOUNTS).await,
        }
    }

    /// The client's TLS.
    pub fn tls(&self, certified: bool) -> &TlsConnector {
        &self.connectors[usize::from(certified)]
    }

    /// Runs statements as root.
    pub async fn administer(&self, statements: &[&str]) {
        let Some(root) = &self.root else {
            return assert!(statements.is_empty(), "nobody runs them");
        };
        let mut root = root.lock().await;
        for statement in statements {
            let text = self.filled(statement);
            let reply = root.query(&text).await.expect("an answer");
            assert!(!matches!(reply, Reply::Err(_)), "{text}: {reply:?}");
        }
    }

    /// With the names that are known only now.
    pub fn who(&self, who: &Who) -> Who {
        let mut who = *who;
        if who.user == "{own_user}" {
            who.user = self.own_user;
        }
        if who.says.is_some_and(|text| text.contains("{PASSWORD}")) {
            who.says = who.says.map(|text| &*self.filled(text).leak());
        }
        who
    }

    fn filled(&self, statement: &str) -> String {
        let text = statement.replace("{PASSWORD}", PASSWORD);
        let text = text.replace("{SECOND}", SECOND);
        text.replace("{own_user}", self.own_user)
    }
}

/// The proxies before a server at these addresses, with its key where it has one.
async fn proxies([tcp, socket]: &[String; 2], key: Option<PathBuf>) -> Vec<(Column, u16)> {
    let key = key.map(|key| {
        let key = key.display();
        format!("upstream_tls: {{mode: disabled, public_key: '{key}'}}\n")
    });
    let mut columns = Vec::new();
    for (way, upstream, more) in [
        (Way::Plain, tcp, Some("upstream_tls: {mode: disabled}\n")),
        (Way::Key, tcp, key.as_deref()),
        (Way::Tls, tcp, Some("upstream_tls: {mode: preferred}\n")),
        (Way::Socket, socket, Some("")),
    ] {
        let Some(more) = more else {
            continue;
        };
        let rules = rules_of(upstream, more).replace("root", "control");
        let port = start_proxy(&rules).await;
        let port = port.unwrap_or_else(|error| panic!("{way:?}: {error}"));
        for tls in [false, true] {
            // A plain client's password goes under the key that the server itself sends.
            if tls || way != Way::Key {
                columns.push((Column { tls, way }, port));
            }
        }
    }
    columns.sort_by_key(|(column, _)| column.tls);
    columns
}

/// The server, and the files of a certificate that it trusts and of its key.
fn start(flavour: Flavour) -> (Server, [PathBuf; 2]) {
    let installation = twin::installation(flavour);
    let mut options = twin::options();
    options.extra.push("--max-user-connections=900".to_owned());
    match flavour {
        Flavour::MySql => {
            let server = Server::start(&installation, &options).expect("a server");
            let file = |name| server.data_folder().join(name);
            let certificate = [file("client-cert.pem"), file("client-key.pem")];
            (server, certificate)
        }
        Flavour::MariaDb => {
            let certificate = own_certificate();
            let [file, key] = [0, 1].map(|index| certificate[index].display());
            options.extra.extend([
                format!("--ssl-cert={file}"),
                format!("--ssl-ca={file}"),
                format!("--ssl-key={key}"),
                "--plugin-load-add=auth_ed25519".to_owned(),
                "--plugin-load-add=auth_pam".to_owned(),
                "--pam-use-cleartext-plugin".to_owned(),
            ]);
            let server = Server::start(&installation, &options).expect("a server");
            (server, certificate)
        }
    }
}

fn own_certificate() -> [PathBuf; 2] {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let made = made.expect("a certificate for MariaDB");
    let folder = twin::folder().join("login_table");
    fs::create_dir_all(&folder).expect("a folder in target");
    let files = ["cert.pem", "key.pem"].map(|name| folder.join(name));
    fs::write(&files[0], made.cert.pem()).expect("a file");
    fs::write(&files[1], made.signing_key.serialize_pem()).expect("a file");
    files
}

/// TLS that trusts whoever answers.
fn connector(certificate: Option<&[PathBuf; 2]>) -> TlsConnector {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(provider)));
    let mut config = match certificate {
        None => config.with_no_client_auth(),
        Some([certificate, key]) => {
            let certificate = CertificateDer::from_pem_file(certificate).expect("a certificate");
            let key = PrivateKeyDer::from_pem_file(key).expect("a key");
            let config = config.with_client_auth_cert(vec![certificate], key);
            config.expect("they belong together")
        }
    };
    // They all have one name, and would be offered each other's tickets.
    config.resumption = Resumption::disabled();
    TlsConnector::from(Arc::new(config))
}

#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
