//! Any bytes as a packet: each decoder of `wire`, and what is made of a packet that it has read.
//!
//! A decoder may refuse a packet, and that is all. What it accepts must mean the same after it has been edited or
//! encoded again, and an edit must leave all other bytes as they came.

mod commands;
mod handshakes;
mod replies;
mod rows;

use crate::input::Input;

/// The decoders, by the number that an input has for them. Each gets capabilities and a payload.
const DECODERS: [fn(u64, &[u8]); 13] = [
    handshakes::initial_handshake,
    handshakes::handshake_response,
    handshakes::change_user,
    handshakes::plugin_request,
    commands::execute,
    commands::bulk_execute,
    commands::attributes,
    rows::definitions,
    rows::row_encoder,
    rows::text_row,
    replies::ok,
    replies::err,
    replies::session_state,
];

/// An input: `int<1>` decoder, `int<5>` capabilities, the payload.
///
/// # Panics
///
/// If a decoder or an edit of what it has read shows a bug.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let decoder = usize::from(input.byte()) % DECODERS.len();
    let capabilities = input.capabilities();
    DECODERS[decoder](capabilities, input.0);
}

/// A packet for each decoder.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let payloads: [&[&[u8]]; DECODERS.len()] = [
        handshakes::INITIAL_HANDSHAKES,
        handshakes::RESPONSES,
        handshakes::CHANGES_OF_USER,
        &[b"\xfesha256_password\0 0123456789abcdefghi\0", b"\xfe"],
        commands::EXECUTES,
        commands::BULK_EXECUTES,
        commands::ATTRIBUTES,
        rows::DEFINITIONS,
        rows::ROWS,
        &[b"\x03one\xfb\x00\x05three", b"\xfc\x04\x00long\xfb"],
        replies::OKS,
        &[
            b"\xff\x28\x04#42000You have an error",
            b"\xff\x10\x04Too many",
        ],
        replies::OKS,
    ];
    let all = [0xff; 5];
    let mut seeds = Vec::new();
    for (decoder, payloads) in (0_u8..).zip(payloads) {
        for payload in payloads {
            for capabilities in [all, [0x8d, 0xa2, 0x1b, 0, 0]] {
                seeds.push([&[decoder], &capabilities[..], payload].concat());
            }
        }
    }
    seeds
}

/// Where two payloads of one length differ.
fn differences(one: &[u8], other: &[u8]) -> Vec<usize> {
    assert_eq!(one.len(), other.len(), "of one length");
    let pairs = one.iter().zip(other).enumerate();
    pairs
        .filter_map(|(at, (byte, other))| (byte != other).then_some(at))
        .collect()
}
