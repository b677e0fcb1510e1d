//! Answers, compared packet by packet.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use countersink::driver::Packet;
use countersink::wire::answer::Role;

use crate::case::Session;
use crate::variant::Variant;

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
}

/// Two answers that are not the same.
#[derive(Debug)]
pub struct Difference {
    pub session: String,
    pub label: String,
    variant: String,
    request: &'static str,
    detail: String,
}

impl Difference {
    pub fn new(label: &str, request: &'static str, detail: String) -> Self {
        Self {
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
            ..self
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "== {} ({})", self.session, self.variant)?;
        writeln!(formatter, "{}  [{}]", shortened(&self.label, 400), self.request)?;
        writeln!(formatter, "{}", self.detail)
    }
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
        let _ = writeln!(text, "  {times:3} x {session} | {label} [{request}] ({})", variants[0]);
    }
    text
}

/// What differs between two plays of a session.
pub fn differences(direct: &[Exchange], proxied: &[Exchange]) -> Vec<Difference> {
    let pairs = direct.iter().zip(proxied);
    let mut found: Vec<_> = pairs.filter_map(|(direct, proxied)| compare(direct, proxied)).collect();
    if direct.len() != proxied.len() {
        let detail = format!("{} exchanges directly, {} through the proxy\n", direct.len(), proxied.len());
        found.push(Difference::new("(the session)", "all", detail));
    }
    found
}

fn compare(direct: &Exchange, proxied: &Exchange) -> Option<Difference> {
    let difference = |detail| Some(Difference::new(&direct.label, direct.request, detail));
    if (&direct.label, direct.request) != (&proxied.label, proxied.request) {
        return difference(format!("the proxied side is at {} [{}]\n", proxied.label, proxied.request));
    }
    match (&direct.answer, &proxied.answer) {
        (Ok(direct_packets), Ok(proxied_packets)) => {
            let ours: Vec<_> = proxied_packets.iter().map(|packet| masked(packet, direct.masked)).collect();
            let theirs: Vec<_> = direct_packets.iter().map(|packet| masked(packet, direct.masked)).collect();
            (ours != theirs).then(|| listing(&theirs, &ours)).and_then(difference)
        }
        (Err(theirs), Err(ours)) if theirs == ours => None,
        (theirs, ours) => difference(format!("  direct  {}\n  proxied {}\n", shown(theirs), shown(ours))),
    }
}

fn shown(answer: &Result<Vec<Packet>, String>) -> String {
    match answer {
        Ok(packets) => packets.iter().map(|packet| format!("\n{}", line("", packet, 0))).collect(),
        Err(error) => error.clone(),
    }
}

/// The packet without what differs by nature.
fn masked(packet: &Packet, mask_rows: bool) -> Packet {
    let mut packet = packet.clone();
    match packet.role {
        Role::PrepareOk if packet.payload.len() >= 5 => packet.payload[1..5].fill(0),
        Role::Row if mask_rows => packet.payload.clear(),
        // COM_STATISTICS.
        Role::Other if packet.payload.starts_with(b"Uptime: ") => packet.payload.clear(),
        _ => {}
    }
    packet
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
    let equal = left.iter().zip(right).take_while(|(left, right)| left == right);
    equal.count()
}

/// A packet, from a little before byte `at`: in hex and, below, in ASCII.
fn line(side: &str, packet: &Packet, at: usize) -> String {
    const WINDOW: usize = 112;
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
        packet.role,
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
