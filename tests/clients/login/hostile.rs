//! Clients that break off their login, or send what no client sends: they cost nobody else the way in.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Login, Reply};
use countersink_sandbox::{Flavour, Server};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::login::raw::{CLIENT, Raw, from_another_host, head, response};
use crate::login::upstream::{rules_of, start_proxy};
use crate::support::twin;

/// So many handshakes broken off are too many: after this one the server lets nobody in.
const MOST_ERRORS: u32 = 3;

/// No condition takes as long to come about.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that sees the proxy come from another host, and the proxy.
struct Strict {
    server: Server,
    port: u16,
    runtime: Runtime,
}

impl Strict {
    fn start(flavour: Flavour, extra: &str) -> Self {
        let mut options = twin::options();
        options.extra.extend([
            format!("--max-connect-errors={MOST_ERRORS}"),
            "--loose-performance-schema=ON".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
        ]);
        if flavour == Flavour::MariaDb {
            options
                .extra
                .push("--plugin-load-add=auth_ed25519".to_owned());
        }
        let server = Server::start(&twin::installation(flavour), &options).expect("a server");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let strict = Self {
            server,
            port: 0,
            runtime,
        };
        strict.administer("CREATE DATABASE login");
        strict.administer("CREATE TABLE login.hot (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)");
        strict.administer("CREATE USER ann@'%' IDENTIFIED BY 'secret'");
        strict.administer("CREATE USER control@'%' IDENTIFIED BY ''");
        strict.administer("GRANT ALL ON *.* TO control@'%'");
        if flavour == Flavour::MariaDb {
            strict.administer("CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('secret')");
        }
        let relay = from_another_host(strict.server.port);
        let rules = rules_of(&format!("127.0.0.1:{relay}"), extra).replace("root", "control");
        let port = strict.runtime.block_on(start_proxy(&rules));
        Self {
            port: port.expect("the proxy starts"),
            ..strict
        }
    }

    fn administer(&self, statement: &str) -> Vec<Vec<Option<Vec<u8>>>> {
        self.runtime.block_on(async {
            let stream = TcpStream::connect(("127.0.0.1", self.server.port)).await;
            let stream = Box::new(stream.expect("the server listens"));
            let mut driver = Driver::connect(stream, &Login::new("root", ""))
                .await
                .expect("root may log in");
            match driver.query(statement).await.expect("an answer") {
                Reply::Ok(_) => Vec::new(),
                Reply::Rows(rows) => rows,
                Reply::Err(error) => panic!("{statement}: {error}"),
            }
        })
    }

    /// Counts logins that came to nothing, whatever the server thinks of them.
    fn failed_logins(&self) -> u64 {
        let rows = self.administer("SHOW GLOBAL STATUS LIKE 'Aborted_connects'");
        let value = rows[0][1].clone().expect("a number");
        String::from_utf8_lossy(&value).parse().expect("a number")
    }

    fn wait_for_failed_logins(&self, count: u64) {
        let since = Instant::now();
        while self.failed_logins() < count {
            assert!(since.elapsed() < PATIENCE, "the server saw no failed login");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether a client is let in as far as being asked for a password.
    fn greets(&self) -> bool {
        let mut raw = Raw::connect(self.port);
        let (_, payload) = raw.read().expect("a greeting or an error");
        raw.stream.shutdown(Shutdown::Both).ok();
        payload[0] == 10
    }
}

/// A client that leaves at some point.
type Leaves = fn(u16);

/// As often as would be too many, a client leaves its login at each of its points; then everybody is let in still.
fn leave_at(leaves: &[(&str, Leaves)], strict: &Strict) {
    for (point, leave) in leaves {
        for round in 0..MOST_ERRORS + 2 {
            let before = strict.failed_logins();
            leave(strict.port);
            strict.wait_for_failed_logins(before + 1);
            assert!(strict.greets(), "{point}: locked out after {round} clients");
            strict.wait_for_failed_logins(before + 2);
        }
    }
}

fn before_the_response(port: u16) {
    drop(Raw::greeted(port));
}

fn in_the_response(port: u16) {
    let (mut raw, _) = Raw::greeted(port);
    raw.stream
        .write_all(b"\x60\0\0\x01\x85")
        .expect("it is open");
}

fn asked_again(port: u16) {
    let (mut raw, _) = Raw::greeted(port);
    raw.write(1, &response("ann", b"", "some_other_plugin"));
    let (_, question) = raw.read().expect("a switch");
    assert_eq!(question[0], 0xfe, "{question:?}");
}

fn out_of_order(port: u16) {
    let (mut raw, _) = Raw::greeted(port);
    raw.write(1, &response("ann", b"", "some_other_plugin"));
    raw.read().expect("a switch");
    raw.write(7, &[b'x'; 20]);
    assert_eq!(raw.error(), (3, 1156));
}

fn asked_for_the_password_itself(port: u16) {
    let (mut raw, _) = Raw::greeted(port);
    raw.write(1, &response("ann", &[b'x'; 32], "caching_sha2_password"));
    assert_eq!(raw.read().expect("a question").1, b"\x01\x04");
}

fn asked_by_ed25519(port: u16) {
    let (mut raw, _) = Raw::greeted(port);
    raw.write(1, &response("ed", b"", "mysql_native_password"));
    let (_, question) = raw.read().expect("a switch");
    assert!(question[1..].starts_with(b"client_ed25519"), "{question:?}");
}

#[test]
fn clients_that_leave_lock_nobody_out_of_mysql() {
    let strict = Strict::start(Flavour::MySql, "upstream_tls: {mode: disabled}\n");
    let points: [(&str, Leaves); 5] = [
        ("before the response", before_the_response),
        ("in the response", in_the_response),
        ("at the switch", asked_again),
        ("out of order", out_of_order),
        ("at the password", asked_for_the_password_itself),
    ];
    leave_at(&points, &strict);
}

#[test]
fn clients_that_leave_lock_nobody_out_of_mariadb() {
    let strict = Strict::start(Flavour::MariaDb, "");
    let points: [(&str, Leaves); 5] = [
        ("before the response", before_the_response),
        ("in the response", in_the_response),
        ("at the switch", asked_again),
        ("out of order", out_of_order),
        ("at ed25519", asked_by_ed25519),
    ];
    leave_at(&points, &strict);
}

/// What the server itself takes for a handshake broken off: attributes are announced and do not come.
fn without_attributes(port: u16) {
    const CONNECT_ATTRS: u64 = 1 << 20;
    let (mut raw, _) = Raw::greeted(port);
    let mut payload = head(CLIENT | CONNECT_ATTRS, "ann");
    payload.extend_from_slice(b"\0mysql_native_password\0\x09ab");
    raw.write(1, &payload);
    assert_eq!(raw.error().1, 1043);
}

/// The proxy logs in after such a client, which clears what the server counts.
#[test]
fn clients_that_the_server_breaks_off_lock_nobody_out() {
    for flavour in Flavour::ALL {
        let strict = Strict::start(flavour, "");
        let logins = || {
            let rows = strict.administer("SHOW GLOBAL STATUS LIKE 'Connections'");
            let value = rows[0][1].clone().expect("a number");
            String::from_utf8_lossy(&value)
                .parse::<u64>()
                .expect("a number")
        };
        for round in 0..2 * MOST_ERRORS {
            let before = logins();
            without_attributes(strict.port);
            let since = Instant::now();
            // The client's, the proxy's, and as many of ours as we have asked.
            for asked in 1.. {
                if logins() >= before + asked + 2 {
                    break;
                }
                assert!(
                    since.elapsed() < PATIENCE,
                    "{flavour}: the proxy does not log in"
                );
                thread::sleep(Duration::from_millis(20));
            }
            assert!(
                strict.greets(),
                "{flavour}: locked out after {round} clients"
            );
        }
    }
}

/// A server that has refused a packet of a file waits for the rest of that file, and the session with it.
#[test]
fn a_file_out_of_order_does_not_hold_its_session() {
    for flavour in Flavour::ALL {
        let strict = Strict::start(flavour, "");
        strict.administer("SET GLOBAL net_read_timeout = 600");
        for numbers in [&[2, 9][..], &[9, 3]] {
            let (mut raw, initial_handshake) = Raw::greeted(strict.port);
            let plugin = String::from_utf8_lossy(&initial_handshake.plugin).into_owned();
            let mut login = response("control", b"", &plugin);
            login[0] |= 0x80; // CLIENT_LOCAL_FILES
            raw.write(1, &login);
            assert_eq!(raw.read().expect("an answer").1[0], 0);
            raw.write(
                0,
                b"\x03LOAD DATA LOCAL INFILE 'x' INTO TABLE login.hot (id)",
            );
            assert_eq!(raw.read().expect("a request").1[0], 0xfb);
            raw.write(numbers[0], b"1\n");
            raw.write(numbers[1], b"");
            // A command that was sent ahead: the client is not gone, as far as the server can see.
            raw.write(0, b"\x0e");
            drop(raw);
            let since = Instant::now();
            let there = "SELECT id FROM information_schema.processlist WHERE user = 'control' AND info LIKE 'LOAD%'";
            while !strict.administer(there).is_empty() {
                assert!(since.elapsed() < PATIENCE, "{flavour}: {numbers:?}");
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// What each server says to a response that makes no sense, the proxy says.
#[test]
fn responses_cut_short_and_out_of_order_are_refused_as_servers_do() {
    for flavour in Flavour::ALL {
        let strict = Strict::start(flavour, "");
        let whole = response("ann", b"", "mysql_native_password");
        let say = |port, sequence_id, payload: &[u8]| {
            let (mut raw, _) = Raw::greeted(port);
            raw.write(sequence_id, payload);
            raw.error()
        };
        let both = |sequence_id, payload: &[u8]| {
            let direct = say(strict.server.port, sequence_id, payload);
            let proxied = say(strict.port, sequence_id, payload);
            assert_eq!(proxied, direct, "{flavour}: {sequence_id} {payload:?}");
        };
        for length in 0..head(0, "ann").len() {
            both(1, &whole[..length]);
        }
        for sequence_id in [0, 2, 3, 255] {
            both(sequence_id, &whole);
        }
    }
}

/// The error comes, and then the end, whatever the client has sent meanwhile.
#[test]
fn what_a_refused_client_still_sends_does_not_cost_it_the_error() {
    let strict = Strict::start(Flavour::MySql, "");
    let (mut raw, _) = Raw::greeted(strict.port);
    raw.write(9, b"out of order");
    let more = vec![0; 1 << 20];
    raw.stream.write_all(&more).expect("it is read");
    assert_eq!(raw.error(), (1, 1156));
    let mut rest = Vec::new();
    raw.stream.read_to_end(&mut rest).expect("no reset");
}

/// So does what the server says before it closes a connection that was idle for too long.
#[test]
fn a_command_that_crosses_the_servers_farewell_does_not_cost_the_client_that() {
    let strict = Strict::start(Flavour::MySql, "");
    let (mut raw, _) = Raw::greeted(strict.port);
    raw.write(1, &response("control", b"", "caching_sha2_password"));
    assert_eq!(raw.read().expect("an answer").1[0], 0);
    raw.write(0, b"\x03SET SESSION wait_timeout = 1");
    assert_eq!(raw.read().expect("an answer").1[0], 0);
    let (_, farewell) = raw.read().expect("the server's last word");
    assert_eq!(farewell[..3], [0xff, 0xbf, 0x0f], "{farewell:?}"); // 4031
    for _ in 0..64 {
        raw.stream.write_all(&[0; 1 << 14]).expect("it is read");
    }
    let end = raw.stream.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(end, Ok::<_, io::ErrorKind>(0));
}
