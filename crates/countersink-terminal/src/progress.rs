//! Shows progress on standard error: one live line on a terminal, plain lines elsewhere.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::number;

const REDRAW: Duration = Duration::from_millis(100);

/// The progress line. Clones share it.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Hidden if standard error is not a terminal.
    line: ProgressBar,
    /// What is counted, in the plural.
    counted: &'static str,
}

impl Progress {
    /// A progress line for a load that counts `counted`, in the plural.
    pub fn new(counted: &'static str) -> Self {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        Self { line, counted }
    }

    /// Begins a step of unknown duration.
    pub fn step(&self, text: String) {
        if self.line.is_hidden() {
            return plain(&text);
        }
        self.line.set_style(style("{spinner:.cyan} {wide_msg}"));
        self.line.set_message(text);
        self.line.reset(); // it may have been cleared
        self.line.enable_steady_tick(REDRAW);
    }

    /// Begins a round of load; `label` says in which way.
    pub fn round(&self, label: &str, length: Duration) {
        if self.line.is_hidden() {
            return;
        }
        self.line
            .set_style(style("{prefix:<15} {bar:24.cyan/dim} {wide_msg}"));
        self.line.set_prefix(label.to_owned());
        self.line.reset();
        self.line.set_length(milliseconds(length));
        self.load(Duration::ZERO, 0);
    }

    /// Updates the round's progress.
    pub fn load(&self, elapsed: Duration, count: u64) {
        self.line.set_position(milliseconds(elapsed));
        self.line.set_message(self.figures(elapsed, count));
    }

    /// Ends the round.
    pub fn round_over(&self, label: &str, elapsed: Duration, count: u64) {
        if self.line.is_hidden() {
            plain(&format!("{label:<15} {}", self.figures(elapsed, count)));
        }
    }

    /// Ends the last round. If progress and report go to the same place, an empty line separates them.
    pub fn rounds_over(&self) {
        if self.line.is_hidden() {
            plain("");
        }
    }

    /// Clears the line, so that nothing of it stays on the terminal.
    pub fn clear(&self) {
        self.line.disable_steady_tick();
        self.line.finish_and_clear();
    }

    fn figures(&self, elapsed: Duration, count: u64) -> String {
        format!(
            "{:>9} {} {:>7}/s",
            number::grouped(count),
            self.counted,
            number::grouped(number::rate(count, elapsed))
        )
    }
}

/// Prints a line. A closed standard error is no reason to stop.
fn plain(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("the template is well-formed")
        .progress_chars("━╸─")
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
