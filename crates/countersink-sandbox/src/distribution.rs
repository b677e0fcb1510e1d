//! Which Linux distribution this machine has, and which of its suites contain which server.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Flavour;

/// A distribution whose packages can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Distribution {
    pub kind: Kind,
    /// The release's name in apt sources, such as `bookworm`.
    pub codename: String,
}

/// The family of distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Debian,
    Ubuntu,
}

impl Distribution {
    /// The machine's distribution, or `None` if os-release names neither Debian, Ubuntu nor a derivative of them.
    pub fn of_this_machine() -> Option<Self> {
        ["/etc/os-release", "/usr/lib/os-release"]
            .iter()
            .find_map(|path| fs::read_to_string(path).ok())
            .and_then(|text| Self::parse(&text))
    }

    fn parse(os_release: &str) -> Option<Self> {
        let value = |key: &str| {
            os_release.lines().find_map(|line| {
                let (name, value) = line.split_once('=')?;
                (name == key).then(|| value.trim().trim_matches('"').to_owned())
            })
        };
        let words = [value("ID"), value("ID_LIKE")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        let is = |name: &str| words.split_whitespace().any(|word| word == name);
        // Ubuntu also names Debian as similar, so it is checked first. Its derivatives (Mint, Pop) have release names
        // of their own besides Ubuntu's.
        let (kind, own) = if is("ubuntu") {
            (Kind::Ubuntu, "UBUNTU_CODENAME")
        } else if is("debian") {
            (Kind::Debian, "DEBIAN_CODENAME")
        } else {
            return None;
        };
        let codename = value(own).or_else(|| value("VERSION_CODENAME"))?;
        Some(Self { kind, codename })
    }

    /// The suite that contains the flavour's server. `release` is the machine's own suite. Debian releases contain no
    /// MySQL; unstable does.
    pub fn suite<'a>(&self, flavour: Flavour, release: &'a str) -> &'a str {
        match (self.kind, flavour) {
            (Kind::Debian, Flavour::MySql) => "unstable",
            _ => release,
        }
    }

    /// The names that apt sources may use for the machine's own suite, the likeliest first.
    pub fn release_names(&self) -> Vec<&str> {
        let aliases: &[&str] = match self.kind {
            Kind::Debian => &["stable", "testing", "unstable", "sid"],
            Kind::Ubuntu => &[],
        };
        [self.codename.as_str()]
            .into_iter()
            .chain(aliases.iter().copied())
            .collect()
    }

    /// The prefix of the file names of the archive's own keyrings. Third parties use other names.
    pub fn keyring_stem(&self) -> &'static str {
        match self.kind {
            Kind::Debian => "debian-archive-",
            Kind::Ubuntu => "ubuntu-archive-",
        }
    }

    /// The archive's keyring, if the machine has it in the usual place.
    pub fn keyring(&self) -> Option<PathBuf> {
        let folder = Path::new("/usr/share/keyrings");
        ["gpg", "pgp"]
            .iter()
            .map(|extension| folder.join(format!("{}keyring.{extension}", self.keyring_stem())))
            .find(|path| path.exists())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(os_release: &str) -> Option<(Kind, String)> {
        Distribution::parse(os_release).map(|found| (found.kind, found.codename))
    }

    #[test]
    fn debian_takes_mysql_from_unstable() {
        let debian = Distribution::parse("ID=debian\nVERSION_CODENAME=bookworm\n").expect("debian");
        assert_eq!(debian.suite(Flavour::MariaDb, "bookworm"), "bookworm");
        assert_eq!(debian.suite(Flavour::MySql, "bookworm"), "unstable");
    }

    #[test]
    fn ubuntu_takes_both_from_its_own_suite() {
        let text = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n";
        let ubuntu = Distribution::parse(text).expect("ubuntu");
        assert_eq!(ubuntu.kind, Kind::Ubuntu);
        assert_eq!(ubuntu.suite(Flavour::MySql, "noble"), "noble");
        assert_eq!(ubuntu.suite(Flavour::MariaDb, "noble"), "noble");
    }

    #[test]
    fn kin_go_by_the_parent_s_codename() {
        let mint = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n";
        assert_eq!(parsed(mint), Some((Kind::Ubuntu, "noble".into())));
        let lmde =
            "ID=linuxmint\nID_LIKE=debian\nVERSION_CODENAME=faye\nDEBIAN_CODENAME=bookworm\n";
        assert_eq!(parsed(lmde), Some((Kind::Debian, "bookworm".into())));
    }

    #[test]
    fn others_are_none() {
        assert_eq!(parsed("ID=fedora\nVERSION_ID=42\n"), None);
        assert_eq!(parsed("ID=debian\n"), None);
        assert_eq!(parsed(""), None);
    }
}
