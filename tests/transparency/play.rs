//! A session, played to one server.

mod ahead;
mod connection;
mod payload;

use std::collections::BTreeMap;

use countersink::driver::Packet;
use countersink::wire::response::{PacketKind, PrepareOk, ResponseKind};
use countersink::wire::{command, status};
use countersink_sandbox::Address;

use crate::case::{Action, Session, Statement, Step};
use crate::command::Command;
use crate::difference::Exchange;
use crate::support::client::connect_as;
use crate::support::proxy::Proxy;
use crate::variant::{Protocol, Variant};
use crate::world::World;
use connection::{Connection, Prepared};
use payload::{bulk_payload, columns, fetch_payload, id_payload, last_status, statement_id};

/// How an answer starts that did not come to its end in time.
pub const NO_ANSWER: &str = "no answer";

/// Rows that a cursor gives at a time.
const FETCH: u32 = 2;

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
            let capabilities = self.variant.capabilities(self.world.flavour());
            let driver = connect_as(self.side.address(), schema, capabilities).await;
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
            Command::Bulk { name, again, rows } => {
                let id = self.id(name).await;
                let payload = bulk_payload(Prepared { id }, *again, rows);
                let label = format!("\\bulk {name}");
                let response_kind = ResponseKind::of(&payload);
                self.exchange(&label, "command", &payload, response_kind, false)
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
}
