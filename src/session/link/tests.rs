//! Tests of a link between a scripted client and a scripted upstream, in memory.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::Link;
use super::internal::InternalResponse;
use super::rewrite::{ResponseContext, Rewrite};
use super::transaction_state::Tracked;
use crate::net::PacketStream;
use crate::session::error::Error;
use crate::wire::capability;
use crate::wire::command::query_payload;
use crate::wire::packet::encode_packet;
use crate::wire::response::ResponseKind;
use crate::wire::session_state::{GTIDS, TransactionState, with_changes};
use crate::wire::status;

/// One row, `1`, without DEPRECATE_EOF.
const ONE_ROW: [&[u8]; 5] = [
    b"\x01",
    b"\x03def\x00\x00\x00\x011\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00",
    b"\xfe\x00\x00\x02\x00",
    b"\x011",
    b"\xfe\x00\x00\x02\x00",
];

const OK: &[u8] = b"\x00\x01\x00\x02\x00\x00\x00";
const TOO_LARGE: &[u8] = b"\xff\x81\x04#08S01Got a packet bigger than 'max_allowed_packet' bytes";

/// The far ends of a link.
struct Peers {
    client: DuplexStream,
    upstream: DuplexStream,
}

fn link() -> (Link, Peers) {
    link_with(0)
}

fn link_with(capabilities: u64) -> (Link, Peers) {
    let (client, near_client) = duplex(1 << 16);
    let (upstream, near_upstream) = duplex(1 << 16);
    let stream = |end: DuplexStream| PacketStream::new(Box::new(end));
    let link = Link::new(stream(near_client), stream(near_upstream), capabilities);
    (link, Peers { client, upstream })
}

/// Packets as they appear in a stream, numbered from `first`.
fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut sequence_id = first;
    for payload in payloads {
        sequence_id = encode_packet(&mut stream, sequence_id, payload);
    }
    stream
}

async fn expect(end: &mut DuplexStream, bytes: &[u8]) -> io::Result<()> {
    let mut read = vec![0; bytes.len()];
    end.read_exact(&mut read).await?;
    assert_eq!(read, bytes);
    Ok(())
}

fn context() -> ResponseContext {
    ResponseContext {
        tracked: Tracked::new(false),
        adds: TransactionState::NONE,
        following: None,
    }
}

#[tokio::test]
async fn a_command_and_its_response_pass_as_they_came() {
    let (mut link, mut peers) = link();
    let command = packets(0, &[&query_payload(b"SELECT 1", 0)]);
    let response = packets(1, &ONE_ROW);
    // Wherever the response is cut in two.
    for cut in 0..=response.len() {
        peers.client.write_all(&command).await.expect("sent");
        assert_eq!(link.pass_command().await.expect("passed"), 0);
        expect(&mut peers.upstream, &command).await.expect("there");
        let (head, rest) = response.split_at(cut);
        peers.upstream.write_all(head).await.expect("sent");
        let upstream = &mut peers.upstream;
        let (passed, sent) = tokio::join!(link.pass_response(ResponseKind::Results), async {
            tokio::task::yield_now().await;
            upstream.write_all(rest).await
        });
        sent.expect("sent");
        assert_eq!(passed.expect("passed").status(), Some(status::AUTOCOMMIT));
        expect(&mut peers.client, &response).await.expect("there");
    }
}

#[tokio::test]
async fn a_response_takes_its_place_among_others() {
    let (mut link, mut peers) = link();
    let response = packets(1, &ONE_ROW);
    peers.upstream.write_all(&response).await.expect("sent");
    let rewrite = Rewrite {
        sequence_id: 7,
        set_status: status::MORE_RESULTS_EXISTS,
        ..Rewrite::default()
    };
    let rewritten = link.pass_rewritten(ResponseKind::Results, rewrite, context());
    assert_eq!(rewritten.await.expect("passed").sequence_id, 12);
    let more: &[u8] = b"\xfe\x00\x00\x0a\x00";
    let mut expected = ONE_ROW;
    (expected[2], expected[4]) = (more, more);
    let expected = packets(7, &expected);
    expect(&mut peers.client, &expected).await.expect("there");
}

#[tokio::test]
async fn no_client_sees_the_response_to_an_internal_statement() {
    let (mut link, mut peers) = link();
    let responses = [packets(1, &ONE_ROW), packets(1, &[OK])].concat();
    peers.upstream.write_all(&responses).await.expect("sent");
    let (row, _) = link.read_internal().await.expect("read");
    assert_eq!(row, InternalResponse::Row(vec![Some(b"1".to_vec())]));
    let (ok, _) = link.read_internal().await.expect("read");
    assert_eq!(ok, InternalResponse::Ok(OK.to_vec()));
    drop(link);
    let mut seen = Vec::new();
    peers.client.read_to_end(&mut seen).await.expect("closed");
    assert!(seen.is_empty(), "{seen:?}");
}

/// The upstream must respond to commands that a client has sent ahead, whether the client is still there or not.
#[tokio::test]
async fn the_upstream_hears_of_a_client_that_has_gone_once_its_commands_have_passed() {
    let (mut link, mut peers) = link();
    peers.client.shutdown().await.expect("shut down");
    let upstream = &mut peers.upstream;
    let ((), told) = tokio::join!(
        async {
            let error = link.await_upstream().await.expect_err("it closes");
            assert!(matches!(error, Error::Upstream(_)));
        },
        async {
            let mut seen = Vec::new();
            let read =
                tokio::time::timeout(Duration::from_secs(30), upstream.read_to_end(&mut seen));
            read.await.expect("it is told").expect("read");
            upstream.shutdown().await
        }
    );
    told.expect("shut down");
    assert!(link.client_closed && link.shutdown_sent);
}

#[tokio::test]
async fn what_a_lost_upstream_has_said_last_is_the_clients_answer() {
    let (mut link, mut peers) = link();
    let word = packets(1, &[TOO_LARGE]);
    peers.upstream.write_all(&word).await.expect("sent");
    let lost = Error::NotSent(io::ErrorKind::BrokenPipe.into());
    assert_eq!(link.unsaid(&lost).await, Some((1, TOO_LARGE.to_vec())));
    // An error that was read before, for an internal statement, counts only if nothing has been sent since.
    link.note_refusal(TOO_LARGE);
    assert!(link.owes_refusal());
    link.has_answered(1);
    assert!(!link.owes_refusal());
    link.note_refusal(OK);
    assert!(!link.owes_refusal());
}

/// The tracker sees the changes in parts, whether a caller forwards the packet, rewrites it or reads it whole.
#[tokio::test]
async fn the_state_of_the_transaction_is_read_after_a_change_of_any_length() {
    let (mut link, mut peers) = link_with(capability::SESSION_TRACK);
    let state = TransactionState::READ;
    let changes = [(GTIDS, vec![b'g'; 10_000]), state.change()];
    let ok = with_changes(OK, &changes).expect("an OK");
    let response = packets(1, &[&ok]);

    peers.upstream.write_all(&response).await.expect("sent");
    let passed = link
        .pass_response(ResponseKind::Results)
        .await
        .expect("passed");
    assert_eq!(passed.transaction_state(), Some(state));
    expect(&mut peers.client, &response).await.expect("there");

    peers.upstream.write_all(&response).await.expect("sent");
    let rewrite = Rewrite {
        sequence_id: 1,
        ..Rewrite::default()
    };
    let rewritten = link.pass_rewritten(ResponseKind::Results, rewrite, context());
    let tracker = rewritten.await.expect("passed").tracker;
    assert_eq!(tracker.transaction_state(), Some(state));
    expect(&mut peers.client, &response).await.expect("there");

    peers.upstream.write_all(&response).await.expect("sent");
    let (read, tracker) = link.read_internal().await.expect("read");
    assert_eq!(read, InternalResponse::Ok(ok));
    assert_eq!(tracker.transaction_state(), Some(state));
}
