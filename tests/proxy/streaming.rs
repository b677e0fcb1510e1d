//! Large results pass through in little memory, and whatever clients do, no connection is left behind.
//!
//! The proxy is the `countersink` binary in a process of its own.

use std::fs;
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Login};
use countersink::wire::capability;
use countersink::wire::packet::{HEADER_LENGTH, Header};
use countersink_sandbox::{Address, Flavour};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::binary::Serving;
use crate::support::client::{connect, number, rows, run, run_all};
use crate::support::on_both;
use crate::support::proxy::rules_head;
use crate::support::thorough::say;
use crate::support::twin::single;

const MIB: u64 = 1024 * 1024;
/// How much the process may grow, whatever passes through.
const MOST_GROWTH: u64 = 2 * MIB;
/// How long anything may take that is waited for. TLS toward MySQL is slow in a debug build: on a machine with five
/// times more to do than it can, 128 MiB took 40 s.
const PATIENCE: Duration = Duration::from_secs(180);
/// Each of the misbehaving clients' logins may take so long, and the control account's. Half a second was not enough
/// for it on a busy machine.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);

on_both![
    a_gibibyte_of_rows_takes_no_memory,
    a_client_that_does_not_read_takes_no_memory,
    a_long_statement_takes_no_memory,
    clients_that_misbehave_leave_nothing_upstream,
    clients_that_send_anything_leave_nothing_upstream,
    a_write_whose_client_vanishes_is_done,
    commands_sent_before_the_close_are_done,
];

async fn a_gibibyte_of_rows_takes_no_memory(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_stream_down", "").await;
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    let before = stage.warm(&mut client).await;
    client
        .query("SELECT REPEAT('x', 1048576) FROM numbers")
        .await;
    let passed = client.read_result().await;
    stage.expect_no_growth("a result of 1 GiB", &before);
    assert_eq!(passed / MIB, 1024, "all of it came");
}

async fn a_client_that_does_not_read_takes_no_memory(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_stream_slow", "").await;
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    let before = stage.warm(&mut client).await;
    client
        .query("SELECT REPEAT('x', 1048576) FROM numbers")
        .await;
    // By then the sockets' buffers are full, and the server waits to write: all of it would have come in 3 s.
    stage
        .wait_for("the server to wait for the client", |session| {
            session.info.starts_with("SELECT REPEAT") && session.seconds >= 2
        })
        .await;
    stage.expect_no_growth("a client that does not read", &before);
    drop(client);
    stage.wait_until_alone().await;
}

async fn a_long_statement_takes_no_memory(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_stream_up", "").await;
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    let before = stage.warm(&mut client).await;
    client.send_and_read(128 * MIB).await;
    stage.expect_no_growth("a statement of 128 MiB", &before);
}

async fn clients_that_misbehave_leave_nothing_upstream(flavour: Flavour) {
    let timeout = format!("handshake_timeout: {}ms\n", HANDSHAKE_TIMEOUT.as_millis());
    let stage = Stage::new(flavour, "cs_stream_rude", &timeout).await;
    let address = stage.address();
    tokio::join!(
        send_garbage_in_the_handshake(&address),
        stall_before_the_handshake(&address),
        stall_in_the_handshake(&address),
    );
    drop(connect_tcp(&address).await); // gone before the initial handshake
    let mut greeted = connect_tcp(&address).await;
    read_some(&mut greeted).await;
    drop(greeted); // gone after it
    send_garbage_as_a_command(&stage).await;
    vanish_in_queries(&stage).await;
    vanish_in_a_result(&stage).await;
    vanish_in_a_statement(&stage).await;
    let miscounts = break_off_a_local_file(&stage).await;
    stage.wait_until_alone().await;
    drop(miscounts);
    // And the proxy goes on.
    let mut client = connect(&address, Some(&stage.schema)).await;
    assert_eq!(rows(&mut client, "SELECT views FROM posts").await, [["5"]]);
}

/// Packets and what is none, several at once, answers read or not; then a close of one kind or another. The seed and
/// the number of clients may be set: COUNTERSINK_SEED, COUNTERSINK_CLIENTS.
async fn clients_that_send_anything_leave_nothing_upstream(flavour: Flavour) {
    let from_environment = |name| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().expect("a number"))
    };
    let seed = from_environment("COUNTERSINK_SEED").unwrap_or_else(rand::random);
    let clients = from_environment("COUNTERSINK_CLIENTS").unwrap_or(200);
    say(&format!(
        "{flavour}, clients that send anything: seed {seed}, {clients} clients"
    ));
    let stage = Stage::new(flavour, "cs_stream_any", "").await;
    let mut dice = StdRng::seed_from_u64(seed);
    for _ in 0..clients {
        let mut client = Raw::login(&stage.address(), &stage.schema).await;
        for _ in 0..dice.random_range(1..4) {
            let bytes = anything(&mut dice);
            // Whoever is not welcome any more is told so by the close.
            client.socket.write_all(&bytes).await.ok();
            if dice.random_bool(0.5) {
                let mut some = [0; 64];
                let read = client.socket.read(&mut some);
                tokio::time::timeout(Duration::from_millis(5), read)
                    .await
                    .ok();
            }
        }
        match dice.random_range(0..3) {
            0 => drop(client),
            1 => {
                client.socket.shutdown().await.ok();
                let mut some = [0; 64];
                let read = client.socket.read(&mut some);
                tokio::time::timeout(Duration::from_millis(5), read)
                    .await
                    .ok();
            }
            _ => {
                let socket = socket2::SockRef::from(&client.socket);
                socket.set_linger(Some(Duration::ZERO)).expect("an option");
            }
        }
    }
    stage.wait_until_alone().await;
    let mut client = connect(&stage.address(), Some(&stage.schema)).await;
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM posts").await, 1);
}

/// Some bytes that a client may send.
fn anything(dice: &mut StdRng) -> Vec<u8> {
    const TEXTS: [&str; 12] = [
        "SELECT * FROM numbers",
        "SELECT views FROM posts",
        "SELECT views, SLEEP(0.01) FROM posts FOR UPDATE",
        "UPDATE posts SET views = views + 1 WHERE id = 1",
        "UPDATE posts SET views = 7",
        "BEGIN",
        "COMMIT",
        "LOCK TABLES posts WRITE",
        "LOAD DATA LOCAL INFILE '/none' INTO TABLE numbers",
        "PREPARE p FROM 'SELECT views FROM posts'",
        "EXECUTE p",
        "SELECT '",
    ];
    const COM_QUERY: u8 = 0x03;
    /// A server that is shut down, and sessions that are killed, would be others' loss.
    const TAKEN_OUT: [u8; 2] = [0x08, 0x0C];
    let payload = match dice.random_range(0..4) {
        0 => {
            let mut payload = vec![0; dice.random_range(0..200)];
            dice.fill(&mut payload[..]);
            payload
        }
        1 => {
            let mut payload = vec![0; dice.random_range(1..40)];
            dice.fill(&mut payload[..]);
            payload[0] = dice.random_range(0..0x20);
            payload
        }
        2 => {
            let text = TEXTS[dice.random_range(0..TEXTS.len())];
            let command = [0x03, 0x16, 0x04][dice.random_range(0..3)];
            [&[command], text.as_bytes()].concat()
        }
        _ => {
            let text = TEXTS[dice.random_range(0..TEXTS.len())];
            [&[COM_QUERY], text.as_bytes()].concat()
        }
    };
    if payload
        .first()
        .is_some_and(|command| TAKEN_OUT.contains(command))
    {
        return Vec::new();
    }
    let told = match dice.random_range(0..8) {
        0 => dice.random_range(0..70_000),
        _ => payload.len(),
    };
    let sequence_id = match dice.random_range(0..8) {
        0 => dice.random_range(0..=255),
        _ => 0,
    };
    let mut bytes = u32::try_from(told).expect("small").to_le_bytes()[..3].to_vec();
    bytes.push(sequence_id);
    bytes.extend_from_slice(&payload);
    if dice.random_bool(0.1) {
        let end = dice.random_range(0..bytes.len());
        bytes.truncate(end);
    }
    bytes
}

/// As MySQL completes what it has received, whoever is left to be told.
async fn a_write_whose_client_vanishes_is_done(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_stream_last", "").await;
    for address in [stage.server.clone(), stage.address()] {
        // No increment: it is folded first, and committed by the proxy.
        let mut client = Raw::login(&address, &stage.schema).await;
        client
            .query("UPDATE posts SET views = views * 3 + SLEEP(1)")
            .await;
        stage
            .wait_for("the update to run", |session| {
                session.info.contains("SLEEP(1)")
            })
            .await;
        drop(client);
        stage.wait_until_alone().await;
    }
    let mut client = connect(&stage.address(), Some(&stage.schema)).await;
    assert_eq!(rows(&mut client, "SELECT views FROM posts").await, [["45"]]);
}

/// A client may send ahead, and close when the first answer is still to come.
async fn commands_sent_before_the_close_are_done(flavour: Flavour) {
    const AHEAD: [&str; 4] = [
        "INSERT INTO numbers VALUES (2000 + SLEEP(1))",
        "INSERT INTO numbers VALUES (2001)",
        "UPDATE posts SET views = views + 1",
        "INSERT INTO numbers SELECT 2000 + views FROM posts",
    ];
    let stage = Stage::new(flavour, "cs_stream_ahead", "").await;
    let mut reader = connect(&stage.address(), Some(&stage.schema)).await;
    for (is_half, expected) in [(true, Some("2000 2001 2006 6")), (false, None)] {
        let mut done = Vec::new();
        for address in [stage.server.clone(), stage.address()] {
            run(&mut reader, "DELETE FROM numbers WHERE n >= 2000").await;
            run(&mut reader, "UPDATE posts SET views = 5").await;
            let mut client = Raw::login(&address, &stage.schema).await;
            for text in AHEAD {
                client.query(text).await;
            }
            client.socket.shutdown().await.expect("closed for writing");
            match is_half {
                true => read_to_the_close(&mut client.socket).await,
                // Answers that come now are refused.
                false => drop(client),
            }
            stage.wait_until_left(1).await;
            let written = "SELECT views FROM posts UNION ALL SELECT n FROM numbers WHERE n >= 2000";
            let mut written: Vec<_> = rows(&mut reader, written).await.concat();
            written.sort();
            done.push(written.join(" "));
        }
        let [directly, proxied] = &done[..] else {
            panic!("{done:?}");
        };
        assert_eq!(proxied, directly, "closed by half: {is_half}");
        assert_eq!(expected.unwrap_or(directly), directly);
    }
}

/// Bytes that are no handshake response; each way ends in a close.
async fn send_garbage_in_the_handshake(address: &Address) {
    let garbage: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &[0xFF; 70_000],
        &[0x00; 64],
        b"\x05\x00\x00\x01hello",
    ];
    let mut sockets = Vec::new();
    for bytes in garbage {
        let mut socket = connect_tcp(address).await;
        socket.write_all(bytes).await.ok(); // the close may come first
        sockets.push(socket);
    }
    for mut socket in sockets {
        read_to_the_close(&mut socket).await;
    }
}

/// The proxy's handshake_timeout ends it.
async fn stall_before_the_handshake(address: &Address) {
    let started = Instant::now();
    let mut socket = connect_tcp(address).await;
    read_to_the_close(&mut socket).await;
    let waited = started.elapsed();
    assert!(waited >= HANDSHAKE_TIMEOUT, "closed after {waited:?}");
}

async fn stall_in_the_handshake(address: &Address) {
    let mut half = connect_tcp(address).await;
    read_some(&mut half).await;
    let beginning_of_a_response = b"\x50\x00\x00\x01\x85\xa6";
    let sent = half.write_all(beginning_of_a_response).await;
    sent.expect("sent");
    read_to_the_close(&mut half).await;
}

async fn send_garbage_as_a_command(stage: &Stage) {
    for bytes in [
        &b"\xff\xff\xff\x00"[..],
        b"\x01\x00\x00\x07\x0e",
        b"\x10\x00\x00\x00\x03SELECT",
    ] {
        let mut client = Raw::login(&stage.address(), &stage.schema).await;
        client.socket.write_all(bytes).await.expect("sent");
    }
}

/// The servers look for their client only every 5 s.
async fn vanish_in_queries(stage: &Stage) {
    let mut clients = Vec::new();
    for text in ["SELECT SLEEP(1000)", "SELECT SLEEP(1001), views FROM posts"] {
        let mut client = Raw::login(&stage.address(), &stage.schema).await;
        client.query(text).await;
        clients.push(client);
    }
    for text in ["SLEEP(1000)", "SLEEP(1001)"] {
        let runs = |session: &Session| session.info.contains(text);
        stage.wait_for("the query to run", runs).await;
    }
    drop(clients);
    stage.wait_until_alone().await;
}

async fn vanish_in_a_result(stage: &Stage) {
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    client
        .query("SELECT REPEAT('x', 1048576) FROM numbers")
        .await;
    read_some(&mut client.socket).await;
    drop(client);
}

async fn vanish_in_a_statement(stage: &Stage) {
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    client
        .socket
        .write_all(b"\x00\x00\x10\x00\x03UPDATE posts SET views = views + 1")
        .await
        .expect("sent");
    drop(client);
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    client.query("BEGIN").await;
    client.read_result().await;
    client.query("UPDATE posts SET views = views + 1").await;
    client.read_result().await;
    drop(client); // with its transaction open
}

/// Clients that send a part of a file: one is gone, the other has miscounted its packets and waits. For the rest the
/// server waits longer than the test does.
async fn break_off_a_local_file(stage: &Stage) -> Raw {
    let mut direct = connect(&stage.root, None).await;
    run(&mut direct, "SET GLOBAL local_infile = 1").await;
    let begin = async |sequence_id| {
        let mut client = Raw::login(&stage.address(), &stage.schema).await;
        client.query("SET net_read_timeout = 100000").await;
        client.read_result().await;
        client
            .query("LOAD DATA LOCAL INFILE 'any' INTO TABLE numbers")
            .await;
        read_some(&mut client.socket).await;
        let packet = [&[2, 0, 0, sequence_id][..], b"9\n"].concat();
        client.socket.write_all(&packet).await.expect("sent");
        client
    };
    drop(begin(2).await);
    begin(7).await
}

/// A client of its own bytes, for answers that are not to be gathered.
struct Raw {
    socket: TcpStream,
}

impl Raw {
    async fn login(address: &Address, schema: &str) -> Self {
        let socket = connect_tcp(address).await.into_std().expect("a socket");
        let same = socket.try_clone().expect("a second handle");
        let login = Login {
            schema: Some(schema),
            capabilities: Driver::CAPABILITIES | capability::LOCAL_FILES,
            ..Login::new(&address.user, &address.password)
        };
        let stream = TcpStream::from_std(same).expect("a socket");
        Driver::connect(Box::new(stream), &login)
            .await
            .expect("a login");
        Self {
            socket: TcpStream::from_std(socket).expect("a socket"),
        }
    }

    async fn query(&mut self, text: &str) {
        let mut packet = Vec::new();
        let payload = [b"\x03", text.as_bytes()].concat();
        countersink::wire::packet::encode_packet(&mut packet, 0, &payload);
        self.socket.write_all(&packet).await.expect("sent");
    }

    /// A statement of this length, which the server reads and does next to nothing with.
    async fn send_and_read(&mut self, length: u64) {
        let literal = "x".repeat(usize::try_from(length).expect("it fits"));
        self.query(&format!("SELECT LENGTH('{literal}')")).await;
        self.read_result().await;
    }

    /// Reads an answer and returns the length of its payloads, in bytes. One row has no more than 16 MiB.
    async fn read_result(&mut self) -> u64 {
        let mut passed = 0;
        let mut rest = vec![0; 64 * 1024];
        for packet in 0.. {
            let mut header = [0; HEADER_LENGTH];
            self.read(&mut header).await;
            let header = Header::decode(&header).expect("a header");
            let mut left = header.length;
            let mut first = None;
            while left > 0 {
                let part = left.min(rest.len());
                self.read(&mut rest[..part]).await;
                first.get_or_insert(rest[0]);
                left -= part;
            }
            passed += header.length as u64;
            match first {
                Some(0x00) if packet == 0 => return passed,
                Some(0xFF) => panic!("{}", String::from_utf8_lossy(&rest[..header.length])),
                Some(0xFE) if header.length < 100 => return passed,
                _ => {}
            }
        }
        passed
    }

    async fn read(&mut self, buffer: &mut [u8]) {
        let read = tokio::time::timeout(PATIENCE, self.socket.read_exact(buffer)).await;
        read.expect("an answer in time").expect("an answer");
    }
}

async fn connect_tcp(address: &Address) -> TcpStream {
    let socket = TcpStream::connect((address.host.as_str(), address.port)).await;
    socket.expect("the proxy listens")
}

async fn read_some(socket: &mut TcpStream) {
    let mut buffer = [0; 1024];
    let read = tokio::time::timeout(PATIENCE, socket.read(&mut buffer)).await;
    assert!(read.expect("bytes in time").expect("bytes") > 0);
}

async fn read_to_the_close(socket: &mut TcpStream) {
    let mut all = Vec::new();
    let read = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut all)).await;
    // A reset is a close as well.
    drop(read.expect("the proxy closes"));
}

/// A schema with a proxy process in front of it.
struct Stage {
    flavour: Flavour,
    schema: String,
    /// The server behind the proxy, with the account of its owner.
    root: Address,
    /// The same, with the account of the clients.
    server: Address,
    proxy: Serving,
    _folder: tempfile::TempDir,
}

/// A row of the process list.
#[derive(Debug)]
struct Session {
    info: String,
    /// How long the statement has run.
    seconds: i64,
}

impl Stage {
    /// `settings` are lines of rules.yaml.
    async fn new(flavour: Flavour, schema: &str, settings: &str) -> Self {
        let server = single(flavour).clone();
        let mut driver = connect(&server, None).await;
        let control = format!("{schema}_control");
        let user = format!("{schema}_user");
        let script = format!(
            "DROP DATABASE IF EXISTS {schema};
            CREATE DATABASE {schema};
            USE {schema};
            CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0);
            INSERT INTO posts VALUES (1, 5);
            CREATE TABLE numbers (n INT PRIMARY KEY);
            DROP USER IF EXISTS '{control}'@'%', '{user}'@'%';
            CREATE USER '{control}'@'%', '{user}'@'%';
            GRANT ALL ON *.* TO '{control}'@'%';
            GRANT ALL ON {schema}.* TO '{user}'@'%'"
        );
        run_all(&mut driver, &script).await;
        let numbers: Vec<_> = (0..1024).map(|n| format!("({n})")).collect();
        run(
            &mut driver,
            &format!("INSERT INTO numbers VALUES {}", numbers.join(",")),
        )
        .await;
        let folder = tempfile::tempdir().expect("a folder");
        let rules = folder.path().join("rules.yaml");
        let account = Address {
            user: control,
            password: String::new(),
            ..server.clone()
        };
        // The roll-up takes memory once, for its connection, a moment after the start; not in the middle of a
        // measurement.
        let text = format!(
            "{}{settings}counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n",
            rules_head(&account),
        );
        fs::write(&rules, text).expect("rules can be written");
        Self {
            flavour,
            schema: schema.to_owned(),
            proxy: Serving::start(&rules).unwrap_or_else(|ended| panic!("{}", ended.errors)),
            root: server.clone(),
            server: Address {
                user,
                password: String::new(),
                ..server
            },
            _folder: folder,
        }
    }

    /// The proxy's.
    fn address(&self) -> Address {
        Address {
            host: self.proxy.address.ip().to_string(),
            port: self.proxy.address.port(),
            ..self.server.clone()
        }
    }

    /// Sends little through each way that much is to go, so that what the process takes once and for all is taken.
    async fn warm(&self, client: &mut Raw) -> Memory {
        client
            .query("SELECT REPEAT('x', 1048576) FROM numbers WHERE n < 4")
            .await;
        assert_eq!(client.read_result().await / MIB, 4);
        client.send_and_read(4 * MIB).await;
        Memory::of(self.proxy.binary.id())
    }

    fn expect_no_growth(&self, what: &str, before: &Memory) {
        let after = Memory::of(self.proxy.binary.id());
        let mib = |bytes: u64| format!("{:.2} MiB", bytes as f64 / MIB as f64);
        let seconds = before.at.elapsed().as_secs_f64();
        say(&format!(
            "{}, {what}: proxy resident at {} before, {} after, {} at most ({seconds:.1} s)",
            self.flavour,
            mib(before.resident),
            mib(after.resident),
            mib(after.peak)
        ));
        let growth = after.peak.saturating_sub(before.peak);
        assert!(growth < MOST_GROWTH, "{what}: it grew by {}", mib(growth));
        let kept = after.own.saturating_sub(before.own);
        assert!(kept < MOST_GROWTH, "{what}: it keeps {}", mib(kept));
    }

    /// Sessions upstream that came through the proxy, or are about to.
    async fn sessions(&self) -> Vec<Session> {
        let mut direct = connect(&self.root, None).await;
        let query = format!(
            "SELECT COALESCE(info, ''), time FROM information_schema.processlist \
             WHERE user IN ('{}_user', 'unauthenticated user')",
            self.schema
        );
        let found = rows(&mut direct, &query).await;
        let session = |row: Vec<String>| Session {
            info: row[0].clone(),
            seconds: row[1].parse().expect("a number"),
        };
        found.into_iter().map(session).collect()
    }

    async fn wait_for(&self, what: &str, is_there: impl Fn(&Session) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let sessions = self.sessions().await;
            if sessions.iter().any(&is_there) {
                return;
            }
            assert!(Instant::now() < deadline, "waited for {what}: {sessions:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn wait_until_alone(&self) {
        self.wait_until_left(0).await;
    }

    /// Waits until no more than so many sessions are left.
    async fn wait_until_left(&self, most: usize) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let sessions = self.sessions().await;
            if sessions.len() <= most {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "sessions are left upstream: {sessions:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// Program text included.
    resident: u64,
    /// The most that was ever resident.
    peak: u64,
    /// Resident and not the text of a file: that comes and goes as the machine has room for it.
    own: u64,
    at: Instant,
}

impl Memory {
    /// Manual: proc_pid_status(5).
    fn of(process: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
        let kib = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let number = line.expect(name).split_whitespace().nth(1);
            number
                .and_then(|text| text.parse::<u64>().ok())
                .expect("a number")
                * 1024
        };
        Self {
            resident: kib("VmRSS:"),
            peak: kib("VmHWM:"),
            own: kib("RssAnon:"),
            at: Instant::now(),
        }
    }
}
