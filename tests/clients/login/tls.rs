//! TLS toward clients: the certificate that they are shown, and the name that they ask for.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use countersink_sandbox::{Address, Flavour};
use rcgen::generate_simple_self_signed;

use crate::support;
use crate::support::binary::PATIENCE;
use crate::support::client::create_schema;
use crate::support::proxy::Proxy;
use crate::support::twin::{Twin, installation, twin};

const TABLE: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)";

/// A proxy before the twin, with this in its rules and one table.
async fn proxy(twin: &Twin, schema: &str, tls: &str) -> Proxy {
    create_schema(&twin.proxied, schema, TABLE).await;
    let rules = format!("{tls}counters: [{{table: {schema}.posts, columns: [views]}}]");
    Proxy::start(&twin.proxied, &rules)
}

/// `mysql` with these options, which says the answer to `statement`.
fn mysql(server: &Address, options: &[&str], statement: &str) -> Output {
    let client = installation(Flavour::MySql).client();
    let mut client = client.expect("the sandbox's own");
    client.args(server.client_options()).args(options);
    client.args(["--skip-column-names", "--execute", statement]);
    client.output().expect("it runs")
}

/// MySQL shows it to who asks; a client that names none says none, directly and through the proxy.
#[test]
fn the_server_is_told_the_name_that_the_client_asks_for() {
    support::block_on(async {
        let twin = twin(Flavour::MySql);
        let proxy = proxy(twin, "tls_name", "").await;
        for (options, expected) in [
            (&["--ssl-mode=REQUIRED"][..], ""),
            (
                &["--ssl-mode=REQUIRED", "--tls-sni-servername=shop.example"],
                "shop.example",
            ),
        ] {
            for server in [&twin.plain, &proxy.address] {
                let output = mysql(server, options, "SHOW STATUS LIKE 'Tls_sni_server_name'");
                let said = String::from_utf8_lossy(&output.stdout);
                assert_eq!(said, format!("Tls_sni_server_name\t{expected}\n"));
            }
        }
    });
}

#[test]
fn a_renewed_certificate_is_shown_without_a_restart() {
    support::block_on(async {
        let twin = twin(Flavour::MySql);
        let folder = tempfile::tempdir().expect("a folder");
        let [certificate, key, first, second] = ["shown.pem", "key.pem", "first.pem", "second.pem"]
            .map(|name| folder.path().join(name));
        let renew = |copy: &Path| {
            let made = generate_simple_self_signed(vec!["localhost".to_owned()]);
            let made = made.expect("a certificate");
            fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
            fs::write(&certificate, made.cert.pem()).expect("a file");
            fs::write(copy, made.cert.pem()).expect("a file");
        };
        renew(&first);
        let files = format!(
            "tls: {{certificate: '{}', key: '{}'}}\n",
            certificate.display(),
            key.display()
        );
        let proxy = proxy(twin, "tls_renewed", &files).await;
        let is_shown = |certificate: &Path| {
            let authority = format!("--ssl-ca={}", certificate.display());
            let options = ["--ssl-mode=VERIFY_CA", &authority];
            mysql(&proxy.address, &options, "SELECT 1").status.success()
        };
        assert!(is_shown(&first));
        renew(&second);
        let deadline = Instant::now() + PATIENCE;
        while !is_shown(&second) {
            assert!(Instant::now() < deadline, "the new one is not shown");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(!is_shown(&first));
    });
}
