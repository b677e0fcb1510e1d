//! What a client may send once it has come in: it is answered, refused or closed, and the others are served on.

use countersink::driver::{Driver, Error, query_packet};
use countersink::wire::command;
use countersink::wire::packet::encode_packet;
use countersink::wire::reply;
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink_sandbox::Flavour;
use proptest::test_runner::{Config, TestRunner};

use crate::console::stage::{Stage, refused, stat, table};
use crate::support;

#[test]
fn commands_that_are_no_statements_are_answered_or_refused() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_commands", "").await;
        let mut operator = stage.operator().await;
        // One that was prepared and is closed: no answer is awaited.
        operator
            .send(&[command::STMT_CLOSE, 1, 0, 0, 0])
            .await
            .expect("sent");
        operator
            .send(&[command::STMT_SEND_LONG_DATA, 1, 0])
            .await
            .expect("sent");
        for (payload, expected) in [
            (&b""[..], Some(1047)),
            (&[command::PING], None),
            (&[command::RESET_CONNECTION], None),
            (&[command::FIELD_LIST, b'p', 0], Some(1146)),
            (b"\x11admin\0\0cs\0", Some(1047)),
            (&[command::STMT_PREPARE], Some(1295)),
            (b"\x16SHOW STATS", Some(1295)),
            (&[command::STMT_EXECUTE], Some(1243)),
            (
                &[command::STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0],
                Some(1243),
            ),
            (&[command::STMT_FETCH, 1, 0, 0, 0, 1, 0, 0, 0], Some(1243)),
            (&[command::STMT_RESET, 1, 0, 0, 0], Some(1243)),
            (&[command::SET_OPTION, 0, 0], Some(1047)),
            (&[command::PROCESS_KILL, 1, 0, 0, 0], Some(1047)),
            (&[command::PROCESS_INFO], Some(1047)),
            (&[command::BINLOG_DUMP, 0, 0], Some(1047)),
            (&[0x08], Some(1047)),
            (&[0x99, 1, 2, 3], Some(1047)),
            (&[0xFF], Some(1047)),
            (b"\x03SHOW STATS WHERE name = '\xff'", Some(1300)),
            (b"\x02\xc3\x28", Some(1300)),
            (&[command::INIT_DB], Some(1064)),
            (&[command::QUERY], Some(1064)),
            (b"\x02shop", None),
        ] {
            operator.send(payload).await.expect("sent");
            let packets = operator
                .packets(ResponseKind::Single)
                .await
                .expect("an answer");
            let code = match packets[0].packet_kind {
                PacketKind::Err => Some(
                    reply::Err::decode(&packets[0].payload)
                        .expect("an error")
                        .code,
                ),
                _ => None,
            };
            assert_eq!(code, expected, "{payload:02x?}");
            assert_eq!(packets[0].sequence_id, 1, "{payload:02x?}");
        }
        operator.send(&[command::STATISTICS]).await.expect("sent");
        let packets = operator
            .packets(ResponseKind::Single)
            .await
            .expect("an answer");
        assert!(packets[0].payload.starts_with(b"Uptime: "));
        assert_eq!(
            table(&mut operator, "SELECT DATABASE() AS s").await[0]["s"],
            "shop"
        );
        operator
            .send(&[command::RESET_CONNECTION])
            .await
            .expect("sent");
        operator
            .packets(ResponseKind::Single)
            .await
            .expect("an answer");
        let now = &table(&mut operator, "SELECT DATABASE() AS s").await[0]["s"];
        assert_eq!(now, "cs_console_commands");
        operator.send(&[command::QUIT]).await.expect("sent");
        assert!(
            operator.packets(ResponseKind::Single).await.is_err(),
            "it is closed"
        );
    });
}

/// The crate that writes the answers must never see two.
#[test]
fn packets_that_come_together_are_answered_one_after_the_other() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_together", "").await;
        let mut operator = stage.operator().await;
        let mut together = Vec::new();
        for number in 0..200 {
            together.extend(query_packet(&format!("SELECT {number} AS n")));
            if number % 7 == 0 {
                encode_packet(&mut together, 0, &[command::STMT_CLOSE, 1, 0, 0, 0]);
            }
        }
        // Not even where the first packet ends.
        let (first, second) = together.split_at(together.len() / 2 + 3);
        operator.send_raw(first).await.expect("sent");
        operator.send_raw(second).await.expect("sent");
        for number in 0..200_u32 {
            let packets = operator
                .packets(ResponseKind::Results)
                .await
                .expect("an answer");
            let row = packets
                .iter()
                .find(|packet| packet.packet_kind == PacketKind::Row);
            let row = &row.expect("a row").payload;
            assert_eq!(row[1..], *number.to_string().as_bytes());
        }
        assert_eq!(stat(&mut operator, "sessions").await, 0);
    });
}

#[test]
fn what_is_too_long_or_out_of_order_is_the_last() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_long", "").await;
        let long = query_packet(&format!("SELECT '{}'", "x".repeat(65_536)));
        let mut second = Vec::new();
        encode_packet(&mut second, 1, b"\x03SHOW STATS");
        for (bytes, code) in [
            (&long[..], 1153),
            (b"\xff\xff\xff\0\x03SHOW", 1153),
            (&second, 1156),
        ] {
            let mut operator = stage.operator().await;
            operator.send_raw(bytes).await.expect("sent");
            let packets = operator
                .packets(ResponseKind::Single)
                .await
                .expect("an answer");
            let error = reply::Err::decode(&packets[0].payload).expect("an error");
            assert_eq!(error.code, code);
            assert!(
                operator.packets(ResponseKind::Single).await.is_err(),
                "it is closed"
            );
        }
        // As long as may be.
        let mut operator = stage.operator().await;
        let most = format!("SELECT '{}'", "x".repeat(65_536 - 10));
        assert_eq!(most.len(), 65_535);
        let rows = table(
            &mut operator,
            &format!("{most} AS x").replacen("xxxxx", "", 1),
        )
        .await;
        assert_eq!(rows[0]["x"].len(), 65_536 - 15);
    });
}

#[test]
fn half_a_packet_and_gone() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_half", "").await;
        for half in [&b"\x20"[..], b"\x20\0\0\0", b"\x20\0\0\0\x03SHOW"] {
            let mut operator = stage.operator().await;
            operator.send_raw(half).await.expect("sent");
        }
        let mut operator = stage.operator().await;
        assert_eq!(stat(&mut operator, "paused").await, 0);
    });
}

/// Whatever comes as a command gets one answer, and the next one is answered as ever.
#[test]
fn any_bytes_get_an_answer() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_any", "").await;
        let mut operator = stage.operator().await;
        let strategy = proptest::prop_oneof![
            proptest::collection::vec(proptest::num::u8::ANY, 0..60),
            proptest::string::bytes_regex("\x03(SHOW|SELECT|KILL|EXPLAIN|SET|USE)? ?[ -~]{0,40}")
                .expect("a pattern"),
        ];
        let mut runner = TestRunner::new(Config::with_cases(1));
        for _ in 0..2000 {
            let payload = {
                use proptest::strategy::{Strategy, ValueTree};
                strategy.new_tree(&mut runner).expect("a value").current()
            };
            let command_byte = payload.first().copied().unwrap_or_default();
            let upper = String::from_utf8_lossy(&payload).to_uppercase();
            if command_byte == command::QUIT
                || upper.contains("SHUTDOWN")
                || upper.contains("PAUSE")
            {
                continue;
            }
            operator.send(&payload).await.expect("sent");
            let response_kind = match command_byte {
                command::STMT_CLOSE | command::STMT_SEND_LONG_DATA => continue,
                command::QUERY => ResponseKind::Results,
                _ => ResponseKind::Single,
            };
            let answered = operator.packets(response_kind).await;
            answered.unwrap_or_else(|error| panic!("{error} after {payload:02x?}"));
        }
        assert_eq!(refused(&mut operator, "nonsense").await.0, 1064);
        assert_eq!(stat(&mut operator, "sessions").await, 0);
    });
}

/// A client that takes no answer holds up nobody else.
#[test]
fn who_does_not_listen_holds_up_nobody() {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_console_deaf", "").await;
        let mut deaf = stage.operator().await;
        let mut many = Vec::new();
        for _ in 0..500 {
            many.extend(query_packet("SHOW REASONS"));
        }
        deaf.send_raw(&many)
            .await
            .expect("it fits into the system's buffers");
        let mut operator = stage.operator().await;
        assert_eq!(stat(&mut operator, "sessions").await, 0);
        let error: Result<(), Error> = Driver::quit(deaf).await;
        drop(error);
    });
}
