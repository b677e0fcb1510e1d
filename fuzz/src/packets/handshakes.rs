//! The packets of the connection phase.

use super::differences;
use crate::wire::capability;
use crate::wire::handshake::authentication::{PasswordPlugin, PluginRequest, in_the_clear};
use crate::wire::handshake::change_user::ChangeUser;
use crate::wire::handshake::{HandshakeResponse, InitialHandshake};

/// MySQL 9.7.4 with TLS, and MariaDB 10.11.18.
pub(super) const INITIAL_HANDSHAKES: &[&[u8]] = &[
    b"\n9.7.4-2\0\x16\0\0\0N%aT-S{\x7f\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0 \x1f:d<y\x07oA|E@\0caching_sha2_password\0",
    b"\n5.5.5-10.11.18-MariaDB-0+deb12u1-log\0\x0e\0\0\0yI=79Z9O\0\xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0_r>|v\\K@AeWe\0mysql_native_password\0",
];

pub(super) const RESPONSES: &[&[u8]] = &[
    b"\x8d\xa2\x3f\x00\0\0\0\x01\x2d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0ann\0\x05DATA!shop\0sha256_password\0\x0e\x03key\x03val\x01a\x03bcd",
    b"\x8c\xa2\x1b\x04\0\0\0\x01\x2d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x1d\0\0\0bob\0\x14abcdefghij0123456789shop\0mysql_native_password\0\x08\x03key\x03val\x03",
];

pub(super) const CHANGES_OF_USER: &[&[u8]] = &[
    b"\x11bob\0\x03abcshop\0\x2d\0sha256_password\0\x08\x03key\x03val",
    b"\x11bob\0\0\0",
];

pub(super) fn initial_handshake(_capabilities: u64, payload: &[u8]) {
    let Ok(handshake) = InitialHandshake::decode(payload) else {
        return;
    };
    let mut same = payload.to_vec();
    handshake.put_capabilities(&mut same, handshake.capabilities);
    assert_eq!(same, payload, "its own capabilities change nothing");
    // What the login offers to clients, with and without TLS of its own.
    for ssl in [0, capability::SSL] {
        let offered = handshake.capabilities & !capability::MASKED & !capability::SSL | ssl;
        let mut masked = payload.to_vec();
        handshake.put_capabilities(&mut masked, offered);
        let flags = handshake.server_version.len() + 15;
        let is_flag = |at: &usize| matches!(at.checked_sub(flags), Some(0 | 1 | 5 | 6 | 14..=17));
        let differing = differences(payload, &masked);
        assert!(differing.iter().all(is_flag), "only flags: {differing:?}");
        let mut expected = handshake.clone();
        expected.capabilities = offered;
        assert_eq!(InitialHandshake::decode(&masked), Ok(expected), "masked");
    }
    let abandoned = handshake.abandoned_response();
    let abandoned = HandshakeResponse::decode(&abandoned, handshake.capabilities);
    let abandoned = abandoned.expect("our own response");
    assert_eq!(abandoned.user, b"countersink-client-left");
    assert_eq!(abandoned.schema, None);
}

pub(super) fn handshake_response(offered: u64, payload: &[u8]) {
    let Ok(response) = HandshakeResponse::decode(payload, offered) else {
        return;
    };
    let data = response.authentication_data(payload, offered);
    data.expect("it was found when the response was decoded");
    let mut same = payload.to_vec();
    response.put_capabilities(&mut same, response.capabilities);
    assert_eq!(same, payload, "its own capabilities change nothing");
    let flags = response.capabilities & !capability::MASKED & !capability::SSL;
    let mut masked = payload.to_vec();
    response.put_capabilities(&mut masked, flags);
    let differing = differences(payload, &masked);
    let is_flag = |at: &usize| matches!(at, 0..=3 | 28..=31);
    assert!(differing.iter().all(is_flag), "only flags: {differing:?}");
    let again = HandshakeResponse::decode(&masked, offered);
    let mut expected = response.clone();
    expected.capabilities = flags;
    assert_eq!(again, Ok(expected), "masked");
    if !may_be_withheld(response.plugin.as_deref()) {
        return;
    }
    let withheld = response.withhold_credentials(payload);
    let again = HandshakeResponse::decode(&withheld, offered).expect("it can be read again");
    assert_eq!(again.authentication_data(&withheld, offered), Ok(&b""[..]));
    assert_eq!(
        (&again.user, &again.schema, &again.attributes),
        (&response.user, &response.schema, &response.attributes),
        "without credentials"
    );
    assert_eq!(
        (again.capabilities, again.collation),
        (response.capabilities, response.collation)
    );
}

pub(super) fn change_user(capabilities: u64, payload: &[u8]) {
    let Ok(command) = ChangeUser::decode(payload, capabilities) else {
        return;
    };
    if !may_be_withheld(command.plugin.as_deref()) {
        return;
    }
    let withheld = command.withhold_credentials(payload);
    let again = ChangeUser::decode(&withheld, capabilities).expect("it can be read again");
    assert_eq!(
        (
            &again.user,
            &again.schema,
            &again.collation,
            &again.attributes
        ),
        (
            &command.user,
            &command.schema,
            &command.collation,
            &command.attributes
        ),
        "without credentials"
    );
}

pub(super) fn plugin_request(_capabilities: u64, payload: &[u8]) {
    let Ok(request) = PluginRequest::decode(payload) else {
        return;
    };
    let named = [&payload[..1], request.plugin].concat();
    assert!(payload.starts_with(&named), "the plugin is where it stood");
    let behind = payload.strip_suffix(b"\0").unwrap_or(payload);
    assert!(
        behind.ends_with(request.data) || payload.ends_with(request.data),
        "the data is where it stood"
    );
}

/// Whether there are sides between which the login withholds a client's credentials for this plugin.
fn may_be_withheld(plugin: Option<&[u8]>) -> bool {
    plugin.is_some_and(|plugin| {
        PasswordPlugin::named(plugin) == Some(PasswordPlugin::Sha256)
            || in_the_clear(plugin).is_some()
    })
}
