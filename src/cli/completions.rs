//! `countersink completions`: what a shell needs to complete the command line.

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

/// The script for the shell.
pub(super) fn script(mut command: Command, arguments: &CompletionsArguments) -> Vec<u8> {
    let name = command.get_name().to_owned();
    // Not to standard output at once: where nobody reads on, the generator would panic.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    script
}
