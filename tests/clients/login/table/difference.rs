//! What a proxy tells a client otherwise than the server would, and why that is so.

use super::case::{Column, Way};
use super::speaker::Outcome;

/// A difference by design.
#[derive(Debug)]
pub struct Difference {
    /// How the table refers to it.
    pub letter: char,
    pub why: &'static str,
    /// What clients are told instead: a code, or `ok`.
    code: &'static str,
    /// What the message says.
    message: &'static str,
}

const PASSWORD_WHY: &str = "A password that came by TLS does not go on in plain. MySQL asked for the password itself: it \
    does so where its cache does not have the account, where the password is wrong, where there is no such account, and \
    with `sha256_password` always. Use TLS or a unix socket toward the server, or name its RSA key \
    ([`upstream_tls.public_key`](rules.md#upstream_tlspublic_key)), and there is no difference.";

/// A password that came by TLS and would leave it.
pub const EXPOSED: Difference = Difference {
    letter: 'P',
    why: PASSWORD_WHY,
    code: "1105",
    message: "the password came by TLS and would go on without",
};

const CLEAR_WHY: &str = "A password that came by TLS does not go on in plain, and these plugins' clients send it as it \
    is, as PAM wants it: there is no RSA key for it. Use TLS or a unix socket toward the server, and there is no difference.";

/// The same of plugins that know no RSA.
pub const CLEAR: Difference = Difference {
    letter: 'C',
    why: CLEAR_WHY,
    code: "1105",
    message: "the password came by TLS and would go on without",
};

const TLS_WHY: &str = "Whether a connection has TLS the server judges by the proxy's own, which is the one that it sees. \
    It cannot be told of the client's. Let the proxy reach the server by TLS, and require TLS of clients by \
    [`tls.client`](rules.md#tlsclient).";

/// A client without TLS, before a proxy with TLS.
pub const SEEN_WITH_TLS: Difference = Difference {
    letter: 'T',
    why: TLS_WHY,
    code: "ok",
    message: "",
};

/// A client with TLS, before a proxy without.
pub const SEEN_WITHOUT_TLS: Difference = Difference {
    letter: 'T',
    why: TLS_WHY,
    code: "1045",
    message: "Access denied for user",
};

/// The same, if all accounts need TLS.
pub const TRANSPORT_REFUSED: Difference = Difference {
    letter: 'T',
    why: TLS_WHY,
    code: "3159",
    message: "Connections using insecure transport are prohibited",
};

/// A client's certificate is not the proxy's.
pub const UNCERTIFIED: Difference = Difference {
    letter: 'X',
    why: "A client proves by TLS that a certificate is its own, and nobody can do that for it. So accounts with \
        `REQUIRE X509`, `ISSUER` or `SUBJECT` need a certificate of the proxy's own \
        ([`upstream_tls.certificate`](rules.md#upstream_tlscertificate)), which these proxies do not have. It is shown for \
        clients that have shown one ([`tls.ca`](rules.md#tlsca)), and the server judges the proxy's subject and issuer.",
    code: "1045",
    message: "Access denied for user",
};

const HOST_WHY: &str = "The host part of an account is compared with the host that the server sees, which is the proxy's: \
    its address, or `localhost` over a unix socket. A MariaDB is told the client's address by \
    [`proxy_protocol.send`](rules.md#proxy_protocolsend).";

/// The account is for the client's host.
pub const HOST_REFUSED: Difference = Difference {
    letter: 'H',
    why: HOST_WHY,
    code: "1045",
    message: "Access denied for user",
};

/// The account is for the proxy's host.
pub const HOST_ADMITTED: Difference = Difference {
    letter: 'H',
    why: HOST_WHY,
    code: "ok",
    message: "",
};

/// The proxy's user of the operating system is not the client's.
pub const SOCKET_ACCOUNT: Difference = Difference {
    letter: 'S',
    why: "At the other end of the server's socket is the proxy, whoever the client is. An account that logs in by the user \
        of the operating system would let in everybody as the proxy's user, so it lets in nobody. MariaDB does not tell by \
        which of its plugins an account was let in, so one that has a password as well is refused too: there it needs \
        TCP.",
    code: "1045",
    message: "would let every client in as the proxy's own user of the operating system",
};

/// The server says nothing of an account whose password has expired.
pub const EXPIRED: Difference = Difference {
    letter: 'E',
    why: "Over a unix socket the proxy asks by which plugin the client was let in, because some would let in everybody as \
        the proxy's user of the operating system. To an account whose password has expired the server answers nothing but \
        that. So its new password is set over TCP, or directly.",
    code: "1045",
    message: "over a unix socket it must know the account's plugin, and the server does not tell",
};

impl Difference {
    /// Whether this is what the client has been told.
    pub fn is(&self, told: &Outcome) -> bool {
        told.code() == self.code && told.message().contains(self.message)
    }
}

/// From a client with TLS to a plain server.
pub fn from_tls_to_plain(column: Column) -> bool {
    column.tls && matches!(column.way, Way::Plain | Way::Key)
}

/// The same without the server's RSA key.
pub fn from_tls_without_key(column: Column) -> bool {
    column.tls && column.way == Way::Plain
}

pub fn from_plain_to_tls(column: Column) -> bool {
    !column.tls && column.way == Way::Tls
}

pub fn from_plain_to_secure(column: Column) -> bool {
    !column.tls && matches!(column.way, Way::Tls | Way::Socket)
}

pub fn from_tls_to_none(column: Column) -> bool {
    column.tls && column.way != Way::Tls
}

pub fn over_tls(column: Column) -> bool {
    column.tls
}

pub fn to_socket(column: Column) -> bool {
    column.way == Way::Socket
}

pub fn to_tcp(column: Column) -> bool {
    column.way != Way::Socket
}

pub fn anywhere(_: Column) -> bool {
    true
}
