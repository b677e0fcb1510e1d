//! Words that may be anywhere in a text, in any letter case.

/// How many places are looked at together, in bytes.
const STEP: usize = 32;

/// Whether a text contains these bytes, ASCII letters in either case. `word` is not empty.
///
/// A text may be a megabyte of data, and its session's thread waits. So all places of a step are compared letter by
/// letter: one instruction of the processor compares many places, and the time is the same whatever the text.
pub fn mentions(text: &[u8], word: &[u8]) -> bool {
    let mut rest = text;
    while rest.len() >= STEP + word.len() {
        if may_begin(rest, word) && is_in(&rest[..STEP + word.len() - 1], word) {
            return true;
        }
        rest = &rest[STEP..];
    }
    is_in(rest, word)
}

/// Whether the word may begin at one of the first places. Bytes that are no letters may be taken for others.
fn may_begin(text: &[u8], word: &[u8]) -> bool {
    /// The bit that distinguishes a letter's cases.
    const CASE: u8 = 0x20;
    let mut begins = [true; STEP];
    for (offset, letter) in word.iter().enumerate() {
        let bytes = &text[offset..offset + STEP];
        for (begins, byte) in begins.iter_mut().zip(bytes) {
            *begins &= byte | CASE == letter | CASE;
        }
    }
    begins.contains(&true)
}

fn is_in(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_is_found_wherever_it_stands() {
        for length in [7, STEP, 5 * STEP] {
            for at in 0..length - 6 {
                let mut text = vec![b'e'; length];
                text[at..at + 7].copy_from_slice(b"exEcUte");
                assert!(mentions(&text, b"EXECUTE"), "at {at} of {length}");
            }
        }
        assert!(!mentions(b"EXECUT", b"EXECUTE"));
        assert!(!mentions(b"", b"XA"));
    }

    #[test]
    fn only_letters_have_cases() {
        let text = [&[b'-'; 70], &b"``tx\x7f"[..], &[b'-'; 70]].concat();
        assert!(!mentions(&text, b"@@TX_"));
        let text = [&[b'-'; 70], &b"@@tx_"[..], &[b'-'; 70]].concat();
        assert!(mentions(&text, b"@@TX_"));
    }

    proptest! {
        #[test]
        fn it_is_found_if_a_plain_search_finds_it(text in "[xXaA@`_]{0,200}", word in "[XA@_]{1,5}") {
            let plain = text.to_ascii_uppercase().contains(&word);
            prop_assert_eq!(mentions(text.as_bytes(), word.as_bytes()), plain);
        }
    }
}
