//! A process with an HTTP port, and what the port answers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use countersink_sandbox::{Address, Flavour};

use super::binary::{Binary, PATIENCE, rules_file};
use super::client::create_schema;
use super::proxy::rules_head;
use super::twin::twin;

/// A running proxy with an HTTP port; killed when dropped.
pub struct WithHttp {
    /// Its process.
    pub binary: Binary,
    /// Where clients connect.
    pub clients: Address,
    /// Where it tells of itself.
    pub http: SocketAddr,
    _folder: tempfile::TempDir,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// Such as 200.
    pub status: u16,
    /// Its head, line by line.
    pub head: String,
    /// What follows.
    pub body: String,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(other, _)| other.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }
}

impl WithHttp {
    /// In front of a MySQL with this schema, whose tables are made anew; `rules` are settings and `counters:`.
    pub async fn start(schema: &str, tables: &str, rules: &str) -> Self {
        let upstream = &twin(Flavour::MySql).proxied;
        create_schema(upstream, schema, tables).await;
        Self::before(upstream, rules)
    }

    /// In front of this upstream, whose tables are there.
    pub fn before(upstream: &Address, rules: &str) -> Self {
        Self::in_environment(upstream, rules, &[])
    }

    /// The same, with environment variables.
    pub fn in_environment(upstream: &Address, rules: &str, environment: &[(&str, &str)]) -> Self {
        let rules = format!("http: 127.0.0.1:0\n{rules}");
        let (folder, file) = rules_file(&(rules_head(upstream) + &rules));
        let arguments = ["serve", "--rules", file.to_str().expect("UTF-8")];
        let mut binary = Binary::start_with(&arguments, environment);
        let mut address_behind = |text: &str| binary.address_behind(text).expect("it serves");
        let listening = address_behind("listening on ");
        let http = address_behind("http://");
        Self {
            binary,
            clients: Address {
                host: listening.ip().to_string(),
                port: listening.port(),
                ..upstream.clone()
            },
            http,
            _folder: folder,
        }
    }

    /// The answer to a request that starts so.
    pub fn ask(&self, line: &str) -> Answer {
        self.ask_with(line, "")
    }

    /// The same with further headers, each with its line's end.
    pub fn ask_with(&self, line: &str, headers: &str) -> Answer {
        ask(self.http, line, headers)
    }

    /// Status and body of the answer to a GET.
    pub fn get(&self, path: &str) -> (u16, String) {
        get(self.http, path)
    }

    fn exposition(&self) -> String {
        let (status, text) = self.get("/metrics");
        assert_eq!(status, 200, "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
        text
    }

    /// All samples by their names with labels.
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let text = self.exposition();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let samples = samples.map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            (name.to_owned(), value.parse().expect("a number"))
        });
        samples.collect()
    }

    /// The names of all metrics, as a query for them has it: a histogram's is that without `_bucket`.
    pub fn metric_names(&self) -> BTreeSet<String> {
        let text = self.exposition();
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let names = types.map(|line| {
            let (name, kind) = line.split_once(' ').expect("a type");
            match kind {
                "counter" => format!("{name}_total"),
                "info" => format!("{name}_info"),
                _ => name.to_owned(),
            }
        });
        names.collect()
    }
}

/// Status and body of the answer to a GET at this address.
pub fn get(http: SocketAddr, path: &str) -> (u16, String) {
    let answer = ask(http, &format!("GET {path} HTTP/1.1"), "");
    (answer.status, answer.body)
}

fn ask(http: SocketAddr, line: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(http).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let host = match headers.contains("Host: ") {
        true => String::new(),
        false => format!("Host: {http}\r\n"),
    };
    let request = format!("{line}\r\n{host}Connection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status");
    Answer {
        status: status.parse().expect("a number"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
