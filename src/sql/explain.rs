//! `EXPLAIN FORMAT=COUNTERSINK`: what the proxy answers itself.
//!
//! A server that gets it, because there is no proxy or the session uses the binary protocol, does not run the explained
//! statement either: it knows no such format and says so (1791), or finds a syntax error.

use crate::sql::plan::SessionVariables;
use crate::sql::words::Words;

/// The statement that is to be explained, if `text` is EXPLAIN FORMAT=COUNTERSINK of one.
pub fn explained<'a>(text: &'a [u8], variables: &SessionVariables) -> Option<&'a [u8]> {
    let mut words = Words::first(text, variables, 5);
    let is_ours = words.accept_any(&["EXPLAIN", "DESCRIBE", "DESC"])
        && words.accept("FORMAT")
        && words.accept_mark(b'=')
        && words.accept("COUNTERSINK");
    match is_ours {
        true => Some(&text[words.peek()?.start..]),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&str> {
        let statement = explained(text.as_bytes(), &SessionVariables::default())?;
        Some(std::str::from_utf8(statement).expect("a part of a text"))
    }

    #[test]
    fn the_statement_behind_the_format() {
        assert_eq!(
            of("EXPLAIN FORMAT=COUNTERSINK DELETE FROM t;"),
            Some("DELETE FROM t;")
        );
        assert_eq!(
            of("/* x */ desc\nformat = Countersink -- y\n (SELECT 1)"),
            Some("(SELECT 1)")
        );
    }

    #[test]
    fn other_formats_are_the_servers() {
        for text in [
            "EXPLAIN FORMAT=COUNTERSINK",
            "EXPLAIN FORMAT=JSON SELECT 'COUNTERSINK'",
            "EXPLAIN countersink",
            "EXPLAIN FORMAT='COUNTERSINK' SELECT 1",
            "SELECT 1",
            "",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
