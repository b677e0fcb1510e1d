//! The machine's apt sources, in both of apt's formats. They name the mirror of its distribution.

use std::fs;
use std::path::{Path, PathBuf};

use crate::distribution::Distribution;

/// One enabled `deb` line or `deb` stanza.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub uri: String,
    pub suites: Vec<String>,
    pub components: Vec<String>,
    /// The path of a keyring, or the key itself.
    pub signed_by: Option<String>,
}

/// All entries of the machine, those from the distribution's own files first.
pub(super) fn of_this_machine() -> Vec<Entry> {
    let mut entries = Vec::new();
    for path in source_files(Path::new("/etc/apt")) {
        // The machine's apt, run by this user, could not read the file either.
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("sources") => entries.extend(parse_deb822(&text)),
            _ => entries.extend(parse_list(&text)),
        }
    }
    entries
}

/// The entry that serves the distribution's own release, and the suite's name in it.
///
/// A third party can serve a suite of the same name. It is recognised by its own keyring. One without a keyring is
/// passed over only because it comes later, and would fail the check against the archive's keyring.
pub(super) fn mirror<'a>(
    entries: &'a [Entry],
    distribution: &'a Distribution,
) -> Option<(&'a Entry, &'a str)> {
    let archive_key = |entry: &Entry| {
        let key = entry.signed_by.as_deref();
        key.and_then(|key| key.rsplit('/').next())
            .is_some_and(|name| name.starts_with(distribution.keyring_stem()))
    };
    let with_key = entries.iter().filter(|entry| archive_key(entry));
    let without = entries.iter().filter(|entry| entry.signed_by.is_none());
    with_key.chain(without).find_map(|entry| {
        let release = distribution
            .release_names()
            .into_iter()
            .find(|name| entry.serves(name))?;
        Some((entry, release))
    })
}

impl Entry {
    fn serves(&self, suite: &str) -> bool {
        self.suites.iter().any(|own| own == suite)
            && self.components.iter().any(|own| own == "main")
    }
}

fn source_files(apt: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = fs::read_dir(apt.join("sources.list.d"))
        .into_iter()
        .flatten()
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "list" || end == "sources")
        })
        .collect();
    let third_party = |path: &PathBuf| {
        !path
            .file_stem()
            .is_some_and(|stem| stem == "debian" || stem == "ubuntu")
    };
    parts.sort_by_key(|path| (third_party(path), path.clone()));
    parts.insert(0, apt.join("sources.list"));
    parts
}

/// Parses lines of `deb [option=value ...] uri suite component...`.
fn parse_list(text: &str) -> Vec<Entry> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    if !rest.starts_with([' ', '\t', '[']) {
        return None; // deb-src
    }
    let rest = rest.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options
        .split_whitespace()
        .find_map(|option| option.strip_prefix("signed-by="))
        .map(str::to_owned);
    let mut words = rest.split_whitespace().map(str::to_owned);
    let uri = words.next()?;
    let suite = words.next()?;
    Some(Entry {
        uri,
        suites: vec![suite],
        components: words.collect(),
        signed_by,
    })
}

/// Parses stanzas of `Field: value` with continuation lines, separated by empty lines.
fn parse_deb822(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    for line in lines.chain([""]) {
        if line.trim().is_empty() {
            entries.extend(stanza_entries(&fields));
            fields.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    entries
}

fn stanza_entries(fields: &[(String, String)]) -> Vec<Entry> {
    let field = |wanted: &str| {
        fields
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.trim())
    };
    let words = |wanted: &str| -> Vec<String> {
        field(wanted)
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    let off = field("enabled").is_some_and(|value| ["no", "false", "0"].contains(&value));
    if off || !words("types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    words("uris")
        .into_iter()
        .map(|uri| Entry {
            uri,
            suites: words("suites"),
            components: words("components"),
            signed_by: field("signed-by").map(str::to_owned),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Kind;

    const DEB822: &str = "\
Types: deb deb-src
# http://snapshot.example/archive
URIs: http://mirror.example/debian
Suites: bookworm
# updates: fixes between point releases
  bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: http://old.example/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://vendor.example/debian
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----";

    fn bookworm() -> Distribution {
        Distribution {
            kind: Kind::Debian,
            codename: "bookworm".into(),
        }
    }

    #[test]
    fn stanzas_with_comments_continuations_and_switches() {
        let entries = parse_deb822(DEB822);
        let uris: Vec<&str> = entries.iter().map(|entry| entry.uri.as_str()).collect();
        assert_eq!(
            uris,
            [
                "http://mirror.example/debian",
                "http://mirror.example/debian-security",
                "http://vendor.example/debian"
            ]
        );
        assert_eq!(entries[0].suites, ["bookworm", "bookworm-updates"]);
        assert!(
            entries[2]
                .signed_by
                .as_deref()
                .is_some_and(|key| key.contains("mQINBF"))
        );
    }

    #[test]
    fn one_line_entries() {
        let text = "\
# deb http://commented.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/etc/apt/keyrings/vendor.asc] https://vendor.example/debian bookworm main
deb\thttp://mirror.example/debian bookworm main contrib # own
deb http://broken.example
";
        let entries = parse_list(text);
        assert_eq!(entries.len(), 2);
        assert_eq!(
            entries[0].signed_by.as_deref(),
            Some("/etc/apt/keyrings/vendor.asc")
        );
        assert_eq!(entries[1].components, ["main", "contrib"]);
        assert_eq!(
            mirror(&entries, &bookworm()),
            Some((&entries[1], "bookworm"))
        );
    }

    #[test]
    fn the_archive_s_keyring_tells_the_mirror_from_a_vendor() {
        let mut entries = parse_deb822(DEB822);
        entries.extend(parse_list(
            "deb http://unsigned.example/debian bookworm main",
        ));
        entries.reverse();
        let distribution = bookworm();
        let (found, _) = mirror(&entries, &distribution).expect("the mirror");
        assert_eq!(found.uri, "http://mirror.example/debian");
    }

    #[test]
    fn a_vendor_alone_is_no_mirror() {
        let entries = parse_list(
            "deb [signed-by=/etc/apt/keyrings/vendor.asc] https://vendor.example/debian bookworm main\n\
             deb https://other.example/debian bookworm stable\n\
             deb http://mirror.example/debian trixie main\n",
        );
        assert_eq!(mirror(&entries, &bookworm()), None);
    }

    #[test]
    fn debian_s_suites_go_by_other_names_too() {
        let entries = parse_list(
            "deb http://mirror.example/debian-security stable-security main\n\
             deb http://mirror.example/debian sid main\n",
        );
        assert_eq!(mirror(&entries, &bookworm()), Some((&entries[1], "sid")));
    }
}
