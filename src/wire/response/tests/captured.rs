//! Responses captured from real servers, cut at every byte.
//!
//! `tests/proxy/golden/responses.rs` captures them. With COUNTERSINK_REGENERATE=1, this test writes what the tracker
//! reports into their files. Read the difference before you commit it.

use super::case::cases;
use super::replay::{told_in_pieces, told_whole};
use crate::wire::response::ResponseKind;

/// Runs `check` for each captured response and each set of capabilities, with its name, kind, capabilities and bytes.
fn for_each(check: impl Fn(&str, ResponseKind, u64, &[u8])) {
    for case in cases() {
        for response in &case.responses {
            for capabilities in &response.capabilities {
                let name = format!("{}, {}", case.name(), response.server);
                check(
                    &name,
                    case.response_kind(),
                    *capabilities,
                    &response.stream(),
                );
            }
        }
    }
}

#[test]
fn a_captured_response_is_what_its_file_says() {
    for case in cases() {
        if std::env::var_os("COUNTERSINK_REGENERATE").is_some() {
            case.write();
            continue;
        }
        for response in &case.responses {
            for capabilities in &response.capabilities {
                assert_eq!(
                    response.described(case.response_kind(), *capabilities),
                    response.expected,
                    "{}, {}: the file says otherwise; COUNTERSINK_REGENERATE=1 writes it",
                    case.name(),
                    response.server
                );
            }
        }
    }
}

#[test]
fn a_captured_response_in_any_two_pieces_is_the_same() {
    for_each(|name, response_kind, capabilities, stream| {
        let whole = told_whole(response_kind, capabilities, stream).expect("a response");
        assert_eq!(whole.end, Some(stream.len()), "{name}: all of it is one");
        for cut in 0..=stream.len() {
            let told = told_in_pieces(response_kind, capabilities, stream, [cut, stream.len()]);
            assert_eq!(told.as_ref(), Ok(&whole), "{name}, cut at {cut}");
        }
    });
}

#[test]
fn a_captured_response_byte_by_byte_is_the_same() {
    for_each(|name, response_kind, capabilities, stream| {
        let whole = told_whole(response_kind, capabilities, stream);
        let told = told_in_pieces(response_kind, capabilities, stream, 0..=stream.len());
        assert_eq!(told, whole, "{name}");
    });
}

#[test]
fn a_captured_response_does_not_end_early() {
    for_each(|name, response_kind, capabilities, stream| {
        for cut in 0..stream.len() {
            let told = told_in_pieces(response_kind, capabilities, stream, [cut]).expect("a part");
            assert_eq!(told.end, None, "{name}, cut at {cut}");
        }
    });
}
