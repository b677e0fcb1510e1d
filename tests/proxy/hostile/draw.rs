//! Sessions, drawn from a seed: the same for the same seed.

use countersink::driver::Driver;
use countersink::wire::packet::MAX_PAYLOAD;
use countersink::wire::{capability, command};
use countersink_sandbox::Flavour;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::execute::{bulk_execute, execute};
use super::stage::{SCHEMA, USER};
use super::step::{AuthAnswer, End, LocalFile, Login, Reading, Session, Step};
use super::texts::{PREPARED, STATEMENTS};

/// What a session may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Well-formed packets in any order, and all answers are read: what is answered depends on nothing else.
    Orderly,
    /// Anything.
    Any,
}

/// Commands without arguments that matter here, or with any.
const OTHERS: [u8; 20] = [
    0x00, 0x05, 0x06, 0x07, 0x08, 0x0B, 0x0D, 0x0F, 0x10, 0x14, 0x15, 0x1D, 0x22, 0x63, 0xF9, 0xFB,
    0xFC, 0xFD, 0xFE, 0xFF,
];

/// The session of a seed.
pub(super) fn session(seed: u64, flavour: Flavour, manner: Manner) -> Session {
    let mut draw = Draw {
        dice: StdRng::seed_from_u64(seed),
        flavour,
        manner,
        capabilities: 0,
        prepared: Vec::new(),
    };
    let login = draw.login();
    draw.capabilities = login.capabilities;
    // MariaDB has none, so a client that is in order sends none.
    if manner == Manner::Orderly && flavour == Flavour::MariaDb {
        draw.capabilities &= !capability::QUERY_ATTRIBUTES;
    }
    let most = draw.dice.random_range(1..=10);
    let steps = (0..most).map(|_| draw.step()).collect();
    let end = match (manner, draw.dice.random_range(0..5)) {
        (Manner::Orderly, _) | (_, 0) => End::Quit,
        (_, 1) => End::Close,
        (_, 2) => End::HalfClose,
        (_, 3) => End::Reset,
        _ => End::Nothing,
    };
    Session { login, steps, end }
}

pub(super) struct Draw {
    pub(super) dice: StdRng,
    pub(super) flavour: Flavour,
    manner: Manner,
    pub(super) capabilities: u64,
    /// How many parameters the prepared statements have.
    pub(super) prepared: Vec<usize>,
}

impl Draw {
    pub(super) fn is_one_in(&mut self, of: u32) -> bool {
        self.dice.random_ratio(1, of)
    }

    /// Once in `of` times in a session that may do anything.
    fn is_odd(&mut self, of: u32) -> bool {
        let is_odd = self.is_one_in(of);
        self.manner == Manner::Any && is_odd
    }

    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.dice.random_range(0..of.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.dice.random_range(0..=most)];
        self.dice.fill(&mut bytes[..]);
        bytes
    }

    /// Most logins succeed: what comes behind them is to be seen too.
    fn login(&mut self) -> Login {
        const MAY_BE_THERE: [u64; 8] = [
            capability::DEPRECATE_EOF,
            capability::MULTI_STATEMENTS,
            capability::LOCAL_FILES,
            capability::FOUND_ROWS,
            capability::QUERY_ATTRIBUTES,
            capability::PS_MULTI_RESULTS,
            capability::TRANSACTIONS,
            capability::LONG_PASSWORD,
        ];
        const ODD: [u64; 11] = [
            capability::PROTOCOL_41,
            capability::SECURE_CONNECTION,
            capability::PLUGIN_AUTH,
            capability::CONNECT_WITH_DB,
            capability::CONNECT_ATTRS,
            capability::SESSION_TRACK,
            capability::COMPRESS,
            capability::ZSTD_COMPRESSION,
            capability::OPTIONAL_RESULTSET_METADATA,
            capability::MULTI_FACTOR_AUTHENTICATION,
            capability::PLUGIN_AUTH_LENENC_CLIENT_DATA,
        ];
        let mut capabilities = Driver::CAPABILITIES | capability::LOCAL_FILES;
        for bit in MAY_BE_THERE {
            if self.is_one_in(3) {
                capabilities ^= bit;
            }
        }
        for bit in ODD {
            if self.is_odd(25) {
                capabilities ^= bit;
            }
        }
        if self.flavour == Flavour::MariaDb && capabilities & capability::LONG_PASSWORD == 0 {
            capabilities |= capability::MARIADB_STMT_BULK;
        }
        if self.is_one_in(8) {
            capabilities |= *self.pick(&[capability::COMPRESS, capability::ZSTD_COMPRESSION]);
        }
        let has_schema = !self.is_one_in(12);
        if has_schema {
            capabilities |= capability::CONNECT_WITH_DB;
        }
        let attributes = match self.is_odd(8) {
            true => self.attributes(),
            false => b"\x00".to_vec(),
        };
        if attributes.len() > 1 {
            capabilities |= capability::CONNECT_ATTRS;
        }
        let is_refused = self.is_odd(15);
        let answer = match (is_refused, self.dice.random_range(0..3)) {
            (false, _) => AuthAnswer::Empty,
            (true, 0) => AuthAnswer::Wrong,
            (true, 1) => AuthAnswer::Long(250),
            (true, _) => AuthAnswer::Long(self.dice.random_range(1..60_000)),
        };
        Login {
            capabilities,
            user: match self.is_odd(30) {
                true => "nobody",
                false => USER,
            },
            has_schema,
            answer,
            plugin: match self.is_odd(8) {
                true => self.pick::<&'static str>(&[
                    "",
                    "no_such_plugin",
                    "mysql_old_password",
                    "sha256_password",
                ]),
                false => {
                    self.pick::<&'static str>(&["mysql_native_password", "caching_sha2_password"])
                }
            },
            attributes,
            sequence_id: match self.is_odd(40) {
                true => self.dice.random_range(0..=255),
                false => 1,
            },
            asks_for_tls: self.is_odd(40),
            cut_at: match self.is_odd(40) {
                true => Some(self.dice.random_range(0..120)),
                false => None,
            },
            cuts: self.cuts(100),
        }
    }

    /// Names and values that fit their lengths, or do not.
    fn attributes(&mut self) -> Vec<u8> {
        match self.dice.random_range(0..4) {
            0 => b"\x0b\x04_pid\x05abcde".to_vec(),
            1 => b"\xfd\xff\xff\xff".to_vec(),
            2 => b"\x05\x09_pid".to_vec(),
            _ => self.bytes(80),
        }
    }

    fn cuts(&mut self, length: usize) -> Vec<usize> {
        if length < 2 || !self.is_one_in(6) {
            return Vec::new();
        }
        let most = self.dice.random_range(1..4);
        let mut cuts: Vec<_> = (0..most)
            .map(|_| self.dice.random_range(1..length))
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    fn step(&mut self) -> Step {
        let mut step = self.command();
        let length = step.payload.len() + 4;
        step.cuts = self.cuts(length);
        // What comes behind a request for a file is taken for the file, and the server then waits for the rest; behind
        // a login it is out of order, which the proxy says in words of its own.
        let asks_back = ["LOAD DATA LOCAL", "COM_CHANGE_USER"].contains(&step.kind);
        step.is_ahead = self.is_one_in(12) && (self.manner == Manner::Any || !asks_back);
        // Rarely: a session that the server ends says nothing of what was to follow.
        // In compressed packets it means nothing, but gives them numbers that the server refuses and the proxy takes
        // for the rest of a file.
        let compression = capability::COMPRESS | capability::ZSTD_COMPRESSION;
        let is_refused = self.manner == Manner::Any || self.capabilities & compression == 0;
        if self.is_one_in(40) && is_refused {
            step.sequence_id = self.dice.random_range(1..=255);
            step.kind = "wrong sequence id";
        }
        if self.is_odd(30) {
            step.told = Some(match self.dice.random_range(0..3) {
                0 => step.payload.len() + self.dice.random_range(1..2000),
                1 => step.payload.len().saturating_sub(1),
                _ => MAX_PAYLOAD,
            });
            step.kind = "wrong length";
        }
        step.reading = match self.is_odd(4) {
            false => Reading::All,
            true if self.is_one_in(2) => Reading::Nothing,
            true => Reading::Some(self.dice.random_range(1..100)),
        };
        step
    }

    fn command(&mut self) -> Step {
        match self.dice.random_range(0..100) {
            0..50 => self.query(),
            50..62 => self.prepare(),
            62..78 => self.statement_command(),
            78..82 => self.change_user(),
            82..95 => self.plain_command(),
            95..99 => {
                let mut payload = vec![*self.pick(&OTHERS)];
                payload.extend(self.bytes(12));
                Step::new("unknown command", payload)
            }
            _ if self.is_odd(400) => {
                let mut payload = b"\x03SELECT LENGTH('".to_vec();
                payload.resize(MAX_PAYLOAD - 2, b'x');
                payload.extend_from_slice(b"')");
                Step::new("16 MiB", payload)
            }
            _ => Step::new("empty packet", Vec::new()),
        }
    }

    fn query(&mut self) -> Step {
        let (kind, texts) = *self.pick(STATEMENTS);
        let id = self.dice.random_range(0..6).to_string();
        let text = self.pick(texts).replace("{id}", &id);
        let mut payload = vec![command::QUERY];
        if self.capabilities & capability::QUERY_ATTRIBUTES != 0 && self.flavour == Flavour::MySql {
            match self.dice.random_range(0..3) {
                0 => payload.extend_from_slice(b"\x01\x01\x00\x01\xfd\x00\x05trace\x02ab"),
                1 if self.is_odd(4) => payload.extend(self.bytes(6)),
                _ => payload.extend_from_slice(&[0, 1]),
            }
        }
        payload.extend_from_slice(text.as_bytes());
        let mut step = Step::new(kind, payload);
        let content = self
            .pick(&[&b""[..], b"1\t2\n", b"3\tx\n4\ty\n", b"5"])
            .to_vec();
        step.file = match self.dice.random_range(0..4) {
            0 if self.manner == Manner::Any => LocalFile::BrokenOff(content),
            1 if self.manner == Manner::Any => {
                LocalFile::Miscounted(self.dice.random_range(0..=255), content)
            }
            2 if self.manner == Manner::Any => LocalFile::Command,
            _ => LocalFile::Whole(content),
        };
        step
    }

    fn prepare(&mut self) -> Step {
        let (text, parameters) = *self.pick(PREPARED);
        self.prepared.push(parameters);
        let payload = [&[command::STMT_PREPARE], text.as_bytes()].concat();
        Step::new("COM_STMT_PREPARE", payload)
    }

    /// A prepared statement of this session, or one that is not there.
    fn statement_command(&mut self) -> Step {
        let number = match self.prepared.len() {
            0 => 0,
            prepared => self.dice.random_range(0..prepared),
        };
        let parameters = self.prepared.get(number).copied().unwrap_or_default();
        let is_known = !self.prepared.is_empty() && !self.is_one_in(10);
        let unknown = *self.pick(&[0, 99, 0x00FF_FFFE_u32]);
        let id = unknown.to_le_bytes();
        let with_id = |command_byte: u8| [&[command_byte], &id[..]].concat();
        let mut step = match self.dice.random_range(0..16) {
            0..8 => {
                let payload = execute(self, number, &id, parameters);
                Step::new("COM_STMT_EXECUTE", payload)
            }
            8 | 9 => {
                let mut payload = with_id(command::STMT_FETCH);
                let rows = *self.pick(&[0_u32, 1, 2, 100, u32::MAX]);
                payload.extend_from_slice(&rows.to_le_bytes());
                Step::new("COM_STMT_FETCH", payload)
            }
            10 => Step::new("COM_STMT_RESET", with_id(command::STMT_RESET)),
            11 => Step::new("COM_STMT_CLOSE", with_id(command::STMT_CLOSE)),
            12 | 13 => {
                let mut payload = with_id(command::STMT_SEND_LONG_DATA);
                let parameter = *self.pick(&[0_u16, 1, 7]);
                payload.extend_from_slice(&parameter.to_le_bytes());
                payload.extend_from_slice(b"3");
                Step::new("COM_STMT_SEND_LONG_DATA", payload)
            }
            _ => Step::new("COM_STMT_BULK_EXECUTE", bulk_execute(self, &id, parameters)),
        };
        if self.is_one_in(15) {
            let end = self.dice.random_range(1..=step.payload.len());
            // MySQL answers these when they are cut short, and what comes behind is then told the answers before it.
            let is_answered = ["COM_STMT_SEND_LONG_DATA", "COM_STMT_CLOSE"].contains(&step.kind);
            if self.manner == Manner::Any || !is_answered {
                step.payload.truncate(end);
            }
        }
        step.statement = is_known.then_some(number);
        step
    }

    fn change_user(&mut self) -> Step {
        if self.is_one_in(3) {
            return Step::new("COM_RESET_CONNECTION", vec![command::RESET_CONNECTION]);
        }
        let mut payload = vec![command::CHANGE_USER];
        // MariaDB takes a second to refuse it.
        let user = if self.is_one_in(20) { "nobody" } else { USER };
        payload.extend_from_slice(user.as_bytes());
        // No password, and the schema.
        payload.extend_from_slice(&[0, 0]);
        if !self.is_one_in(8) {
            payload.extend_from_slice(SCHEMA);
        }
        payload.push(0);
        if !self.is_one_in(8) {
            payload.extend_from_slice(&[45, 0]);
            payload.extend_from_slice(b"mysql_native_password\0");
        }
        if self.is_odd(4) {
            payload.extend(self.bytes(60));
        }
        if self.is_odd(6) {
            let end = self.dice.random_range(1..=payload.len());
            payload.truncate(end);
        }
        Step::new("COM_CHANGE_USER", payload)
    }

    fn plain_command(&mut self) -> Step {
        /// A session that no server has.
        const NOBODY: [u8; 4] = 0xFFFF_FFF0_u32.to_le_bytes();
        match self.dice.random_range(0..11) {
            0 => Step::new("COM_PING", vec![command::PING]),
            1 => Step::new("COM_STATISTICS", vec![command::STATISTICS]),
            2 => {
                let schema = *self.pick(&[SCHEMA, b"missing", b""]);
                Step::new("COM_INIT_DB", [&[command::INIT_DB], schema].concat())
            }
            3 => {
                let arguments = *self.pick(&[&[0_u8, 0][..], &[1, 0], &[7, 0], &[0], &[]]);
                let mut payload = [&[command::SET_OPTION], arguments].concat();
                // MariaDB reads what is cut short in what it was sent before.
                if self.manner == Manner::Orderly && self.flavour == Flavour::MariaDb {
                    payload.resize(3, 0);
                }
                Step::new("COM_SET_OPTION", payload)
            }
            4 => {
                let table =
                    *self.pick(&[&b"posts\0%"[..], b"posts\0", b"posts", b"missing\0", b"\0"]);
                let mut payload = [&[command::FIELD_LIST], table].concat();
                // Without its NUL the name goes on in what the server was sent before.
                if self.manner == Manner::Orderly && !table.contains(&0) {
                    payload.push(0);
                }
                Step::new("COM_FIELD_LIST", payload)
            }
            5 => Step::new(
                "COM_PROCESS_KILL",
                [&[command::PROCESS_KILL], &NOBODY[..]].concat(),
            ),
            6 => {
                let command_byte = *self.pick(&[
                    command::BINLOG_DUMP,
                    command::BINLOG_DUMP_GTID,
                    command::TABLE_DUMP,
                    command::CLONE,
                    command::SUBSCRIBE_GROUP_REPLICATION_STREAM,
                ]);
                let mut payload = vec![command_byte, 4, 0, 0, 0, 0, 0, 9, 0, 0, 0];
                payload.extend_from_slice(b"binlog.000001");
                Step::new("COM_BINLOG_DUMP and its like", payload)
            }
            7 => Step::new(
                "COM_REGISTER_SLAVE",
                b"\x15\x09\0\0\0\x01h\x01u\x01p\x0c\x0d\0\0\0\0\0\0\0\0".to_vec(),
            ),
            8 if self.manner == Manner::Any => {
                Step::new("COM_PROCESS_INFO", vec![command::PROCESS_INFO])
            }
            9 if self.is_one_in(4) => Step::new("COM_QUIT", vec![command::QUIT]),
            _ => Step::new("COM_PING", vec![command::PING, 1, 2, 3]),
        }
    }
}
