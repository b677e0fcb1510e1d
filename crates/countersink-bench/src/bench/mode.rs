//! The ways to count that are compared.

use clap::ValueEnum;
use countersink_terminal::Paint;
use serde::Serialize;

/// A way to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// `DO 0`, direct: nothing is counted. No statement can be faster.
    Wire,
    /// Each client increments a row of its own, direct: the limit without contention.
    Rows,
    /// All increment the same row, direct: what an unchanged application does.
    Direct,
    /// The hand-written pattern, direct: INSERT .. ON DUPLICATE KEY UPDATE into one of many slots.
    Slots,
    /// The insert-only journal written by hand, direct: each increment is a row, and twice a second they are added up.
    Journal,
    /// As `proxy`, on a table that no rule names: what the proxy costs by itself.
    Cold,
    /// All increment the same row, through Countersink.
    Proxy,
}

impl Mode {
    /// Its name on the command line and in the reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Rows => "rows",
            Self::Direct => "direct",
            Self::Slots => "slots",
            Self::Journal => "journal",
            Self::Cold => "cold",
            Self::Proxy => "proxy",
        }
    }

    /// Whether its counters are those of an application, so that reads by key can be compared.
    pub fn has_reads(self) -> bool {
        matches!(self, Self::Direct | Self::Slots | Self::Proxy)
    }

    /// Whether it goes through the proxy.
    pub(super) fn is_proxied(self) -> bool {
        matches!(self, Self::Cold | Self::Proxy)
    }

    pub(super) fn paint(self) -> Paint {
        match self {
            Self::Direct => Paint::Direct,
            Self::Proxy => Paint::Proxy,
            Self::Wire | Self::Rows | Self::Slots | Self::Journal | Self::Cold => Paint::Plain,
        }
    }
}
