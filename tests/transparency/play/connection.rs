//! A connection of a session: what is sent on it, and what is answered until it fails.

use std::collections::BTreeMap;
use std::time::Duration;

use countersink::driver::{Driver, Error, Packet};
use countersink::wire::packet::encode_packet;
use countersink::wire::response::{PacketKind, ResponseKind};

use super::NO_ANSWER;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Connection {
    pub(super) driver: Driver,
    /// Prepared statements by name.
    pub(super) statements: BTreeMap<String, Prepared>,
    /// The file to send.
    pub(super) infile: Vec<u8>,
    /// The conversation has failed; nothing more is sent.
    pub(super) lost: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Prepared {
    pub(super) id: u32,
}

impl Connection {
    pub(super) async fn answer(
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

    pub(super) async fn read(
        &mut self,
        response_kind: ResponseKind,
    ) -> Result<Vec<Packet>, String> {
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

/// How a conversation ended, the same for all ways in which a socket tells of a close.
fn describe(error: &Error) -> String {
    match error {
        Error::Read(_) | Error::Write(_) => "connection closed".to_owned(),
        other => other.to_string(),
    }
}
