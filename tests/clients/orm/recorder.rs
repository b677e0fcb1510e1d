//! Stands between a library and the proxy, passes every byte on, and writes the UPDATEs down, and what a session SETs.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use countersink::wire::column::field_type;
use countersink::wire::execute::Execute;
use countersink::wire::packet::{HEADER_LENGTH, Header};
use countersink::wire::response::PrepareOk;
use countersink::wire::{capability, command};

use crate::orm::golden::{KINDS, Parameter};

/// An UPDATE or SET, with its parameters if it was prepared.
#[derive(Clone, Debug)]
pub struct Seen {
    pub statement: String,
    pub parameters: Option<Vec<Parameter>>,
}

/// Listens for the library's connections.
pub struct Recorder {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Recorder {
    /// In front of `proxy`, for as long as the process lives.
    pub fn start(proxy: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let recorder = Self {
            port: listener.local_addr().expect("an address").port(),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&recorder.seen);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a client");
                let upstream = TcpStream::connect(proxy).expect("the proxy listens");
                relay(client, upstream, &seen);
            }
        });
        recorder
    }

    /// What came since this was last asked.
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().expect("no panic"))
    }
}

fn relay(client: TcpStream, upstream: TcpStream, seen: &Arc<Mutex<Vec<Seen>>>) {
    let shared = Arc::new(Mutex::new(Connection::default()));
    for stream in [&client, &upstream] {
        stream.set_nodelay(true).expect("a TCP stream");
    }
    let (client_back, upstream_back) = (
        client.try_clone().expect("a handle"),
        upstream.try_clone().expect("a handle"),
    );
    let (commands, seen) = (Arc::clone(&shared), Arc::clone(seen));
    thread::spawn(move || {
        pass(client, upstream, |sequence_id, payload| {
            let mut connection = commands.lock().expect("no panic");
            if let Some(update) = connection.client_sent(sequence_id, payload) {
                seen.lock().expect("no panic").push(update);
            }
        })
    });
    thread::spawn(move || {
        pass(upstream_back, client_back, |sequence_id, payload| {
            let mut connection = shared.lock().expect("no panic");
            connection.server_sent(sequence_id, payload);
        })
    });
}

/// Passes packets on until one side is gone; each is looked at before.
fn pass(mut from: TcpStream, mut to: TcpStream, mut look: impl FnMut(u8, &[u8])) {
    let mut one = || -> io::Result<()> {
        let mut packet = vec![0; HEADER_LENGTH];
        from.read_exact(&mut packet)?;
        let header = Header::decode(&packet).expect("four bytes");
        packet.resize(header.packet_length(), 0);
        from.read_exact(&mut packet[HEADER_LENGTH..])?;
        look(header.sequence_id, &packet[HEADER_LENGTH..]);
        to.write_all(&packet)
    };
    while one().is_ok() {}
    to.shutdown(Shutdown::Both).ok(); // it may be gone already
}

#[derive(Default)]
struct Connection {
    logged_in: bool,
    capabilities: u64,
    /// Of the commands that are not answered yet: the text, if it is a COM_STMT_PREPARE.
    unanswered: VecDeque<Option<String>>,
    prepared: HashMap<u32, Prepared>,
}

struct Prepared {
    text: String,
    parameters: u16,
    types: Vec<u8>,
}

impl Connection {
    fn client_sent(&mut self, sequence_id: u8, payload: &[u8]) -> Option<Seen> {
        if !self.logged_in {
            if sequence_id == 1 {
                let sent = payload.first_chunk::<4>().expect("a handshake response");
                self.capabilities = u64::from(u32::from_le_bytes(*sent));
                let tls = self.capabilities & capability::SSL != 0;
                assert!(!tls, "the library must not use TLS here");
            }
            return None;
        }
        let (&command_byte, rest) = payload.split_first().filter(|_| sequence_id == 0)?;
        // An empty set of query attributes may stand in front.
        let attributes = self.capabilities & capability::QUERY_ATTRIBUTES != 0;
        let plain = rest.strip_prefix(&[0, 1]).filter(|_| attributes);
        let text = || String::from_utf8_lossy(plain.unwrap_or(rest)).into_owned();
        let has_answer = ![
            command::STMT_CLOSE,
            command::STMT_SEND_LONG_DATA,
            command::QUIT,
        ]
        .contains(&command_byte);
        if has_answer {
            let prepare = (command_byte == command::STMT_PREPARE).then(text);
            self.unanswered.push_back(prepare);
        }
        let seen = match command_byte {
            command::QUERY => Seen {
                statement: text(),
                parameters: None,
            },
            command::STMT_EXECUTE => self.executed(payload),
            _ => return None,
        };
        let first = seen.statement.split_ascii_whitespace().next()?;
        let is_told = ["UPDATE", "SET"]
            .iter()
            .any(|word| first.eq_ignore_ascii_case(word));
        is_told.then_some(seen)
    }

    fn executed(&mut self, payload: &[u8]) -> Seen {
        let id = payload[1..].first_chunk().expect("a statement id");
        let prepared = self
            .prepared
            .get_mut(&u32::from_le_bytes(*id))
            .expect("a statement that was prepared");
        let attributes = self.capabilities & capability::QUERY_ATTRIBUTES;
        let execute =
            Execute::decode(payload, prepared.parameters, attributes).expect("COM_STMT_EXECUTE");
        if let Some(types) = execute.types {
            // With query attributes each type has a name behind it; those of parameters are empty.
            let width = if attributes == 0 { 2 } else { 3 };
            prepared.types = types
                .chunks_exact(width)
                .flat_map(|kind| [kind[0], kind[1]])
                .collect();
        }
        Seen {
            statement: prepared.text.clone(),
            parameters: Some(parameters(prepared, &execute)),
        }
    }

    fn server_sent(&mut self, sequence_id: u8, payload: &[u8]) {
        if !self.logged_in {
            // OK; what else begins with 0 is the initial handshake's business.
            self.logged_in = sequence_id > 0 && payload.first() == Some(&0);
            return;
        }
        if sequence_id != 1 {
            return;
        }
        if let Some(Some(text)) = self.unanswered.pop_front()
            && payload.first() == Some(&0)
        {
            let ok = PrepareOk::decode(payload).expect("an answer to COM_STMT_PREPARE");
            let prepared = Prepared {
                text,
                parameters: ok.parameters,
                types: Vec::new(),
            };
            self.prepared.insert(ok.statement_id, prepared);
        }
    }
}

/// The parameters of an execution without query attributes.
fn parameters(prepared: &Prepared, execute: &Execute<'_>) -> Vec<Parameter> {
    let mut rest = execute.values;
    let types = prepared.types.chunks_exact(2);
    let parameter = |(position, types): (usize, &[u8])| {
        let is_null = execute.null_bitmap[position / 8] & 1 << (position % 8) != 0;
        let mut kind = KINDS
            .iter()
            .find(|(_, code)| *code == types[0])
            .unwrap_or_else(|| panic!("parameters of type {} are not known here", types[0]))
            .0
            .to_owned();
        if types[1] != 0 {
            kind += " UNSIGNED";
        }
        let value = match is_null {
            true => "NULL".to_owned(),
            false => value(types[0], &mut rest),
        };
        Parameter { kind, value }
    };
    types.enumerate().map(parameter).collect()
}

fn value(kind: u8, rest: &mut &[u8]) -> String {
    let length = match kind {
        field_type::TINY => 1,
        field_type::SHORT => 2,
        field_type::LONG => 4,
        field_type::LONGLONG | field_type::DOUBLE => 8,
        _ => {
            // Nobody's increment has a parameter of 251 bytes.
            let (&length, behind) = rest.split_first().expect("a length");
            *rest = behind;
            usize::from(length)
        }
    };
    let (bytes, behind) = rest.split_at(length);
    *rest = behind;
    let mut wide = [0; 8];
    match kind {
        field_type::DOUBLE => {
            wide.copy_from_slice(bytes);
            f64::from_le_bytes(wide).to_string()
        }
        field_type::TINY | field_type::SHORT | field_type::LONG | field_type::LONGLONG => {
            wide[..length].copy_from_slice(bytes);
            u64::from_le_bytes(wide).to_string()
        }
        field_type::DATETIME | field_type::TIMESTAMP => time(bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A time of the binary protocol, which leaves zeros at its end out.
fn time(bytes: &[u8]) -> String {
    let mut full = [0; 11];
    full[..bytes.len()].copy_from_slice(bytes);
    let [
        year_low,
        year_high,
        month,
        day,
        hour,
        minute,
        second,
        a,
        b,
        c,
        d,
    ] = full;
    let year = u16::from_le_bytes([year_low, year_high]);
    let micros = u32::from_le_bytes([a, b, c, d]);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}")
}
