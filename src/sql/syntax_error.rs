//! The server's syntax errors quote what follows in the packet, of which it is sent one statement at a time.

/// The longest text that a syntax error quotes, in bytes.
const LONGEST_QUOTATION: usize = 80;

/// A statement that was sent by itself, and what follows it in its packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Following {
    /// The statement.
    pub statement: Vec<u8>,
    /// From its semicolon on.
    pub rest: Vec<u8>,
    /// It runs texts that are not its own (PREPARE, EXECUTE, CALL), so that an error at the end of a text may be one of
    /// those.
    pub runs_others: bool,
    /// The server is MariaDB, which shows by dots that it quotes no more.
    pub mariadb: bool,
}

/// The message of a syntax error, quoting what follows as well; `None` where the quotation is none of the statement's.
pub fn quoting(message: &[u8], following: &Following) -> Option<Vec<u8>> {
    let statement = following.statement.as_slice();
    let trimmed = statement.trim_ascii_end();
    let shortest = usize::from(following.runs_others);
    let longest = trimmed.len().min(LONGEST_QUOTATION);
    // The longest first: the end of a statement may occur in the message for other reasons.
    let lengths = (shortest..=longest).rev();
    let quoted = lengths.map(|length| &trimmed[trimmed.len() - length..]);
    quoted.into_iter().find_map(|quoted| {
        let quotation = [b"'", quoted, b"'"].concat();
        let at = memchr::memmem::find(message, &quotation)? + 1;
        // At the end of a statement it is the semicolon that the server stumbles at.
        let space = match quoted.is_empty() {
            true => &[],
            false => &statement[trimmed.len()..],
        };
        let whole = [quoted, space, &following.rest].concat();
        let (before, after) = (&message[..at], &message[at + quoted.len()..]);
        Some([before, &cut(whole, following.mariadb), after].concat())
    })
}

/// As much as is quoted, in whole characters of UTF-8.
fn cut(mut text: Vec<u8>, mariadb: bool) -> Vec<u8> {
    let dots: &[u8] = if mariadb { b"..." } else { b"" };
    if text.len() > LONGEST_QUOTATION {
        let mut end = LONGEST_QUOTATION - dots.len();
        while end > 0 && text[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        text.truncate(end);
        text.extend_from_slice(dots);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(near: &str, statement: &str, rest: &str) -> Option<String> {
        quoted_by(false, near, statement, rest)
    }

    fn quoted_by(mariadb: bool, near: &str, statement: &str, rest: &str) -> Option<String> {
        let following = Following {
            statement: statement.into(),
            rest: rest.into(),
            runs_others: statement.starts_with("CALL"),
            mariadb,
        };
        let message = format!("it isn't SQL near '{near}' at line 1");
        let message = quoting(message.as_bytes(), &following)?;
        let message = String::from_utf8(message).expect("text");
        let near = message.strip_prefix("it isn't SQL near '")?;
        near.strip_suffix("' at line 1").map(str::to_owned)
    }

    #[test]
    fn a_quotation_goes_on_to_the_end_of_the_packet() {
        let cases = [
            ("= 1", "SELECT = 1", "; SELECT 2", Some("= 1; SELECT 2")),
            ("= 1", "SELECT = 1 ", "; SELECT 2", Some("= 1 ; SELECT 2")),
            ("", "SELECT 1 FROM ", "; SELECT 2", Some("; SELECT 2")),
            ("''", "SELECT 1 FROM ''", "; DO 1", Some("''; DO 1")),
            // Of another text.
            ("SELEC 1", "PREPARE s FROM 'SELEC 1'", "; DO 1", None),
            ("", "CALL p()", "; DO 1", None),
            (")", "CALL p()", "; DO 1", Some("); DO 1")),
        ];
        for (near, statement, rest, expected) in cases {
            let quoted = quoted(near, statement, rest);
            assert_eq!(quoted.as_deref(), expected, "{statement}");
        }
    }

    #[test]
    fn it_is_as_long_as_the_servers() {
        let long = "x".repeat(100);
        assert_eq!(
            quoted(&long[..80], &long, "; DO 1"),
            Some(long[..80].to_owned())
        );
        let rest = format!(";{}", "\u{e4}".repeat(50));
        let expected = format!("x;{}", "\u{e4}".repeat(39));
        assert_eq!(quoted("x", "x x", &rest), Some(expected));
        let expected = format!("x;{}...", "\u{e4}".repeat(37));
        assert_eq!(quoted_by(true, "x", "x x", &rest), Some(expected));
    }
}
