//! Answers, compared packet by packet, and what a difference is about.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use countersink::driver::Packet;
use countersink::wire::reader::Reader;
use countersink::wire::reply::Ok as OkPacket;
use countersink::wire::response::PacketKind;
use countersink::wire::status;

use crate::case::Session;
use crate::play;
use crate::variant::{Protocol, Variant};

/// A request and its answer.
#[derive(Debug)]
pub struct Exchange {
    /// The statement or command.
    pub label: String,
    /// What was sent for it: `query`, `prepare`, `execute`, `fetch` ..
    pub request: &'static str,
    /// The packets, or how the conversation ended.
    pub answer: Result<Vec<Packet>, String>,
    /// The rows differ by nature.
    pub masked: bool,
    /// The definitions of the columns whose binary rows these are; none in the text protocol.
    pub binary: Vec<Packet>,
    /// The prepared statement that the request names: servers number them as they like, and errors tell the number.
    pub statement_id: Option<u32>,
}

/// Two answers that are not the same.
#[derive(Debug)]
pub struct Difference {
    pub session: String,
    pub label: String,
    /// What it is about.
    pub aspects: BTreeSet<Aspect>,
    /// The variant plays with cursors.
    pub cursor: bool,
    variant: String,
    request: &'static str,
    detail: String,
}

/// What two packets differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// Column definitions: the flags that tell of keys, defaults and the like.
    KeyFlags,
    /// Column definitions: what a temporary table between makes of an expression: its original name is its name,
    /// its schema is gone, it is no longer BINARY; or of a column: its original table is the derived one.
    TemporaryTable,
    /// The same, and an INT has become a BIGINT, or the other way round (in binary rows too).
    IntegerType,
    /// Status flags: no index, or no good one, was used.
    IndexFlags,
    /// The rest of a column definition.
    Definition,
    /// Rows.
    Rows,
    /// Anything else.
    Other,
}

impl Difference {
    pub fn new(label: &str, request: &'static str, detail: String) -> Self {
        Self {
            aspects: BTreeSet::from([Aspect::Other]),
            cursor: false,
            session: String::new(),
            label: label.to_owned(),
            variant: String::new(),
            request,
            detail,
        }
    }

    /// The same with its place.
    pub fn of(self, session: &Session, variant: &Variant) -> Self {
        Self {
            session: session.name.clone(),
            variant: variant.to_string(),
            cursor: variant.protocol == Protocol::Cursor,
            ..self
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "== {} ({})", self.session, self.variant)?;
        writeln!(
            formatter,
            "{}  [{}]",
            shortened(&self.label, 400),
            self.request
        )?;
        writeln!(formatter, "{}", self.detail)
    }
}

/// The first difference of each statement, so many statements.
pub fn one_of_each(found: &[Difference], most: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let mut shown = Vec::new();
    for one in found {
        let statement = (&one.session, &one.label);
        if shown.len() < most && !seen.contains(&statement) {
            seen.push(statement);
            shown.push(one.to_string());
        }
    }
    shown
}

/// How often each statement differs, and in which variants.
pub fn summary(found: &[Difference]) -> String {
    let mut by_statement: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for one in found {
        let key = (one.session.as_str(), one.label.as_str(), one.request);
        by_statement.entry(key).or_default().push(&one.variant);
    }
    let mut text = String::new();
    for ((session, label, request), variants) in by_statement {
        let label = shortened(label, 100).replace('\n', " ");
        let times = variants.len();
        let _ = writeln!(
            text,
            "  {times:3} x {session} | {label} [{request}] ({})",
            variants[0]
        );
    }
    text
}

/// What differs between two plays of a session.
pub fn differences(direct: &[Exchange], proxied: &[Exchange]) -> Vec<Difference> {
    let pairs = direct.iter().zip(proxied);
    let mut found: Vec<_> = pairs
        .filter_map(|(direct, proxied)| compare(direct, proxied))
        .collect();
    if direct.len() != proxied.len() {
        let detail = format!(
            "{} exchanges directly, {} through the proxy\n",
            direct.len(),
            proxied.len()
        );
        found.push(Difference::new("(the session)", "all", detail));
    }
    found
}

fn compare(direct: &Exchange, proxied: &Exchange) -> Option<Difference> {
    let difference = |detail| Some(Difference::new(&direct.label, direct.request, detail));
    if (&direct.label, direct.request) != (&proxied.label, proxied.request) {
        return difference(format!(
            "the proxied side is at {} [{}]\n",
            proxied.label, proxied.request
        ));
    }
    // Both sides are read by the same tracker: where it waits for what the server does not send, they do not differ.
    if direct
        .answer
        .as_ref()
        .is_err_and(|error| error.starts_with(play::NO_ANSWER))
    {
        return difference(
            "the answer that the server itself gave was not understood\n".to_owned(),
        );
    }
    match (&direct.answer, &proxied.answer) {
        (Ok(direct_packets), Ok(proxied_packets)) => {
            let theirs: Vec<_> = direct_packets
                .iter()
                .map(|packet| direct.masked(packet))
                .collect();
            let ours: Vec<_> = proxied_packets
                .iter()
                .map(|packet| proxied.masked(packet))
                .collect();
            let different = (ours != theirs)
                .then(|| listing(&theirs, &ours))
                .and_then(difference)?;
            Some(Difference {
                aspects: aspects((&theirs, &direct.binary), (&ours, &proxied.binary)),
                ..different
            })
        }
        (Err(theirs), Err(ours)) if theirs == ours => None,
        (theirs, ours) => difference(format!(
            "  direct  {}\n  proxied {}\n",
            shown(theirs),
            shown(ours)
        )),
    }
}

/// Each side is an answer and the definitions of its binary rows.
fn aspects(direct: (&[Packet], &[Packet]), proxied: (&[Packet], &[Packet])) -> BTreeSet<Aspect> {
    if direct.0.len() != proxied.0.len() {
        return BTreeSet::from([Aspect::Other]);
    }
    let pairs = direct
        .0
        .iter()
        .zip(proxied.0)
        .filter(|(theirs, ours)| theirs != ours);
    pairs
        .map(|(theirs, ours)| {
            match (
                binary_values(theirs, direct.1),
                binary_values(ours, proxied.1),
            ) {
                // Other types, as the definitions said, and the same values.
                (Some(theirs), Some(ours)) if theirs == ours => Aspect::IntegerType,
                _ => aspect(theirs, ours),
            }
        })
        .collect()
}

/// The values of a binary row, integers of all types alike; `None` where that is not known.
fn binary_values(row: &Packet, columns: &[Packet]) -> Option<Vec<Option<Vec<u8>>>> {
    use countersink::wire::column::field_type::{
        DOUBLE, FLOAT, INT24, LONG, LONGLONG, SHORT, TINY, YEAR,
    };
    if row.packet_kind != PacketKind::Row || columns.is_empty() {
        return None;
    }
    let mut reader = Reader::new(&row.payload);
    reader.u8().ok()?;
    let nulls = reader.bytes((columns.len() + 9) / 8).ok()?.to_vec();
    let columns = columns.iter().enumerate().map(|(position, column)| {
        let (byte, bit) = ((position + 2) / 8, (position + 2) % 8);
        (Definition::of(column), nulls[byte] >> bit & 1 == 1)
    });
    columns
        .map(|(column, null)| {
            let width = match column.field_type {
                _ if null => return Some(None),
                TINY => 1,
                SHORT | YEAR => 2,
                LONG | INT24 => 4,
                LONGLONG => 8,
                FLOAT => return Some(Some(reader.bytes(4).ok()?.to_vec())),
                DOUBLE => return Some(Some(reader.bytes(8).ok()?.to_vec())),
                // Strings, decimals and times have their length in front.
                _ => return Some(Some(reader.lenenc_bytes().ok()?.to_vec())),
            };
            let bytes = reader.bytes(width).ok()?;
            let negative = column.flags & 0x20 == 0 && bytes[width - 1] & 0x80 != 0;
            let mut number = [if negative { 0xFF } else { 0 }; 8];
            number[..width].copy_from_slice(bytes);
            Some(Some(number.to_vec()))
        })
        .collect()
}

fn aspect(theirs: &Packet, ours: &Packet) -> Aspect {
    if (theirs.packet_kind, theirs.sequence_id) != (ours.packet_kind, ours.sequence_id) {
        return Aspect::Other;
    }
    match theirs.packet_kind {
        PacketKind::Column => Definition::of(theirs).aspect(&Definition::of(ours)),
        PacketKind::Ok | PacketKind::RowsEnd | PacketKind::Separator
            if without_index_flags(theirs) == without_index_flags(ours) =>
        {
            Aspect::IndexFlags
        }
        PacketKind::Row => Aspect::Rows,
        _ => Aspect::Other,
    }
}

fn without_index_flags(packet: &Packet) -> Vec<u8> {
    const INDEX_FLAGS: u16 = status::QUERY_NO_GOOD_INDEX_USED | status::QUERY_NO_INDEX_USED;
    let mut payload = packet.payload.clone();
    let at = match OkPacket::decode(&payload) {
        _ if payload.len() == 5 => 3, // an EOF packet of old
        Ok(ok) => payload.len() - ok.tail.len() - 4,
        Err(_) => return payload,
    };
    let flags = u16::from_le_bytes([payload[at], payload[at + 1]]) & !INDEX_FLAGS;
    payload[at..at + 2].copy_from_slice(&flags.to_le_bytes());
    payload
}

/// A column definition, taken apart.
struct Definition {
    /// Catalog, schema, table, original table, name.
    names: Vec<Vec<u8>>,
    original_name: Vec<u8>,
    character_set: u16,
    length: u32,
    field_type: u8,
    flags: u16,
    decimals: u8,
}

impl Definition {
    /// PRI_KEY, UNIQUE_KEY, MULTIPLE_KEY, AUTO_INCREMENT, NO_DEFAULT_VALUE, PART_KEY, and the servers' own GROUP or
    /// NUM.
    const KEYS: u16 = 0x0002 | 0x0004 | 0x0008 | 0x0200 | 0x1000 | 0x4000 | 0x8000;
    const BINARY: u16 = 0x0080;

    fn of(packet: &Packet) -> Self {
        Self::decode(&packet.payload).expect("a column definition")
    }

    fn decode(payload: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(payload);
        let mut name = || reader.lenenc_bytes().ok().map(<[u8]>::to_vec);
        let names = [name()?, name()?, name()?, name()?, name()?].to_vec();
        let original_name = name()?;
        reader.lenenc().ok()?;
        Some(Self {
            names,
            original_name,
            character_set: reader.u16().ok()?,
            length: reader.u32().ok()?,
            field_type: reader.u8().ok()?,
            flags: reader.u16().ok()?,
            decimals: reader.u8().ok()?,
        })
    }

    fn aspect(&self, other: &Self) -> Aspect {
        let layout = |one: &Self| (one.character_set, one.length, one.field_type, one.decimals);
        let same_flags = |but: u16| self.flags & !but == other.flags & !but;
        let mut names = (self.names.clone(), other.names.clone());
        // A column that went through a temporary table may have lost its schema.
        let lost_schema = names.0[1].is_empty() != names.1[1].is_empty();
        names.0[1].clone_from(&names.1[1]);
        // On MariaDB, a derived table that went through one stands as the column's original table.
        let is_derived = |one: &Self| one.names[3] == one.names[2];
        let lost_table = self.names[3] != other.names[3] && (is_derived(self) || is_derived(other));
        if lost_table {
            names.0[3].clone_from(&names.1[3]);
        }
        if self.names[1] != other.names[1] && !lost_schema || names.0 != names.1 {
            return Aspect::Definition;
        }
        if (lost_schema || lost_table) && layout(self) == layout(other) {
            return Aspect::TemporaryTable;
        }
        if self.original_name == other.original_name
            && layout(self) == layout(other)
            && same_flags(Self::KEYS)
        {
            return Aspect::KeyFlags;
        }
        let is_computed =
            |one: &Self| one.original_name.is_empty() || one.original_name == one.names[4];
        let same_kind =
            self.field_type == other.field_type || (is_integer(self) && is_integer(other));
        match is_computed(self)
            && is_computed(other)
            && same_kind
            && same_flags(Self::KEYS | Self::BINARY)
        {
            true if self.field_type == other.field_type => Aspect::TemporaryTable,
            true => Aspect::IntegerType,
            false => Aspect::Definition,
        }
    }
}

fn is_integer(column: &Definition) -> bool {
    use countersink::wire::column::field_type::{INT24, LONG, LONGLONG, SHORT, TINY};
    [TINY, SHORT, INT24, LONG, LONGLONG].contains(&column.field_type)
}

fn shown(answer: &Result<Vec<Packet>, String>) -> String {
    match answer {
        Ok(packets) => packets
            .iter()
            .map(|packet| format!("\n{}", line("", packet, 0)))
            .collect(),
        Err(error) => error.clone(),
    }
}

impl Exchange {
    /// The packet without what differs by nature.
    fn masked(&self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        match packet.packet_kind {
            PacketKind::PrepareOk if packet.payload.len() >= 5 => packet.payload[1..5].fill(0),
            PacketKind::Row if self.masked => packet.payload.clear(),
            PacketKind::Row => packet.payload = without_number(&packet.payload),
            // COM_STATISTICS.
            PacketKind::Other if packet.payload.starts_with(b"Uptime: ") => packet.payload.clear(),
            PacketKind::Err => packet.payload = self.without_statement_id(&packet.payload),
            PacketKind::Ok => {
                if let Some(sorted) = with_variables_in_order(&packet.payload) {
                    packet.payload = sorted;
                }
                if let Some(payload) = without_empty_changes(&packet.payload) {
                    packet.payload = payload;
                }
            }
            _ => {}
        }
        packet
    }

    /// An ERR payload with a word in place of the statement's number: `handler (8) given`, `statement (8) has`. An
    /// expression in parentheses may be the same number.
    fn without_statement_id(&self, payload: &[u8]) -> Vec<u8> {
        let Some(id) = self.statement_id else {
            return payload.to_vec();
        };
        for noun in ["handler", "statement"] {
            let numbered = format!("{noun} ({id})").into_bytes();
            let mut windows = payload.windows(numbered.len());
            if let Some(at) = windows.position(|window| window == numbered) {
                let (before, rest) = payload.split_at(at);
                let masked = format!("{noun} (its number)");
                return [before, masked.as_bytes(), &rest[numbered.len()..]].concat();
            }
        }
        payload.to_vec()
    }
}

/// A row without the number of a statement in a message of the server's: `The statement (8) has no open cursor.`
fn without_number(payload: &[u8]) -> Vec<u8> {
    const BEFORE: &[u8] = b"The statement (";
    let mut windows = payload.windows(BEFORE.len());
    let Some(start) = windows.position(|window| window == BEFORE) else {
        return payload.to_vec();
    };
    let (before, rest) = payload.split_at(start + BEFORE.len());
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut row = [before, b"its number", &rest[digits..]].concat();
    // What stands before the message is its length, in one byte.
    if let Some(length) = start.checked_sub(1) {
        row[length] = row[length].saturating_sub(u8::try_from(digits).unwrap_or(u8::MAX));
    }
    row
}

/// An OK payload with the system variables that it tells of in one order: MariaDB keeps them in a hash of addresses, so
/// that two servers of one version tell of the same in another order. `None`: it tells of none.
fn with_variables_in_order(payload: &[u8]) -> Option<Vec<u8>> {
    const SYSTEM_VARIABLES: u8 = 0;
    let ok = OkPacket::decode(payload).ok()?;
    if ok.status & status::SESSION_STATE_CHANGED == 0 {
        return None;
    }
    let mut tail = Reader::new(ok.tail);
    let _info = tail.lenenc_bytes().ok()?;
    let changes = tail.lenenc_bytes().ok()?;
    if !tail.rest().is_empty() {
        return None;
    }
    let mut entries = Vec::new();
    let mut rest = Reader::new(changes);
    while !rest.rest().is_empty() {
        let before = rest.rest();
        let kind = rest.u8().ok()?;
        rest.lenenc_bytes().ok()?;
        entries.push((kind, &before[..before.len() - rest.rest().len()]));
    }
    for run in entries.chunk_by_mut(|left, right| left.0 == right.0) {
        if run[0].0 == SYSTEM_VARIABLES {
            run.sort_unstable();
        }
    }
    let mut sorted = payload[..payload.len() - changes.len()].to_vec();
    entries
        .iter()
        .for_each(|(_, entry)| sorted.extend_from_slice(entry));
    Some(sorted)
}

/// An OK payload without the flag that the session's state has changed and the list of its changes, where that list is
/// empty. `None`: it is not.
///
/// MySQL sends such a packet when a transaction that has written ends by BEGIN, if another session has run ANALYZE
/// TABLE on that table since it was last opened. So it shows whose table was opened anew, ours or the client's, and
/// nothing that a client could use.
fn without_empty_changes(payload: &[u8]) -> Option<Vec<u8>> {
    let ok = OkPacket::decode(payload).ok()?;
    if ok.status & status::SESSION_STATE_CHANGED == 0 {
        return None;
    }
    let mut tail = Reader::new(ok.tail);
    let info = tail.lenenc_bytes().ok()?;
    if tail.rest() != [0] {
        return None;
    }
    // An empty info text is left out where nothing follows it.
    let end = match info.is_empty() {
        true => 2,
        false => 1,
    };
    let mut masked = Vec::new();
    let without = OkPacket {
        status: ok.status & !status::SESSION_STATE_CHANGED,
        tail: &ok.tail[..ok.tail.len() - end],
        ..ok
    };
    without.encode(&mut masked);
    Some(masked)
}

/// Both sides' packets; those that differ one above the other.
fn listing(direct: &[Packet], proxied: &[Packet]) -> String {
    let mut text = String::new();
    let mut equal = 0;
    for position in 0..direct.len().max(proxied.len()) {
        let (theirs, ours) = (direct.get(position), proxied.get(position));
        if theirs == ours {
            equal += 1;
            continue;
        }
        if equal > 0 {
            let _ = writeln!(text, "  = {equal} equal packets");
            equal = 0;
        }
        let at = match (theirs, ours) {
            (Some(theirs), Some(ours)) => first_difference(&theirs.payload, &ours.payload),
            _ => 0,
        };
        for (side, packet) in [("direct ", theirs), ("proxied", ours)] {
            match packet {
                Some(packet) => text.push_str(&line(side, packet, at)),
                None => {
                    let _ = writeln!(text, "  {side} -");
                }
            }
        }
    }
    text
}

fn first_difference(left: &[u8], right: &[u8]) -> usize {
    let equal = left
        .iter()
        .zip(right)
        .take_while(|(left, right)| left == right);
    equal.count()
}

/// A packet, from a little before byte `at`: in hex and, below, in ASCII.
fn line(side: &str, packet: &Packet, at: usize) -> String {
    const WINDOW: usize = 96;
    let payload = &packet.payload;
    let start = match payload.len() > WINDOW {
        true => at.saturating_sub(16).min(payload.len()),
        false => 0,
    };
    let window = &payload[start..payload.len().min(start + WINDOW)];
    let hex: Vec<_> = window.iter().map(|byte| format!("{byte:02x}")).collect();
    let ascii: String = window
        .iter()
        .map(|byte| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        })
        .collect();
    let place = match payload.len() > WINDOW {
        true => format!(", bytes {start}.."),
        false => String::new(),
    };
    format!(
        "  {side} #{} {:?}, {} bytes{place}\n      {}\n      |{ascii}|\n",
        packet.sequence_id,
        packet.packet_kind,
        payload.len(),
        hex.join(" "),
    )
}

/// The beginning of a text.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} .. ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
