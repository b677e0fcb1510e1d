//! The console's address and account. Of its password only what a login is checked by is kept.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

use super::HostPort;

/// The SQL console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens.
    pub address: HostPort,
    /// The one user that it has.
    pub user: String,
    /// What that user's password is checked by.
    pub password: PasswordHashes,
}

/// What MySQL keeps of a password: enough to check a login by, not enough to log in with.
#[derive(Clone)]
pub struct PasswordHashes {
    /// SHA256(SHA256(password)), for `caching_sha2_password`.
    sha256: Vec<u8>,
    /// SHA1(SHA1(password)), for `mysql_native_password`.
    sha1: Vec<u8>,
    is_empty: bool,
}

impl PasswordHashes {
    /// Of a password.
    pub fn new(password: &str) -> Self {
        Self {
            sha256: twice(&SHA256, password),
            sha1: twice(&SHA1_FOR_LEGACY_USE_ONLY, password),
            is_empty: password.is_empty(),
        }
    }

    /// Whether there is no password, with which no client is let in.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether `scramble` is what a client that knows the password sends for this `auth_plugin_data` (manual:
    /// "Caching_sha2_password information"): `SHA256(password) XOR SHA256(SHA256(SHA256(password)) auth_plugin_data)`.
    pub fn accept_sha256(&self, auth_plugin_data: &[u8], scramble: &[u8]) -> bool {
        let mask = digest(&SHA256, &[&self.sha256, auth_plugin_data].concat());
        self.is_preimage(&SHA256, &self.sha256, mask.as_ref(), scramble)
    }

    /// The same by `mysql_native_password`: `SHA1(password) XOR SHA1(auth_plugin_data SHA1(SHA1(password)))`.
    pub fn accept_sha1(&self, auth_plugin_data: &[u8], scramble: &[u8]) -> bool {
        let algorithm = &SHA1_FOR_LEGACY_USE_ONLY;
        let mask = digest(algorithm, &[auth_plugin_data, &self.sha1].concat());
        self.is_preimage(algorithm, &self.sha1, mask.as_ref(), scramble)
    }

    /// Whether what `mask` hides in `scramble` has this hash. Takes the same time however much of it is right.
    fn is_preimage(
        &self,
        algorithm: &'static Algorithm,
        hash: &[u8],
        mask: &[u8],
        scramble: &[u8],
    ) -> bool {
        let unmasked: Vec<u8> = scramble.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        let same = verify_slices_are_equal(digest(algorithm, &unmasked).as_ref(), hash).is_ok();
        same && scramble.len() == mask.len() && !self.is_empty
    }
}

fn twice(algorithm: &'static Algorithm, password: &str) -> Vec<u8> {
    let once = digest(algorithm, password.as_bytes());
    digest(algorithm, once.as_ref()).as_ref().to_vec()
}

impl fmt::Debug for PasswordHashes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_empty { "\"\"" } else { "***" })
    }
}

impl PartialEq for PasswordHashes {
    fn eq(&self, other: &Self) -> bool {
        verify_slices_are_equal(&self.sha256, &other.sha256).is_ok()
    }
}

impl Eq for PasswordHashes {}

#[cfg(test)]
mod tests {
    use mysql_common::scramble::{scramble_native, scramble_sha256};

    use super::*;

    const NONCE: &[u8; 20] = b"0123456789abcdefghij";

    fn scrambles(password: &str) -> (Vec<u8>, Vec<u8>) {
        let sha256 = scramble_sha256(NONCE, password.as_bytes()).expect("a password");
        let sha1 = scramble_native(NONCE, password.as_bytes()).expect("a password");
        (sha256.to_vec(), sha1.to_vec())
    }

    #[test]
    fn the_password_is_accepted_and_nothing_else() {
        let hashes = PasswordHashes::new("secret");
        let (sha256, sha1) = scrambles("secret");
        assert!(hashes.accept_sha256(NONCE, &sha256));
        assert!(hashes.accept_sha1(NONCE, &sha1));
        let (wrong_256, wrong_1) = scrambles("secrets");
        assert!(!hashes.accept_sha256(NONCE, &wrong_256));
        assert!(!hashes.accept_sha1(NONCE, &wrong_1));
        let another = b"9123456789abcdefghij";
        assert!(!hashes.accept_sha256(another, &sha256), "a replay");
        assert!(!hashes.accept_sha1(another, &sha1), "a replay");
        for end in 0..sha256.len() {
            assert!(!hashes.accept_sha256(NONCE, &sha256[..end]), "{end}");
        }
        assert!(!hashes.accept_sha256(NONCE, &[&sha256[..], b"x"].concat()));
        assert!(!hashes.accept_sha1(NONCE, &[&sha1[..], b"x"].concat()));
    }

    #[test]
    fn without_a_password_nobody_is_let_in() {
        let hashes = PasswordHashes::new("");
        let once = digest(&SHA256, b"");
        let mask = digest(&SHA256, &[&hashes.sha256[..], NONCE].concat());
        let answer = once.as_ref().iter().zip(mask.as_ref()).map(|(a, b)| a ^ b);
        assert!(!hashes.accept_sha256(NONCE, &answer.collect::<Vec<_>>()));
        assert!(!hashes.accept_sha256(NONCE, b""));
        assert!(!hashes.accept_sha1(NONCE, b""));
    }
}
