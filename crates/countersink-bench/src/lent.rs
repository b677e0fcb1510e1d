//! What the binary provides to this crate: a MySQL client that uses less CPU than the server that it drives, and the
//! proxy itself.

use std::io;
use std::net::SocketAddr;

/// An address, and the account to log in as.
pub trait Account: Clone + Send + Sync + 'static {
    /// A logged-in client.
    type Connection: Connection;

    /// The address of the server or the proxy, as people write it.
    fn address(&self) -> String;

    /// The same account at another address.
    #[must_use]
    fn at(&self, address: SocketAddr) -> Self;

    /// The same account with this default schema.
    #[must_use]
    fn in_schema(&self, schema: &str) -> Self;

    /// Connects as any client would. Cancel safe.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, Lost>> + Send;
}

/// A logged-in client. None of its methods is cancel safe.
pub trait Connection: Send + 'static {
    /// Runs a statement and discards its rows, without allocation: the cheapest round trip. Returns the server's error
    /// if it failed.
    fn run(
        &mut self,
        statement: &[u8],
    ) -> impl Future<Output = Result<Option<ServerError>, Lost>> + Send;

    /// Runs a statement and returns its rows.
    fn query(&mut self, statement: &str) -> impl Future<Output = Result<Answer, Lost>> + Send;

    /// Closes the connection in good order, if possible.
    fn quit(self) -> impl Future<Output = ()> + Send;
}

/// The proxy, run in this process as `countersink serve` would run it. It also stops when dropped.
#[expect(async_fn_in_trait, reason = "it is awaited where it was called")]
pub trait Proxy: Sized {
    /// The account type of its clients.
    type Account: Account;

    /// Starts a proxy with this rules.yaml, in which `${UPSTREAM}`, `${USER}` and `${PASSWORD}` are those of
    /// `upstream`.
    async fn start(rules: &str, upstream: &Self::Account) -> Result<Self, NotServing>;

    /// The address that its clients connect to.
    fn address(&self) -> SocketAddr;

    /// Stops it in good order.
    async fn stop(self);
}

/// A row of a text result; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// The response to a statement.
#[derive(Debug)]
pub enum Answer {
    /// Its rows; empty if it has no result set.
    Rows(Vec<Row>),
    /// The server's error.
    Refused(ServerError),
}

/// An error that the server sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ERROR {code}: {message}")]
pub struct ServerError {
    /// Error code.
    pub code: u16,
    /// The message.
    pub message: String,
}

/// Why a client could not connect, or lost its connection.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The server refused the login.
    #[error("login refused: {0}")]
    Login(ServerError),
    /// The server requires something that the client does not support.
    #[error("the server asks for {0}, which this client does not speak")]
    Unsupported(String),
    /// Connecting or writing failed.
    #[error("connection lost: {0}")]
    Write(io::Error),
    /// Reading failed, or the server sent a malformed packet.
    #[error(transparent)]
    Read(Box<dyn std::error::Error + Send + Sync>),
}

/// Why the proxy could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct NotServing {
    /// What went wrong.
    pub source: Box<dyn std::error::Error + Send + Sync>,
    /// The exit code that `countersink serve` would have.
    pub exit_code: u8,
}
