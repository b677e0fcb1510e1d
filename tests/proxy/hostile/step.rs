//! What a session consists of: a login, steps and an end, as plain data that can be shortened and printed.

use std::fmt;

use countersink::wire::packet::{MAX_PAYLOAD, encode_packet};

/// A session from its first byte to its last.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) login: Login,
    pub(super) steps: Vec<Step>,
    pub(super) end: End,
}

/// What the client says for its login.
#[derive(Clone, Debug)]
pub(super) struct Login {
    /// Capabilities, whether or not the server has them.
    pub(super) capabilities: u64,
    /// Which account: by default the one without a password.
    pub(super) user: &'static str,
    pub(super) has_schema: bool,
    pub(super) answer: AuthAnswer,
    pub(super) plugin: &'static str,
    /// The connection attributes as they go onto the wire, their length in front.
    pub(super) attributes: Vec<u8>,
    pub(super) sequence_id: u8,
    /// Asks for TLS, and goes on without.
    pub(super) asks_for_tls: bool,
    /// How much of the response is sent.
    pub(super) cut_at: Option<usize>,
    pub(super) cuts: Vec<usize>,
}

/// What answers the server's challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthAnswer {
    /// That of an account without a password.
    Empty,
    Wrong,
    /// So many bytes.
    Long(usize),
}

impl AuthAnswer {
    pub(super) fn bytes(self) -> Vec<u8> {
        match self {
            Self::Empty => Vec::new(),
            Self::Wrong => vec![0x5A; 20],
            Self::Long(length) => vec![0xA5; length],
        }
    }
}

/// A packet to send, and what is made of its answer.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// What it is, for counting.
    pub(super) kind: &'static str,
    pub(super) payload: Vec<u8>,
    /// The prepared statement of this number whose id goes into the payload, behind the command byte.
    pub(super) statement: Option<usize>,
    pub(super) sequence_id: u8,
    /// The length that the header tells, where it is not the payload's.
    pub(super) told: Option<usize>,
    /// Where the packet is cut into several writes.
    pub(super) cuts: Vec<usize>,
    /// It is sent together with the next step, before its own answer is read.
    pub(super) is_ahead: bool,
    pub(super) reading: Reading,
    /// What is sent when the server asks for a file.
    pub(super) file: LocalFile,
}

/// How much of an answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    All,
    /// So many bytes.
    Some(usize),
    Nothing,
}

/// A local file, or what a client may take for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LocalFile {
    Whole(Vec<u8>),
    /// Without the empty packet that ends it.
    BrokenOff(Vec<u8>),
    /// Its packets are numbered from here.
    Miscounted(u8, Vec<u8>),
    /// A command in its place.
    Command,
}

impl LocalFile {
    /// The packets that answer a request with this sequence id.
    pub(super) fn packets(&self, request: u8) -> Vec<u8> {
        let first = request.wrapping_add(1);
        let mut out = Vec::new();
        match self {
            Self::Whole(content) if content.is_empty() => {
                encode_packet(&mut out, first, &[]);
            }
            Self::Whole(content) => {
                let next = encode_packet(&mut out, first, content);
                encode_packet(&mut out, next, &[]);
            }
            Self::BrokenOff(content) => {
                encode_packet(&mut out, first, content);
            }
            Self::Miscounted(from, content) => {
                let next = encode_packet(&mut out, *from, content);
                encode_packet(&mut out, next, &[]);
            }
            Self::Command => {
                encode_packet(&mut out, 0, b"\x03SELECT 1");
            }
        }
        out
    }
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// COM_QUIT, and then the close of the server.
    Quit,
    /// Both directions are closed.
    Close,
    /// It closes its half, and reads to the end.
    HalfClose,
    /// The connection is reset.
    Reset,
    /// It stays where it is until the next session of the same worker is over.
    Nothing,
}

impl Step {
    /// A packet that is sent whole and in order, and whose answer is read.
    pub(super) fn new(kind: &'static str, payload: Vec<u8>) -> Self {
        Self {
            kind,
            payload,
            statement: None,
            sequence_id: 0,
            told: None,
            cuts: Vec::new(),
            is_ahead: false,
            reading: Reading::All,
            file: LocalFile::Whole(Vec::new()),
        }
    }

    /// The bytes to send, `id` being that of the prepared statement.
    pub(super) fn bytes(&self, id: Option<u32>) -> Vec<u8> {
        let mut payload = self.payload.clone();
        if let Some(id) = id
            && let Some(place) = payload.get_mut(1..5)
        {
            place.copy_from_slice(&id.to_le_bytes());
        }
        let mut out = Vec::new();
        match self.told {
            None => {
                encode_packet(&mut out, self.sequence_id, &payload);
            }
            Some(told) => {
                let [a, b, c, ..] = told.min(MAX_PAYLOAD).to_le_bytes();
                out.extend_from_slice(&[a, b, c, self.sequence_id]);
                out.extend_from_slice(&payload);
            }
        }
        out
    }
}

impl fmt::Display for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Login {
            capabilities, user, ..
        } = &self.login;
        writeln!(
            formatter,
            "login of '{user}', capabilities {capabilities:#x}, schema: {}, plugin '{}', answer {:?}, {} bytes of \
             attributes, sequence id {}, asks for TLS: {}, cut at {:?}",
            self.login.has_schema,
            self.login.plugin,
            self.login.answer,
            self.login.attributes.len(),
            self.login.sequence_id,
            self.login.asks_for_tls,
            self.login.cut_at,
        )?;
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(formatter, "{number:3} {step}")?;
        }
        writeln!(formatter, "end: {:?}", self.end)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.payload[..self.payload.len().min(200)];
        write!(formatter, "{}: {}", self.kind, shown.escape_ascii())?;
        if let Some(statement) = self.statement {
            write!(formatter, " [statement {statement}]")?;
        }
        if self.sequence_id != 0 {
            write!(formatter, " [sequence id {}]", self.sequence_id)?;
        }
        if let Some(told) = self.told {
            write!(formatter, " [told {told} bytes]")?;
        }
        if !self.cuts.is_empty() {
            write!(formatter, " [cut at {:?}]", self.cuts)?;
        }
        if self.is_ahead {
            write!(formatter, " [with the next]")?;
        }
        if self.reading != Reading::All {
            write!(formatter, " [{:?} read]", self.reading)?;
        }
        Ok(())
    }
}
