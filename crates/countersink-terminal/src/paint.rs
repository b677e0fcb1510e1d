//! The few colours of a report. They are always written; the stream takes them away where nobody would see them
//! (no terminal, NO_COLOR, TERM=dumb).

use anstyle::{AnsiColor, Style};

/// What a piece of text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// A heading, or the figure that counts.
    Strong,
    /// All else.
    Plain,
    /// What the server does by itself.
    Direct,
    /// What the proxy makes of it.
    Proxy,
    /// As it should be.
    Good,
    /// To be looked at.
    Doubtful,
    /// As it should not be.
    Bad,
}

impl Paint {
    /// The text in this colour.
    pub fn on(self, text: &str) -> String {
        let style = self.style();
        format!("{style}{text}{style:#}")
    }

    fn style(self) -> Style {
        let plain = Style::new();
        match self {
            Self::Strong => plain.bold(),
            Self::Plain => plain,
            Self::Direct => AnsiColor::Yellow.on_default(),
            Self::Proxy => AnsiColor::Cyan.on_default(),
            Self::Good => AnsiColor::Green.on_default().bold(),
            Self::Doubtful => AnsiColor::Yellow.on_default().bold(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}
