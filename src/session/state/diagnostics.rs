//! The diagnostics that MySQL would report for the client's last statement, kept where the upstream by itself would
//! report on a later internal statement.

use std::ops::Range;

use crate::sql::diagnostics::{Number, Question};
use crate::sql::template::{Filling, Template};
use crate::wire::reader::{Reader, put_lenenc_bytes};
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::response::PacketKind;

/// Kept from one statement to the next.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    /// ROW_COUNT()
    pub row_count: i64,
    /// The response to SHOW WARNINGS, packet by packet. `None` if the upstream still has it.
    pub messages: Option<Vec<(PacketKind, Vec<u8>)>>,
    /// How many messages there are, and how many of them are errors, if that is known.
    pub counts: Option<(usize, usize)>,
    /// Answers to commands that are no statements count them.
    pub are_counted: bool,
}

impl Diagnostics {
    /// The diagnostics after a statement whose response ended in this packet.
    pub(crate) fn of(last: &[u8], messages: Option<Vec<(PacketKind, Vec<u8>)>>) -> Self {
        let (row_count, warnings) = match (last.first(), OkPacket::decode(last)) {
            (Some(&reply::OK), Ok(ok)) => {
                let count = i64::try_from(ok.affected_rows).unwrap_or(i64::MAX);
                (count, Some(usize::from(ok.warnings)))
            }
            // The old EOF.
            (Some(&reply::EOF), _) if last.len() == 5 => (
                -1,
                Some(usize::from(u16::from_le_bytes([last[1], last[2]]))),
            ),
            (Some(&reply::EOF), Ok(ok)) => (-1, Some(usize::from(ok.warnings))),
            _ => (-1, None),
        };
        let counts = match &messages {
            // Those beyond `max_error_count` are counted, and not kept.
            Some(messages) => {
                let fewest = match last.first() {
                    Some(&reply::ERR) => (1, 1),
                    _ => (warnings.unwrap_or(0), 0),
                };
                let (all, errors) = (count(messages, false), count(messages, true));
                Some((all.max(fewest.0), errors.max(fewest.1)))
            }
            None => (warnings == Some(0)).then_some((0, 0)),
        };
        Self {
            row_count,
            messages,
            counts,
            are_counted: true,
        }
    }

    /// The diagnostics after a statement that is about no rows, and has left no messages.
    pub(crate) fn of_none() -> Self {
        Self {
            row_count: 0,
            messages: None,
            counts: Some((0, 0)),
            are_counted: true,
        }
    }

    /// The diagnostics after a statement that has failed in another session, or after whose error internal statements
    /// have run: it had one message.
    pub(crate) fn of_an_error() -> Self {
        Self {
            row_count: -1,
            messages: None,
            counts: Some((1, 1)),
            are_counted: true,
        }
    }

    /// A command that is no statement has failed.
    pub(crate) fn append(&mut self, code: u16, message: &[u8]) {
        self.row_count = -1;
        self.counts = self.counts.map(|(all, errors)| (all + 1, errors + 1));
        let Some(messages) = &mut self.messages else {
            return;
        };
        let mut row = Vec::new();
        for field in [b"Error", code.to_string().as_bytes(), message] {
            put_lenenc_bytes(&mut row, field);
        }
        let end = messages.len().saturating_sub(1);
        messages.insert(end, (PacketKind::Row, row));
    }

    /// Whether the upstream still has messages, which are not kept here.
    pub(crate) fn are_upstream(&self) -> bool {
        self.messages.is_none() && self.counts != Some((0, 0))
    }

    /// Removes the messages: the statement has left none, or a later COM_STMT_PREPARE has cleared them.
    pub(crate) fn clear_messages(&mut self) {
        self.messages = None;
        self.counts = Some((0, 0));
    }

    /// A number, as a literal. `None` if the upstream still has it.
    pub(crate) fn number(&self, number: Number) -> Option<String> {
        match number {
            // In parentheses, because it may be negative.
            Number::RowCount => Some(format!("({})", self.row_count)),
            Number::Warnings => self.counts.map(|(messages, _)| unsigned(messages)),
            Number::Errors => self.counts.map(|(_, errors)| unsigned(errors)),
        }
    }

    /// The text, with the numbers that are known in the places where it asks for them.
    pub(crate) fn edited(&self, text: &[u8], places: &[(Range<usize>, Number)]) -> Vec<u8> {
        let mut edited = Template::default();
        let mut at = 0;
        for (place, which) in places {
            let value = self.number(*which).map(String::into_bytes);
            edited
                .append_apart(&Template::text(&text[at..place.start]))
                .append_apart(&Template::text(
                    value.as_deref().unwrap_or(&text[place.clone()]),
                ));
            at = place.end;
        }
        edited.append_apart(&Template::text(&text[at..]));
        let mut out = Vec::new();
        edited.render(&Filling::default(), &mut out);
        out
    }

    /// GET DIAGNOSTICS as an assignment. `None` if one of the numbers is not known, or if the assignment would clear
    /// diagnostics that the upstream must report itself.
    pub(crate) fn assigned(&self, items: &[(Vec<u8>, Number)]) -> Option<Vec<u8>> {
        if self.messages.is_none() && self.counts != Some((0, 0)) {
            return None;
        }
        let assignments = items.iter().map(|(variable, which)| {
            let value = self.number(*which)?;
            Some([variable, b" = ".as_slice(), value.as_bytes()].concat())
        });
        let assignments: Option<Vec<_>> = assignments.collect();
        Some([b"SET ".as_slice(), &assignments?.join(&b", "[..])].concat())
    }
}

fn unsigned(number: usize) -> String {
    format!("CAST({number} AS UNSIGNED)")
}

/// Counts the messages, or only those of level Error.
fn count(messages: &[(PacketKind, Vec<u8>)], errors: bool) -> usize {
    let shown = messages
        .iter()
        .filter(|(packet_kind, row)| is_shown(*packet_kind, row, errors));
    shown.count()
}

/// Whether a packet is the row of a message that is asked for.
pub(crate) fn is_shown(packet_kind: PacketKind, row: &[u8], errors: bool) -> bool {
    let level = Reader::new(row).lenenc_bytes();
    // It may be in UTF-16.
    let is_error = |level: &[u8]| {
        let letters = level.iter().copied().filter(|&byte| byte != 0);
        letters.eq(b"Error".iter().copied())
    };
    packet_kind == PacketKind::Row && (!errors || level.is_ok_and(is_error))
}

/// What a statement asks about the one before it.
#[derive(Clone, Debug)]
pub(crate) struct Asks {
    pub text: Vec<u8>,
    pub question: Question,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::status;

    fn ok(affected_rows: u64, warnings: u16) -> Vec<u8> {
        let mut payload = Vec::new();
        OkPacket {
            header: reply::OK,
            affected_rows,
            last_insert_id: 0,
            status: status::AUTOCOMMIT,
            warnings,
            tail: b"",
        }
        .encode(&mut payload);
        payload
    }

    fn message(level: &str) -> (PacketKind, Vec<u8>) {
        let length = u8::try_from(level.len()).expect("short");
        (PacketKind::Row, [&[length], level.as_bytes()].concat())
    }

    #[test]
    fn an_ok_without_warnings_tells_all_numbers() {
        let diagnostics = Diagnostics::of(&ok(3, 0), None);
        let text = b"SELECT ROW_COUNT(), @@warning_count";
        let places = [(7..18, Number::RowCount), (20..35, Number::Warnings)];
        assert_eq!(
            diagnostics.edited(text, &places),
            b"SELECT (3), CAST(0 AS UNSIGNED)"
        );
    }

    #[test]
    fn the_upstream_tells_of_warnings_that_are_not_kept() {
        let diagnostics = Diagnostics::of(&ok(3, 1), None);
        assert_eq!(diagnostics.number(Number::Warnings), None);
        assert_eq!(diagnostics.assigned(&[]), None);
        let text = b"SELECT @@error_count";
        let places = [(7..20, Number::Errors)];
        assert_eq!(diagnostics.edited(text, &places), text);
    }

    #[test]
    fn messages_that_are_kept_are_counted_by_their_level() {
        let messages = vec![message("Error"), message("Warning"), message("Note")];
        let mut diagnostics = Diagnostics::of(&ok(0, 3), Some(messages));
        assert_eq!(diagnostics.counts, Some((3, 1)));
        let items = [(b"@n".to_vec(), Number::Errors)];
        let assigned = diagnostics.assigned(&items);
        assert_eq!(
            assigned.as_deref(),
            Some(&b"SET @n = CAST(1 AS UNSIGNED)"[..])
        );
        diagnostics.clear_messages();
        assert_eq!(diagnostics.counts, Some((0, 0)));
    }

    #[test]
    fn an_error_has_one_message_and_counts_no_rows() {
        let diagnostics = Diagnostics::of_an_error();
        assert_eq!(
            diagnostics.number(Number::RowCount).as_deref(),
            Some("(-1)")
        );
        assert_eq!(diagnostics.counts, Some((1, 1)));
    }
}
