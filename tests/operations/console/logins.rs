//! Who comes in, and how.

use countersink::driver::{Driver, Error};
use countersink::net::PacketStream;
use countersink::wire::capability;
use countersink::wire::handshake::InitialHandshake;
use countersink::wire::handshake::authentication::PluginRequest;
use countersink::wire::packet::encode_packet;
use countersink::wire::reply;
use countersink_sandbox::{Address, Flavour};
use mysql_common::scramble::{scramble_native, scramble_sha256};
use tokio::net::TcpStream;

use crate::console::stage::{PASSWORD, Stage, stat, table};
use crate::support;
use crate::support::client::connect_as;

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

#[test]
fn the_account_comes_in_and_nobody_else() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_logins", "").await;
        for (user, password, using) in [
            ("admin", "wrong", "YES"),
            ("admin", "", "NO"),
            ("admin", "s3cret-of-the-consol", "YES"),
            ("Admin", PASSWORD, "YES"),
            ("root", PASSWORD, "YES"),
            ("", PASSWORD, "YES"),
            ("", "", "NO"),
        ] {
            let wrong = Address {
                user: user.to_owned(),
                password: password.to_owned(),
                ..stage.console.clone()
            };
            match connect_as(&wrong, None, Driver::CAPABILITIES).await {
                Err(Error::Login(error)) => {
                    assert_eq!(error.code, 1045, "{user} {password}: {error}");
                    let using = format!("(using password: {using})");
                    assert!(
                        error.message.ends_with(&using),
                        "{user} {password}: {error}"
                    );
                }
                Err(error) => panic!("{user} {password}: {error}"),
                Ok(_) => panic!("{user} {password} comes in"),
            }
        }
        let mut operator = stage.operator().await;
        assert_eq!(stat(&mut operator, "sessions").await, 0);
    });
}

/// What a client may answer to the initial handshake, and to a request for another plugin.
#[test]
fn both_plugins_are_known_and_others_are_switched() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_plugins", "").await;
        let secret = PASSWORD.as_bytes();
        let sha2 = |auth_plugin_data: &[u8; 20]| {
            scramble_sha256(auth_plugin_data, secret)
                .expect("a password")
                .to_vec()
        };
        let native = |auth_plugin_data: &[u8; 20]| {
            scramble_native(auth_plugin_data, secret)
                .expect("a password")
                .to_vec()
        };
        type Scramble<'a> = &'a dyn Fn(&[u8; 20]) -> Vec<u8>;
        let nothing = |_: &[u8; 20]| Vec::new();
        let zeros = |_: &[u8; 20]| vec![0; 32];
        let cases: [(&str, Scramble<'_>, Scramble<'_>, &[u8]); 9] = [
            (SHA2, &sha2, &nothing, &[1, 0]),
            (NATIVE, &native, &nothing, &[0]),
            ("sha256_password", &nothing, &sha2, &[reply::EOF, 1, 0]),
            (
                "mysql_clear_password",
                &|_| b"s3cret-of-the-console\0".to_vec(),
                &sha2,
                &[reply::EOF, 1, 0],
            ),
            ("x", &native, &native, &[reply::EOF, reply::ERR]),
            ("x", &sha2, &nothing, &[reply::EOF, reply::ERR]),
            (SHA2, &native, &nothing, &[reply::ERR]),
            (NATIVE, &sha2, &nothing, &[reply::ERR]),
            (SHA2, &zeros, &nothing, &[reply::ERR]),
        ];
        for (plugin, first, second, expected) in cases {
            let mut login = RawLogin::new(&stage.console).await;
            let scramble = first(&login.auth_plugin_data);
            login.respond("admin", plugin, &scramble).await;
            let mut told = Vec::new();
            loop {
                let packet = login.read().await.expect("an answer");
                told.push(packet[0]);
                match packet[0] {
                    reply::EOF => {
                        let request = PluginRequest::decode(&packet).expect("a request");
                        assert_eq!(request.plugin, SHA2.as_bytes());
                        let auth_plugin_data: [u8; 20] = request.data.try_into().expect("20 bytes");
                        assert_ne!(
                            auth_plugin_data, login.auth_plugin_data,
                            "a nonce is used once"
                        );
                        login.write(&second(&auth_plugin_data)).await;
                    }
                    1 => assert_eq!(packet, [1, 3]),
                    _ => break,
                }
            }
            assert_eq!(told, expected, "{plugin}");
        }
    });
}

/// What another client was seen to send lets nobody in.
#[test]
fn a_nonce_is_good_for_one_login() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_nonce", "").await;
        let mut login = RawLogin::new(&stage.console).await;
        let seen =
            scramble_sha256(&login.auth_plugin_data, PASSWORD.as_bytes()).expect("a password");
        login.respond("admin", SHA2, &seen).await;
        assert_eq!(login.read().await.expect("an answer"), [1, 3]);
        let mut again = RawLogin::new(&stage.console).await;
        again.respond("admin", SHA2, &seen).await;
        assert_eq!(again.read().await.expect("an answer")[0], reply::ERR);
    });
}

#[test]
fn tls_is_refused_with_words() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_tls", "").await;
        let mut login = RawLogin::new(&stage.console).await;
        let mut request = vec![0; 32];
        let flags = capability::PROTOCOL_41 | capability::SSL;
        request[..4].copy_from_slice(&flags.to_le_bytes()[..4]);
        login.write(&request).await;
        let packet = login.read().await.expect("an answer");
        let error = reply::Err::decode(&packet).expect("an error");
        assert_eq!(error.code, 1043);
        assert!(String::from_utf8_lossy(error.message).contains("without TLS"));
    });
}

/// Who says nothing, or half a word, is not waited for.
#[test]
fn a_login_has_its_time() {
    support::block_on(async {
        let settings = "handshake_timeout: 2s\n";
        let stage = Stage::new(Flavour::MySql, "cs_console_slow", settings).await;
        for half in [&b""[..], b"\x50\0", b"\x50\0\0\x01half of"] {
            let mut login = RawLogin::new(&stage.console).await;
            login.stream.write(half).await.expect("sent");
            assert_eq!(login.read().await, None, "{half:?}");
        }
        stage.operator().await;
    });
}

#[test]
fn nonsense_is_no_login() {
    support::block_on(async {
        let settings = "handshake_timeout: 2s\n";
        let stage = Stage::new(Flavour::MySql, "cs_console_nonsense", settings).await;
        for nonsense in [
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            b"\0\0\0\x01".to_vec(),
            b"\x01\0\0\x01\0".to_vec(),
            b"\xff\xff\xff\x01".to_vec(),
            [&b"\x20\0\0\x01\0\x02"[..], &[0xFF; 30]].concat(),
            vec![0xFF; 100_000],
        ] {
            let mut login = RawLogin::new(&stage.console).await;
            // It may be closed before all is sent.
            login.stream.write(&nonsense).await.ok();
            let mut told = Vec::new();
            let told = match login.stream.read_payload(&mut told, 1 << 20).await {
                Ok(_) => Some(told),
                Err(_) => None,
            };
            assert!(
                told.is_none_or(|told| told[0] == reply::ERR),
                "{nonsense:?}"
            );
        }
        stage.operator().await;
    });
}

/// More clients than there are places; those that are there are served on.
#[test]
fn there_are_so_many_places() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_crowd", "").await;
        let mut crowd = Vec::new();
        let refused = loop {
            match connect_as(&stage.console, None, Driver::CAPABILITIES).await {
                Ok(client) => crowd.push(client),
                Err(error) => break error,
            }
            assert!(crowd.len() < 1000, "no end of places");
        };
        assert!(
            matches!(&refused, Error::Login(error) if error.code == 1040 && error.message.contains("32 clients")),
            "{refused}"
        );
        let mut last = crowd.pop().expect("some came in");
        assert_eq!(stat(&mut last, "paused").await, 0);
    });
}

/// Whoever connects and says nothing, or guesses, makes room for those who come in, and does not fill the log.
#[test]
fn who_is_not_logged_in_keeps_nobody_out() {
    support::block_on(async {
        let settings = "handshake_timeout: 10m\n";
        let stage = Stage::new(Flavour::MySql, "cs_console_silent", settings).await;
        let mut silent = Vec::new();
        for _ in 0..100 {
            silent.push(RawLogin::new(&stage.console).await);
            if silent.len() % 10 == 0 {
                silent.push(guess(&stage.console).await);
            }
        }
        let mut crowd = Vec::new();
        for _ in 0..10 {
            crowd.push(stage.operator().await);
        }
        let mut first = silent.swap_remove(0);
        assert_eq!(first.read().await, None, "it has made room");
        let log = table(&mut crowd[0], "SHOW LOG WHERE level = 'WARN'").await;
        assert!(log.len() <= 10, "{log:?}");
        let mut last = crowd.pop().expect("an operator");
        assert_eq!(stat(&mut last, "paused").await, 0);
    });
}

/// A wrong password, whose refusal is waited for.
async fn guess(console: &Address) -> RawLogin {
    let mut login = RawLogin::new(console).await;
    login.respond("root", SHA2, &[7; 32]).await;
    login
}

/// A login by hand.
struct RawLogin {
    stream: PacketStream,
    auth_plugin_data: [u8; 20],
    next: u8,
}

impl RawLogin {
    async fn new(to: &Address) -> Self {
        let stream = TcpStream::connect((to.host.as_str(), to.port)).await;
        let mut login = Self {
            stream: PacketStream::new(Box::new(stream.expect("it listens"))),
            auth_plugin_data: [0; 20],
            next: 0,
        };
        let initial_handshake = login.read().await.expect("a greeting");
        let initial_handshake = InitialHandshake::decode(&initial_handshake).expect("a greeting");
        assert_eq!(initial_handshake.plugin, SHA2.as_bytes());
        assert_eq!(initial_handshake.capabilities & capability::SSL, 0);
        login.auth_plugin_data = initial_handshake
            .auth_plugin_data
            .try_into()
            .expect("20 bytes");
        login
    }

    async fn respond(&mut self, user: &str, plugin: &str, scramble: &[u8]) {
        let flags = capability::LONG_PASSWORD
            | capability::PROTOCOL_41
            | capability::SECURE_CONNECTION
            | capability::PLUGIN_AUTH;
        let mut payload = flags.to_le_bytes()[..4].to_vec();
        payload.extend_from_slice(&[0, 0, 0, 1, 45]);
        payload.extend_from_slice(&[0; 23]);
        payload.extend_from_slice(user.as_bytes());
        payload.push(0);
        payload.push(u8::try_from(scramble.len()).expect("short"));
        payload.extend_from_slice(scramble);
        payload.extend_from_slice(plugin.as_bytes());
        payload.push(0);
        self.write(&payload).await;
    }

    async fn write(&mut self, payload: &[u8]) {
        let mut packet = Vec::new();
        self.next = encode_packet(&mut packet, self.next, payload);
        self.stream.write(&packet).await.expect("sent");
    }

    /// The next packet; none when the console has closed.
    async fn read(&mut self) -> Option<Vec<u8>> {
        let mut payload = Vec::new();
        let sequence_id = self.stream.read_payload(&mut payload, 1 << 20).await.ok()?;
        assert_eq!(sequence_id, self.next, "packets are numbered");
        self.next = sequence_id.wrapping_add(1);
        Some(payload)
    }
}
