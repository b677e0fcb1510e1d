use std::sync::atomic::Ordering;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

const ALGORITHMS: [Algorithm; 3] = [
    Algorithm::Zlib,
    Algorithm::Zstd { level: 3 },
    Algorithm::Zstd { level: 22 },
];

/// A compressed transport, and its peer's end.
fn compressed(role: Role, algorithm: Algorithm) -> (Compressed, DuplexStream) {
    let (transport, theirs, _) = answering(role, algorithm);
    (transport, theirs)
}

/// The same, and what is set before another command is answered.
fn answering(role: Role, algorithm: Algorithm) -> (Compressed, DuplexStream, Arc<AtomicBool>) {
    let (ours, theirs) = duplex(1 << 24);
    let other = Arc::<AtomicBool>::default();
    let transport = Compressed::new((Box::new(ours), &[]), role, algorithm, Arc::clone(&other));
    (transport, theirs, other)
}

fn packet(sequence_id: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len().to_le_bytes();
    [&length[..3], &[sequence_id], payload].concat()
}

/// A compressed packet whose contents are not.
fn outer(number: u8, plain: &[u8]) -> Vec<u8> {
    let length = plain.len().to_le_bytes();
    [&length[..3], &[number, 0, 0, 0], plain].concat()
}

async fn send(transport: &mut Compressed, bytes: &[u8]) {
    transport.write_all(bytes).await.expect("room");
    transport.flush().await.expect("room");
}

/// The numbers and lengths of the compressed packets that have been written.
async fn sent(mut peer: DuplexStream) -> Vec<(u8, usize)> {
    let mut bytes = Vec::new();
    peer.read_to_end(&mut bytes).await.expect("the end");
    let mut rest = &bytes[..];
    let mut sent = Vec::new();
    while let [a, b, c, number, _, _, _, payload @ ..] = rest {
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        sent.push((*number, length));
        rest = &payload[length..];
    }
    assert_eq!(rest, b"");
    sent
}

#[tokio::test]
async fn a_short_packet_is_not_compressed() {
    let (mut transport, mut peer) = compressed(Role::Client, Algorithm::Zlib);
    send(&mut transport, &packet(0, b"\x03SELECT 1")).await;
    let mut bytes = [0; 20];
    peer.read_exact(&mut bytes).await.expect("a packet");
    // The manual's example.
    assert_eq!(&bytes, b"\x0d\0\0\0\0\0\0\x09\0\0\0\x03SELECT 1");
}

#[tokio::test]
async fn the_manuals_example_is_read() {
    let bytes = b"\x22\0\0\0\x32\0\0\x78\x9c\xd3\x63\x60\x60\x60\x2e\x4e\xcd\x49\x4d\x2e\x51\x50\x32\x30\x34\x32\x36\x31\x35\x33\xb7\xb0\xc4\xcd\x52\x02\x00\x0c\xd1\x0a\x6c";
    let (mut transport, mut peer) = compressed(Role::Server, Algorithm::Zlib);
    peer.write_all(bytes).await.expect("room");
    let mut plain = [0; 50];
    transport.read_exact(&mut plain).await.expect("a packet");
    let text = "\u{3}select \"012345678901234567890123456789012345\"";
    assert_eq!(&plain[..], &packet(0, text.as_bytes())[..]);
}

#[tokio::test]
async fn a_file_is_numbered_after_its_request_whatever_its_packets_say() {
    let (mut client, mut server_end) = compressed(Role::Client, Algorithm::Zlib);
    send(&mut client, &packet(0, b"LOAD DATA")).await;
    server_end
        .write_all(&outer(1, &packet(1, b"file")))
        .await
        .expect("room");
    client.read_exact(&mut [0; 8]).await.expect("a request");
    send(&mut client, &packet(2, b"a")).await;
    send(&mut client, &packet(9, b"")).await;
    drop(client);
    assert_eq!(sent(server_end).await, [(0, 13), (2, 5), (3, 4)]);

    let (mut server, mut client_end, other) = answering(Role::Server, Algorithm::Zlib);
    client_end
        .write_all(&outer(0, &packet(0, b"LOAD DATA")))
        .await
        .expect("room");
    server.read_exact(&mut [0; 13]).await.expect("a command");
    other.store(true, Ordering::Relaxed);
    send(&mut server, &packet(1, b"file")).await;
    for (number, part) in [(2, packet(2, b"a")), (3, packet(3, b""))] {
        client_end
            .write_all(&outer(number, &part))
            .await
            .expect("room");
        server
            .read_exact(&mut vec![0; part.len()])
            .await
            .expect("a part");
    }
    send(&mut server, &packet(7, b"OK")).await;
    drop(server);
    assert_eq!(sent(client_end).await, [(1, 8), (4, 6)]);
}

#[tokio::test]
async fn an_answer_goes_on_whatever_its_packets_say() {
    let (mut server, mut client_end, other) = answering(Role::Server, Algorithm::Zlib);
    for _ in 0..2 {
        client_end
            .write_all(&outer(0, &packet(0, b"CALL")))
            .await
            .expect("room");
        server.read_exact(&mut [0; 8]).await.expect("a command");
        other.store(true, Ordering::Relaxed);
        send(
            &mut server,
            &[packet(1, b"row"), packet(2, b"end")].concat(),
        )
        .await;
        // A server counts on from its compressed packets at the end of each result.
        send(&mut server, &packet(2, b"OK")).await;
    }
    drop(server);
    assert_eq!(sent(client_end).await, [(1, 14), (2, 6), (1, 14), (2, 6)]);
}

#[tokio::test]
async fn a_long_command_is_answered_with_the_number_after_its_own() {
    let (mut server, mut client_end, other) = answering(Role::Server, Algorithm::Zlib);
    let command = packet(0, &[b'x'; 100]);
    for (number, part) in (0..).zip(command.chunks(30)) {
        client_end
            .write_all(&outer(number, part))
            .await
            .expect("room");
    }
    other.store(true, Ordering::Relaxed);
    server.read_exact(&mut [0; 104]).await.expect("a command");
    send(&mut server, &packet(1, b"OK")).await;
    drop(server);
    assert_eq!(sent(client_end).await, [(4, 6)]);
}

#[tokio::test]
async fn a_command_that_comes_while_another_is_answered_changes_no_number() {
    let (mut server, mut client_end, other) = answering(Role::Server, Algorithm::Zlib);
    let command = outer(0, &packet(0, b"PING"));
    client_end.write_all(&command).await.expect("room");
    server.read_exact(&mut [0; 8]).await.expect("a command");
    other.store(true, Ordering::Relaxed);
    send(&mut server, &packet(1, b"one")).await;
    client_end.write_all(&command).await.expect("room");
    server.read_exact(&mut [0; 8]).await.expect("a command");
    send(&mut server, &packet(2, b"end")).await;
    other.store(true, Ordering::Relaxed);
    send(&mut server, &packet(1, b"OK")).await;
    drop(server);
    assert_eq!(sent(client_end).await, [(1, 7), (2, 7), (1, 6)]);
}

#[tokio::test]
async fn a_command_that_is_written_behind_another_is_a_packet_of_its_own() {
    let (mut client, server_end) = compressed(Role::Client, Algorithm::Zlib);
    send(
        &mut client,
        &[packet(0, b"SET"), packet(0, b"SELECT")].concat(),
    )
    .await;
    drop(client);
    assert_eq!(sent(server_end).await, [(0, 7), (0, 10)]);
}

#[tokio::test]
async fn numbers_go_on_after_255() {
    for (role, first) in [(Role::Client, 0_u8), (Role::Server, 1)] {
        let (mut transport, peer) = compressed(role, Algorithm::Zlib);
        for at in 0..600_u16 {
            let sequence_id = u8::try_from(at % 256).expect("a byte").wrapping_add(first);
            send(&mut transport, &packet(sequence_id, b"row")).await;
        }
        drop(transport);
        let sent = sent(peer).await;
        let numbers = sent.iter().map(|(number, _)| usize::from(*number));
        assert!(numbers.eq((0..600).map(|at| at % 256)), "{role:?}");
    }
}

#[tokio::test]
async fn a_header_in_pieces_is_sent_whole() {
    let (mut client, server_end) = compressed(Role::Client, Algorithm::Zlib);
    for byte in packet(0, b"SELECT") {
        send(&mut client, &[byte]).await;
    }
    drop(client);
    let sent = sent(server_end).await;
    assert_eq!(sent[0], (0, 4));
    assert_eq!(sent.len(), 7);
}

#[tokio::test]
async fn an_answers_packets_are_never_cut() {
    for length in 1..24 {
        let (mut server, client_end) = compressed(Role::Server, Algorithm::Zlib);
        let rows = [
            packet(1, &[1; 20]),
            packet(2, &[2; 20]),
            packet(3, &[3; 20]),
        ]
        .concat();
        for piece in rows.chunks(length) {
            send(&mut server, piece).await;
        }
        drop(server);
        let sent = sent(client_end).await;
        let is_whole = |(_, length): &(u8, usize)| length % 24 == 0;
        assert!(sent.iter().all(is_whole), "{length}: {sent:?}");
    }
}

/// The thread of a session that sends a long answer has others to serve.
#[tokio::test]
async fn a_long_answer_is_compressed_in_steps() {
    const LONGEST: usize = MOST;
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd { level: 3 }] {
        for length in [STEP - 8, 5 * STEP, LONGEST - 8, LONGEST - 4, LONGEST] {
            let (mut server, client_end) = compressed(Role::Server, algorithm);
            let transport = Box::new(client_end);
            let none = Arc::<AtomicBool>::default();
            let mut client = Compressed::new((transport, &[]), Role::Client, algorithm, none);
            // Half of it compresses well.
            let noise = (0..length).map(|at| ((at * at) >> 7) as u8);
            let zeros = (0..length).map(|at| at % 4096 < 2048);
            let payload = noise
                .zip(zeros)
                .map(|(noise, zero)| if zero { 0 } else { noise });
            let payload: Vec<u8> = payload.collect();
            let short = packet(2, b"the end");
            let answer = [packet(1, &payload), short].concat();
            let turns = std::cell::Cell::new(0);
            let others = async {
                loop {
                    turns.set(turns.get() + 1);
                    tokio::task::yield_now().await;
                }
            };
            let sending = async {
                for piece in answer.chunks(300_000) {
                    server.write_all(piece).await.expect("room");
                }
                server.shutdown().await.expect("room");
            };
            tokio::select! {
                biased;
                () = sending => {}
                () = others => unreachable!(),
            }
            let steps = length / (MOST_AT_ONCE + STEP);
            assert!(turns.get() >= steps, "{length}: {} turns", turns.get());
            let mut received = Vec::new();
            client.read_to_end(&mut received).await.expect("all of it");
            assert!(received == answer, "{algorithm:?} {length}");
        }
    }
}

#[tokio::test]
async fn commands_behind_a_header_in_pieces_are_all_sent() {
    let (mut client, server_end) = compressed(Role::Client, Algorithm::Zlib);
    let commands = [packet(0, b"SET"), packet(0, b"SELECT")].concat();
    send(&mut client, &commands[..2]).await;
    send(&mut client, &commands[2..]).await;
    drop(client);
    assert_eq!(sent(server_end).await, [(0, 7), (0, 10)]);
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error() {
    let cases: [(&str, Vec<u8>); 5] = [
        ("out of order", outer(3, b"x")),
        ("no zlib", b"\x05\0\0\0\x32\0\0hello".to_vec()),
        (
            "longer than it says",
            b"\x0d\0\0\0\x02\0\0\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15".to_vec(),
        ),
        (
            "shorter than it says",
            b"\x0d\0\0\0\x32\0\0\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15".to_vec(),
        ),
        ("cut off", b"\x0d\0\0\0\x05\0\0\x78\x9c\xcb".to_vec()),
    ];
    for (what, bytes) in cases {
        let (mut server, mut client_end) = compressed(Role::Server, Algorithm::Zlib);
        client_end.write_all(&bytes).await.expect("room");
        drop(client_end);
        let read = server.read_to_end(&mut Vec::new()).await;
        assert!(read.is_err(), "{what}: {read:?}");
    }
}

/// In pieces, too, what it holds has come before its end is missed.
#[tokio::test]
async fn what_has_no_end_is_an_error() {
    let plain = packet(0, &[7; 100]);
    for (algorithm, end) in [(Algorithm::Zlib, 4), (Algorithm::Zstd { level: 3 }, 1)] {
        let mut room = vec![0; Algorithm::room(plain.len())];
        let length = algorithm
            .compress(&plain, &mut room)
            .expect("it can be compressed");
        let length = length.expect("there is room");
        for missing in [0, end] {
            let body = &room[..length - missing];
            let header = [body.len() as u8, 0, 0, 0, plain.len() as u8, 0, 0];
            let (mut server, mut client_end) = compressed(Role::Server, algorithm);
            let sending = async {
                for byte in [&header, body].concat() {
                    client_end.write_all(&[byte]).await.expect("room");
                    tokio::task::yield_now().await;
                }
                drop(client_end);
            };
            let mut read = Vec::new();
            let (result, ()) = tokio::join!(server.read_to_end(&mut read), sending);
            assert_eq!(result.is_ok(), missing == 0, "{algorithm:?}: {result:?}");
        }
    }
}

#[tokio::test]
async fn a_frame_of_zstd_that_asks_for_much_memory_is_refused() {
    // Magic number, a window of 2 GiB, and one raw block with one byte.
    let frame = b"\x28\xb5\x2f\xfd\x00\xa8\x09\0\0x";
    let length = u8::try_from(frame.len()).expect("short");
    let bytes = [&[length, 0, 0, 0, 1, 0, 0], &frame[..]].concat();
    let (mut server, mut client_end) = compressed(Role::Server, Algorithm::Zstd { level: 3 });
    client_end.write_all(&bytes).await.expect("room");
    let read = server.read(&mut [0; 8]).await;
    assert!(read.is_err(), "{read:?}");
}

#[tokio::test]
async fn an_idle_connection_holds_no_buffer() {
    let (mut server, mut client_end) = compressed(Role::Server, Algorithm::Zlib);
    client_end
        .write_all(&outer(0, b"bytes"))
        .await
        .expect("room");
    server.read_exact(&mut [0; 5]).await.expect("bytes");
    let mut room = [0; 1];
    tokio::select! {
        biased;
        _ = server.read(&mut room) => panic!("nothing was sent"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(server.input.len(), 0);
    assert_eq!(server.output.capacity(), 0);
}

/// Payloads that compress well, and such that do not.
fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        (any::<u8>(), 0..700_000_usize).prop_map(|(byte, length)| vec![byte; length]),
    ];
    prop::collection::vec(payload, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_sent_arrives(
        payloads in payloads(),
        which in 0..ALGORITHMS.len(),
        (write, room) in (1..300_000_usize, 1..100_000_usize),
        is_answer in any::<bool>(),
    ) {
        let algorithm = ALGORITHMS[which];
        let bytes: Vec<u8> = (0..).zip(&payloads).flat_map(|(at, payload)| packet(at, payload)).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let arrived = runtime.block_on(async {
            let (near, far) = duplex(50_000);
            let none = Arc::<AtomicBool>::default;
            let mut roles = [Role::Client, Role::Server];
            if is_answer {
                roles.reverse();
            }
            let mut near = Compressed::new((Box::new(near), &[]), roles[0], algorithm, none());
            let mut far = Compressed::new((Box::new(far), &[]), roles[1], algorithm, none());
            let sending = async {
                for piece in bytes.chunks(write) {
                    near.write_all(piece).await.expect("it is read");
                }
                near.shutdown().await.expect("it is read");
            };
            let receiving = async {
                let mut arrived = Vec::new();
                let mut piece = vec![0; room];
                loop {
                    match far.read(&mut piece).await.expect("it is sent") {
                        0 => return arrived,
                        read => arrived.extend_from_slice(&piece[..read]),
                    }
                }
            };
            tokio::join!(sending, receiving).1
        });
        prop_assert!(arrived == bytes);
    }

    #[test]
    fn anything_may_be_received(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        which in 0..ALGORITHMS.len(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (mut client, mut server_end) = compressed(Role::Client, ALGORITHMS[which]);
            server_end.write_all(&bytes).await.expect("room");
            drop(server_end);
            client.read_to_end(&mut Vec::new()).await.ok();
        });
    }
}
