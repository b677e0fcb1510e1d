//! Capability flags of the connection phase (manual: "Capabilities Flags").
//!
//! MariaDB keeps its own flags in the upper half of a 64-bit word. When `CLIENT_MYSQL` is not set, they travel in the
//! last four reserved bytes of the initial handshake and of the handshake response.

/// MySQL calls this flag `CLIENT_LONG_PASSWORD`, MariaDB `CLIENT_MYSQL`. When it is set, no MariaDB extensions follow.
pub const LONG_PASSWORD: u64 = 1;
/// An UPDATE reports the rows that it matched rather than those that it changed.
pub const FOUND_ROWS: u64 = 1 << 1;
/// The handshake response names a schema.
pub const CONNECT_WITH_DB: u64 = 1 << 3;
/// The command phase is compressed with zlib.
pub const COMPRESS: u64 = 1 << 5;
/// LOAD DATA LOCAL may ask the client for a file.
pub const LOCAL_FILES: u64 = 1 << 7;
/// The 4.1 protocol; nothing older is relayed.
pub const PROTOCOL_41: u64 = 1 << 9;
/// The connection switches to TLS after the SSL request packet.
pub const SSL: u64 = 1 << 11;
/// Status flags travel in OK and EOF packets.
pub const TRANSACTIONS: u64 = 1 << 13;
/// A one-byte length precedes the authentication data.
pub const SECURE_CONNECTION: u64 = 1 << 15;
/// One COM_QUERY may hold several statements.
pub const MULTI_STATEMENTS: u64 = 1 << 16;
/// One response may hold several result sets.
pub const MULTI_RESULTS: u64 = 1 << 17;
/// One response to COM_STMT_EXECUTE may hold several result sets.
pub const PS_MULTI_RESULTS: u64 = 1 << 18;
/// The handshake names an authentication plugin.
pub const PLUGIN_AUTH: u64 = 1 << 19;
/// The handshake response carries connection attributes.
pub const CONNECT_ATTRS: u64 = 1 << 20;
/// The length of the authentication data is a length-encoded integer.
pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u64 = 1 << 21;
/// OK packets carry session state changes (manual: "Session State Information").
pub const SESSION_TRACK: u64 = 1 << 23;
/// A result set ends with an OK packet with header 0xFE, and no EOF packet separates columns from rows.
pub const DEPRECATE_EOF: u64 = 1 << 24;
/// The server may omit column definitions (`resultset_metadata = NONE`). A byte after the column count, and after
/// COM_STMT_PREPARE_OK, says whether it does.
pub const OPTIONAL_RESULTSET_METADATA: u64 = 1 << 25;
/// The command phase is compressed with zstd, whose level is the last byte of the handshake response.
pub const ZSTD_COMPRESSION: u64 = 1 << 26;
/// COM_QUERY and COM_STMT_EXECUTE carry named attributes.
pub const QUERY_ATTRIBUTES: u64 = 1 << 27;
/// The server may ask for more than one authentication factor (manual: "Protocol::AuthNextFactorRequest").
pub const MULTI_FACTOR_AUTHENTICATION: u64 = 1 << 28;
/// MariaDB: progress reports are sent as ERR packets with code 0xFFFF.
pub const MARIADB_PROGRESS: u64 = 1 << 32;
/// MariaDB: the server understands COM_STMT_BULK_EXECUTE.
pub const MARIADB_STMT_BULK: u64 = 1 << 34;
/// MariaDB: column definitions carry the extended type name.
pub const MARIADB_EXTENDED_METADATA: u64 = 1 << 35;
/// MariaDB: a byte after the column count says whether column definitions follow.
pub const MARIADB_CACHE_METADATA: u64 = 1 << 36;

/// The capabilities that the relay cannot support, masked on both sides. MariaDB omits the column definitions that it
/// has sent before; those of a rewritten statement are not the client's.
pub const MASKED: u64 = MARIADB_CACHE_METADATA;
