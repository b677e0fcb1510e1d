//! The few colours of a report. They are always written; the stream removes them where nobody would see them (no
//! terminal, NO_COLOR, TERM=dumb).

use anstyle::{AnsiColor, Style};

/// The purpose of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// A heading, or the most important figure.
    Strong,
    /// Everything else.
    Plain,
    /// Results of the server alone.
    Direct,
    /// Results through the proxy.
    Proxy,
    /// Good news.
    Good,
    /// Something to look at.
    Doubtful,
    /// Bad news.
    Bad,
}

impl Paint {
    /// The text with its colours.
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
