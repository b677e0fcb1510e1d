//! What people see on a terminal: numbers, bars, few colours, and what is going on right now.

pub(super) mod number;

mod paint;

pub(super) mod chart;

mod progress;

use std::io::{self, Write};

pub(super) use paint::Paint;
pub(super) use progress::Progress;

/// Writes lines to standard output; the stream takes colours away where they would not be seen.
pub(super) fn print(lines: &[String]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}
