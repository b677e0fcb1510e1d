//! The server behind the proxy: obtained and started, with a client program for people to connect with.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use countersink_sandbox::{Error, Flavour, Installation, Options, Server, Version};
use countersink_terminal::Progress;

use super::home::Home;

/// Connections besides the clients': the proxy's own, and those of people.
const MORE_CONNECTIONS: u32 = 50;

/// A running server. It is removed when dropped.
pub(super) struct Upstream {
    server: Server,
    installation: Installation,
    /// How long a small write takes to reach the disk that holds the data.
    pub disk_sync: Option<Duration>,
}

/// Obtains the server's programs if necessary, and starts it. Blocks.
pub(super) fn start(
    flavour: Flavour,
    home: &Home,
    clients: u16,
    progress: &Progress,
) -> Result<Upstream, Error> {
    progress.step(format!("Looking for {flavour}"));
    let fetching = |text: &str| progress.step(format!("{flavour}, only this first time: {text}"));
    let installation = Installation::obtain(flavour, &home.servers, &fetching)?;
    let version = short(&installation.version);
    progress.step(format!("Starting {flavour} {version}"));
    let most = u32::from(clients) + MORE_CONNECTIONS;
    let options = Options {
        extra: vec![format!("--max-connections={most}")],
        under: Some(home.data.clone()),
        ..Options::default()
    };
    let server = Server::start(&installation, &options)?;
    Ok(Upstream {
        server,
        installation,
        disk_sync: home.disk_sync().ok(),
    })
}

impl Upstream {
    /// Name and version, as in `MySQL 9.7.4`.
    pub fn name(&self) -> String {
        format!("{} {}", self.server.flavour, short(&self.server.version))
    }

    /// Its TCP address. TCP is used in both ways, directly and through the proxy.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.server.port).into()
    }

    /// The command that runs the client program: its name if it is on PATH, otherwise the path of a script in the
    /// server's folder that runs the client that came with the server.
    pub fn client_program(&self) -> io::Result<String> {
        let name = match self.server.flavour {
            Flavour::MySql => "mysql",
            Flavour::MariaDb => "mariadb",
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        if std::env::split_paths(&path).any(|folder| folder.join(name).is_file()) {
            return Ok(name.to_owned());
        }
        let client = self.installation.client().map_err(io::Error::other)?;
        let data = self.server.data_folder();
        let folder = data.parent().unwrap_or(&data);
        let script = folder.join(name);
        fs::write(&script, script_of(&client))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(near(script).display().to_string())
    }
}

/// The version number without the suffixes that distributions add.
fn short(version: &Version) -> String {
    let (major, minor, patch) = (version.major, version.minor, version.patch);
    format!("{major}.{minor}.{patch}")
}

/// The path relative to the current folder, if it is in there.
fn near(path: PathBuf) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).map(Path::to_owned).unwrap_or(path)
}

/// A shell script that runs `command`, and appends the script's arguments to the command's own.
fn script_of(command: &Command) -> String {
    let mut script = "#!/bin/sh\n".to_owned();
    for (name, value) in command.get_envs() {
        let name = name.to_string_lossy();
        script += &match value {
            Some(value) => format!("export {name}={}\n", quoted(&value.to_string_lossy())),
            None => format!("unset {name}\n"),
        };
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    script + &format!("exec {} \"$@\"\n", words.join(" "))
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_hands_on_words_and_environment() {
        let mut command = Command::new("printf");
        command
            .args(["%s|", "it's", "a b"])
            .env("X", "1 2")
            .env_remove("Y");
        let script = script_of(&command);
        assert!(
            script.contains("export X='1 2'\n") && script.contains("unset Y\n"),
            "{script}"
        );
        let output = Command::new("sh")
            .args(["-c", &script, "name", "more"])
            .output();
        assert_eq!(output.expect("sh runs").stdout, b"it's|a b|more|");
    }
}
