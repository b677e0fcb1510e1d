//! Arguments of `countersink check`.

use clap::Args;

use crate::cli::RulesArguments;

pub(in crate::cli) const EXAMPLES: &str = "\
Examples:
  countersink check                                 every finding, by rule, with what to do about it
  countersink check --rules rules.yaml --json       for programs

It only reads, and slot tables need not exist. The control account sees more with more rights; what it could not see is
said, with the GRANT. docs/check.md has all codes.

Exit codes:
  0  nothing was found, or only notices
  1  the server cannot be reached, or does not answer
  2  errors were found: `serve` would refuse to start, or values could go wrong; or rules.yaml itself is wrong, or the
     server refuses the control account
  3  warnings were found, and no errors";

/// Arguments of `countersink check`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArguments {
    #[command(flatten)]
    pub(super) file: RulesArguments,
    /// Print one JSON object: server, version, findings, summary.
    #[arg(long)]
    pub(super) json: bool,
}
