//! Plays a session on a socket, and keeps what was answered.

use std::io;
use std::time::Duration;

use countersink::driver::Packet;
use countersink::net::{Algorithm, PacketStream, Role};
use countersink::wire::handshake::InitialHandshake;
use countersink::wire::packet::{HEADER_LENGTH, Header};
use countersink::wire::response::{Next, PacketKind, PrepareOk, ResponseKind, ResponseTracker};
use countersink::wire::{capability, command, reply};
use countersink_sandbox::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::stage::SCHEMA;
use super::step::{End, Login, Reading, Session, Step};

/// How long each packet of a login is waited for, at least: nobody's locks are in its way.
const LOGIN_PATIENCE: Duration = Duration::from_secs(1);

/// The most packets that a login may take before the client gives up.
const MOST_LOGIN_PACKETS: usize = 6;

/// The level of zstd that clients ask for.
const ZSTD_LEVEL: u8 = 3;

/// What became of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) packets: Vec<Packet>,
    pub(super) end: AnswerEnd,
}

/// How far an answer was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    Whole,
    /// The connection was closed before, or within.
    Closed,
    /// No more came for as long as the client waits.
    Silence,
    /// The client did not read on.
    #[default]
    Unread,
}

/// What became of a session.
#[derive(Debug)]
pub(super) struct Played {
    /// Whether the login succeeded, with the code of the error where it did not.
    pub(super) login: Result<(), Option<u16>>,
    /// By step, as far as it went.
    pub(super) answers: Vec<Answer>,
}

/// Plays the whole session. `patience` is how long each answer is waited for. Returns the connection as well, if the
/// session is left as it is.
pub(super) async fn play(
    to: &Address,
    session: &Session,
    patience: Duration,
) -> (Played, Option<Wire>) {
    let mut played = Played {
        login: Err(None),
        answers: Vec::new(),
    };
    let socket = TcpStream::connect((to.host.as_str(), to.port)).await;
    let Ok(socket) = socket else {
        return (played, None);
    };
    socket.set_nodelay(true).expect("an option");
    let mut client = Client {
        wire: Wire::Plain(socket),
        buffer: Vec::new(),
        capabilities: session.login.capabilities,
        prepared: Vec::new(),
        patience: patience.max(LOGIN_PATIENCE),
    };
    played.login = client.login(&session.login).await;
    client.patience = patience;
    if played.login.is_ok() {
        let agreed = Algorithm::agreed(client.capabilities, ZSTD_LEVEL);
        client.wire = client.wire.compressed(agreed);
        client.steps(&session.steps, &mut played.answers).await;
    }
    let left = client.end(session.end).await;
    (played, left)
}

/// What packets travel on.
pub(super) enum Wire {
    Plain(TcpStream),
    Compressed(PacketStream),
}

impl Wire {
    /// Compressed from now on, if that was agreed on.
    fn compressed(self, agreed: Option<Algorithm>) -> Self {
        match (self, agreed) {
            (Self::Plain(socket), Some(algorithm)) => {
                let mut stream = PacketStream::new(Box::new(socket));
                stream.compress(Role::Client, algorithm);
                Self::Compressed(stream)
            }
            (wire, _) => wire,
        }
    }

    fn is_compressed(&self) -> bool {
        matches!(self, Self::Compressed(_))
    }

    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read_buf(buffer).await,
            Self::Compressed(stream) => {
                let read = stream.fill().await?;
                buffer.extend_from_slice(stream.buffered());
                stream.consume(stream.buffered().len());
                Ok(read)
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.write_all(bytes).await,
            Self::Compressed(stream) => stream.write(bytes).await,
        }
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.shutdown().await,
            Self::Compressed(stream) => stream.shutdown().await,
        }
    }
}

struct Client {
    wire: Wire,
    /// What has been read, and is of no answer yet.
    buffer: Vec<u8>,
    capabilities: u64,
    /// The ids of the statements, by their number; none where it could not be prepared.
    prepared: Vec<Option<u32>>,
    patience: Duration,
}

/// Why nothing more was read.
enum Stop {
    Closed,
    Silence,
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

impl From<Stop> for AnswerEnd {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Closed => Self::Closed,
            Stop::Silence => Self::Silence,
        }
    }
}

impl Client {
    async fn login(&mut self, login: &Login) -> Result<(), Option<u16>> {
        let (_, greeting) = self.payload().await.map_err(|_| None)?;
        let Ok(greeting) = InitialHandshake::decode(&greeting) else {
            return Err(error_code(&greeting));
        };
        self.capabilities &= greeting.capabilities | capability::LONG_PASSWORD;
        // A server that can, compresses for whoever asks, even if somebody has hidden that it can.
        let compression = capability::COMPRESS | capability::ZSTD_COMPRESSION;
        let login = &Login {
            capabilities: login.capabilities & (greeting.capabilities | !compression),
            ..login.clone()
        };
        let mut out = Vec::new();
        let mut sequence_id = login.sequence_id;
        if login.asks_for_tls {
            let request = head(login.capabilities | capability::SSL);
            encode(&mut out, sequence_id, &request);
            sequence_id = sequence_id.wrapping_add(1);
        }
        encode(&mut out, sequence_id, &login_payload(login));
        if let Some(at) = login.cut_at {
            out.truncate(at);
        }
        self.write(&out, &login.cuts).await.map_err(|_| None)?;
        for _ in 0..MOST_LOGIN_PACKETS {
            let (sequence_id, payload) = self.payload().await.map_err(|_| None)?;
            match payload.first() {
                Some(&reply::OK) => return Ok(()),
                Some(&reply::ERR) => return Err(error_code(&payload)),
                // Another plugin, or another question of the same one.
                _ => {
                    let mut out = Vec::new();
                    encode(&mut out, sequence_id.wrapping_add(1), &login.answer.bytes());
                    self.write(&out, &[]).await.map_err(|_| None)?;
                }
            }
        }
        Err(None)
    }

    async fn steps(&mut self, steps: &[Step], answers: &mut Vec<Answer>) {
        let mut ahead: Vec<(&Step, Option<u32>)> = Vec::new();
        let mut bytes = Vec::new();
        let mut cuts = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let id = step
                .statement
                .map(|statement| self.prepared.get(statement).copied().flatten());
            // What was not prepared has the number that it might have had.
            let id = id.map(|id| id.unwrap_or(u32::try_from(number).expect("few steps") + 1));
            cuts.extend(step.cuts.iter().map(|cut| bytes.len() + cut));
            bytes.extend_from_slice(&step.bytes(id));
            ahead.push((step, id));
            if step.is_ahead && number + 1 < steps.len() {
                continue;
            }
            let sent = self.write(&bytes, &cuts).await;
            for (step, _) in ahead.drain(..) {
                let answer = self.answer(step).await;
                let is_over = answer.end == AnswerEnd::Closed;
                answers.push(answer);
                if is_over {
                    return;
                }
            }
            if sent.is_err() {
                return;
            }
            bytes.clear();
            cuts.clear();
        }
    }

    async fn answer(&mut self, step: &Step) -> Answer {
        let mut answer = Answer::default();
        match step.reading {
            Reading::Nothing => {}
            Reading::Some(bytes) => {
                while self.buffer.len() < bytes {
                    if let Err(stop) = self.fill().await {
                        answer.end = stop.into();
                        break;
                    }
                }
            }
            Reading::All => {
                answer.end = match self.read_all(step, &mut answer.packets).await {
                    Ok(()) => AnswerEnd::Whole,
                    Err(stop) => stop.into(),
                };
            }
        }
        if step.payload.first() == Some(&command::STMT_PREPARE) {
            let first = answer.packets.first();
            let ok = first.filter(|packet| packet.packet_kind == PacketKind::PrepareOk);
            let ok = ok.and_then(|packet| PrepareOk::decode(&packet.payload).ok());
            self.prepared.push(ok.map(|ok| ok.statement_id));
        }
        answer
    }

    async fn read_all(&mut self, step: &Step, packets: &mut Vec<Packet>) -> Result<(), Stop> {
        let response_kind = match step.sequence_id {
            0 => ResponseKind::of(&step.payload),
            // Compressed packets have numbers of their own, and those inside mean nothing.
            _ if self.wire.is_compressed() => ResponseKind::of(&step.payload),
            // What is out of order is answered by an error, whatever it is.
            _ => ResponseKind::Single,
        };
        if step.payload == [command::QUIT] && step.sequence_id == 0 {
            self.fill().await?;
            return Ok(());
        }
        let mut tracker = ResponseTracker::new(response_kind, self.capabilities);
        while !tracker.is_done() {
            let packet_kind = loop {
                match tracker.next(&self.buffer) {
                    Next::Need(length) => {
                        while self.buffer.len() < length {
                            self.fill().await?;
                        }
                    }
                    Next::Packet { packet_kind, .. } => break packet_kind,
                }
            };
            let (sequence_id, payload) = self.payload().await?;
            tracker.read_whole(&payload);
            let asks_to_log_in = response_kind == ResponseKind::Authentication
                && !matches!(payload.first(), Some(&reply::OK | &reply::ERR));
            packets.push(Packet {
                packet_kind,
                // Servers take it from the compressed packets, whose number is chance.
                sequence_id: match self.wire.is_compressed() {
                    true => 0,
                    false => sequence_id,
                },
                payload,
            });
            if packet_kind == PacketKind::LocalInfile {
                self.write(&step.file.packets(sequence_id), &[]).await?;
            }
            if asks_to_log_in && packets.len() < MOST_LOGIN_PACKETS {
                let mut out = Vec::new();
                encode(&mut out, sequence_id.wrapping_add(1), &[]);
                self.write(&out, &[]).await?;
                tracker = ResponseTracker::new(response_kind, self.capabilities);
            }
        }
        Ok(())
    }

    /// The next payload, in however many packets, and the sequence id of the last one.
    async fn payload(&mut self) -> Result<(u8, Vec<u8>), Stop> {
        let mut payload = Vec::new();
        loop {
            while self.buffer.len() < HEADER_LENGTH {
                self.fill().await?;
            }
            let header = Header::decode(&self.buffer).expect("it is there");
            while self.buffer.len() < header.packet_length() {
                self.fill().await?;
            }
            payload.extend_from_slice(&self.buffer[HEADER_LENGTH..header.packet_length()]);
            self.buffer.drain(..header.packet_length());
            if !header.is_continued() {
                return Ok((header.sequence_id, payload));
            }
        }
    }

    async fn fill(&mut self) -> Result<(), Stop> {
        let read = self.wire.read(&mut self.buffer);
        match tokio::time::timeout(self.patience, read).await {
            Ok(Ok(1..)) => Ok(()),
            Ok(Ok(0) | Err(_)) => Err(Stop::Closed),
            Err(_) => Err(Stop::Silence),
        }
    }

    /// Writes in pieces that end at `cuts`. A peer that does not read is waited for as long as for an answer.
    async fn write(&mut self, bytes: &[u8], cuts: &[usize]) -> Result<(), Stop> {
        let mut from = 0;
        for to in cuts.iter().copied().chain([bytes.len()]) {
            let to = to.clamp(from, bytes.len());
            let written = self.wire.write(&bytes[from..to]);
            match tokio::time::timeout(self.patience, written).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Stop::Closed),
                Err(_) => return Err(Stop::Silence),
            }
            tokio::task::yield_now().await;
            from = to;
        }
        Ok(())
    }

    async fn end(mut self, end: End) -> Option<Wire> {
        match end {
            End::Quit => {
                let mut out = Vec::new();
                encode(&mut out, 0, &[command::QUIT]);
                self.write(&out, &[]).await.ok();
                self.read_to_the_end().await;
            }
            End::Close => {}
            End::HalfClose => {
                self.wire.shutdown().await.ok();
                self.read_to_the_end().await;
            }
            End::Reset => {
                // The socket below compressed packets cannot be reached, and is closed.
                if let Wire::Plain(socket) = &self.wire {
                    let socket = socket2::SockRef::from(socket);
                    socket.set_linger(Some(Duration::ZERO)).expect("an option");
                }
            }
            End::Nothing => return Some(self.wire),
        }
        None
    }

    async fn read_to_the_end(&mut self) {
        while self.fill().await.is_ok() {
            self.buffer.clear();
        }
    }
}

fn encode(out: &mut Vec<u8>, sequence_id: u8, payload: &[u8]) {
    countersink::wire::packet::encode_packet(out, sequence_id, payload);
}

/// The fields before the user name (manual: "Protocol::SSLRequest").
fn head(capabilities: u64) -> Vec<u8> {
    let bytes = capabilities.to_le_bytes();
    let (lower, upper) = bytes.split_at(4);
    let mut payload = lower.to_vec();
    payload.extend_from_slice(&(1_u32 << 30).to_le_bytes());
    payload.push(45);
    payload.extend_from_slice(&[0; 19]);
    payload.extend_from_slice(upper);
    payload
}

/// Manual: "Protocol::HandshakeResponse41".
fn login_payload(login: &Login) -> Vec<u8> {
    let has = |flag| login.capabilities & flag != 0;
    let mut payload = head(login.capabilities);
    payload.extend_from_slice(login.user.as_bytes());
    payload.push(0);
    let answer = login.answer.bytes();
    if has(capability::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
        countersink::wire::reader::put_lenenc_bytes(&mut payload, &answer);
    } else {
        payload.push(u8::try_from(answer.len()).unwrap_or(u8::MAX));
        payload.extend_from_slice(&answer);
    }
    if has(capability::CONNECT_WITH_DB) {
        if login.has_schema {
            payload.extend_from_slice(SCHEMA);
        }
        payload.push(0);
    }
    if has(capability::PLUGIN_AUTH) {
        payload.extend_from_slice(login.plugin.as_bytes());
        payload.push(0);
    }
    if has(capability::CONNECT_ATTRS) {
        payload.extend_from_slice(&login.attributes);
    }
    if has(capability::ZSTD_COMPRESSION) {
        payload.push(ZSTD_LEVEL);
    }
    payload
}

fn error_code(payload: &[u8]) -> Option<u16> {
    reply::Err::decode(payload).ok().map(|error| error.code)
}
