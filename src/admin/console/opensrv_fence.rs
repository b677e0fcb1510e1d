//! The fence between a client and opensrv-mysql.
//!
//! The crate writes result sets, and no packet of a client reaches it as it came: it frees memory that it still reads
//! when two packets arrive at once, says OK to commands that it does not know, and panics at some that are cut short.
//! So it gets a pipe of its own, a login made up here, and then one UTF-8 text at a time, each only when the response
//! to the one before has been read to its end: the pipe never holds a byte after a packet's last one. Commands that are
//! not statements are answered here. If the crate fails anyway, the connection of its client, which may have part of a
//! response, is closed; the log says why, and only its own task ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use opensrv_mysql::{AsyncMysqlIntermediary, IntermediaryOptions};
use tokio::io::{duplex, split};
use tokio::task::JoinSet;
use tokio::time::{error::Elapsed, timeout};

use super::console_session::Visit;
use super::login::{err, ok};
use super::shim::Shim;
use crate::net::{PacketStream, ReadError};
use crate::wire::capability;
use crate::wire::command;
use crate::wire::error_code::{
    ER_INVALID_CHARACTER_STRING, ER_NET_PACKET_TOO_LARGE, ER_NET_PACKETS_OUT_OF_ORDER,
    ER_NO_SUCH_TABLE, ER_UNKNOWN_COM_ERROR, ER_UNKNOWN_STMT_HANDLER, ER_UNSUPPORTED_PS,
};
use crate::wire::packet::{HEADER_LENGTH, encode_packet};
use crate::wire::response::{Next, ResponseKind, ResponseTracker};

/// The longest command, in bytes.
const LONGEST_COMMAND: usize = 64 * 1024;

/// The longest packet of the login that is made up, in bytes.
const LONGEST_GREETING: usize = 1024;

/// How much of an answer waits in the pipe, in bytes.
const PIPE: usize = 64 * 1024;

/// How long a client may do nothing.
const MOST_IDLE: Duration = Duration::from_secs(3600);

/// How long a client may take for a command that it has begun, or for taking what it has asked for.
const PATIENCE: Duration = Duration::from_secs(30);

/// For how long the client's data is still read after the last response.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why a visit has ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("client: {0}")]
    Client(#[from] ReadError),
    #[error("client: {0}")]
    Io(#[from] io::Error),
    #[error("client: nothing more within its time")]
    Late(#[from] Elapsed),
    #[error("the console's own side has failed")]
    Console,
}

/// A client that has logged in.
pub(super) struct Fence<'a> {
    client: &'a mut PacketStream,
    console: PacketStream,
    capabilities: u64,
    visit: Arc<Visit>,
    /// The crate's task; it ends with this.
    _task: JoinSet<()>,
}

/// What to do with a command.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    /// It goes to the crate as this payload, and gets an answer of this form.
    Pass(Vec<u8>, ResponseKind),
    /// It is answered so.
    Answer(Vec<u8>),
    /// It gets no answer.
    Ignore,
    Close,
}

impl<'a> Fence<'a> {
    /// Starts the crate at the other end of a pipe, and logs in there.
    pub(super) async fn new(
        client: &'a mut PacketStream,
        capabilities: u64,
        visit: Arc<Visit>,
    ) -> Result<Self, Error> {
        let (ours, theirs) = duplex(PIPE);
        let (reader, writer) = split(theirs);
        let shim = Shim(Arc::clone(&visit));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let options = IntermediaryOptions {
                process_use_statement_on_query: true,
                reject_connection_on_dbname_absence: false,
            };
            let served =
                AsyncMysqlIntermediary::run_with_options(shim, reader, writer, &options).await;
            if let Err(error) = served {
                tracing::debug!("console: {error}");
            }
        });
        let mut console = PacketStream::new(Box::new(ours));
        log_in(&mut console, capabilities).await?;
        console.scrub();
        Ok(Self {
            client,
            console,
            capabilities,
            visit,
            _task: task,
        })
    }

    /// Serves commands until the client goes.
    pub(super) async fn run(&mut self) -> Result<(), Error> {
        let mut payload = Vec::new();
        loop {
            match timeout(MOST_IDLE, self.client.fill_to(1)).await? {
                Err(ReadError::Closed) => return Ok(()),
                filled => filled?,
            }
            let read = self.client.read_payload(&mut payload, LONGEST_COMMAND);
            let sequence_id = match timeout(PATIENCE, read).await? {
                Err(ReadError::TooLong { .. }) => {
                    let text = format!("a command has at most {LONGEST_COMMAND} bytes here");
                    return self
                        .turn_away(1, &err(ER_NET_PACKET_TOO_LARGE, b"08S01", &text))
                        .await;
                }
                read => read?,
            };
            if sequence_id != 0 {
                let told = err(
                    ER_NET_PACKETS_OUT_OF_ORDER,
                    b"08S01",
                    "Got packets out of order",
                );
                return self.turn_away(sequence_id.wrapping_add(1), &told).await;
            }
            match fate(&payload, &self.visit) {
                Fate::Pass(command, response_kind) => self.pass(&command, response_kind).await?,
                Fate::Answer(answer) => self.answer(1, &answer).await?,
                Fate::Ignore => {}
                Fate::Close => return Ok(()),
            }
        }
    }

    /// Has the crate answer a command.
    async fn pass(&mut self, command: &[u8], response_kind: ResponseKind) -> Result<(), Error> {
        let mut packet = Vec::with_capacity(command.len() + HEADER_LENGTH);
        encode_packet(&mut packet, 0, command);
        if self.console.write(&packet).await.is_err() {
            return self.fail().await;
        }
        let mut tracker = ResponseTracker::new(response_kind, self.capabilities);
        // Bytes of the last packet that have not been passed on yet.
        let mut left = 0;
        while !tracker.is_done() || left > 0 {
            let buffered = self.console.buffered();
            let mut ready = 0;
            loop {
                let part = left.min(buffered.len() - ready);
                ready += part;
                left -= part;
                if left > 0 || tracker.is_done() {
                    break;
                }
                match tracker.next(&buffered[ready..]) {
                    Next::Need(_) => break,
                    Next::Packet { length, .. } => left = length,
                }
            }
            if ready > 0 {
                let forward = self.console.forward(ready, self.client);
                timeout(PATIENCE, forward).await??;
            }
            if (!tracker.is_done() || left > 0) && !matches!(self.console.fill().await, Ok(1..)) {
                return self.fail().await;
            }
        }
        Ok(())
    }

    /// The crate has gone in the middle of an answer. What the client has of it may be a part of a packet.
    async fn fail(&mut self) -> Result<(), Error> {
        tracing::warn!("console: a statement has failed; its connection is closed");
        Err(Error::Console)
    }

    async fn answer(&mut self, sequence_id: u8, payload: &[u8]) -> Result<(), Error> {
        let mut packet = Vec::new();
        encode_packet(&mut packet, sequence_id, payload);
        timeout(PATIENCE, self.client.write(&packet)).await??;
        Ok(())
    }

    /// Says why, and reads for a while what comes still: a socket that is closed over it could take the answer along.
    async fn turn_away(&mut self, sequence_id: u8, payload: &[u8]) -> Result<(), Error> {
        self.answer(sequence_id, payload).await?;
        let farewell = async {
            self.client.shutdown().await?;
            loop {
                self.client.consume(self.client.buffered().len());
                if self.client.fill().await? == 0 {
                    return io::Result::Ok(());
                }
            }
        };
        match timeout(FAREWELL, farewell).await {
            Ok(said) => Ok(said?),
            Err(_) => Ok(()),
        }
    }
}

/// Takes the crate's initial handshake and logs in there for a client that has logged in here.
async fn log_in(console: &mut PacketStream, capabilities: u64) -> Result<(), Error> {
    let mut payload = Vec::new();
    let sequence_id = console.read_payload(&mut payload, LONGEST_GREETING).await?;
    let capabilities = capability::LONG_PASSWORD
        | capability::PROTOCOL_41
        | capability::SECURE_CONNECTION
        | capability::PLUGIN_AUTH
        | capabilities & capability::DEPRECATE_EOF;
    let mut response = capabilities.to_le_bytes()[..4].to_vec();
    // Largest packet, collation, filler.
    response.extend_from_slice(&[0, 0, 0, 1, 45]);
    response.extend_from_slice(&[0; 23]);
    response.extend_from_slice(b"console\0\x01-mysql_native_password\0");
    let mut packet = Vec::new();
    encode_packet(&mut packet, sequence_id.wrapping_add(1), &response);
    console.write(&packet).await?;
    console.read_payload(&mut payload, LONGEST_GREETING).await?;
    match payload.first() {
        Some(0) => Ok(()),
        _ => Err(Error::Console),
    }
}

/// What to do with a command, by its first byte.
fn fate(payload: &[u8], visit: &Visit) -> Fate {
    const UNKNOWN: &str = "is unknown to the console, which takes statements as text";
    let unknown = |what: &str| {
        Fate::Answer(err(
            ER_UNKNOWN_COM_ERROR,
            b"08S01",
            &format!("{what} {UNKNOWN}"),
        ))
    };
    let Some((&command_byte, rest)) = payload.split_first() else {
        return unknown("an empty command");
    };
    match command_byte {
        command::QUIT => Fate::Close,
        command::PING => Fate::Answer(ok()),
        command::STATISTICS => Fate::Answer(visit.statistics().into_bytes()),
        command::STMT_CLOSE | command::STMT_SEND_LONG_DATA => Fate::Ignore,
        command::RESET_CONNECTION => {
            visit.reset();
            Fate::Answer(ok())
        }
        command::QUERY | command::INIT_DB if std::str::from_utf8(rest).is_err() => {
            let text = "the statement is not UTF-8, which is all that the console reads";
            Fate::Answer(err(ER_INVALID_CHARACTER_STRING, b"HY000", text))
        }
        // The crate answers `SELECT @@max_allowed_packet` by itself, but not if a space comes first.
        command::QUERY => Fate::Pass(
            [&[command_byte, b' '], rest].concat(),
            ResponseKind::Results,
        ),
        command::INIT_DB => Fate::Pass(payload.to_vec(), ResponseKind::Single),
        command::STMT_PREPARE => Fate::Answer(err(
            ER_UNSUPPORTED_PS,
            b"HY000",
            "the console prepares no statements; send them as text (query rather than execute)",
        )),
        command::STMT_EXECUTE | command::STMT_FETCH | command::STMT_RESET => Fate::Answer(err(
            ER_UNKNOWN_STMT_HANDLER,
            b"HY000",
            "Unknown prepared statement handler: the console prepares no statements",
        )),
        command::FIELD_LIST => Fate::Answer(err(
            ER_NO_SUCH_TABLE,
            b"42S02",
            "the console has no tables; SHOW HELP lists what it shows",
        )),
        command::CHANGE_USER => Fate::Answer(err(
            ER_UNKNOWN_COM_ERROR,
            b"08S01",
            "the console has one account; connect anew to log in again",
        )),
        command::PROCESS_KILL => unknown("COM_PROCESS_KILL (write KILL <session id>)"),
        other => unknown(&format!("command {other:#04x}")),
    }
}
