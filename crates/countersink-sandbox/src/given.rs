//! Servers that the caller runs, named in an environment variable and used instead of throwaway ones.

use std::env;
use std::time::Duration;

use crate::{Error, Flavour, Version, initial_handshake};

const VARIABLE: &str = "COUNTERSINK_TEST_SERVERS";
const DEFAULT_PORT: u16 = 3306;
const PATIENCE: Duration = Duration::from_secs(5);

/// A server's TCP address and an account on it.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Host name or IP address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Name of the account.
    pub user: String,
    /// Its password, which may be empty.
    pub password: String,
}

/// The servers that COUNTERSINK_TEST_SERVERS names, or `None` if it is unset or empty.
///
/// Its value is a list of `mysql://user:password@host:port`, separated by spaces or commas. User, password and port may
/// be omitted, and default to `root`, empty and 3306. Special characters in user and password are percent-encoded.
///
/// # Errors
/// [`Error::Url`] if an entry is not a URL of this form.
pub fn from_env() -> Result<Option<Vec<Address>>, Error> {
    parse_list(&env::var(VARIABLE).unwrap_or_default())
}

impl Address {
    /// Determines the server's family and version from its initial handshake.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] if it sends none within 5 s.
    pub fn identify(&self) -> Result<(Flavour, Version), Error> {
        initial_handshake::at_port(&self.host, self.port, PATIENCE).map_err(|source| {
            Error::NoAnswer {
                host: self.host.clone(),
                port: self.port,
                source,
            }
        })
    }

    /// Options for a `mysql` or `mariadb` client. The password is visible in the process list.
    pub fn client_options(&self) -> Vec<String> {
        let mut options = vec![
            "--protocol=TCP".to_owned(),
            format!("--host={}", self.host),
            format!("--port={}", self.port),
            format!("--user={}", self.user),
        ];
        if !self.password.is_empty() {
            options.push(format!("--password={}", self.password));
        }
        options
    }

    fn parse(url: &str) -> Result<Self, &'static str> {
        let rest = url
            .strip_prefix("mysql://")
            .or_else(|| url.strip_prefix("mariadb://"))
            .ok_or("it begins neither with mysql:// nor with mariadb://")?;
        let (account, place) = rest.rsplit_once('@').unwrap_or(("root", rest));
        let (user, password) = account.split_once(':').unwrap_or((account, ""));
        let place = place.trim_end_matches('/');
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or("a bracket is not closed")?;
                (host, rest.strip_prefix(':'))
            }
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        if host.is_empty() || host.contains('/') {
            return Err("it names no host, or more than a host");
        }
        let port = match port {
            Some(port) => port
                .parse()
                .map_err(|_| "its port is no number up to 65535")?,
            None => DEFAULT_PORT,
        };
        let password = percent_decode(password)?;
        Ok(Self {
            host: host.to_owned(),
            port,
            user: percent_decode(user)?,
            password,
        })
    }
}

impl std::fmt::Debug for Address {
    /// Omits the password, which may be a real one.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}@{}:{}", self.user, self.host, self.port)
    }
}

fn parse_list(text: &str) -> Result<Option<Vec<Address>>, Error> {
    let words = text
        .split([' ', ',', '\t', '\n'])
        .filter(|word| !word.is_empty());
    let addresses = words
        .enumerate()
        .map(|(index, word)| {
            Address::parse(word).map_err(|reason| Error::Url {
                position: index + 1,
                reason,
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Some(addresses).filter(|addresses| !addresses.is_empty()))
}

fn percent_decode(text: &str) -> Result<String, &'static str> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part
            .get(..2)
            .ok_or("a percent sign is not followed by two hex digits")?;
        let byte = u8::from_str_radix(digits, 16)
            .map_err(|_| "a percent sign is not followed by two hex digits")?;
        bytes.push(byte);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| "its user or password is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str, port: u16, user: &str, password: &str) -> Address {
        let [host, user, password] = [host, user, password].map(str::to_owned);
        Address {
            host,
            port,
            user,
            password,
        }
    }

    #[test]
    fn urls_in_full_and_with_parts_left_out() {
        for (url, expected) in [
            (
                "mysql://root:pw@127.0.0.1:3307",
                address("127.0.0.1", 3307, "root", "pw"),
            ),
            (
                "mariadb://db.example",
                address("db.example", 3306, "root", ""),
            ),
            ("mysql://u@[::1]:3308/", address("::1", 3308, "u", "")),
            ("mysql://u:p%40s%3as@h", address("h", 3306, "u", "p@s:s")),
        ] {
            assert!(Address::parse(url) == Ok(expected), "{url}");
        }
    }

    #[test]
    fn lists_parted_by_spaces_or_commas() {
        let list = parse_list(" mysql://a, mysql://b\tmysql://c ")
            .expect("three")
            .expect("not empty");
        let hosts: Vec<&str> = list.iter().map(|address| address.host.as_str()).collect();
        assert_eq!(hosts, ["a", "b", "c"]);
        assert!(parse_list("  ").expect("empty").is_none());
    }

    #[test]
    fn an_error_names_the_entry_and_not_the_password() {
        for url in [
            "postgres://u:secret@h",
            "mysql://u:secret@",
            "mysql://u:secret@h:99999",
            "mysql://u:secret%zz@h",
            "mysql://u:secret@h/db",
        ] {
            let error = parse_list(&format!("mysql://fine,{url}"))
                .expect_err(url)
                .to_string();
            assert!(
                error.contains("entry 2") && !error.contains("secret"),
                "{error}"
            );
        }
        let shown = format!("{:?}", address("h", 1, "u", "secret"));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
