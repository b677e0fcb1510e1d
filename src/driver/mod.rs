//! A MySQL client on the proxy's own wire code, for the demo, the benchmarks and the tests. It uses less CPU than the
//! server that it drives, and returns every packet as it came.
//!
//! It can log in with mysql_native_password or caching_sha2_password. It does not support TLS.

mod login;

use std::io;

use crate::net::{PacketStream, ReadError};
use crate::wire::capability;
use crate::wire::column::text_row;
use crate::wire::command;
use crate::wire::packet::encode_packet;
use crate::wire::reader::Malformed;
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::response::{Next, PacketKind, ResponseKind, ResponseTracker};

pub use login::Login;

/// Maximum length of one payload in a response, in bytes.
const LARGEST_PACKET: usize = 1 << 30;

/// A connection to a server.
pub struct Driver {
    stream: PacketStream,
    capabilities: u64,
    thread_id: u32,
    scratch: Vec<u8>,
}

/// Why the connection can no longer be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection was closed or lost, or a packet is too long.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A write failed.
    #[error("connection lost: {0}")]
    Write(#[from] io::Error),
    /// The server sent a malformed packet.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The server refused the login.
    #[error("login refused: {0}")]
    Login(ServerError),
    /// The server requires something that this client does not support.
    #[error("the server asks for {0}, which this client does not speak")]
    Unsupported(String),
}

/// An ERR packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ERROR {code}: {message}")]
pub struct ServerError {
    /// Error code.
    pub code: u16,
    /// The message.
    pub message: String,
}

/// A packet of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its kind.
    pub packet_kind: PacketKind,
    /// Its sequence id; the last one if the payload spans several packets.
    pub sequence_id: u8,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The result of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// OK, with the number of affected rows.
    Ok(u64),
    /// Rows in the text protocol; `None` is NULL.
    Rows(Vec<Vec<Option<Vec<u8>>>>),
    /// ERR.
    Err(ServerError),
}

impl Driver {
    /// The capabilities that [`Login::new`] requests.
    pub const CAPABILITIES: u64 = capability::LONG_PASSWORD
        | capability::PROTOCOL_41
        | capability::TRANSACTIONS
        | capability::SECURE_CONNECTION
        | capability::MULTI_RESULTS
        | capability::PS_MULTI_RESULTS
        | capability::PLUGIN_AUTH
        | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
        | capability::DEPRECATE_EOF;

    /// The connection id that the server assigned.
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// The capabilities that client and server have agreed on.
    pub fn capabilities(&self) -> u64 {
        self.capabilities
    }

    /// Sends a command, whose payload begins with the command byte.
    pub async fn send(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.scratch.clear();
        encode_packet(&mut self.scratch, 0, payload);
        Ok(self.stream.write(&self.scratch).await?)
    }

    /// Sends bytes, which need not be packets.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.stream.write(bytes).await?)
    }

    /// Reads a response of this kind, packet by packet. Stops after a request for a local file.
    pub async fn packets(&mut self, response_kind: ResponseKind) -> Result<Vec<Packet>, Error> {
        let mut tracker = ResponseTracker::new(response_kind, self.capabilities);
        let mut packets = Vec::new();
        while !tracker.is_done() {
            let packet = self.packet(&mut tracker).await?;
            let stop = packet.packet_kind == PacketKind::LocalInfile;
            packets.push(packet);
            if stop {
                break;
            }
        }
        Ok(packets)
    }

    async fn packet(&mut self, tracker: &mut ResponseTracker) -> Result<Packet, Error> {
        loop {
            match tracker.next(self.stream.buffered()) {
                Next::Need(_) => {
                    let length = self.stream.buffered().len();
                    self.stream.fill_to(length + 1).await?;
                }
                Next::Packet { packet_kind, .. } => {
                    let mut payload = Vec::new();
                    let sequence_id = self
                        .stream
                        .read_payload(&mut payload, LARGEST_PACKET)
                        .await?;
                    tracker.read_whole(&payload);
                    return Ok(Packet {
                        packet_kind,
                        sequence_id,
                        payload,
                    });
                }
            }
        }
    }

    /// The payload of a COM_QUERY with this text.
    pub fn query_payload(&self, text: &str) -> Vec<u8> {
        let mut payload = vec![command::QUERY];
        if self.capabilities & capability::QUERY_ATTRIBUTES != 0 {
            payload.extend_from_slice(&[0, 1]);
        }
        payload.extend_from_slice(text.as_bytes());
        payload
    }

    /// Runs a statement and returns its result; the first one, if there are several.
    pub async fn query(&mut self, text: &str) -> Result<Reply, Error> {
        let payload = self.query_payload(text);
        self.send(&payload).await?;
        let mut rows = Vec::new();
        let mut reply = None;
        for packet in self.packets(ResponseKind::Results).await? {
            match packet.packet_kind {
                PacketKind::Row => rows.push(text_row(&packet.payload)?),
                PacketKind::Ok => {
                    let ok = OkPacket::decode(&packet.payload)?;
                    reply.get_or_insert(Reply::Ok(ok.affected_rows));
                }
                PacketKind::Err => reply = Some(Reply::Err(server_error(&packet.payload)?)),
                PacketKind::RowsEnd => {
                    reply.get_or_insert(Reply::Rows(std::mem::take(&mut rows)));
                }
                _ => {}
            }
        }
        reply.ok_or(Error::Malformed(Malformed))
    }

    /// Sends a packet and reads the response without keeping it: the cheapest round trip, without allocation. Returns
    /// whether the response succeeded, that is, contained no ERR. The server must not ask for a local file.
    pub async fn round_trip(
        &mut self,
        packet: &[u8],
        response_kind: ResponseKind,
    ) -> Result<bool, Error> {
        self.exchange(packet, response_kind, None).await
    }

    /// Like [`Driver::round_trip`], but returns the server's error if there was one.
    pub async fn refusal(
        &mut self,
        packet: &[u8],
        response_kind: ResponseKind,
    ) -> Result<Option<ServerError>, Error> {
        let mut refused = Vec::new();
        match self
            .exchange(packet, response_kind, Some(&mut refused))
            .await?
        {
            true => Ok(None),
            false => Ok(Some(server_error(&refused)?)),
        }
    }

    /// Returns whether the response contained no ERR. The payload of an ERR goes to `refused`, if given.
    async fn exchange(
        &mut self,
        packet: &[u8],
        response_kind: ResponseKind,
        mut refused: Option<&mut Vec<u8>>,
    ) -> Result<bool, Error> {
        self.stream.write(packet).await?;
        let mut tracker = ResponseTracker::new(response_kind, self.capabilities);
        while !tracker.is_done() {
            match (tracker.next(self.stream.buffered()), refused.as_deref_mut()) {
                (Next::Need(length), _) => self.stream.fill_to(length).await?,
                (
                    Next::Packet {
                        packet_kind: PacketKind::Err,
                        ..
                    },
                    Some(refused),
                ) => {
                    self.stream.read_payload(refused, LARGEST_PACKET).await?;
                    tracker.read_whole(refused);
                }
                (Next::Packet { length, .. }, _) => self.skip(length).await?,
            }
        }
        Ok(tracker.error().is_none())
    }

    /// Sends COM_QUIT, so that the server does not log the connection as lost.
    pub async fn quit(mut self) -> Result<(), Error> {
        self.send(&[command::QUIT]).await?;
        Ok(self.stream.shutdown().await?)
    }

    async fn skip(&mut self, length: usize) -> Result<(), Error> {
        let mut left = length;
        while left > 0 {
            self.stream.fill_to(1).await?;
            let part = left.min(self.stream.buffered().len());
            self.stream.consume(part);
            left -= part;
        }
        Ok(())
    }
}

/// A COM_QUERY packet with this text, for [`Driver::round_trip`].
pub fn query_packet(text: &str) -> Vec<u8> {
    command_packet(command::QUERY, text.as_bytes())
}

/// The packet of a command with these arguments, for [`Driver::round_trip`].
pub fn command_packet(command_byte: u8, arguments: &[u8]) -> Vec<u8> {
    let payload = [&[command_byte], arguments].concat();
    let mut packet = Vec::new();
    encode_packet(&mut packet, 0, &payload);
    packet
}

fn server_error(payload: &[u8]) -> Result<ServerError, Malformed> {
    let err = reply::Err::decode(payload)?;
    Ok(ServerError {
        code: err.code,
        message: String::from_utf8_lossy(err.message).into_owned(),
    })
}
