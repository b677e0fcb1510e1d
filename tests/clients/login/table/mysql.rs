//! MySQL's accounts, and who logs in to them.

use super::case::{Case, PASSWORD, SECOND};
use super::difference::{
    EXPIRED, EXPOSED, HOST_ADMITTED, HOST_REFUSED, SEEN_WITH_TLS, SEEN_WITHOUT_TLS, SOCKET_ACCOUNT,
    TRANSPORT_REFUSED, UNCERTIFIED, anywhere, from_plain_to_secure, from_plain_to_tls,
    from_tls_to_none, from_tls_to_plain, from_tls_without_key, over_tls, to_socket, to_tcp,
};

/// Made once. `{PASSWORD}` and `{SECOND}` are the passwords.
pub const ACCOUNTS: &[&str] = &[
    "CREATE USER caching@'%', cold@'%' IDENTIFIED BY '{PASSWORD}'",
    "ALTER USER caching@'%' IDENTIFIED BY '{PASSWORD}'",
    "CREATE USER passwordless@'%' IDENTIFIED BY ''",
    "CREATE USER sha256@'%' IDENTIFIED WITH sha256_password BY '{PASSWORD}'",
    "CREATE USER sha256_empty@'%' IDENTIFIED WITH sha256_password BY ''",
    "CREATE USER two_passwords@'%' IDENTIFIED BY '{SECOND}'",
    "ALTER USER two_passwords@'%' IDENTIFIED BY '{PASSWORD}' RETAIN CURRENT PASSWORD",
    "CREATE USER expired@'%' IDENTIFIED BY '{PASSWORD}' PASSWORD EXPIRE",
    "CREATE USER locked@'%' IDENTIFIED BY '{PASSWORD}' ACCOUNT LOCK",
    "CREATE USER alone@'%' IDENTIFIED BY '{PASSWORD}' WITH MAX_USER_CONNECTIONS 1",
    "CREATE USER hourly@'%' IDENTIFIED BY '{PASSWORD}' WITH MAX_CONNECTIONS_PER_HOUR 1",
    "CREATE USER failing@'%' IDENTIFIED BY '{PASSWORD}' FAILED_LOGIN_ATTEMPTS 1 PASSWORD_LOCK_TIME 1",
    "CREATE USER with_ssl@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL",
    "CREATE USER with_x509@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE X509",
    "CREATE USER elsewhere@'192.0.2.1' IDENTIFIED BY '{PASSWORD}'",
    "CREATE USER far@'127.0.0.2' IDENTIFIED BY '{PASSWORD}'",
    "CREATE USER near@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
    "CREATE ROLE a_role",
    "CREATE USER with_role@'%' IDENTIFIED BY '{PASSWORD}' DEFAULT ROLE a_role",
    "CREATE USER other_user@'%' IDENTIFIED WITH auth_socket AS 'somebody_else'",
    "CREATE USER outer_user@'%' IDENTIFIED WITH sha256_password BY '{PASSWORD}'",
    "GRANT PROXY ON caching@'%' TO outer_user@'%'",
    "CREATE USER two_factors@'%' IDENTIFIED BY '{PASSWORD}' AND IDENTIFIED WITH auth_socket AS 'somebody_else'",
];

pub const CASES: &[Case] = &[
    Case::new("caching_sha2_password, cold", "cold", "ok")
        .each(&["ALTER USER cold@'%' IDENTIFIED BY '{PASSWORD}'"])
        .differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("caching_sha2_password, warm", "caching", "ok"),
    Case::new("caching_sha2_password, cold, wrong password", "cold", "1045")
        .wrong()
        .each(&["ALTER USER cold@'%' IDENTIFIED BY '{PASSWORD}'"])
        .differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("caching_sha2_password, warm, wrong password", "caching", "1045")
        .wrong()
        .differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("caching_sha2_password, empty password", "passwordless", "ok").empty(),
    Case::new("a password where none is", "passwordless", "1045").differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("none where a password is", "caching", "1045").empty(),
    Case::new("the former one of two passwords", "two_passwords", "ok").passwords(&[SECOND]).prior(SECOND),
    Case::new("sha256_password", "sha256", "ok").differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("sha256_password, wrong password", "sha256", "1045")
        .wrong()
        .differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("sha256_password, empty password", "sha256_empty", "ok").empty(),
    Case::new("sha256_password, none where a password is", "sha256", "1045").empty(),
    Case::new("client begins with mysql_native_password", "caching", "ok")
        .announces("mysql_native_password"),
    Case::new("client begins with sha256_password", "caching", "ok").announces("sha256_password"),
    Case::new("client begins with mysql_clear_password", "caching", "ok")
        .announces("mysql_clear_password"),
    Case::new("client begins with a plugin that nobody knows", "caching", "ok")
        .announces("no_such_plugin"),
    Case::new("client knows no plugins", "caching", "1251").knows_no_plugins().login_only(),
    Case::new("sha256_password, with which the client begins", "sha256", "ok")
        .announces("sha256_password")
        .differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("unknown user", "nobody", "1045").differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("unknown user, no password", "nobody", "1045").empty(),
    Case::new("empty user name, no such account", "", "1045").differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("empty user name, anonymous account", "", "ok")
        .before(&["CREATE USER ''@'%' IDENTIFIED BY '{PASSWORD}'"])
        .after(&["DROP USER ''@'%'"]),
    Case::new("host part of another host", "elsewhere", "1045").differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("host part of the client's host", "far", "ok")
        .of_another_host()
        .differs(&[(from_tls_without_key, &EXPOSED), (anywhere, &HOST_REFUSED)]),
    Case::new("host part of the proxy's host", "near", "1045")
        .of_another_host()
        .differs(&[(to_tcp, &HOST_ADMITTED)]),
    Case::new("expired password", "expired", "ok, then 1820").differs(&[(to_socket, &EXPIRED)]),
    Case::new("expired password, which the client sets anew", "expired", "ok")
        .says("ALTER USER USER() IDENTIFIED BY '{PASSWORD}'")
        .each(&["ALTER USER expired@'%' PASSWORD EXPIRE"])
        .prior(PASSWORD)
        .differs(&[(to_socket, &EXPIRED)]),
    Case::new("expired password, client cannot handle it", "expired", "1862")
        .before(&["ALTER USER expired@'%' PASSWORD EXPIRE"])
        .cannot_handle_expired(),
    Case::new("locked account", "locked", "3118"),
    Case::new("locked account, wrong password", "locked", "1045")
        .wrong()
        .differs(&[(from_tls_without_key, &EXPOSED)]),
    Case::new("locked for wrong passwords", "failing", "3955").fails(),
    Case::new("MAX_USER_CONNECTIONS reached", "alone", "1226").holds(),
    Case::new("max_user_connections reached", "caching", "1203")
        .before(&["SET GLOBAL max_user_connections = 1"])
        .after(&["SET GLOBAL max_user_connections = 900"])
        .holds(),
    Case::new("MAX_CONNECTIONS_PER_HOUR reached", "hourly", "1226").holds(),
    Case::new("offline_mode", "caching", "3032")
        .before(&["SET GLOBAL offline_mode = ON"])
        .after(&["SET GLOBAL offline_mode = OFF"]),
    Case::new("REQUIRE SSL", "with_ssl", "1045")
        .over_tls("ok")
        .differs(&[(from_plain_to_tls, &SEEN_WITH_TLS), (from_tls_to_none, &SEEN_WITHOUT_TLS)]),
    Case::new("REQUIRE X509, without a certificate", "with_x509", "1045"),
    Case::new("REQUIRE X509, with a certificate", "with_x509", "1045")
        .over_tls("ok")
        .certified()
        .differs(&[(over_tls, &UNCERTIFIED)]),
    Case::new("require_secure_transport", "caching", "3159")
        .over_tls("ok")
        .before(&["SET GLOBAL require_secure_transport = ON"])
        .after(&["SET GLOBAL require_secure_transport = OFF"])
        .login_only()
        .differs(&[(from_plain_to_secure, &SEEN_WITH_TLS), (from_tls_to_plain, &TRANSPORT_REFUSED)]),
    Case::new("default schema", "caching", "ok")
        .schema("login")
        .before(&["GRANT SELECT ON login.* TO caching@'%'"]),
    Case::new("default schema that is not there", "caching", "1044").schema("missing"),
    Case::new("default schema that is not there, for who may see all", "caching", "1049")
        .schema("missing")
        .before(&["GRANT SELECT ON *.* TO caching@'%'"])
        .after(&["REVOKE SELECT ON *.* FROM caching@'%'"]),
    Case::new("default schema without a right to it", "caching", "1044").schema("closed"),
    Case::new("default role", "with_role", "ok"),
    Case::new("a role's own name", "a_role", "3118").empty(),
    Case::new("auth_socket of another user", "other_user", "1698"),
    Case::new("auth_socket of the proxy's user", "own_user", "1698")
        .before(&["CREATE USER own_user@'%' IDENTIFIED WITH auth_socket AS '{own_user}'"])
        .after(&["DROP USER own_user@'%'"])
        .differs(&[(to_socket, &SOCKET_ACCOUNT)]),
    Case::new("two factors, the second auth_socket", "two_factors", "1698"),
    Case::new("two factors, the second auth_socket of the proxy's user", "own_factor", "1698")
        .before(&["CREATE USER own_factor@'%' IDENTIFIED BY '{PASSWORD}' AND IDENTIFIED WITH auth_socket AS '{own_user}'"])
        .after(&["DROP USER own_factor@'%'"])
        .differs(&[(to_socket, &SOCKET_ACCOUNT)]),
    Case::new("user that is a proxy for another", "outer_user", "ok")
        // Fails with 1242 unless it has become the other.
        .says("SELECT IF(CURRENT_USER() = 'caching@%', 1, (SELECT 1 UNION SELECT 2))")
        .before(&["SET GLOBAL check_proxy_users = ON", "SET GLOBAL sha256_password_proxy_users = ON"])
        .after(&["SET GLOBAL check_proxy_users = OFF", "SET GLOBAL sha256_password_proxy_users = OFF"])
        .differs(&[(from_tls_without_key, &EXPOSED)]),
];
