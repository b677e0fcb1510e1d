//! A session, played to one server.

use std::collections::BTreeMap;
use std::time::Duration;

use countersink::driver::{Driver, Error, Packet};
use countersink::wire::packet::encode_packet;
use countersink::wire::reader::{put_lenenc, put_lenenc_bytes};
use countersink::wire::reply::Ok as OkPacket;
use countersink::wire::response::{PacketKind, PrepareOk, ResponseKind};
use countersink::wire::{capability, command, status};
use countersink_sandbox::Address;

use crate::case::{Action, Session, Statement, Step, Value};
use crate::command::Command;
use crate::difference::Exchange;
use crate::support::client::connect_as;
use crate::support::proxy::Proxy;
use crate::variant::{Protocol, Variant};
use crate::world::World;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How an answer starts that did not come to its end in time.
pub const NO_ANSWER: &str = "no answer";

/// Rows that a cursor gives at a time.
const FETCH: u32 = 2;

/// COM_STMT_EXECUTE: opens a cursor to read.
const CURSOR_TYPE_READ_ONLY: u8 = 0x01;
/// COM_STMT_EXECUTE: a parameter count stands in the packet.
const PARAMETER_COUNT_AVAILABLE: u8 = 0x08;

/// A statement id that no server has given.
const NO_STATEMENT: u32 = 0x00FF_FFFE;

/// Where a session is played.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    /// To the server itself.
    Plain(&'a Address),
    /// Through a proxy.
    Proxied(&'a Proxy),
}

impl<'a> Side<'a> {
    fn address(self) -> &'a Address {
        match self {
            Self::Plain(address) => address,
            Self::Proxied(proxy) => &proxy.address,
        }
    }
}

/// Plays the session and returns every request with its answer.
pub async fn play(
    session: &Session,
    variant: &Variant,
    side: Side<'_>,
    world: &World,
) -> Vec<Exchange> {
    let mut player = Player::new(variant, side, world);
    for step in &session.steps {
        if step.is_for(world.flavour()) {
            player.step(step).await;
        }
    }
    player.exchanges
}

/// The same; after each step a session of its own reads every row of the tables that the session is about, which alone
/// are rolled up. Ends behind an answer that `is_last`.
pub async fn play_observed(
    session: &Session,
    variant: &Variant,
    side: Side<'_>,
    world: &World,
    is_last: &impl Fn(&Exchange) -> bool,
) -> Vec<Exchange> {
    let mut player = Player::new(variant, side, world);
    let mut observer = world.observer(side.address()).await;
    let names = world.names_in(session);
    player.names = Some(names.clone());
    let mut tables_locked = false;
    for step in &session.steps {
        let before = player.exchanges.len();
        player.step(step).await;
        let new = &player.exchanges[before..];
        if new.is_empty() {
            continue;
        }
        if new.iter().any(is_last) {
            break;
        }
        let label = &player.exchanges[before].label;
        tables_locked = match label.split(' ').next() {
            Some("LOCK") => true,
            Some("UNLOCK") => false,
            _ => tables_locked,
        };
        if tables_locked {
            continue; // The observer would wait for ever.
        }
        let label = format!("after {label}");
        let rows = world.observe(&mut observer, &names, &label).await;
        player.exchanges.push(rows);
    }
    player.exchanges
}

struct Player<'a> {
    variant: &'a Variant,
    side: Side<'a>,
    world: &'a World,
    connections: BTreeMap<String, Connection>,
    current: String,
    exchanges: Vec<Exchange>,
    /// The tables that are rolled up, where not all are.
    names: Option<Vec<&'static str>>,
    /// The statements of a pipeline, while one is being gathered.
    pipeline: Option<Vec<String>>,
}

struct Connection {
    driver: Driver,
    /// Prepared statements by name.
    statements: BTreeMap<String, Prepared>,
    /// The file to send.
    infile: Vec<u8>,
    /// The conversation has failed; nothing more is sent.
    lost: bool,
}

#[derive(Clone, Copy)]
struct Prepared {
    id: u32,
}

impl<'a> Player<'a> {
    fn new(variant: &'a Variant, side: Side<'a>, world: &'a World) -> Self {
        Self {
            variant,
            side,
            world,
            connections: BTreeMap::new(),
            current: "a".to_owned(),
            exchanges: Vec::new(),
            names: None,
            pipeline: None,
        }
    }

    async fn step(&mut self, step: &Step) {
        match &step.action {
            Action::Statement(statement) => self.statement(statement).await,
            Action::Command(command) => self.command(command).await,
        }
    }

    async fn connection(&mut self) -> &mut Connection {
        if !self.connections.contains_key(&self.current) {
            let schema = Some(self.world.schema.as_str());
            let driver = connect_as(self.side.address(), schema, self.variant.capabilities()).await;
            let driver = driver.unwrap_or_else(|error| panic!("{}: {error}", self.variant));
            let connection = Connection {
                driver,
                statements: BTreeMap::new(),
                infile: Vec::new(),
                lost: false,
            };
            self.connections.insert(self.current.clone(), connection);
        }
        self.connections
            .get_mut(&self.current)
            .expect("it is there")
    }

    /// Sends a payload and takes the answer down. The packets, if they came.
    async fn exchange(
        &mut self,
        label: &str,
        request: &'static str,
        payload: &[u8],
        response_kind: ResponseKind,
        masked: bool,
    ) -> Option<Vec<Packet>> {
        let connection = self.connection().await;
        if connection.lost {
            return None;
        }
        let answer = connection.answer(payload, response_kind).await;
        let packets = answer.as_ref().ok().cloned();
        let binary = match request {
            "execute" => columns(packets.as_deref().unwrap_or_default()),
            // Of the statement that was executed last; where it is another one, the rows are compared as bytes.
            "fetch" => self
                .exchanges
                .last()
                .map(|last| last.binary.clone())
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        self.exchanges.push(Exchange {
            label: label.to_owned(),
            request,
            answer,
            masked,
            binary,
            statement_id: statement_id(payload),
        });
        packets
    }

    async fn statement(&mut self, statement: &Statement) {
        let text = self.world.expand(&statement.text);
        let literal = self.world.expand(&statement.with_literals());
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.push(literal);
            return;
        }
        let cursor = match self.variant.protocol {
            _ if statement.direct => return self.query(&literal, statement.masked).await,
            Protocol::Text => return self.query(&literal, statement.masked).await,
            Protocol::Binary => false,
            Protocol::Cursor => !statement.cursorless,
        };
        let Some(prepared) = self.prepare("(the statement)", &text).await else {
            // The server does not prepare it, and has said so: the session goes on with the text.
            return self.query(&literal, statement.masked).await;
        };
        let payload = self.execute_payload(prepared, cursor, false, &statement.parameters);
        let answer = self
            .exchange(
                &statement.text,
                "execute",
                &payload,
                ResponseKind::of(&payload),
                statement.masked,
            )
            .await;
        let mut state = answer.as_deref().and_then(last_status).unwrap_or_default();
        while cursor && state & status::CURSOR_EXISTS != 0 && state & status::LAST_ROW_SENT == 0 {
            let payload = fetch_payload(prepared.id, FETCH);
            let answer = self
                .exchange(
                    &statement.text,
                    "fetch",
                    &payload,
                    ResponseKind::Rows,
                    statement.masked,
                )
                .await;
            state = answer.as_deref().and_then(last_status).unwrap_or_default();
        }
        self.send_only(&id_payload(command::STMT_CLOSE, prepared.id))
            .await;
    }

    async fn query(&mut self, text: &str, masked: bool) {
        self.connection().await;
        let payload = self.query_payload(text);
        self.exchange(text, "query", &payload, ResponseKind::Results, masked)
            .await;
    }

    /// COM_QUERY, with a query attribute where the client has such.
    fn query_payload(&self, text: &str) -> Vec<u8> {
        let mut payload = vec![command::QUERY];
        if self.has(capability::QUERY_ATTRIBUTES) {
            // One attribute in one set: not NULL, typed, a VAR_STRING named `trace`.
            payload.extend_from_slice(&[1, 1, 0, 1, 0xFD, 0]);
            put_lenenc_bytes(&mut payload, b"trace");
            put_lenenc_bytes(&mut payload, b"7f3a");
        }
        payload.extend_from_slice(text.as_bytes());
        payload
    }

    fn has(&self, bit: u64) -> bool {
        let connection = self.connections.get(&self.current);
        match connection {
            Some(connection) => connection.driver.capabilities() & bit != 0,
            None => panic!("a connection is made first"),
        }
    }

    async fn prepare(&mut self, name: &str, text: &str) -> Option<Prepared> {
        self.connection().await;
        let payload = [&[command::STMT_PREPARE], text.as_bytes()].concat();
        let packets = self
            .exchange(text, "prepare", &payload, ResponseKind::Prepared, false)
            .await?;
        let first = packets.first()?;
        if first.packet_kind != PacketKind::PrepareOk {
            return None;
        }
        let ok = PrepareOk::decode(&first.payload).ok()?;
        let prepared = Prepared {
            id: ok.statement_id,
        };
        let connection = self.connection().await;
        connection.statements.insert(name.to_owned(), prepared);
        Some(prepared)
    }

    /// COM_STMT_EXECUTE.
    fn execute_payload(
        &self,
        prepared: Prepared,
        cursor: bool,
        again: bool,
        parameters: &[Value],
    ) -> Vec<u8> {
        let attributes = self.has(capability::QUERY_ATTRIBUTES);
        let mut flags = 0;
        if cursor {
            flags |= CURSOR_TYPE_READ_ONLY;
        }
        if attributes {
            flags |= PARAMETER_COUNT_AVAILABLE;
        }
        let mut payload = id_payload(command::STMT_EXECUTE, prepared.id);
        payload.push(flags);
        payload.extend_from_slice(&1_u32.to_le_bytes());
        if attributes {
            put_lenenc(&mut payload, parameters.len() as u64);
        }
        if parameters.is_empty() {
            return payload;
        }
        let mut nulls = vec![0_u8; parameters.len().div_ceil(8)];
        for (position, value) in parameters.iter().enumerate() {
            if let Value::Null = value {
                nulls[position / 8] |= 1 << (position % 8);
            }
        }
        payload.extend_from_slice(&nulls);
        payload.push(u8::from(!again));
        if !again {
            for value in parameters {
                payload.extend_from_slice(&value.field_type());
                if attributes {
                    payload.push(0); // no name
                }
            }
        }
        for value in parameters {
            match value {
                Value::Text(text) => Value::Text(self.world.expand(text)).encode(&mut payload),
                value => value.encode(&mut payload),
            }
        }
        payload
    }

    /// Sends what nothing answers.
    async fn send_only(&mut self, payload: &[u8]) {
        let connection = self.connection().await;
        if !connection.lost && connection.driver.send(payload).await.is_err() {
            connection.lost = true;
        }
    }

    async fn id(&mut self, name: &str) -> u32 {
        let statements = &self.connection().await.statements;
        statements
            .get(name)
            .map_or(NO_STATEMENT, |prepared| prepared.id)
    }

    async fn command(&mut self, command: &Command) {
        match command {
            Command::Connection(name) => self.current.clone_from(name),
            Command::Packet(label, payload) => {
                let label = self.world.expand(label);
                let text = String::from_utf8(payload.clone());
                let payload = text.map_or(payload.clone(), |text| {
                    self.world.expand(&text).into_bytes()
                });
                self.exchange(
                    &label,
                    "command",
                    &payload,
                    ResponseKind::of(&payload),
                    false,
                )
                .await;
            }
            Command::Prepare(name, text) => {
                let text = self.world.expand(text);
                self.prepare(name, &text).await;
            }
            Command::Execute {
                name,
                cursor,
                again,
                parameters,
            } => {
                let id = self.id(name).await;
                let payload = self.execute_payload(Prepared { id }, *cursor, *again, parameters);
                let label = format!("\\execute {name}");
                self.exchange(
                    &label,
                    "execute",
                    &payload,
                    ResponseKind::of(&payload),
                    false,
                )
                .await;
            }
            Command::Fetch(name, rows) => {
                let payload = fetch_payload(self.id(name).await, *rows);
                let label = format!("\\fetch {name} {rows}");
                self.exchange(&label, "fetch", &payload, ResponseKind::Rows, false)
                    .await;
            }
            Command::LongData(name, position, text) => {
                let mut payload = id_payload(command::STMT_SEND_LONG_DATA, self.id(name).await);
                payload.extend_from_slice(&position.to_le_bytes());
                payload.extend_from_slice(self.world.expand(text).as_bytes());
                self.send_only(&payload).await;
            }
            Command::ResetStatement(name) => {
                let payload = id_payload(command::STMT_RESET, self.id(name).await);
                let label = format!("\\reset_statement {name}");
                self.exchange(&label, "command", &payload, ResponseKind::Single, false)
                    .await;
            }
            Command::Close(name) => {
                let id = self.id(name).await;
                self.send_only(&id_payload(command::STMT_CLOSE, id)).await;
                self.connection().await.statements.remove(name);
            }
            Command::Pipeline => self.pipeline = Some(Vec::new()),
            Command::End => self.run_pipeline().await,
            Command::AtOnce {
                connections,
                times,
                texts,
            } => self.at_once(*connections, *times, texts).await,
            Command::Infile(file) => self.connection().await.infile.clone_from(file),
            Command::RollUp => {
                if let Side::Proxied(proxy) = self.side {
                    let names = self.names.as_deref();
                    let is_chosen = |name: &str| names.is_none_or(|names| names.contains(&name));
                    proxy.roll_up(is_chosen).await;
                }
            }
            Command::Quit => {
                self.exchange(
                    "\\quit",
                    "command",
                    &[command::QUIT],
                    ResponseKind::Single,
                    false,
                )
                .await;
                self.connections.remove(&self.current);
            }
        }
    }

    /// A text to each of so many connections of their own, so often, then all answers, in an order that does not tell
    /// who was first.
    async fn at_once(&mut self, connections: usize, times: usize, texts: &[String]) {
        let current = std::mem::take(&mut self.current);
        for number in 0..connections {
            self.current = format!("at once {number}");
            self.connection().await;
        }
        for number in 0..connections {
            self.current = format!("at once {number}");
            let text = self.world.expand(&texts[number % texts.len()]);
            let mut bytes = Vec::new();
            for _ in 0..times {
                encode_packet(&mut bytes, 0, &self.query_payload(&text));
            }
            let connection = self.connection().await;
            connection.lost |= connection.driver.send_raw(&bytes).await.is_err();
        }
        let mut answers = Vec::new();
        for number in 0..connections {
            self.current = format!("at once {number}");
            for _ in 0..times {
                let answer = self.connection().await.read(ResponseKind::Results).await;
                let bytes = |packets: &Vec<Packet>| {
                    let payloads = packets.iter().map(|packet| packet.payload.clone());
                    payloads.collect::<Vec<_>>()
                };
                // Of equal texts any may be the first.
                let text = &texts[number % texts.len()];
                let first = texts.iter().position(|other| other == text);
                answers.push((
                    first.expect("it is one of them"),
                    answer.as_ref().map(bytes).ok(),
                    answer,
                ));
            }
        }
        answers.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
        for (text, _, answer) in answers {
            self.exchanges.push(Exchange {
                label: texts[text].clone(),
                request: "at once",
                answer,
                masked: false,
                binary: Vec::new(),
                statement_id: None,
            });
        }
        self.current = current;
    }

    /// All packets in one write, then all answers.
    async fn run_pipeline(&mut self) {
        let texts = self.pipeline.take().unwrap_or_default();
        self.connection().await;
        let mut bytes = Vec::new();
        for text in &texts {
            encode_packet(&mut bytes, 0, &self.query_payload(text));
        }
        let connection = self.connection().await;
        if connection.lost {
            return;
        }
        let sent = connection.driver.send_raw(&bytes).await;
        sent.unwrap_or_else(|error| panic!("{error}"));
        for text in texts {
            let answer = self.connection().await.read(ResponseKind::Results).await;
            self.exchanges.push(Exchange {
                label: text,
                request: "pipelined",
                answer,
                masked: false,
                binary: Vec::new(),
                statement_id: None,
            });
        }
    }
}

impl Connection {
    async fn answer(
        &mut self,
        payload: &[u8],
        response_kind: ResponseKind,
    ) -> Result<Vec<Packet>, String> {
        if let Err(error) = self.driver.send(payload).await {
            self.lost = true;
            return Err(describe(&error));
        }
        self.read(response_kind).await
    }

    async fn read(&mut self, response_kind: ResponseKind) -> Result<Vec<Packet>, String> {
        let read = tokio::time::timeout(PATIENCE, self.read_all(response_kind)).await;
        let answer = match read {
            Ok(Ok(packets)) => return Ok(packets),
            Ok(Err(error)) => describe(&error),
            Err(_) => format!("{NO_ANSWER} within {PATIENCE:?}"),
        };
        self.lost = true;
        Err(answer)
    }

    /// The packets of an answer; a file is sent where the server asks for one.
    async fn read_all(&mut self, response_kind: ResponseKind) -> Result<Vec<Packet>, Error> {
        let mut packets = self.driver.packets(response_kind).await?;
        while let Some(last) = packets
            .last()
            .filter(|last| last.packet_kind == PacketKind::LocalInfile)
        {
            let mut out = Vec::new();
            let next = match self.infile.is_empty() {
                true => last.sequence_id.wrapping_add(1),
                false => encode_packet(&mut out, last.sequence_id.wrapping_add(1), &self.infile),
            };
            encode_packet(&mut out, next, &[]);
            self.driver.send_raw(&out).await?;
            packets.extend(self.driver.packets(response_kind).await?);
        }
        Ok(packets)
    }
}

/// The prepared statement that a command names.
fn statement_id(payload: &[u8]) -> Option<u32> {
    match payload {
        [
            command::STMT_EXECUTE | command::STMT_FETCH | command::STMT_RESET,
            a,
            b,
            c,
            d,
            ..,
        ] => Some(u32::from_le_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

/// The column definitions of an answer.
fn columns(packets: &[Packet]) -> Vec<Packet> {
    let columns = packets
        .iter()
        .filter(|packet| packet.packet_kind == PacketKind::Column);
    columns.cloned().collect()
}

/// How a conversation ended, the same for all ways in which a socket tells of a close.
fn describe(error: &Error) -> String {
    match error {
        Error::Read(_) | Error::Write(_) => "connection closed".to_owned(),
        other => other.to_string(),
    }
}

/// Status flags of the packet that ends an answer.
fn last_status(packets: &[Packet]) -> Option<u16> {
    let last = packets.last()?;
    let payload = &last.payload;
    match last.packet_kind {
        PacketKind::RowsEnd if payload.len() == 5 => {
            Some(u16::from_le_bytes([payload[3], payload[4]]))
        }
        PacketKind::RowsEnd | PacketKind::Ok => OkPacket::decode(payload).ok().map(|ok| ok.status),
        _ => None,
    }
}

fn id_payload(command_byte: u8, id: u32) -> Vec<u8> {
    let mut payload = vec![command_byte];
    payload.extend_from_slice(&id.to_le_bytes());
    payload
}

fn fetch_payload(id: u32, rows: u32) -> Vec<u8> {
    let mut payload = id_payload(command::STMT_FETCH, id);
    payload.extend_from_slice(&rows.to_le_bytes());
    payload
}

impl Value {
    /// `int<1>` type, `int<1>` flags (0x80: unsigned).
    fn field_type(&self) -> [u8; 2] {
        match self {
            Self::Null => [0x06, 0],
            Self::Tiny(_) => [0x01, 0],
            Self::Long(_) => [0x03, 0],
            Self::LongLong(_) => [0x08, 0],
            Self::Unsigned(_) => [0x08, 0x80],
            Self::Double(_) => [0x05, 0],
            Self::Decimal(_) => [0xF6, 0],
            Self::Text(_) => [0xFD, 0],
            Self::LongData => [0xFC, 0],
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null | Self::LongData => {}
            Self::Tiny(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Long(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::LongLong(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Unsigned(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Decimal(text) | Self::Text(text) => put_lenenc_bytes(out, text.as_bytes()),
        }
    }
}
