//! The numbers of compressed packets.
//!
//! They count from 0 at each command, through what both sides send, and both sides check those that they receive. The
//! packets inside have numbers of their own, which servers take from these now and then, and which nobody checks.
//! Because a transport knows of no commands, the side that sends them is taken at those packets' word, and the side
//! that answers them is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::wire::packet::{HEADER_LENGTH, Header};

/// Who this side is to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends commands.
    Client,
    /// It answers them.
    Server,
}

/// Numbers what is sent.
#[derive(Debug)]
pub(super) struct Sequence {
    role: Role,
    /// What is sent next answers another command than what was sent last.
    is_other_answer: Arc<AtomicBool>,
    /// Number of the packet that is sent next.
    next: u8,
    /// Number of the packet that answers the command that was received last, or, to a client, whatever was.
    answer: u8,
    /// Number of the next packet of a command that is being received.
    command: Option<u8>,
    /// Something was received since the last packet was sent.
    has_received: bool,
    /// Number of the last packet inside, of a command.
    inside: u8,
    /// How much of that packet's payload is still to come, in bytes.
    left: usize,
}

impl Sequence {
    pub(super) fn new(role: Role, is_other_answer: Arc<AtomicBool>) -> Self {
        Self {
            role,
            is_other_answer,
            next: 0,
            answer: 0,
            command: None,
            has_received: false,
            inside: 0,
            left: 0,
        }
    }

    /// A packet with this number was received. Whether that may be, where it comes from a client.
    pub(super) fn receive(&mut self, number: u8) -> bool {
        self.has_received = true;
        let following = number.wrapping_add(1);
        if self.role == Role::Client {
            self.answer = following;
            return true;
        }
        // It may have been sent before the answer to the command before it has ended.
        let is_commands = number == 0 || self.command == Some(number);
        if is_commands {
            self.command = Some(following);
            self.answer = following;
        }
        // It goes on after something that was sent, such as the request for a file.
        let goes_on = number == self.next;
        if goes_on {
            self.next = following;
        }
        is_commands || goes_on
    }

    /// How much of `bytes`, which are sent next, goes into compressed packets with numbers one after the other. 0 if
    /// more must come before any of it can be sent.
    pub(super) fn measure(&mut self, bytes: &[u8]) -> usize {
        match self.role {
            Role::Client => self.measure_commands(bytes),
            Role::Server => self.measure_answers(bytes),
        }
    }

    /// As far as they are of one command. A packet may end later, but its header must be whole.
    fn measure_commands(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            if self.left == 0 {
                let Some(&[a, b, c, inside]) = bytes[at..].first_chunk::<HEADER_LENGTH>() else {
                    break;
                };
                // A file of more than 255 packets has number 0 as well.
                let is_command = inside == 0 && (self.inside != 255 || self.has_received);
                if is_command && at > 0 {
                    return at;
                }
                if is_command {
                    self.next = 0;
                } else if self.has_received {
                    self.next = self.answer;
                }
                self.has_received = false;
                self.inside = inside;
                self.left = u32::from_le_bytes([a, b, c, 0]) as usize;
                at += HEADER_LENGTH;
            }
            let part = self.left.min(bytes.len() - at);
            self.left -= part;
            at += part;
        }
        at
    }

    /// As far as packets are whole: mysql-connector-python, for one, cannot read a packet that is in more than two
    /// compressed ones, and servers do not send it such.
    fn measure_answers(&mut self, bytes: &[u8]) -> usize {
        let mut whole = 0;
        while let Some(header) = Header::decode(&bytes[whole..])
            && header.packet_length() <= bytes.len() - whole
        {
            whole += header.packet_length();
        }
        if whole > 0 && self.is_other_answer.swap(false, Ordering::Relaxed) {
            self.next = self.answer;
            self.command = None;
        }
        whole
    }

    /// Gives a compressed packet its number.
    pub(super) fn send(&mut self) -> u8 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }
}
