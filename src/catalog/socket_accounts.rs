//! Accounts that log in as a user of the operating system over a unix socket, where the proxy's own user would be taken
//! for that of every client: MySQL's auth_socket, MariaDB's unix_socket.
//!
//! A session refuses them at login (`session::connect`). Here the operator learns of them at start, as far as the
//! control account may see them.

use std::fs;

use mysql_async::{Conn, Error as DriverFailure};

use super::error::Problem;
use super::read::rows;
use crate::config::Config;

/// Refuses an upstream at a unix socket if it has accounts that the proxy's own operating system user could log in to.
///
/// # Errors
///
/// Which they are, with the remedy; or a query that failed.
pub(super) async fn refuse(conn: &mut Conn, mariadb: bool, config: &Config) -> Result<(), Problem> {
    if !config.upstream.is_local() {
        return Ok(());
    }
    let user = own_user();
    let accounts = match seen(conn, mariadb).await {
        Err(Problem::Query {
            source: DriverFailure::Server(error),
            ..
        }) => {
            tracing::debug!("cannot see by which plugins accounts log in: {error}");
            return Ok(());
        }
        seen => seen?,
    };
    let accounts: Vec<_> = accounts
        .into_iter()
        .filter(|account| user.as_ref().is_none_or(|user| account.is_for(user)))
        .map(|account| format!("'{}'@'{}'", account.user, account.host))
        .collect();
    match accounts.is_empty() {
        true => Ok(()),
        false => Err(Problem::SocketAccounts {
            plugin: plugin(mariadb),
            accounts: accounts.join(", "),
            user: user.unwrap_or_else(|| "without a name".to_owned()),
        }),
    }
}

struct Account {
    user: String,
    host: String,
    /// What the server keeps about its plugins, values in double quotes.
    plugins: String,
}

impl Account {
    /// Whether it may be that of the operating system's `user`: by its name, or by one that it was given.
    fn is_for(&self, user: &str) -> bool {
        self.user == user || self.plugins.contains(&format!("\"{user}\""))
    }
}

fn plugin(mariadb: bool) -> &'static str {
    match mariadb {
        true => "unix_socket",
        false => "auth_socket",
    }
}

/// The accounts that have the plugin, be it as one of several.
async fn seen(conn: &mut Conn, mariadb: bool) -> Result<Vec<Account>, Problem> {
    let query = match mariadb {
        true => {
            "SELECT User, Host, CONVERT(Priv USING utf8mb4) FROM mysql.global_priv WHERE Priv LIKE '%unix\\_socket%'"
        }
        false => {
            "SELECT User, Host, CONCAT('\"', COALESCE(authentication_string, ''), '\"', COALESCE(User_attributes, '')) FROM mysql.user \
             WHERE plugin = 'auth_socket' OR User_attributes LIKE '%auth\\_socket%'"
        }
    };
    let tuple = mysql_async::from_row_opt::<(String, String, String)>;
    let found = rows(conn, "the accounts' plugins", query, (), tuple).await?;
    let account = |(user, host, plugins)| Account {
        user,
        host,
        plugins,
    };
    Ok(found.into_iter().map(account).collect())
}

/// The name of the user that this process runs as, if it is in /etc/passwd.
fn own_user() -> Option<String> {
    let id = rustix::process::geteuid().as_raw();
    named(&fs::read_to_string("/etc/passwd").ok()?, id)
}

/// Manual: passwd(5).
fn named(passwd: &str, id: u32) -> Option<String> {
    let mut entries = passwd.lines().map(|line| line.split(':'));
    entries.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n\nbroken\nproxy:x:13:13::/:\n";
        assert_eq!(named(passwd, 0).as_deref(), Some("root"));
        assert_eq!(named(passwd, 13).as_deref(), Some("proxy"));
        assert_eq!(named(passwd, 1), None);
    }
}
