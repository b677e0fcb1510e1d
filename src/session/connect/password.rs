//! RSA encryption of passwords that pass between a plain side and a secure one (manual: "Caching_sha2_password
//! information", "Native Authentication", SHA-256).
//!
//! A password is sent with a NUL at its end. Both are XORed with auth_plugin_data and encrypted with RSA-OAEP (SHA-1,
//! MGF1 SHA-1).

use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

use crate::metrics::Fault;

/// A password in the clear, including the NUL at its end. Overwritten when dropped.
pub(super) type Password = Zeroizing<Vec<u8>>;

/// Why a password could not be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// The client uses TLS, and the upstream does not.
    #[error(
        "the password came by TLS and would go on without; let countersink reach its upstream by TLS (upstream_tls.mode) \
         or over a unix socket, or name the server's RSA key (upstream_tls.public_key)"
    )]
    PlainUpstream,
    /// The upstream's public key is not a valid one.
    #[error("the upstream's answer is no RSA public key of 2048 to 8192 bits")]
    UpstreamKey,
    /// The password is too long for the upstream's key.
    #[error(
        "password too long for the upstream's RSA key; let countersink reach its upstream by TLS"
    )]
    TooLong,
    /// The client encrypted the password with another key, most likely that of the MySQL server.
    #[error(
        "password encrypted with a key that is not countersink's; remove server-public-key-path from \
         the client's settings, or use TLS between client and countersink"
    )]
    ForeignKey,
    /// The proxy's own key could not be generated.
    #[error("cannot make an RSA key")]
    OwnKey,
}

impl PasswordError {
    pub(super) fn fault(self) -> Fault {
        match self {
            Self::ForeignKey | Self::TooLong => Fault::Client,
            Self::UpstreamKey => Fault::Upstream,
            Self::OwnKey | Self::PlainUpstream => Fault::Proxy,
        }
    }
}

/// The key pair that clients on a plain connection use to encrypt a password, in place of MySQL's own. It is generated
/// when the first client needs it and lasts as long as the process.
#[derive(Default)]
pub struct PasswordKey {
    pair: OnceCell<Pair>,
}

struct Pair {
    public_pem: String,
    private: OaepPrivateDecryptingKey,
}

impl PasswordKey {
    /// A key that has not been generated yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Generates the key now, unless it exists, so that no client has to wait for it.
    pub async fn prepare(&self) -> Result<(), PasswordError> {
        self.pair().await.map(|_| ())
    }

    /// The public key: PEM of a SubjectPublicKeyInfo.
    pub(super) async fn public_pem(&self) -> Result<&str, PasswordError> {
        Ok(&self.pair().await?.public_pem)
    }

    /// Decrypts a password that a client encrypted with this key.
    pub(super) async fn decrypt(
        &self,
        encrypted: &[u8],
        auth_plugin_data: &[u8],
    ) -> Result<Password, PasswordError> {
        let private = &self.pair().await?.private;
        let mut room = Zeroizing::new(vec![0; private.min_output_size()]);
        let plain = private
            .decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None)
            .map_err(|_| PasswordError::ForeignKey)?;
        let mut password = Zeroizing::new(plain.to_vec());
        xor(&mut password, auth_plugin_data);
        Ok(password)
    }

    async fn pair(&self) -> Result<&Pair, PasswordError> {
        self.pair
            .get_or_try_init(|| async {
                let made = spawn_blocking(Pair::make).await;
                made.map_err(|_| PasswordError::OwnKey)?
            })
            .await
    }
}

impl Pair {
    fn make() -> Result<Self, PasswordError> {
        let pair =
            rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048)
                .map_err(|_| PasswordError::OwnKey)?;
        let private = PrivateDecryptingKey::from_pkcs8(pair.serialized_der())
            .map_err(|_| PasswordError::OwnKey)?;
        Ok(Self {
            public_pem: pair.public_key_pem(),
            private: OaepPrivateDecryptingKey::new(private).map_err(|_| PasswordError::OwnKey)?,
        })
    }
}

/// Encrypts `password`, which ends with a NUL, for the server whose public key is `pem`.
pub(super) fn encrypt(
    password: &Password,
    auth_plugin_data: &[u8],
    pem: &[u8],
) -> Result<Vec<u8>, PasswordError> {
    let der =
        SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| PasswordError::UpstreamKey)?;
    let key = PublicEncryptingKey::from_der(&der)
        .and_then(|key| Ok(OaepPublicEncryptingKey::new(key)?))
        .map_err(|_| PasswordError::UpstreamKey)?;
    let mut mixed = password.clone();
    xor(&mut mixed, auth_plugin_data);
    let mut encrypted = vec![0; key.ciphertext_size()];
    let length = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut encrypted, None)
        .map_err(|_| PasswordError::TooLong)?
        .len();
    encrypted.truncate(length);
    Ok(encrypted)
}

fn xor(bytes: &mut [u8], auth_plugin_data: &[u8]) {
    for (byte, mask) in bytes.iter_mut().zip(auth_plugin_data.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &[u8] = b"0123456789abcdefghij";

    #[tokio::test]
    async fn what_is_encrypted_for_our_key_is_decrypted_by_it() {
        let key = PasswordKey::new();
        let pem = key.public_pem().await.unwrap().to_owned();
        assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"));
        for length in [1, 19, 20, 21, 213] {
            let password = Zeroizing::new([vec![b'p'; length], vec![0]].concat());
            let encrypted = encrypt(&password, NONCE, pem.as_bytes()).unwrap();
            assert_eq!(encrypted.len(), 256);
            assert_eq!(key.decrypt(&encrypted, NONCE).await.unwrap(), password);
        }
    }

    #[tokio::test]
    async fn the_nul_is_mixed_with_the_nonce_as_the_password_is() {
        let key = PasswordKey::new();
        let pem = key.public_pem().await.unwrap();
        let password = Zeroizing::new(b"pw\0".to_vec());
        let encrypted = encrypt(&password, NONCE, pem.as_bytes()).unwrap();
        // auth_plugin_data of zeros returns what was encrypted. MySQL 9.7 refuses a password whose NUL was not XORed.
        let mixed = key.decrypt(&encrypted, &[0]).await.unwrap();
        assert_eq!(mixed[..], [b'p' ^ b'0', b'w' ^ b'1', b'2']);
    }

    #[tokio::test]
    async fn a_password_for_another_key_or_too_long_or_a_key_that_is_none_are_told_apart() {
        let (ours, theirs) = (PasswordKey::new(), PasswordKey::new());
        let pem = theirs.public_pem().await.unwrap().as_bytes();
        let password = Zeroizing::new(b"secret\0".to_vec());
        let encrypted = encrypt(&password, NONCE, pem).unwrap();
        assert_eq!(
            ours.decrypt(&encrypted, NONCE).await,
            Err(PasswordError::ForeignKey)
        );
        assert_eq!(
            ours.decrypt(b"short", NONCE).await,
            Err(PasswordError::ForeignKey)
        );
        let long = Zeroizing::new(vec![b'p'; 215]);
        assert_eq!(encrypt(&long, NONCE, pem), Err(PasswordError::TooLong));
        assert_eq!(
            encrypt(&password, NONCE, b"no key"),
            Err(PasswordError::UpstreamKey)
        );
    }
}
