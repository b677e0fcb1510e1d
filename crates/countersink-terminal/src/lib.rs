//! What people see of a command on a terminal: numbers, bar charts, a few colours and a progress line. Also handles
//! their Ctrl-C.

pub mod number;

mod paint;

pub mod chart;

mod progress;

mod interrupt;

use std::io::{self, Write};

pub use interrupt::Interrupt;
pub use paint::Paint;
pub use progress::Progress;

/// Writes lines to standard output. The stream removes colours where they would not be visible.
///
/// # Errors
///
/// Those of the stream.
pub fn print(lines: &[String]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// Removes a line's colours.
pub fn plain(line: &str) -> String {
    anstream::adapter::strip_str(line).to_string()
}

/// Wraps a text at spaces, in lines of at most `width` characters. The first line begins with `first`, the others with
/// as many spaces.
pub fn wrapped(first: &str, text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(format!("{first}{word}")),
            Some(_) => lines.push(format!(
                "{:indent$}{word}",
                "",
                indent = first.chars().count()
            )),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_and_lose_nothing() {
        let words = vec!["word"; 60].join(" ");
        let lines = wrapped("  why   ", &words, 40);
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= 40));
        assert!(lines[0].starts_with("  why   word") && lines[1].starts_with("        word"));
        let texts = lines.iter().map(|line| line["  why   ".len()..].to_owned());
        assert_eq!(texts.collect::<Vec<_>>().join(" "), words);
        assert_eq!(wrapped("", &"x".repeat(200), 40).len(), 1);
    }
}
