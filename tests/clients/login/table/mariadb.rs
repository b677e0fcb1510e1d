//! MariaDB's accounts, and who logs in to them.

use super::case::{Case, SECOND};
use super::difference::{
    CLEAR, EXPIRED, HOST_ADMITTED, HOST_REFUSED, SEEN_WITH_TLS, SEEN_WITHOUT_TLS, SOCKET_ACCOUNT,
    UNCERTIFIED, anywhere, from_plain_to_tls, from_tls_to_none, from_tls_to_plain, over_tls,
    to_socket, to_tcp,
};

/// Made once. `{PASSWORD}` and `{SECOND}` are the passwords.
pub const ACCOUNTS: &[&str] = &[
    "CREATE USER native@'%' IDENTIFIED BY '{PASSWORD}'",
    "CREATE USER passwordless@'%' IDENTIFIED BY ''",
    "CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')",
    "CREATE USER either@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')
       OR mysql_native_password USING PASSWORD('{SECOND}')",
    "CREATE USER socket_or@'%' IDENTIFIED VIA unix_socket
       OR mysql_native_password USING PASSWORD('{PASSWORD}')",
    "CREATE USER pam@'%' IDENTIFIED VIA pam USING 'countersink-has-none'",
    "CREATE USER expired@'%' IDENTIFIED BY '{PASSWORD}' PASSWORD EXPIRE",
    "CREATE USER locked@'%' IDENTIFIED BY '{PASSWORD}' ACCOUNT LOCK",
    "CREATE USER alone@'%' IDENTIFIED BY '{PASSWORD}' WITH MAX_USER_CONNECTIONS 1",
    "CREATE USER hourly@'%' IDENTIFIED BY '{PASSWORD}' WITH MAX_CONNECTIONS_PER_HOUR 1",
    "CREATE USER failing@'%' IDENTIFIED BY '{PASSWORD}'",
    "CREATE USER with_ssl@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL",
    "CREATE USER with_x509@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE X509",
    "CREATE USER elsewhere@'192.0.2.1' IDENTIFIED BY '{PASSWORD}'",
    "CREATE USER far@'127.0.0.2' IDENTIFIED BY '{PASSWORD}'",
    "CREATE USER near@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
    "CREATE ROLE a_role",
    "CREATE USER with_role@'%' IDENTIFIED BY '{PASSWORD}'",
    "GRANT a_role TO with_role@'%'",
    "SET DEFAULT ROLE a_role FOR with_role@'%'",
    "CREATE USER other_user@'%' IDENTIFIED VIA unix_socket",
];

pub const CASES: &[Case] = &[
    Case::new("mysql_native_password", "native", "ok"),
    Case::new("mysql_native_password, wrong password", "native", "1045").wrong(),
    Case::new("none where a password is", "native", "1045").empty(),
    Case::new("empty password", "passwordless", "ok").empty(),
    Case::new("a password where none is", "passwordless", "1045"),
    Case::new("ed25519", "ed", "ok"),
    Case::new("ed25519, wrong password", "ed", "1045").wrong(),
    Case::new("ed25519 or native, the first", "either", "ok"),
    Case::new("ed25519 or native, the second", "either", "ok").passwords(&[SECOND]),
    Case::new("ed25519 or native, neither", "either", "1045").wrong(),
    Case::new("unix_socket of another user", "other_user", "1698"),
    Case::new("unix_socket of another user, or native", "socket_or", "ok")
        .differs(&[(to_socket, &SOCKET_ACCOUNT)]),
    Case::new("unix_socket of the proxy's user", "{own_user}", "1698")
        .before(&[
            "CREATE USER IF NOT EXISTS '{own_user}'@'localhost'",
            "ALTER USER '{own_user}'@'localhost' IDENTIFIED VIA unix_socket",
        ])
        .after(&["ALTER USER '{own_user}'@'localhost' IDENTIFIED BY ''"])
        .differs(&[(to_socket, &SOCKET_ACCOUNT)]),
    Case::new("PAM (mysql_clear_password), wrong password", "pam", "1045")
        .wrong()
        .differs(&[(from_tls_to_plain, &CLEAR)]),
    Case::new("client begins with client_ed25519", "native", "ok").announces("client_ed25519"),
    Case::new("client begins with mysql_clear_password", "native", "ok")
        .announces("mysql_clear_password"),
    Case::new(
        "client begins with a plugin that nobody knows",
        "native",
        "ok",
    )
    .announces("no_such_plugin"),
    Case::new("client knows no plugins", "native", "ok")
        .knows_no_plugins()
        .login_only(),
    Case::new("unknown user", "nobody", "1045"),
    Case::new("unknown user, no password", "nobody", "1045").empty(),
    Case::new("empty user name, no such account", "", "1045"),
    Case::new("empty user name, anonymous account", "", "ok")
        .before(&["CREATE USER ''@'%' IDENTIFIED BY '{PASSWORD}'"])
        .after(&["DROP USER ''@'%'"]),
    Case::new("host part of another host", "elsewhere", "1045"),
    Case::new("host part of the client's host", "far", "ok")
        .of_another_host()
        .differs(&[(anywhere, &HOST_REFUSED)]),
    Case::new("host part of the proxy's host", "near", "1045")
        .of_another_host()
        .differs(&[(to_tcp, &HOST_ADMITTED)]),
    Case::new("expired password", "expired", "ok, then 1820").differs(&[(to_socket, &EXPIRED)]),
    Case::new(
        "expired password, which the client sets anew",
        "expired",
        "ok",
    )
    .says("SET PASSWORD = PASSWORD('{PASSWORD}')")
    .each(&["ALTER USER expired@'%' PASSWORD EXPIRE"])
    .differs(&[(to_socket, &EXPIRED)]),
    Case::new(
        "expired password, client cannot handle it",
        "expired",
        "1862",
    )
    .before(&[
        "SET GLOBAL disconnect_on_expired_password = ON",
        "ALTER USER expired@'%' PASSWORD EXPIRE",
    ])
    .cannot_handle_expired(),
    Case::new("locked account", "locked", "4151"),
    Case::new("locked account, wrong password", "locked", "1045").wrong(),
    Case::new("locked for wrong passwords", "failing", "4150")
        .before(&["SET GLOBAL max_password_errors = 1"])
        .after(&["SET GLOBAL max_password_errors = 4294967295"])
        .fails(),
    Case::new("MAX_USER_CONNECTIONS reached", "alone", "1226").holds(),
    Case::new("max_user_connections reached", "native", "1203")
        .before(&["SET GLOBAL max_user_connections = 1"])
        .after(&["SET GLOBAL max_user_connections = 900"])
        .holds(),
    Case::new("MAX_CONNECTIONS_PER_HOUR reached", "hourly", "1226").holds(),
    Case::new("REQUIRE SSL", "with_ssl", "1045")
        .over_tls("ok")
        .differs(&[
            (from_plain_to_tls, &SEEN_WITH_TLS),
            (from_tls_to_none, &SEEN_WITHOUT_TLS),
        ]),
    Case::new("REQUIRE X509, without a certificate", "with_x509", "1045"),
    Case::new("REQUIRE X509, with a certificate", "with_x509", "1045")
        .over_tls("ok")
        .certified()
        .differs(&[(over_tls, &UNCERTIFIED)]),
    Case::new("default schema", "native", "ok")
        .schema("login")
        .before(&["GRANT SELECT ON login.* TO native@'%'"]),
    Case::new("default schema that is not there", "native", "1044").schema("missing"),
    Case::new(
        "default schema that is not there, for who may see all",
        "native",
        "1049",
    )
    .schema("missing")
    .before(&["GRANT SELECT ON *.* TO native@'%'"])
    .after(&["REVOKE SELECT ON *.* FROM native@'%'"]),
    Case::new("default schema without a right to it", "native", "1044").schema("closed"),
    Case::new("default role", "with_role", "ok"),
    Case::new("a role's own name", "a_role", "1045").empty(),
];
