//! `countersink man`: manual pages, generated from the texts of `--help`.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// What `--help` ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  countersink man | man -l -                        the page of countersink itself
  countersink man serve | man -l -                  that of a command
  countersink man --directory /usr/local/share/man/man1
                                                    all of them, countersink.1, countersink-serve.1 and so on";

/// Further sections of the main page, in the form of the texts that `--help` ends with.
const MORE: &str = "\
Environment:
  COUNTERSINK_LOG   what is logged to standard error: a level (error, warn, info, debug, trace), or target=level,..
  Beside it all that the rules file names by ${NAME}, as a rule the password of the control account.

Files:
  rules.yaml        the rules, in the current folder unless --rules names another file

See also:
  mysql(1), mariadb(1), systemd.service(5)";

/// Further sections of the commands' pages.
const MORE_OF_COMMANDS: &str = "\
See also:
  countersink(1)";

/// Arguments of `countersink man`.
#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// The command whose page to print; countersink itself when none is named.
    #[arg(value_name = "COMMAND", conflicts_with = "directory")]
    page: Option<String>,
    /// Write all pages into this folder instead.
    #[arg(long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such command.
    #[error("there is no command {0}; `countersink --help` names all")]
    NoCommand(String),
    /// A page could not be written to its file.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable {
        /// Name of the file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A manual page.
struct Page {
    /// `countersink`, or `countersink-serve`.
    name: String,
    text: Vec<u8>,
}

/// The page to print, or an empty text if pages were written to a folder.
pub(super) fn run(command: Command, arguments: &ManArguments) -> Result<Vec<u8>, Error> {
    let main = command.get_name().to_owned();
    let pages = pages(command);
    if let Some(folder) = &arguments.directory {
        for page in &pages {
            let file = folder.join(format!("{}.1", page.name));
            fs::write(&file, &page.text).map_err(|source| Error::Unwritable { file, source })?;
        }
        return Ok(Vec::new());
    }
    let (name, asked) = match &arguments.page {
        Some(page) => (format!("{main}-{page}"), page.clone()),
        None => (main.clone(), main),
    };
    let page = pages.into_iter().find(|page| page.name == name);
    page.map(|page| page.text).ok_or(Error::NoCommand(asked))
}

fn pages(command: Command) -> Vec<Page> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let main = command.get_name().to_owned();
    let commands = command.get_subcommands().map(|one| {
        let name = format!("{main}-{}", one.get_name());
        let one = one.clone().display_name(&name);
        let one = one.version(env!("CARGO_PKG_VERSION"));
        (name, one, MORE_OF_COMMANDS)
    });
    let commands: Vec<_> = commands.collect();
    std::iter::once((main, command, MORE))
        .chain(commands)
        .map(|(name, command, more)| {
            let text = page(command, more).expect("a Vec takes all");
            Page { name, text }
        })
        .collect()
}

/// A page: what clap_mangen generates for the arguments, then the project's own texts, whose lines it would join into
/// paragraphs.
fn page(command: Command, more: &str) -> io::Result<Vec<u8>> {
    let after = command.get_after_help().map(ToString::to_string);
    let has_commands = command.has_subcommands();
    let man = Man::new(command).source(concat!("countersink ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if has_commands {
        man.render_subcommands_section(&mut text)?;
    }
    let mut roff = Roff::new();
    for part in [after.as_deref().unwrap_or_default(), more] {
        sections(&mut roff, part);
    }
    roff.to_writer(&mut text)?;
    man.render_version_section(&mut text)?;
    Ok(text)
}

/// Maximum length of a section's heading. A longer line introduces an example.
const LONGEST_HEADING: usize = 20;

/// Adds sections as `--help` shows them: headings with a colon, indented lines that are kept as they are, and
/// paragraphs.
fn sections(roff: &mut Roff, text: &str) {
    let mut fills = true;
    for line in text.lines() {
        let heading = line
            .strip_suffix(':')
            .filter(|heading| heading.len() < LONGEST_HEADING && !heading.starts_with(' '));
        let stays = line.starts_with(' ');
        if stays == fills {
            roff.control(if fills { "nf" } else { "fi" }, []);
            fills = !stays;
        }
        match (heading, line) {
            (Some(heading), _) => roff.control("SH", [heading.to_uppercase().as_str()]),
            (None, "") => roff.control("PP", []),
            (None, line) => roff.text([roman(line)]),
        };
    }
    if !fills {
        roff.control("fi", []);
    }
}
