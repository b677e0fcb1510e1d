//! Arguments of `countersink explain`.

use std::path::PathBuf;

use clap::{Args, builder::NonEmptyStringValueParser};

use crate::cli::RulesArguments;
use crate::config::HostPort;

pub(in crate::cli) const EXAMPLES: &str = "\
Examples:
  countersink explain 'UPDATE posts SET views = views + 1 WHERE id = 42'
  countersink explain --transaction --schema shop - < statements.sql
  countersink explain --save-catalog catalog.yaml               what the tables look like, for later
  countersink explain --catalog catalog.yaml 'SELECT * FROM posts'
                                                                without a server, and with rules.yaml as it is now
  countersink explain --proxy 127.0.0.1:6033 --user app --password-env APP_PASSWORD 'SELECT views FROM shop.posts'
  countersink explain --proxy db.test:6033 --user app --ssl-ca ca.pem ..
                                                                in TLS, and only with a proxy whose certificate is verified

Nothing is executed, and nothing is changed on any server. The plan's name is also what the log counts statements by.

In the middle of a session of your own, ask the proxy itself:
  EXPLAIN FORMAT=COUNTERSINK UPDATE posts SET views = views + 1 WHERE id = 42
It answers by the session's own state: schema, sql_mode, open transaction, locked and temporary tables. (MySQL itself
refuses that format, so the statement does not run there either.)";

/// Arguments of `countersink explain`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExplainArguments {
    /// Statements, several separated by semicolons; - reads them from standard input.
    #[arg(value_name = "SQL", required_unless_present = "save_catalog", value_parser = NonEmptyStringValueParser::new())]
    pub(super) statements: Vec<String>,
    #[command(flatten)]
    pub(super) file: RulesArguments,
    /// Take the tables from this file, which --save-catalog wrote, instead of asking the server.
    #[arg(long, value_name = "FILE", conflicts_with = "save_catalog")]
    pub(super) catalog: Option<PathBuf>,
    /// Write what the server reports about the rules' tables to this file. It contains no data and no password.
    #[arg(long, value_name = "FILE")]
    pub(super) save_catalog: Option<PathBuf>,
    /// Ask this running proxy, which has rules and tables of its own.
    #[arg(long, value_name = "HOST:PORT", value_parser = HostPort::parse, conflicts_with_all = ["rules", "catalog", "save_catalog"], requires = "user")]
    pub(super) proxy: Option<HostPort>,
    /// The user to log in to the proxy as.
    #[arg(long, value_name = "NAME", requires = "proxy")]
    pub(super) user: Option<String>,
    /// The environment variable with that user's password.
    #[arg(
        long,
        value_name = "VARIABLE",
        requires = "proxy",
        conflicts_with = "password_file"
    )]
    pub(super) password_env: Option<String>,
    /// The file with that user's password; a line break at its end is ignored.
    #[arg(long, value_name = "FILE", requires = "proxy")]
    pub(super) password_file: Option<PathBuf>,
    /// Refuse a proxy whose certificate none of the authorities in this PEM file has signed. Without it, TLS is used if
    /// the proxy offers it, and nothing is verified.
    #[arg(long, value_name = "FILE", requires = "proxy")]
    pub(super) ssl_ca: Option<PathBuf>,
    /// A PEM file with the certificate to show to the proxy, where it requires one.
    #[arg(long, value_name = "FILE", requires_all = ["proxy", "ssl_key"])]
    pub(super) ssl_cert: Option<PathBuf>,
    /// A PEM file with that certificate's private key.
    #[arg(long, value_name = "FILE", requires = "ssl_cert")]
    pub(super) ssl_key: Option<PathBuf>,
    /// The current schema; by default that of the hot tables, if they share one.
    #[arg(long, value_name = "NAME")]
    pub(super) schema: Option<String>,
    /// The session's sql_mode; by default the server's.
    #[arg(long, value_name = "MODES", value_parser = sql_mode)]
    pub(super) sql_mode: Option<String>,
    /// Explain as in an open transaction, rather than in autocommit.
    #[arg(long)]
    pub(super) transaction: bool,
    /// Explain as while slots are in use, rather than at rest. A running proxy knows which it is.
    #[arg(long, conflicts_with = "proxy")]
    pub(super) in_motion: bool,
}

/// Parses a list of modes. Nothing else may get into SQL.
fn sql_mode(text: &str) -> Result<String, String> {
    let is_mode = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b' ');
    match text.bytes().all(is_mode) {
        true => Ok(text.to_owned()),
        false => Err("write names of modes, separated by commas".to_owned()),
    }
}
