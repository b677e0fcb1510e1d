//! What the binary lends: a MySQL client that costs less than the server it drives, and the proxy itself.

use std::io;
use std::net::SocketAddr;

/// Where clients log in, and as whom.
pub trait Account: Clone + Send + Sync + 'static {
    /// A client that has logged in.
    type Connection: Connection;

    /// The server, or the proxy, as people write its address.
    fn address(&self) -> String;

    /// The same login at another address.
    #[must_use]
    fn at(&self, address: SocketAddr) -> Self;

    /// The same login with this current schema.
    #[must_use]
    fn in_schema(&self, schema: &str) -> Self;

    /// Connects as any client would. Cancel safe.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, Lost>> + Send;
}

/// A client that has logged in. Nothing that it does is cancel safe.
pub trait Connection: Send + 'static {
    /// Runs a statement and drops its rows, without allocation: the cheapest round trip. Why the server refused it, if
    /// it did.
    fn run(
        &mut self,
        statement: &[u8],
    ) -> impl Future<Output = Result<Option<ServerError>, Lost>> + Send;

    /// Runs a statement for its rows.
    fn query(&mut self, statement: &str) -> impl Future<Output = Result<Answer, Lost>> + Send;

    /// Says goodbye, whether it is heard or not.
    fn quit(self) -> impl Future<Output = ()> + Send;
}

/// The proxy, as `countersink serve` would run it, in this process. It also stops when it is dropped.
#[expect(async_fn_in_trait, reason = "it is awaited where it was called")]
pub trait Proxy: Sized {
    /// Who its clients are.
    type Account: Account;

    /// Serves by this rules.yaml, in which `${UPSTREAM}`, `${USER}` and `${PASSWORD}` are those of `upstream`.
    async fn start(rules: &str, upstream: &Self::Account) -> Result<Self, NotServing>;

    /// Where its clients connect.
    fn address(&self) -> SocketAddr;

    /// Closes it in good order.
    async fn stop(self);
}

/// A row of a text result; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// What a statement was answered by.
#[derive(Debug)]
pub enum Answer {
    /// Its rows; none where it has no result.
    Rows(Vec<Row>),
    /// The server's refusal.
    Refused(ServerError),
}

/// The server's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ERROR {code}: {message}")]
pub struct ServerError {
    /// Error code.
    pub code: u16,
    /// The message.
    pub message: String,
}

/// Why a client has no connection, or has it no longer.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The server refused the login.
    #[error("login refused: {0}")]
    Login(ServerError),
    /// The server asks for what the client does not do.
    #[error("the server asks for {0}, which this client does not speak")]
    Unsupported(String),
    /// Connecting or writing failed.
    #[error("connection lost: {0}")]
    Write(io::Error),
    /// Reading failed, or what was read is none of the protocol.
    #[error(transparent)]
    Read(Box<dyn std::error::Error + Send + Sync>),
}

/// Why the proxy does not serve.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct NotServing {
    /// Why.
    pub source: Box<dyn std::error::Error + Send + Sync>,
    /// What `countersink serve` would exit with.
    pub exit_code: u8,
}
