//! `countersink completions`: prints a shell's completion script.

use clap::{Args, Command};
use clap_complete::Shell;

/// What `--help` ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  countersink completions bash > /etc/bash_completion.d/countersink
  countersink completions zsh > /usr/local/share/zsh/site-functions/_countersink
  countersink completions fish > ~/.config/fish/completions/countersink.fish
  source <(countersink completions bash)            for this shell alone";

/// Arguments of `countersink completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// The completion script for the shell.
pub(super) fn script(mut command: Command, arguments: &CompletionsArguments) -> Vec<u8> {
    let name = command.get_name().to_owned();
    // Into memory rather than to standard output, because the generator would panic if that is closed.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    script
}
