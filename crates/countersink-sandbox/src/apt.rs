//! A private apt with its own sources, lists and cache in a folder, so that it does not touch those of the machine and
//! needs no root. Packages are only downloaded, never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::program::output_of;

/// The sources that the private apt reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub mirror: String,
    pub suite: String,
    pub components: Vec<String>,
    /// The keyring to trust. `None` trusts those of the machine's apt.
    pub keyring: Option<PathBuf>,
}

/// A private apt in one folder.
#[derive(Debug)]
pub(super) struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Writes the files of the private apt into `folder`, which must be an absolute path.
    pub fn prepare(folder: &Path, source: &Source) -> Result<Self, Error> {
        for part in ["lists/partial", "cache/archives/partial", "alone"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(Error::file("create", &path))?;
        }
        let architecture = output_of(Command::new("dpkg").arg("--print-architecture"))?;
        for (name, text) in [
            ("sources.list", source.line(architecture.trim())),
            ("status", status(architecture.trim())),
            ("apt.conf", configuration(folder)),
        ] {
            let path = folder.join(name);
            fs::write(&path, text).map_err(Error::file("write", &path))?;
        }
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Fetches the suite's signed package list.
    pub fn update(&self) -> Result<(), Error> {
        output_of(self.command("apt-get").arg("update")).map(drop)
    }

    /// The names of the suite's packages that begin with `stem`.
    pub fn names(&self, stem: &str) -> Result<Vec<String>, Error> {
        let pattern = format!("^{stem}");
        let lines =
            output_of(
                self.command("apt-cache")
                    .args(["search", "--names-only", &pattern]),
            )?;
        Ok(lines
            .lines()
            .filter_map(|line| Some(line.split_once(' ')?.0.to_owned()))
            .collect())
    }

    /// Downloads packages with all their dependencies, including the C library.
    pub fn download_with_libraries(&self, packages: &[&str]) -> Result<(), Error> {
        let mut command = self.command("apt-get");
        command.args([
            "install",
            "--yes",
            "--download-only",
            "--no-install-recommends",
        ]);
        output_of(command.args(packages)).map(drop)
    }

    /// Downloads one package without its dependencies.
    pub fn download_alone(&self, package: &str) -> Result<(), Error> {
        let mut command = self.command("apt-get");
        command.current_dir(self.folder.join("alone"));
        output_of(command.args(["download", package])).map(drop)
    }

    /// The package files that have been downloaded so far, sorted by name.
    pub fn archives(&self) -> Result<Vec<PathBuf>, Error> {
        let mut found = Vec::new();
        for part in ["cache/archives", "alone"] {
            let path = self.folder.join(part);
            let files = fs::read_dir(&path).map_err(Error::file("read", &path))?;
            found.extend(
                files
                    .filter_map(|file| Some(file.ok()?.path()))
                    .filter(|path| path.extension().is_some_and(|end| end == "deb")),
            );
        }
        found.sort();
        Ok(found)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // The file given on the command line is read after the machine's configuration and takes precedence.
        command
            .arg("--config-file")
            .arg(self.folder.join("apt.conf"));
        command.env("LC_ALL", "C").env_remove("APT_CONFIG");
        command
    }
}

impl Source {
    /// The entry in one-line format. Signatures are always checked: the machine's `trusted=` option is not copied.
    fn line(&self, architecture: &str) -> String {
        let signed_by = match &self.keyring {
            Some(path) => format!(" signed-by={}", path.display()),
            None => String::new(),
        };
        format!(
            "deb [arch={architecture} target=Packages{signed_by}] {} {} {}\n",
            self.mirror,
            self.suite,
            self.components.join(" ")
        )
    }
}

/// The list of installed packages. It contains only perl, on which the server's package depends for scripts that are
/// not run here; perl would be a sixth of the download. Thus apt resolves all libraries itself.
fn status(architecture: &str) -> String {
    format!(
        "Package: perl\nStatus: install ok installed\nArchitecture: {architecture}\n\
         Multi-Arch: allowed\nVersion: 99\nMaintainer: none\nDescription: stand-in\n\n"
    )
}

fn configuration(folder: &Path) -> String {
    let at = |part: &str| folder.join(part).display().to_string();
    let settings = [
        ("Dir::Etc::SourceList", at("sources.list")),
        ("Dir::Etc::SourceParts", "/dev/null".into()),
        ("Dir::Etc::Preferences", "/dev/null".into()),
        ("Dir::Etc::PreferencesParts", "/dev/null".into()),
        ("Dir::State", folder.display().to_string()),
        ("Dir::State::Lists", at("lists")),
        ("Dir::State::Status", at("status")),
        ("Dir::State::extended_states", at("extended_states")),
        ("Dir::Cache", at("cache")),
        ("Dir::Cache::Archives", at("cache/archives")),
        ("Dir::Log", at("log")),
        // Only root's apt drops its privileges, to a user that may not write in this folder.
        ("APT::Sandbox::User", "root".into()),
        ("APT::Default-Release", String::new()),
        ("APT::Update::Error-Mode", "any".into()),
        ("Acquire::Languages", "none".into()),
        ("Acquire::Retries", "3".into()),
    ];
    // The machine's hooks are for the machine's own packages, and may need root.
    let hooks = [
        "APT::Update::Pre-Invoke",
        "APT::Update::Post-Invoke",
        "APT::Update::Post-Invoke-Success",
        "DPkg::Pre-Invoke",
        "DPkg::Post-Invoke",
        "DPkg::Pre-Install-Pkgs",
    ];
    let set = settings
        .iter()
        .map(|(name, value)| format!("{name} \"{value}\";\n"));
    let clear = hooks.iter().map(|name| format!("#clear {name};\n"));
    clear.chain(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_line_names_the_keyring() {
        let mut source = Source {
            mirror: "http://mirror.example/debian".into(),
            suite: "unstable".into(),
            components: vec!["main".into()],
            keyring: Some("/usr/share/keyrings/archive.gpg".into()),
        };
        assert_eq!(
            source.line("amd64"),
            "deb [arch=amd64 target=Packages signed-by=/usr/share/keyrings/archive.gpg] \
             http://mirror.example/debian unstable main\n"
        );
        source.keyring = None;
        assert_eq!(
            source.line("arm64"),
            "deb [arch=arm64 target=Packages] http://mirror.example/debian unstable main\n"
        );
    }
}
