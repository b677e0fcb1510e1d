//! What a login has said of the session to come.

use crate::wire::handshake::Attributes;

/// The account that is logged in, and the initial state of its session. COM_CHANGE_USER replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The account name that the client gave.
    pub user: Vec<u8>,
    /// The default schema that the session starts with.
    pub schema: Option<Vec<u8>>,
    /// Collation of the connection. A login carries only the lower eight bits of it.
    pub collation: u16,
    /// The connection attributes.
    pub attributes: Attributes,
    /// Status flags of the OK packet.
    pub status: u16,
}
