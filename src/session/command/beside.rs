//! Commands that are no statements. On MySQL they leave what the last statement has left, and their answers count its
//! messages, but for COM_STMT_RESET, and what comes behind that.

use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::rewrite::Rewrite;
use crate::session::state::diagnostics::Diagnostics;
use crate::wire::command;
use crate::wire::reply;
use crate::wire::response::{ResponseKind, ResponseTracker};

/// Whether a command leaves the diagnostics of the last statement. MariaDB has its messages still; there the proxy
/// knows no more than ROW_COUNT(), which all but one of these change.
pub(crate) fn leaves_diagnostics(command_byte: u8, mariadb: bool) -> bool {
    match mariadb {
        true => command_byte == command::STATISTICS,
        false => {
            ResponseKind::of(&[command_byte]) == ResponseKind::Single
                && command_byte != command::RESET_CONNECTION
        }
    }
}

impl Session {
    /// Forwards the response to such a command.
    pub(crate) async fn pass_beside(&mut self, command_byte: u8) -> Result<ResponseTracker, Error> {
        // Its answer is a text.
        if command_byte == command::STATISTICS {
            return self.pass_response(ResponseKind::Single).await;
        }
        let kept = self.state.diagnostics.take();
        match kept.filter(|kept| !kept.are_upstream()) {
            Some(kept) => Box::pin(self.pass_with(kept, command_byte)).await,
            None => self.pass_response(ResponseKind::Single).await,
        }
    }

    /// Does so with the diagnostics that are kept here.
    async fn pass_with(
        &mut self,
        mut kept: Diagnostics,
        command_byte: u8,
    ) -> Result<ResponseTracker, Error> {
        let rewrite = Rewrite {
            sequence_id: 1,
            hold_last: true,
            ..Rewrite::default()
        };
        let ended = self.pass_rewritten(ResponseKind::Single, rewrite).await?;
        let Some(mut answer) = ended.held else {
            return Ok(ended.tracker);
        };
        match answer.first() {
            Some(&reply::ERR) => {
                let error = reply::Err::decode(&answer)?;
                kept.append(error.code, error.message);
            }
            first => {
                kept.row_count = match first {
                    Some(&reply::EOF) => -1,
                    _ => 0,
                };
                kept.are_counted &= command_byte != command::STMT_RESET;
                if kept.are_counted {
                    let (messages, _) = kept.counts.unwrap_or_default();
                    count_messages(&mut answer, messages);
                }
            }
        }
        self.state.diagnostics = Some(kept);
        self.send_packet(ended.sequence_id, &answer).await?;
        Ok(ended.tracker)
    }
}

/// Writes the number of messages into an OK packet without rows or an id, or into an EOF packet.
fn count_messages(answer: &mut [u8], messages: usize) {
    let count = u16::try_from(messages).unwrap_or(u16::MAX).to_le_bytes();
    let place = match answer {
        [reply::EOF, place @ .., _, _] if place.len() == 2 => place,
        [reply::OK | reply::EOF, 0, 0, _, _, a, b, ..] => {
            (*a, *b) = (count[0], count[1]);
            return;
        }
        _ => return,
    };
    place.copy_from_slice(&count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_where_the_answer_counts_them() {
        for (answer, expected) in [
            (&[0, 0, 0, 2, 0, 0, 0][..], &[0, 0, 0, 2, 0, 4, 1][..]),
            (&[0, 0, 0, 2, 0, 0, 0, 9, 9], &[0, 0, 0, 2, 0, 4, 1, 9, 9]),
            (&[0xFE, 0, 0, 2, 0, 0, 0], &[0xFE, 0, 0, 2, 0, 4, 1]),
            (&[0xFE, 0, 0, 2, 0], &[0xFE, 4, 1, 2, 0]),
            (b"Uptime: 1", b"Uptime: 1"),
        ] {
            let mut counted = answer.to_vec();
            count_messages(&mut counted, 0x104);
            assert_eq!(counted, expected);
        }
    }
}
