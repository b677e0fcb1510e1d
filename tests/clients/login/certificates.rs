//! Certificates of clients: who must show one, and the proxy's own, by which it reaches accounts that require one.
//!
//! Each login is made with the server's own client, directly and through the proxy.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersink::cli;
use countersink_sandbox::{Flavour, Server};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, date_time_ymd,
};
use tokio::runtime::Runtime;

use super::upstream::{rules_of, start_proxy};
use crate::support::twin;

/// How long a renewed file may take to be noticed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The number of the certificate `client`.
const CLIENTS_NUMBER: u64 = 7;

const PASSWORD: &str = "secret";

/// The accounts by which proxies work require a certificate, too.
const ACCOUNTS: &[&str] = &[
    "CREATE DATABASE login",
    "CREATE TABLE login.hot (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
    "CREATE USER control@'%' IDENTIFIED BY '' REQUIRE X509",
    "GRANT ALL ON *.* TO control@'%' WITH GRANT OPTION",
    "CREATE USER renewer@'%' IDENTIFIED BY '' REQUIRE X509",
    "GRANT ALL ON *.* TO renewer@'%' WITH GRANT OPTION",
    "CREATE USER app@'%' IDENTIFIED BY 'secret'",
    "CREATE USER with_x509@'%' IDENTIFIED BY 'secret' REQUIRE X509",
    "CREATE USER of_client@'%' IDENTIFIED BY 'secret' REQUIRE SUBJECT '/CN=client'",
    "CREATE USER of_proxy@'%' IDENTIFIED BY 'secret' REQUIRE SUBJECT '/CN=proxy'",
];

/// What a client shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// It does without TLS.
    Plain,
    /// No certificate.
    Nothing,
    /// The certificate of this name: `client`, which the server and the proxy trust, or `stranger`.
    Certificate(&'static str),
}

const CLIENT: Shows = Shows::Certificate("client");
const STRANGER: Shows = Shows::Certificate("stranger");

/// A server that trusts one authority, and certificates of that one and of another.
struct Place {
    server: Server,
    folder: PathBuf,
    runtime: Runtime,
}

impl Place {
    /// The one of this family, for one test at a time.
    fn of(flavour: Flavour) -> MutexGuard<'static, Option<Self>> {
        static MYSQL: Mutex<Option<Place>> = Mutex::new(None);
        static MARIADB: Mutex<Option<Place>> = Mutex::new(None);
        let place = match flavour {
            Flavour::MySql => &MYSQL,
            Flavour::MariaDb => &MARIADB,
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert_with(|| Self::start(flavour));
        place
    }

    fn start(flavour: Flavour) -> Self {
        let folder = twin::folder().join(format!("certificates_{flavour}"));
        fs::create_dir_all(&folder).expect("a folder in target");
        make_certificates(&folder);
        let mut options = twin::options();
        for (option, file) in [
            ("ca", "ours.pem"),
            ("cert", "server.pem"),
            ("key", "server-key.pem"),
        ] {
            let file = folder.join(file);
            options
                .extra
                .push(format!("--ssl-{option}={}", file.display()));
        }
        let server = Server::start(&twin::installation(flavour), &options).expect("a server");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        let place = Self {
            server,
            folder,
            runtime: runtime.expect("a runtime"),
        };
        for statement in ACCOUNTS {
            place.administer(statement);
        }
        place
    }

    /// What the server says to this statement.
    fn administer(&self, statement: &str) -> String {
        let said = self.try_to(statement);
        said.unwrap_or_else(|error| panic!("{error}: {statement}"))
    }

    /// The same, or the error.
    fn try_to(&self, statement: &str) -> Result<String, String> {
        let mut client = twin::installation(self.server.flavour).client();
        let client = client.as_mut().expect("the sandbox's own");
        client.args(self.server.client_options());
        // Once a test has all clients use TLS, that goes for this one, too.
        client.args(match self.server.flavour {
            Flavour::MySql => ["--ssl-mode=REQUIRED", "--execute", statement],
            Flavour::MariaDb => ["--ssl", "--execute", statement],
        });
        let output = client.output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stderr)),
        }
    }

    /// The connections of the account of this name that are logged in, by their ids.
    fn connections(&self, user: &str) -> Vec<String> {
        let rows = self.administer("SHOW PROCESSLIST");
        let rows = rows.lines().map(|row| row.split('\t').collect::<Vec<_>>());
        let ids = rows.filter_map(|row| match row[..] {
            [id, of, _, _, command, ..] if of == user && command != "Connect" => {
                Some(id.to_owned())
            }
            _ => None,
        });
        ids.collect()
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// A proxy with this in its rules, in which `<..>` is the path of a file of that name; its port.
    fn proxy(&self, rules: &str) -> u16 {
        let started = self.started("control", rules);
        started.unwrap_or_else(|error| panic!("{error} with {rules}"))
    }

    /// The same, with this account for its own connections.
    fn started(&self, account: &str, rules: &str) -> Result<u16, cli::Error> {
        let mut more = String::new();
        for (index, part) in rules.split(['<', '>']).enumerate() {
            match index % 2 {
                0 => more.push_str(part),
                _ => more.push_str(&format!("'{}'", self.file(part))),
            }
        }
        let upstream = format!("127.0.0.1:{}", self.server.port);
        let rules = rules_of(&upstream, &format!("{more}\n")).replace("root", account);
        self.runtime.block_on(start_proxy(&rules))
    }

    /// Logs in; the error, if there is one.
    fn log_in(&self, port: u16, user: &str, shows: Shows) -> Result<(), String> {
        self.log_in_with(port, user, shows, &[])
    }

    fn log_in_with(
        &self,
        port: u16,
        user: &str,
        shows: Shows,
        options: &[&str],
    ) -> Result<(), String> {
        let flavour = self.server.flavour;
        let mut client = twin::installation(flavour).client();
        let client = client.as_mut().expect("the sandbox's own");
        client.args(["--protocol=TCP", "--host=127.0.0.1", "--skip-column-names"]);
        client.args([format!("--port={port}"), format!("--user={user}")]);
        client.args([&format!("--password={PASSWORD}"), "--execute=DO 0"]);
        client.args(match (flavour, shows) {
            (Flavour::MySql, Shows::Plain) => {
                &["--ssl-mode=DISABLED", "--get-server-public-key"][..]
            }
            (Flavour::MySql, _) => &["--ssl-mode=REQUIRED"],
            (Flavour::MariaDb, Shows::Plain) => &["--skip-ssl"],
            (Flavour::MariaDb, _) => &["--ssl"],
        });
        if let Shows::Certificate(name) = shows {
            let certificate = self.file(&format!("{name}.pem"));
            let key = self.file(&format!("{name}-key.pem"));
            client.args([format!("--ssl-cert={certificate}")]);
            client.args([format!("--ssl-key={key}")]);
        }
        let output = client.args(options).output().expect("it runs");
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let error = said.lines().find(|line| line.starts_with("ERROR "));
        Err(error
            .unwrap_or_else(|| panic!("no error: {said}"))
            .to_owned())
    }

    /// Puts what is in `from` into the file that the proxy has been told of.
    fn renew(&self, file: &str, from: &str) {
        fs::copy(self.file(from), self.file(file)).expect("it is copied");
    }

    /// Logs in until that is told with this code, or succeeds without one.
    fn log_in_until(&self, port: u16, user: &str, shows: Shows, codes: &[&str]) {
        let since = Instant::now();
        loop {
            let told = self.log_in(port, user, shows);
            match code_of(&told) {
                None if codes.is_empty() => return,
                Some(code) if codes.contains(&code) => return,
                _ => assert!(since.elapsed() < PATIENCE, "{user} {shows:?}: {told:?}"),
            }
        }
    }

    /// Directly; whether this is the code of the error, if it is one.
    fn is_told(&self, user: &str, shows: Shows, code: Option<&str>) -> Result<(), String> {
        let told = self.log_in(self.server.port, user, shows);
        assert_eq!(code_of(&told), code, "{user} {shows:?}: {told:?}");
        told
    }
}

/// The number of an error.
fn code_of(told: &Result<(), String>) -> Option<&str> {
    let error = told.as_ref().err()?;
    error.split(' ').nth(1)
}

/// Two authorities, `ours` and `other`, what they have signed, and lists of what `ours` has revoked.
fn make_certificates(folder: &std::path::Path) {
    let [ours, other] = ["ours", "other"].map(|name| {
        let mut params = params(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let file = folder.join(format!("{name}.pem"));
        fs::write(file, authority.pem()).expect("a file");
        authority
    });
    for (name, subject, signer) in [
        ("server", "server", &ours),
        ("proxy", "proxy", &ours),
        ("client", "client", &ours),
        ("stranger", "client", &other),
    ] {
        let key = KeyPair::generate().expect("a key");
        let mut params = params(subject);
        if name == "client" {
            params.serial_number = Some(CLIENTS_NUMBER.into());
        }
        let certificate = params.signed_by(&key, signer);
        let certificate = certificate.expect("a certificate").pem();
        fs::write(folder.join(format!("{name}.pem")), certificate).expect("a file");
        let file = folder.join(format!("{name}-key.pem"));
        fs::write(file, key.serialize_pem()).expect("a file");
    }
    for (name, numbers) in [("none-revoked", &[][..]), ("revoked", &[CLIENTS_NUMBER])] {
        let entries = numbers.iter().map(|&number| RevokedCertParams {
            serial_number: number.into(),
            revocation_time: date_time_ymd(2020, 1, 2),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: entries.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&ours).and_then(|list| list.pem());
        fs::write(folder.join(format!("{name}.pem")), list.expect("a list")).expect("a file");
    }
}

fn params(subject: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    params
}

/// The proxy's own certificate.
const OWN: &str = "certificate: <proxy.pem>, key: <proxy-key.pem>";

/// Runs a test on a server of each family.
fn on_each(test: impl Fn(&Place)) {
    for flavour in Flavour::ALL {
        test(Place::of(flavour).as_ref().expect("it has been started"));
    }
}

/// Sessions of TLS are resumed on the way to the server, but those that were begun with a certificate only for clients
/// that have one.
#[test]
fn accounts_that_require_a_certificate_are_for_clients_that_show_one() {
    on_each(|place| {
        for mode in ["preferred", "as_client", "required, ca: <ours.pem>"] {
            let rules = format!("tls: {{ca: <ours.pem>}}\nupstream_tls: {{mode: {mode}, {OWN}}}");
            let proxy = place.proxy(&rules);
            for (user, shows, code) in [
                ("with_x509", CLIENT, None),
                ("with_x509", Shows::Nothing, Some("1045")),
                ("app", Shows::Nothing, None),
                ("with_x509", Shows::Nothing, Some("1045")),
                ("with_x509", CLIENT, None),
                ("with_x509", Shows::Plain, Some("1045")),
                ("app", Shows::Plain, None),
                ("app", CLIENT, None),
                ("with_x509", CLIENT, None),
            ] {
                let directly = place.is_told(user, shows, code);
                let told = place.log_in(proxy, user, shows);
                assert_eq!(told, directly, "{user} {shows:?}, {mode}");
            }
        }
    });
}

/// The handshake of TLS fails, as it does with the server. What the client makes of that depends on the version of TLS.
#[test]
fn a_certificate_that_is_not_verified_is_refused() {
    on_each(|place| {
        let rules = format!("tls: {{ca: <ours.pem>}}\nupstream_tls: {{mode: preferred, {OWN}}}");
        let proxy = place.proxy(&rules);
        for version in ["--tls-version=TLSv1.2", "--tls-version=TLSv1.3"] {
            for user in ["app", "with_x509"] {
                let [directly, told] = [place.server.port, proxy]
                    .map(|port| place.log_in_with(port, user, STRANGER, &[version]));
                super::say(&format!("{version}: {directly:?} {told:?}"));
                for told in [&directly, &told] {
                    let code = code_of(told);
                    assert!(
                        code.is_some_and(|code| ["2013", "2026"].contains(&code)),
                        "{told:?}"
                    );
                }
            }
        }
    });
}

/// The server is told by TLS who the proxy is. Nobody can tell it by TLS who the client is.
#[test]
fn the_subject_that_an_account_requires_is_the_proxys() {
    on_each(|place| {
        let rules = format!("tls: {{ca: <ours.pem>}}\nupstream_tls: {{mode: preferred, {OWN}}}");
        let proxy = place.proxy(&rules);
        place.is_told("of_client", CLIENT, None).expect("it is in");
        let told = place.log_in(proxy, "of_client", CLIENT);
        assert_eq!(code_of(&told), Some("1045"), "{told:?}");
        place
            .is_told("of_proxy", CLIENT, Some("1045"))
            .expect_err("it is refused");
        assert_eq!(place.log_in(proxy, "of_proxy", CLIENT), Ok(()));
        let told = place.log_in(proxy, "of_proxy", Shows::Nothing);
        assert_eq!(code_of(&told), Some("1045"), "{told:?}");
    });
}

/// Where nobody's certificate is verified, nobody has one. The control account requires one, and so has got it.
#[test]
fn without_authorities_only_the_control_account_shows_the_proxys_certificate() {
    on_each(|place| {
        for tls in ["", "tls: {client: disabled}\n"] {
            let proxy = place.proxy(&format!("{tls}upstream_tls: {{mode: preferred, {OWN}}}"));
            let ways = [Shows::Plain, Shows::Nothing, CLIENT];
            let ways = if tls.is_empty() {
                &ways[..]
            } else {
                &ways[..1]
            };
            for shows in ways {
                assert_eq!(place.log_in(proxy, "app", *shows), Ok(()), "{shows:?}");
                let told = place.log_in(proxy, "with_x509", *shows);
                assert_eq!(code_of(&told), Some("1045"), "{shows:?}: {told:?}");
            }
        }
    });
}

#[test]
fn the_control_account_is_refused_with_no_certificate_or_another_ones() {
    on_each(|place| {
        for (own, text) in [
            ("", "control: the server refuses the account: "),
            (
                ", certificate: <stranger.pem>, key: <stranger-key.pem>",
                "let the server trust the authority that signed upstream_tls.certificate (ssl_ca)",
            ),
            (
                ", certificate: <proxy.pem>, key: <client-key.pem>",
                "let upstream_tls.key name the key of upstream_tls.certificate",
            ),
        ] {
            let started = place.started(
                "control",
                &format!("upstream_tls: {{mode: preferred{own}}}"),
            );
            let error = started.expect_err("it does not start").to_string();
            assert!(error.contains(text), "{own}: {error}");
        }
    });
}

#[test]
fn a_certificate_can_be_required() {
    on_each(|place| {
        let rules = format!(
            "tls: {{ca: <ours.pem>, client_certificate: required, client: required}}\nupstream_tls: {{mode: preferred, {OWN}}}"
        );
        let proxy = place.proxy(&rules);
        assert_eq!(place.log_in(proxy, "app", CLIENT), Ok(()));
        let told = place.log_in(proxy, "app", Shows::Plain);
        assert!(told.is_err(), "it is plain");
        let told = place.log_in(proxy, "app", Shows::Nothing);
        let expected = "ERROR 1045 (28000): Access denied: countersink: a client certificate is required; let the client show \
                        one (--ssl-cert, --ssl-key)";
        assert_eq!(told, Err(expected.to_owned()));
    });
}

/// MySQL says why. MariaDB denies access, and the proxy says why in addition.
#[test]
fn a_plain_client_is_told_what_the_server_tells_it() {
    on_each(|place| {
        let proxy = place.proxy(&format!(
            "tls: {{client: required}}\nupstream_tls: {{mode: preferred, {OWN}}}"
        ));
        assert_eq!(place.log_in(proxy, "app", Shows::Nothing), Ok(()));
        let told = place.log_in(proxy, "app", Shows::Plain);
        place.administer("SET GLOBAL require_secure_transport = ON");
        let directly = place.log_in(place.server.port, "app", Shows::Plain);
        place.administer("SET GLOBAL require_secure_transport = OFF");
        match place.server.flavour {
            Flavour::MySql => assert_eq!(told, directly),
            Flavour::MariaDb => {
                assert_eq!(
                    directly.expect_err("it is plain"),
                    "ERROR 1045 (28000): Access denied for user 'app'@'localhost' (using password: YES)"
                );
                assert_eq!(
                    told.expect_err("it is plain"),
                    "ERROR 1045 (28000): Access denied: countersink: connections without TLS are prohibited; let the \
                     client use it (--ssl)"
                );
            }
        }
    });
}

/// What the handshake of TLS is refused with.
const REFUSED: &[&str] = &["2013", "2026"];

#[test]
fn authorities_and_revoked_certificates_are_read_again() {
    on_each(|place| {
        place.renew("trusted.pem", "other.pem");
        let own = format!("upstream_tls: {{mode: preferred, {OWN}}}");
        let proxy = place.proxy(&format!("tls: {{ca: <trusted.pem>}}\n{own}"));
        place.log_in_until(proxy, "app", STRANGER, &[]);
        place.log_in_until(proxy, "app", CLIENT, REFUSED);
        place.renew("trusted.pem", "ours.pem");
        place.log_in_until(proxy, "app", CLIENT, &[]);
        place.log_in_until(proxy, "app", STRANGER, REFUSED);

        place.renew("list.pem", "none-revoked.pem");
        let tls = "tls: {ca: <ours.pem>, crl: <list.pem>}";
        let proxy = place.proxy(&format!("{tls}\n{own}"));
        place.log_in_until(proxy, "app", CLIENT, &[]);
        place.renew("list.pem", "revoked.pem");
        place.log_in_until(proxy, "app", CLIENT, REFUSED);
        // It can do without.
        place.log_in_until(proxy, "app", Shows::Nothing, &[]);
    });
}

#[test]
fn the_proxys_own_certificate_and_the_servers_authorities_are_read_again() {
    on_each(|place| {
        place.renew("own.pem", "proxy.pem");
        place.renew("own-key.pem", "proxy-key.pem");
        place.renew("servers.pem", "ours.pem");
        let proxy = place.proxy(
            "tls: {ca: <ours.pem>}\nupstream_tls: {mode: required, ca: <servers.pem>, certificate: <own.pem>, \
             key: <own-key.pem>}",
        );
        place.log_in_until(proxy, "of_proxy", CLIENT, &[]);
        // One that expires is renewed with the same subject; this one is told from it.
        place.renew("own.pem", "client.pem");
        place.renew("own-key.pem", "client-key.pem");
        place.log_in_until(proxy, "of_client", CLIENT, &[]);
        place.log_in_until(proxy, "of_proxy", CLIENT, &["1045"]);
        place.renew("servers.pem", "other.pem");
        place.log_in_until(proxy, "app", CLIENT, &["1429", "2013", "2026"]);
        place.renew("servers.pem", "ours.pem");
        place.log_in_until(proxy, "app", CLIENT, &[]);
    });
}

/// What does not fit yet changes nothing there, either.
#[test]
fn the_control_account_shows_the_renewed_certificate() {
    on_each(|place| {
        place.renew("control.pem", "proxy.pem");
        place.renew("control-key.pem", "proxy-key.pem");
        let rules = "tls: {ca: <ours.pem>}\nupstream_tls: {mode: preferred, certificate: <control.pem>, \
             key: <control-key.pem>}";
        let proxy = place.started("renewer", rules).expect("it starts");
        let comes_back = |with: &str| {
            let subject = format!("REQUIRE SUBJECT '/CN={with}'");
            place.administer(&format!("ALTER USER renewer@'%' {subject}"));
            let before = place.connections("renewer");
            for id in &before {
                // It may have gone by itself.
                place.try_to(&format!("KILL {id}")).ok();
            }
            let since = Instant::now();
            let is_new = |id: &String| !before.contains(id);
            while !place.connections("renewer").iter().any(is_new) {
                assert!(since.elapsed() < PATIENCE, "{with}");
            }
        };
        place.renew("control-key.pem", "client-key.pem");
        comes_back("proxy");
        place.renew("control.pem", "client.pem");
        place.log_in_until(proxy, "of_client", CLIENT, &[]);
        comes_back("client");
        place.administer("ALTER USER renewer@'%' REQUIRE X509");
    });
}

/// MySQL alone has such a key. The server has not seen the account, so it asks for the password itself.
#[test]
fn the_servers_public_key_is_read_again() {
    let place = Place::of(Flavour::MySql);
    let place = place.as_ref().expect("it has been started");
    place.administer("CREATE USER unseen@'%' IDENTIFIED BY 'secret'");
    let another = KeyPair::generate().expect("a key").public_key_pem();
    fs::write(place.file("public.pem"), another).expect("a file");
    let rules = "upstream_tls: {mode: disabled, public_key: <public.pem>}";
    let proxy = place.started("root", rules).expect("it starts");
    let told = place.log_in(proxy, "unseen", Shows::Nothing);
    assert!(told.is_err(), "it is another server's key");
    let key = place.server.data_folder().join("public_key.pem");
    fs::copy(key, place.file("public.pem")).expect("it is copied");
    place.log_in_until(proxy, "unseen", Shows::Nothing, &[]);
}
