//! What is in docker/ fits the program and itself.

mod kubernetes;
mod packages;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use countersink::config::Config;
use countersink::counter::grants;
use countersink_sandbox::Flavour;
use serde::Deserialize;
use serde_json::Value;

use crate::support;
use crate::support::binary::{Binary, PATIENCE, Serving, rules_file};
use crate::support::client::create_schema;
use crate::support::proxy::rules_head;
use crate::support::twin::twin;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The version of the crate, which is that of everything that is made of it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Rules that name a password, as at work.
fn rules(text: &str) -> Config {
    let environment = |name: &str| (name == "COUNTERSINK_PASSWORD").then(|| "x".to_owned());
    Config::from_str(text, &environment).expect("rules")
}

/// The program knows these arguments.
fn takes(arguments: &[&str]) {
    let ended = Binary::start(&[arguments, &["--help"]].concat()).wait();
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.errors);
}

#[derive(Deserialize)]
struct Alerts {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    rules: Vec<Alert>,
}

#[derive(Deserialize)]
struct Alert {
    alert: String,
    expr: String,
}

fn alerts() -> Vec<Alert> {
    let alerts: Alerts =
        serde_saphyr::from_str(&read("docker/prometheus/alerts.yaml")).expect("YAML");
    alerts
        .groups
        .into_iter()
        .flat_map(|group| group.rules)
        .collect()
}

/// What Grafana asks Prometheus for.
fn queries(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if ["expr", "query", "definition"].contains(&&**name) => {
                        queries.push(text.clone());
                    }
                    value => self::queries(value, queries),
                }
            }
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| self::queries(value, queries)),
        _ => {}
    }
}

/// Names of the proxy's metrics in a query.
fn metrics_in(query: &str) -> BTreeSet<String> {
    let names = query.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let names = names.filter(|name| name.starts_with("countersink_"));
    names.map(str::to_owned).collect()
}

#[test]
fn dashboard_and_alerts_ask_for_metrics_that_are_there() {
    support::block_on(async {
        let schema = "cs_deployment";
        let posts = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0)";
        let upstream = &twin(Flavour::MySql).proxied;
        create_schema(upstream, schema, posts).await;
        let rules = format!(
            "http: 127.0.0.1:0\ncounters:\n- {{table: {schema}.posts, columns: [views]}}\n"
        );
        let (_folder, file) = rules_file(&(rules_head(upstream) + &rules));
        let mut serving = Serving::start(&file).expect("it serves");
        let line = serving.binary.wait_for("http://").expect("its address");
        let (_, address) = line.split_once("http://").expect("it is in there");
        let address = address.split('/').next().expect("an address");
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let request =
            format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let there: BTreeSet<_> = text
            .lines()
            .flat_map(|line| {
                let name = line.split(['{', ' ']).next().unwrap_or_default();
                metrics_in(name)
            })
            .collect();
        assert!(there.contains("countersink_sessions"), "{text}");

        let dashboard = serde_json::from_str(&read("docker/grafana/countersink.json"));
        let mut asked = Vec::new();
        queries(&dashboard.expect("JSON"), &mut asked);
        let from_dashboard = asked.len();
        asked.extend(alerts().into_iter().map(|alert| alert.expr));
        assert!(from_dashboard > 0 && asked.len() > from_dashboard);
        for query in asked {
            let gone: Vec<_> = metrics_in(&query).difference(&there).cloned().collect();
            assert!(gone.is_empty(), "{gone:?} in {query}");
        }
    });
}

#[test]
fn every_alert_has_its_place_in_the_documentation() {
    let page = read("docs/troubleshooting.md");
    let (_, section) = page.split_once("\n## Alerts\n").expect("the section");
    let is_told = |name: &str| {
        section
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|word| word == name)
    };
    for alert in alerts() {
        assert!(is_told(&alert.alert), "{}", alert.alert);
    }
}

#[test]
fn the_image_has_the_toolchain_of_the_package() {
    let manifest = read("Cargo.toml");
    let rust = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "));
    let rust = rust.expect("a rust-version").trim_matches('"');
    let dockerfile = read("docker/Dockerfile");
    assert!(
        dockerfile
            .lines()
            .any(|line| line == format!("ARG RUST={rust}")),
        "{rust}"
    );
    // A manifest with benches that are not there cannot be read.
    for bench in manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = "))
    {
        assert!(dockerfile.contains(bench.trim_matches('"')), "{bench}");
    }
    // Nor can one of a workspace with members that are not there.
    for entry in
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates")).expect("a folder")
    {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        for file in ["Cargo.toml", "src/lib.rs"] {
            let file = format!("crates/{name}/{file}");
            assert!(dockerfile.contains(&file), "{file}");
        }
    }
}

#[test]
fn what_the_image_is_made_of_is_not_ignored() {
    let ignore = read(".dockerignore");
    let kept: BTreeSet<_> = ignore
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .collect();
    let dockerfile = read("docker/Dockerfile");
    let copies = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "));
    let from_here = copies.filter(|copy| !copy.starts_with("--from"));
    let mut copied = BTreeSet::new();
    for copy in from_here {
        let mut words: Vec<_> = copy.split(' ').collect();
        words.pop();
        // A file of a folder that is kept is kept.
        copied.extend(words.iter().filter_map(|word| word.split('/').next()));
    }
    assert_eq!(copied, kept);
}

#[test]
fn the_account_of_compose_has_the_grants_that_its_rules_need() {
    let rules = rules(&read("docker/countersink/rules.yaml"));
    let script = read("docker/mysql/20-countersink.sh");
    for grant in grants::for_control(&rules, "'countersink'@'%'") {
        let grant = grant.replace('`', "");
        assert!(script.lines().any(|line| line == grant), "{grant}");
    }
    let http = rules.http.expect("Prometheus asks there");
    let scraped = read("docker/prometheus/prometheus.yml");
    assert!(scraped.contains(&format!("\"countersink:{}\"", http.port)));
    let dockerfile = read("docker/Dockerfile");
    let listen = rules.listen.to_string();
    let (_, port) = listen.rsplit_once(':').expect("a port");
    let exposed = format!("EXPOSE {port} {}", http.port);
    assert!(dockerfile.lines().any(|line| line == exposed), "{exposed}");
}

#[test]
fn compose_mounts_what_is_there() {
    let compose = read("docker/compose.yaml");
    let mounts = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ./"));
    let mut mounted = 0;
    for mount in mounts {
        let path = mount.split(':').next().expect("a path");
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docker")
            .join(path);
        assert!(path.exists(), "{}", path.display());
        mounted += 1;
    }
    assert!(mounted > 0);
}

/// The unit of which several run side by side says what the plain one says, but for what it starts.
#[test]
fn both_units_are_closed_in_alike() {
    let settings = |path: &str| -> Vec<String> {
        let unit = read(path);
        let own = ["#", "Description=", "ExecStart=", "Conflicts="];
        let lines = unit
            .lines()
            .filter(|line| !own.iter().any(|own| line.starts_with(own)));
        lines.map(str::to_owned).collect()
    };
    let plain = settings("docker/systemd/countersink.service");
    assert_eq!(plain, settings("docker/systemd/countersink@.service"));
}
