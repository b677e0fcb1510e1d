//! The PROXY protocol: a balancer says where its clients come from, and the server judges accounts by that.

use std::io::Write;

use countersink::check::{Code, check};
use countersink::config::Config;
use countersink::counter::control::Control;
use countersink::driver::{Driver, Error, Login, Reply, ServerError};
use countersink::net::{Origin, proxy_protocol::header};
use countersink_sandbox::{Flavour, Options, Server};
use tokio::net::TcpStream;

use crate::login::upstream::{rules_of, start_proxy};
use crate::support;
use crate::support::client::{number, rows};
use crate::support::twin;

const TRUSTING: &str = "proxy_protocol: {from: [127.0.0.1], send: true}\n";

/// A server that takes headers from this machine, if it knows them.
fn server(flavour: Flavour, networks: &str) -> Server {
    let mut options: Options = twin::options();
    options
        .extra
        .push(format!("--loose-proxy-protocol-networks={networks}"));
    Server::start(&twin::installation(flavour), &options).expect("a server")
}

/// The table, and accounts for clients from elsewhere.
async fn prepare(server: &Server) {
    let mut root = log_in(server.port, "root", b"").await.expect("a login");
    for statement in [
        "CREATE DATABASE login",
        "CREATE TABLE login.hot (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
        "INSERT INTO login.hot (id) VALUES (1)",
        "CREATE USER ann@'10.9.8.7' IDENTIFIED BY ''",
        "CREATE USER bob@'2001:db8::7' IDENTIFIED BY ''",
        "CREATE USER carol@'%' IDENTIFIED BY ''",
        "GRANT ALL ON login.* TO ann@'10.9.8.7'",
    ] {
        let reply = root.query(statement).await.expect("an answer");
        assert!(matches!(reply, Reply::Ok(_)), "{statement}: {reply:?}");
    }
}

/// Sends these bytes, and logs in.
async fn log_in(port: u16, user: &str, before: &[u8]) -> Result<Driver, ServerError> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await;
    let mut stream = stream.expect("it listens").into_std().expect("a socket");
    stream.set_nonblocking(false).expect("a few bytes");
    stream.write_all(before).expect("sent");
    stream.set_nonblocking(true).expect("as before");
    let stream = TcpStream::from_std(stream).expect("a socket");
    match Driver::connect(Box::new(stream), &Login::new(user, "")).await {
        Ok(driver) => Ok(driver),
        Err(Error::Login(error)) => Err(error),
        Err(error) => panic!("{user}: {error}"),
    }
}

fn text(address: &str) -> Vec<u8> {
    format!("PROXY TCP4 {address} 10.0.0.1 4711 3306\r\n").into_bytes()
}

/// A header of version 2.
fn binary(from: &str) -> Vec<u8> {
    header(Origin::Tcp {
        from: from.parse().expect("an address"),
        to: "10.0.0.1:3306".parse().expect("an address"),
    })
}

async fn user(driver: &mut Driver) -> String {
    rows(driver, "SELECT USER()").await.remove(0).remove(0)
}

#[test]
fn mariadb_judges_accounts_by_where_clients_come_from() {
    let server = server(Flavour::MariaDb, "127.0.0.1");
    support::block_on(async {
        prepare(&server).await;
        let upstream = format!("127.0.0.1:{}", server.port);
        let proxy = start_proxy(&rules_of(&upstream, TRUSTING)).await;
        let proxy = proxy.expect("a proxy");
        for (name, before) in [
            ("ann", text("10.9.8.7")),
            ("ann", binary("10.9.8.7:1")),
            ("ann", text("10.9.8.8")),
            ("bob", binary("[2001:db8::7]:1")),
            ("bob", text("10.9.8.7")),
            ("carol", text("172.16.0.1")),
            ("carol", b"PROXY UNKNOWN\r\n".to_vec()),
            ("nobody", text("10.9.8.7")),
        ] {
            let direct = match log_in(server.port, name, &before).await {
                Ok(mut driver) => Ok(user(&mut driver).await),
                Err(error) => Err(error),
            };
            let proxied = match log_in(proxy, name, &before).await {
                Ok(mut driver) => Ok(user(&mut driver).await),
                Err(error) => Err(error),
            };
            assert_eq!(proxied, direct, "{name}: {}", before.escape_ascii());
        }
        let mut ann = log_in(proxy, "ann", &text("10.9.8.7")).await.expect("ann");
        let add = "UPDATE login.hot SET n = n + 1 WHERE id = 1";
        for _ in 0..3 {
            let added = ann.query(add).await.expect("an answer");
            assert!(matches!(added, Reply::Ok(1)), "{added:?}");
        }
        assert_eq!(number(&mut ann, "SELECT n FROM login.hot").await, 3);
    });
}

#[test]
fn a_header_is_expected_from_balancers_alone() {
    support::block_on(async {
        for flavour in [Flavour::MySql, Flavour::MariaDb] {
            let server = server(flavour, "");
            prepare(&server).await;
            let upstream = format!("127.0.0.1:{}", server.port);
            let more = "proxy_protocol: {from: [127.0.0.0/8]}\nhandshake_timeout: 3s\nmax_address_connections: 1\n";
            let proxy = start_proxy(&rules_of(&upstream, more)).await;
            let proxy = proxy.expect("a proxy");
            for before in [
                &b""[..],
                b"GET / HTTP/1.1\r\n\r\n",
                b"PROXY TCP4 nonsense\r\n",
            ] {
                let told = log_in(proxy, "carol", before).await.err().expect("refused");
                assert_eq!(told.code, 1043, "{told}");
                assert!(told.message.contains("proxy_protocol.from"), "{told}");
            }
            // The limit is of addresses of clients, not of the balancer's.
            let _one = log_in(proxy, "carol", &text("10.9.8.7")).await.expect("in");
            let _two = log_in(proxy, "carol", &text("10.9.8.6")).await.expect("in");
            let third = log_in(proxy, "carol", &binary("10.9.8.7:5")).await;
            let told = third.err().expect("refused");
            assert_eq!(told.code, 1040);
            assert!(told.message.contains("from 10.9.8.7"), "{told}");

            // Who is no balancer cannot say that they come from elsewhere.
            let more = "proxy_protocol: {from: [10.0.0.0/8]}\n";
            let other = start_proxy(&rules_of(&upstream, more)).await;
            let other = other.expect("a proxy");
            let told = log_in(other, "carol", &text("10.9.8.7")).await;
            assert_eq!(told.err().expect("refused").code, 1156);
            log_in(other, "carol", b"").await.expect("without one");
        }
    });
}

#[test]
fn a_server_that_takes_no_headers_is_refused() {
    support::block_on(async {
        for (flavour, says) in [
            (Flavour::MySql, "does not know the PROXY protocol"),
            (
                Flavour::MariaDb,
                "takes the PROXY protocol's headers from nobody",
            ),
        ] {
            let server = server(flavour, "");
            prepare(&server).await;
            let rules = rules_of(&format!("127.0.0.1:{}", server.port), TRUSTING);
            let refused = start_proxy(&rules).await.expect_err("it is refused");
            assert!(refused.to_string().contains(says), "{refused}");
            let config = Config::from_str(&rules, &|_| None).expect("rules");
            let control = Control::open(&config).await.expect("a control account");
            let mut conn = control.connect().await.expect("a connection");
            let report = check(&mut conn, &config).await.expect("a report");
            let found = report.findings.iter();
            let mut found = found.filter(|finding| finding.code == Code::ProxyProtocol);
            let finding = found.next().expect("a finding");
            assert!(finding.reason.contains("PROXY protocol"), "{finding:?}");
        }
    });
}
