//! What passes a proxy: the same loads, seen from the middle.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use countersink::config::Config;
use countersink_sandbox::{Address, Flavour};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use serde_json::Value;

use crate::advise::advice::Advice;
use crate::advise::load::{self, Load};
use crate::advise::{SCHEMA, assert_of_no_use, assert_planted};
use crate::support;
use crate::support::binary::{Binary, Ended, PATIENCE, rules_file};
use crate::support::proxy::rules_head;
use crate::support::thorough::every_nth;
use crate::support::twin::alone;

/// A proxy with an HTTP port, for which one table is hot that no load has.
struct Proxy {
    binary: Binary,
    clients: Address,
    http: SocketAddr,
    rules: String,
    file: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

impl Proxy {
    fn start(upstream: &Address) -> Self {
        Self::start_at("127.0.0.1", upstream)
    }

    fn start_at(host: &str, upstream: &Address) -> Self {
        Self::start_with(host, upstream, "")
    }

    /// With these rules beside.
    fn start_with(host: &str, upstream: &Address, more: &str) -> Self {
        let rules = format!(
            "{}http: {host}:0\ncounters:\n  - table: {SCHEMA}.ruled\n    columns: [\"n\"]\n{more}",
            rules_head(upstream)
        );
        let (folder, file) = rules_file(&rules);
        let mut binary = Binary::start(&["serve", "--rules", file.to_str().expect("UTF-8")]);
        let mut address_behind = |text: &str| binary.address_behind(text).expect("it serves");
        let listening = address_behind("listening on ");
        let http = address_behind("http://");
        Self {
            clients: Address {
                host: listening.ip().to_string(),
                port: listening.port(),
                ..upstream.clone()
            },
            binary,
            http,
            rules,
            file,
            _folder: folder,
        }
    }

    /// What passes, as it is told to who asks for this host.
    fn traffic(&self, host: &str) -> Value {
        let answer = self.answer(&format!("Host: {host}\r\n"));
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// The same when all is counted that this client has had answered: that is done before its next answer.
    async fn traffic_behind(&self, client: &mut Conn, host: &str) -> Value {
        client.ping().await.expect("an answer");
        self.traffic(host)
    }

    /// What a request with these headers is answered, head and all.
    fn answer(&self, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.http).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let request = format!("GET /traffic.json HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    async fn advise(&self) -> Advice {
        Advice::of(&self.advise_with(&["--json"]).await)
    }

    async fn advise_with(&self, more: &[&'static str]) -> Ended {
        let url = format!("http://{}", self.http);
        let file = self.file.to_str().expect("UTF-8").to_owned();
        let more = more.to_vec();
        let run = tokio::task::spawn_blocking(move || {
            let mut arguments = vec!["advise", "--proxy", &url, "--rules", &file, "--for", "3s"];
            arguments.extend(more);
            Binary::start(&arguments).wait()
        });
        run.await.expect("it runs")
    }

    /// Memory of its own that is resident, in bytes (manual: proc_pid_status(5)).
    fn resident(&self) -> u64 {
        let status = format!("/proc/{}/status", self.binary.id());
        let status = std::fs::read_to_string(status).expect("a process");
        let line = status.lines().find(|line| line.starts_with("RssAnon:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        let kib: u64 = number.and_then(|kib| kib.parse().ok()).expect("a number");
        kib * 1024
    }

    /// A client of a library that prepares what it executes.
    async fn client(&self) -> Conn {
        let options = OptsBuilder::default()
            .ip_or_hostname(self.clients.host.clone())
            .tcp_port(self.clients.port)
            .user(Some(self.clients.user.clone()))
            .pass(Some(self.clients.password.clone()))
            .db_name(Some(SCHEMA))
            // What is prepared stays, until it is closed.
            .stmt_cache_size(0)
            .prefer_socket(false);
        Conn::new(options).await.expect("a connection")
    }
}

/// What passes is read from packets, whatever server is behind. In every run that is MariaDB, for the tests beside have
/// MySQL to themselves in turn.
fn flavours() -> Vec<Flavour> {
    let all = [Flavour::MariaDb, Flavour::MySql];
    every_nth("advise of what passes, servers", all.len(), all.to_vec())
}

async fn of(load: &Load, upstream: &Address) -> (Proxy, Advice) {
    load.make(upstream, SCHEMA).await;
    let proxy = Proxy::start(upstream);
    let playing = load.play(&proxy.clients, SCHEMA).await;
    let advice = proxy.advise().await;
    playing.stop().await;
    (proxy, advice)
}

#[test]
fn the_planted_row_comes_first_of_what_passes() {
    support::block_on(async {
        for flavour in flavours() {
            let (server, _alone) = alone(flavour).await;
            let (proxy, advice) = of(&load::mixed(), server).await;
            assert_eq!(advice.value["source"], "proxy");
            assert_planted(&advice);
            // Added to the rules that are there, as the report says.
            let (_, items) = advice
                .yaml()
                .and_then(|yaml| yaml.split_once("counters:\n"))
                .expect("rules");
            let rules = format!("{}{items}", proxy.rules);
            let config = Config::from_str(&rules, &|_| None);
            let config = config.unwrap_or_else(|error| panic!("{error}: {rules}"));
            assert_eq!(config.rules[1].table.to_string(), format!("{SCHEMA}.posts"));
            let (_folder, file) = rules_file(&rules);
            let (code, output, errors) = support::countersink(&["check"], &file);
            assert!([0, 3].contains(&code), "{output}{errors}\n{rules}");
        }
    });
}

#[test]
fn nothing_is_advised_of_what_passes_where_nothing_is_hot() {
    support::block_on(async {
        for flavour in flavours() {
            let (server, _alone) = alone(flavour).await;
            let (_proxy, advice) = of(&load::cold(), server).await;
            assert_eq!(advice.yaml(), None, "{advice}");
        }
    });
}

#[test]
fn a_counter_that_is_read_behind_its_increment_is_passed_over() {
    support::block_on(async {
        for flavour in flavours() {
            let (server, _alone) = alone(flavour).await;
            let (_proxy, advice) = of(&load::own(), server).await;
            assert_of_no_use(&advice);
        }
    });
}

/// A rule for the load's table of one hot row.
fn likes(settings: &str) -> String {
    format!("  - table: {SCHEMA}.likes\n{settings}")
}

#[test]
fn updates_of_all_rows_wait_for_each_other() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        let (_proxy, advice) = of(&load::simple(), server).await;
        let hits = advice.table(&format!("{SCHEMA}.hits"));
        assert!(hits["waiting"].as_f64() > Some(1.0), "{advice}");
        assert_eq!(hits["rows"][0]["row"], "all rows", "{advice}");
        let likes = advice.table(&format!("{SCHEMA}.likes"));
        assert_eq!(likes["verdict"], "advised", "{advice}");
        assert_eq!(likes["rule"]["replaces_line"], Value::Null, "{advice}");
    });
}

/// Increments that are combined wait for each other, and for no lock.
#[test]
fn a_rule_that_is_there_is_told_by_its_mode() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        for (mode, why) in [
            ("enforce", "the rule acts"),
            ("observe", "its mode is observe"),
        ] {
            load::simple().make(server, SCHEMA).await;
            let rule = likes(&format!("    columns: [up]\n    mode: {mode}\n"));
            let proxy = Proxy::start_with("127.0.0.1", server, &rule);
            let playing = load::simple().play(&proxy.clients, SCHEMA).await;
            let advice = proxy.advise().await;
            playing.stop().await;
            let likes = advice.table(&format!("{SCHEMA}.likes"));
            assert_eq!(likes["verdict"], "ruled", "{advice}");
            let said = likes["why"].as_str().expect("a reason");
            assert!(said.contains(why), "{said}");
        }
    });
}

/// `serve` refuses a second rule of a table.
#[test]
fn a_rule_that_is_there_is_changed_rather_than_joined_by_another() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        load::simple().make(server, SCHEMA).await;
        let (columns, off) = ("    columns: [down]\n", "    mode: \"off\"\n");
        let proxy = Proxy::start_with("127.0.0.1", server, &likes(&format!("{columns}{off}")));
        let playing = load::simple().play(&proxy.clients, SCHEMA).await;
        let advice = proxy.advise().await;
        let text = proxy.advise_with(&[]).await.output;
        playing.stop().await;
        let likes = advice.table(&format!("{SCHEMA}.likes"));
        assert_eq!(likes["verdict"], "advised", "{advice}");
        let both = serde_json::json!(["down", "up"]);
        assert_eq!(likes["rule"]["columns"], both, "{advice}");
        let added = advice.yaml().unwrap_or_default();
        assert!(!added.contains(".likes"), "{advice}");
        let line = proxy.rules.lines().position(|line| line.contains(".likes"));
        let line = line.expect("a rule") + 1;
        assert_eq!(likes["rule"]["replaces_line"], line, "{advice}");
        let title = format!("# in the rule of {SCHEMA}.likes, line {line}, in place of");
        let (_, settings) = text.split_once(&title).expect(&text);
        let (_, settings) = settings.split_once('\n').expect("lines");
        let (settings, then) = settings.split_once("\n\n").expect("an end");
        let settings = format!("{settings}\n");
        let check = format!("# then: countersink check --rules {}", proxy.file.display());
        assert_eq!(then.trim(), check);
        let rules = proxy.rules.replace(columns, "").replace(off, &settings);
        let config = Config::from_str(&rules, &|_| None);
        let config = config.unwrap_or_else(|error| panic!("{error}: {rules}"));
        assert!(config.rules[1].acts() && config.rules[1].columns == ["down", "up"]);
    });
}

#[test]
fn a_schema_that_may_have_changed_is_not_told() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        load::mixed().make(server, SCHEMA).await;
        let proxy = Proxy::start(server);
        proxy.traffic("127.0.0.1");
        let mut client = proxy.client().await;
        for text in [
            "UPDATE settings SET value = 'a'",
            "DO 1; USE information_schema",
            "UPDATE cs_advise.settings SET value = 'b'",
        ] {
            client.query_drop(text).await.expect("an answer");
        }
        let report = proxy.traffic_behind(&mut client, "127.0.0.1").await;
        let schema = |table: &str| {
            let mut shapes = report["shapes"].as_array().expect("a list").iter();
            let text = format!("UPDATE {table} SET value = ?");
            let shape = shapes.find(|shape| shape["text"] == text);
            shape.unwrap_or_else(|| panic!("{report:#}"))["schema"].clone()
        };
        assert_eq!(schema("settings"), SCHEMA);
        assert_eq!(schema("cs_advise.settings"), Value::Null);
    });
}

/// Clients that prepare an increment of one row, and execute it in transactions until told to stop.
async fn prepared(proxy: &Proxy, count: usize) -> Vec<tokio::task::JoinHandle<()>> {
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut conn = proxy.client().await;
        let update = conn
            .prep("UPDATE posts SET views = views + ?, updated_at = NOW() WHERE id = ?")
            .await;
        let update = update.expect("it prepares");
        clients.push(tokio::spawn(async move {
            loop {
                conn.query_drop("BEGIN").await.expect("a transaction");
                conn.exec_drop(&update, (1, 42)).await.expect("an update");
                conn.query_drop("DO SLEEP(0.004)").await.expect("a pause");
                conn.query_drop("COMMIT").await.expect("an end");
            }
        }));
    }
    clients
}

#[test]
fn statements_that_are_prepared_are_seen_with_their_parameters() {
    support::block_on(async {
        for flavour in flavours() {
            let (server, _alone) = alone(flavour).await;
            load::mixed().make(server, SCHEMA).await;
            let proxy = Proxy::start(server);
            proxy.traffic("127.0.0.1");
            let clients = prepared(&proxy, 8).await;
            let advice = proxy.advise().await;
            clients.iter().for_each(tokio::task::JoinHandle::abort);
            let hot = &advice.tables()[0];
            assert_eq!(hot["table"], format!("{SCHEMA}.posts"), "{advice}");
            assert_eq!(hot["rows"][0]["row"], "id = 42", "{advice}");
            assert_eq!(hot["verdict"], "advised", "{advice}");
        }
    });
}

#[test]
fn statements_that_were_prepared_before_are_counted_and_said_to_be_unknown() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        load::mixed().make(server, SCHEMA).await;
        let proxy = Proxy::start(server);
        let clients = prepared(&proxy, 2).await;
        let advice = proxy.advise().await;
        clients.iter().for_each(tokio::task::JoinHandle::abort);
        let unseen = advice.value["unseen"].to_string();
        assert!(unseen.contains("had been prepared before"), "{advice}");
    });
}

#[test]
fn prepared_statements_on_cold_tables_have_their_rows() {
    support::block_on(async {
        for flavour in flavours() {
            let (server, _alone) = alone(flavour).await;
            load::mixed().make(server, SCHEMA).await;
            let proxy = Proxy::start(server);
            proxy.traffic("127.0.0.1");
            let mut client = proxy.client().await;
            let literal = "UPDATE settings SET value = ? WHERE name = 'motd'";
            let update = client.prep(literal).await.expect("it prepares");
            client.exec_drop(&update, (1,)).await.expect("an update");
            let of_no_interest = client.prep("DO 1").await.expect("it prepares");
            let done = client.exec_drop(&of_no_interest, ()).await;
            done.expect("nothing to do");
            // The types come with the first execution; the driver sends them with each.
            let parameter = "UPDATE authors SET followers = followers + ? WHERE id = ?";
            let update = client.prep(parameter).await.expect("it prepares");
            client.exec_drop(&update, (1, 7)).await.expect("an update");
            let report = proxy.traffic_behind(&mut client, "127.0.0.1").await;
            let text = report.to_string();
            for key in ["name = 'motd'", "id = 7"] {
                assert!(text.contains(key), "no {key} in {report:#}");
            }
            assert_eq!(report["unknown"], 0, "{report:#}");
            client.close(update).await.expect("it closes");
        }
    });
}

#[test]
fn statements_that_are_prepared_take_bounded_memory() {
    const STATEMENTS: u64 = 4_000;
    const MOST: u64 = 24 * 1024 * 1024;
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        load::mixed().make(server, SCHEMA).await;
        let proxy = Proxy::start(server);
        let mut client = proxy.client().await;
        let column = format!("name AS '{}'", "x".repeat(200));
        let columns = vec![column.as_str(); 50].join(", ");
        proxy.traffic("127.0.0.1");
        let before = proxy.resident();
        for _ in 0..STATEMENTS {
            let text = format!("SELECT {columns} FROM authors WHERE id = ?");
            client.prep(text).await.expect("it prepares");
        }
        let grown = proxy.resident().saturating_sub(before);
        assert!(grown < MOST, "{grown} bytes for {STATEMENTS} statements");
    });
}

#[test]
fn keys_are_shown_to_who_is_on_this_machine_alone() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        load::mixed().make(server, SCHEMA).await;
        for (listens, asked, shown) in [
            ("127.0.0.1", "127.0.0.1:80", true),
            ("127.0.0.1", "localhost", true),
            ("127.0.0.1", "[::1]:80", true),
            ("0.0.0.0", "127.0.0.1:80", false),
        ] {
            let proxy = Proxy::start_at(listens, server);
            proxy.traffic(asked);
            let mut client = proxy.client().await;
            let secret = "UPDATE settings SET value = 'classified' WHERE name = 'anna@example.org'";
            client.query_drop(secret).await.expect("an update");
            let row = "INSERT INTO settings VALUES ('bob@example.org', 'gout')";
            client.query_drop(row).await.expect("an insert");
            client
                .query_drop("DELETE FROM settings WHERE value = 'gout'")
                .await
                .expect("a delete");
            let report = proxy.traffic_behind(&mut client, asked).await;
            let text = report.to_string();
            assert!(
                text.contains("UPDATE settings SET value = ? WHERE name = ?"),
                "{text}"
            );
            for hidden in ["classified", "bob@", "gout"] {
                assert!(!text.contains(hidden), "{text}");
            }
            assert_eq!(text.contains("anna@example.org"), shown, "{asked}: {text}");
            assert_eq!(report["keys_are_hashed"], !shown);
        }
        // A page of the web in a browser here.
        let proxy = Proxy::start(server);
        for headers in [
            "Host: rebound.example.org\r\n",
            "Host: localhost.example.org:80\r\n",
            "Host: 127.0.0.1.example.org\r\n",
            "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n",
        ] {
            let answer = proxy.answer(headers);
            assert!(answer.starts_with("HTTP/1.1 403 "), "{headers}: {answer}");
            assert!(answer.ends_with("or as localhost\n"), "{headers}: {answer}");
        }
    });
}

/// What a backslash is depends on the sql_mode, and on the character set: read wrongly, a literal looks like a name.
#[test]
fn no_literal_is_shown_whatever_the_session_takes_a_backslash_for() {
    support::block_on(async {
        for flavour in flavours() {
            let (server, _alone) = alone(flavour).await;
            load::mixed().make(server, SCHEMA).await;
            let proxy = Proxy::start(server);
            proxy.traffic("127.0.0.1");
            let mut client = proxy.client().await;
            let text = r"UPDATE settings SET value = 'C:\' WHERE name = 'alice smith'";
            let mode = "SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')";
            client.query_drop(mode).await.expect("a setting");
            client.query_drop(text).await.expect("an update");
            client.query_drop("SELECT 1").await.expect("an answer");
            let update = client.prep(text).await.expect("it prepares");
            client.exec_drop(&update, ()).await.expect("an update");
            let report = proxy.traffic_behind(&mut client, "127.0.0.1").await;
            assert!(!report.to_string().contains("alice"), "{report:#}");
            assert!(report["unread"].as_u64() > Some(0), "{report:#}");
        }
    });
}
