//! How connections to the server are compressed.

use super::check::Text;
use super::error::Problem;

/// Compression of the clients' connections to the server, as far as the server offers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpstreamCompression {
    /// As that of the client.
    #[default]
    AsClient,
    /// None, also for clients whose own connection is compressed.
    Disabled,
    /// zlib, also for clients whose own connection is not compressed.
    Zlib,
    /// zstd, likewise.
    Zstd,
}

impl UpstreamCompression {
    /// As rules.yaml writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsClient => "as_client",
            Self::Disabled => "disabled",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

pub(super) fn upstream_compression(text: &Text) -> Result<UpstreamCompression, Problem> {
    use UpstreamCompression::{AsClient, Disabled, Zlib, Zstd};
    let known = [AsClient, Disabled, Zlib, Zstd];
    let named = known.into_iter().find(|one| one.name() == text.value);
    named.ok_or_else(|| Problem::Choice {
        value: text.to_string(),
        choices: "as_client, disabled, zlib or zstd",
    })
}
