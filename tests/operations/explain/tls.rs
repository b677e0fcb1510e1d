//! A running proxy is asked by TLS, where it has TLS.

use std::fs;

use mysql_async::Opts;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::explain::{INCREMENT, RULE, TABLES};
use crate::support::binary::{Binary, Serving};
use crate::support::{Sandbox, servers};

/// A proxy with rules that begin with this, in which `<..>` is the path of a file of that name.
fn serve(sandbox: &Sandbox, tls: &str) -> Serving {
    let rules = sandbox.rules(RULE);
    let text = fs::read_to_string(&rules).expect("rules");
    let text = paths(sandbox, tls) + "\n" + &text;
    fs::write(&rules, text).expect("rules can be written");
    Serving::start(&rules).unwrap_or_else(|ended| panic!("{ended:?}"))
}

fn paths(sandbox: &Sandbox, text: &str) -> String {
    let folder = format!("{}/", sandbox.folder.path().display());
    text.replace('<', &folder).replace('>', "")
}

/// Asks it with these arguments more: exit code and errors.
fn ask(server: &Opts, sandbox: &Sandbox, proxy: &Serving, more: &str) -> (Option<i32>, String) {
    let (proxy, user) = (
        proxy.address.to_string(),
        server.user().unwrap_or_default().to_owned(),
    );
    let more = paths(sandbox, more);
    let mut arguments = vec!["explain", "--proxy", &proxy, "--user", &user];
    arguments.extend(["--schema", &sandbox.schema, "--password-env", "SECRET"]);
    arguments.extend(more.split_whitespace());
    arguments.push(INCREMENT);
    let environment = [("SECRET", server.pass().unwrap_or_default())];
    let ended = Binary::start_with(&arguments, &environment).wait();
    let is_explained = ended.output.starts_with("plan:   slotted\n");
    assert_eq!(is_explained, ended.code == Some(0), "{ended:?}");
    (ended.code, ended.errors)
}

/// Two authorities, `ours` and `other`, and of each a certificate for a proxy, `ours-proxy`, or a client.
fn make_certificates(sandbox: &Sandbox) {
    let write = |name: String, text: &str| {
        fs::write(sandbox.folder.path().join(name), text).expect("a file");
    };
    for name in ["ours", "other"] {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        write(format!("{name}.pem"), &authority.pem());
        for subject in ["proxy", "client"] {
            let key = KeyPair::generate().expect("a key");
            let params = CertificateParams::new([format!("{subject}.example")]);
            let signed = params.and_then(|params| params.signed_by(&key, &authority));
            write(
                format!("{name}-{subject}.pem"),
                &signed.expect("a certificate").pem(),
            );
            write(format!("{name}-{subject}-key.pem"), &key.serialize_pem());
        }
    }
}

#[tokio::test]
async fn a_proxy_that_requires_tls_is_asked_by_it() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, TABLES).await;
        make_certificates(&sandbox);
        let proxy = serve(
            &sandbox,
            "tls: {client: required, certificate: <ours-proxy.pem>, key: <ours-proxy-key.pem>}",
        );
        for (more, code, told) in [
            ("", 0, ""),
            ("--ssl-ca <ours.pem>", 0, ""),
            ("--ssl-ca <other.pem>", 1, "UnknownIssuer"),
            ("--ssl-ca <nothing.pem>", 2, "nothing.pem: cannot be read: "),
        ] {
            let (ended, errors) = ask(&server, &sandbox, &proxy, more);
            assert_eq!(ended, Some(code), "{more}: {errors}");
            assert!(errors.contains(told), "{more}: {errors}");
        }
        drop(proxy);
        let proxy = serve(
            &sandbox,
            "tls: {client: required, ca: <ours.pem>, client_certificate: required}",
        );
        for (more, code, told) in [
            ("", 2, "a client certificate is required"),
            (
                "--ssl-cert <ours-client.pem> --ssl-key <ours-client-key.pem>",
                0,
                "",
            ),
            (
                "--ssl-cert <other-client.pem> --ssl-key <other-client-key.pem>",
                1,
                "",
            ),
        ] {
            let (ended, errors) = ask(&server, &sandbox, &proxy, more);
            assert_eq!(ended, Some(code), "{more}: {errors}");
            assert!(errors.contains(told), "{more}: {errors}");
        }
    }
}

#[tokio::test]
async fn a_proxy_without_tls_is_asked_in_plain_unless_something_is_to_be_verified() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, TABLES).await;
        make_certificates(&sandbox);
        let proxy = serve(&sandbox, "tls: {client: disabled}");
        let (ended, errors) = ask(&server, &sandbox, &proxy, "");
        assert_eq!(ended, Some(0), "{errors}");
        let (ended, errors) = ask(&server, &sandbox, &proxy, "--ssl-ca <ours.pem>");
        assert_eq!(ended, Some(2), "{errors}");
        assert!(errors.contains("offers no TLS; leave"), "{errors}");
    }
}
