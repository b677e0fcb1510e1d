//! The two server families, and their version strings.

use std::fmt;

/// Which family a server belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// Oracle's MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
}

impl Flavour {
    /// Both families, for tests that run on each.
    pub const ALL: [Self; 2] = [Self::MySql, Self::MariaDb];

    /// The family that a version text or a `--version` line names. MariaDB always names itself.
    pub(super) fn of(text: &str) -> Self {
        if text.contains("MariaDB") {
            Self::MariaDb
        } else {
            Self::MySql
        }
    }

    /// The family's name in file and package names, in lower case.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MySql => "MySQL",
            Self::MariaDb => "MariaDB",
        })
    }
}

/// A server's version, as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The whole text, such as `10.11.18-MariaDB-0+deb12u1`.
    pub text: String,
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub patch: u16,
}

impl Version {
    /// Whether this is `major.minor` or later.
    pub fn at_least(&self, major: u16, minor: u16) -> bool {
        (self.major, self.minor) >= (major, minor)
    }

    /// Parses a version text, such as the one in a server's initial handshake.
    pub(super) fn parse(text: &str) -> Option<Self> {
        // MariaDB before 11 prefixes its version with 5.5.5-, for replicas that understand only one digit.
        let text = match text.strip_prefix("5.5.5-") {
            Some(rest) if text.contains("MariaDB") => rest,
            _ => text,
        };
        let mut numbers = text.splitn(3, '.');
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        let rest = numbers.next()?;
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let patch = rest[..digits].parse().ok()?;
        Some(Self {
            text: text.to_owned(),
            major,
            minor,
            patch,
        })
    }

    /// Parses the output of `mysqld --version`: `... Ver <version> for <system> ...`.
    pub(super) fn from_version_line(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once(" Ver ")?;
        Self::parse(rest.split_whitespace().next()?)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(version: Option<Version>) -> Option<(u16, u16, u16)> {
        version.map(|version| (version.major, version.minor, version.patch))
    }

    #[test]
    fn version_lines_of_both_servers() {
        let mysql = "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))\n";
        assert_eq!(Flavour::of(mysql), Flavour::MySql);
        assert_eq!(numbers(Version::from_version_line(mysql)), Some((9, 7, 4)));

        let mariadb =
            "mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n";
        assert_eq!(Flavour::of(mariadb), Flavour::MariaDb);
        assert_eq!(
            numbers(Version::from_version_line(mariadb)),
            Some((10, 11, 18))
        );
    }

    #[test]
    fn version_texts_of_greetings() {
        let mariadb = Version::parse("5.5.5-10.11.18-MariaDB-log").expect("a version");
        assert_eq!(mariadb.text, "10.11.18-MariaDB-log");
        assert!(mariadb.at_least(10, 11) && !mariadb.at_least(11, 0));
        assert_eq!(numbers(Version::parse("8.0.36")), Some((8, 0, 36)));
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in ["", "8", "8.0", "8.0.", "eight.0.1", "8.0.x"] {
            assert_eq!(Version::parse(text), None, "{text:?}");
        }
        assert_eq!(
            Version::from_version_line("mysqld: command not found"),
            None
        );
    }
}
