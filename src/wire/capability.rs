//! Capability flags of the connection phase (manual: "Capabilities Flags").
//!
//! MariaDB keeps its own flags in the upper half of a 64-bit word; they travel in the last four of the
//! initial handshake's and the handshake response's reserved bytes when `CLIENT_MYSQL` is not set.

/// MySQL calls it `CLIENT_LONG_PASSWORD`, MariaDB `CLIENT_MYSQL`: set means "no MariaDB extensions follow".
pub const LONG_PASSWORD: u64 = 1;
/// UPDATE reports the rows it matched rather than those it changed.
pub const FOUND_ROWS: u64 = 1 << 1;
/// The handshake response names a schema.
pub const CONNECT_WITH_DB: u64 = 1 << 3;
/// zlib compression of the command phase. Masked: the relay could not read inside.
pub const COMPRESS: u64 = 1 << 5;
/// The client may be asked for a file by LOAD DATA LOCAL.
pub const LOCAL_FILES: u64 = 1 << 7;
/// The 4.1 protocol; nothing older is relayed.
pub const PROTOCOL_41: u64 = 1 << 9;
/// The connection goes on in TLS after the SSL request packet.
pub const SSL: u64 = 1 << 11;
/// Status flags travel in OK and EOF packets.
pub const TRANSACTIONS: u64 = 1 << 13;
/// The authentication data is length-prefixed by one byte.
pub const SECURE_CONNECTION: u64 = 1 << 15;
/// Several statements in one COM_QUERY.
pub const MULTI_STATEMENTS: u64 = 1 << 16;
/// Several result sets in one answer.
pub const MULTI_RESULTS: u64 = 1 << 17;
/// Several result sets in one answer to COM_STMT_EXECUTE.
pub const PS_MULTI_RESULTS: u64 = 1 << 18;
/// The handshake names an authentication plugin.
pub const PLUGIN_AUTH: u64 = 1 << 19;
/// The handshake response carries connection attributes.
pub const CONNECT_ATTRS: u64 = 1 << 20;
/// The authentication data is length-encoded.
pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u64 = 1 << 21;
/// OK packets carry session state changes.
pub const SESSION_TRACK: u64 = 1 << 23;
/// Result sets end in an OK packet with header 0xFE, and no EOF stands between columns and rows.
pub const DEPRECATE_EOF: u64 = 1 << 24;
/// The server may leave out column definitions; a byte in front of the column count tells.
pub const OPTIONAL_RESULTSET_METADATA: u64 = 1 << 25;
/// zstd compression of the command phase. Masked as [`COMPRESS`] is.
pub const ZSTD_COMPRESSION: u64 = 1 << 26;
/// COM_QUERY and COM_STMT_EXECUTE carry named attributes.
pub const QUERY_ATTRIBUTES: u64 = 1 << 27;
/// More than one factor may be asked for (Protocol::AuthNextFactor).
pub const MULTI_FACTOR_AUTHENTICATION: u64 = 1 << 28;
/// MariaDB: progress reports travel as ERR packets with code 0xFFFF.
pub const MARIADB_PROGRESS: u64 = 1 << 32;
/// MariaDB: COM_STMT_BULK_EXECUTE is understood.
pub const MARIADB_STMT_BULK: u64 = 1 << 34;
/// MariaDB: column definitions carry the extended type name.
pub const MARIADB_EXTENDED_METADATA: u64 = 1 << 35;
/// MariaDB: a byte behind the column count tells whether column definitions follow.
pub const MARIADB_CACHE_METADATA: u64 = 1 << 36;

/// What the relay cannot carry, masked on both sides: what is compressed cannot be read, and where column definitions
/// may be left out, those of a rewritten statement would be left out for another.
pub const MASKED: u64 =
    COMPRESS | ZSTD_COMPRESSION | OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA;
