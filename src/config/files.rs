//! The PEM files that rules.yaml names: whether they hold what they should.

use std::path::Path;

use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};

use super::error::{Error, Place, Problem};
use super::{ClientTls, Config, Verify};

/// Opens each file once, so that a wrong path is an error at start and not at the first client.
pub(super) fn check(config: &Config) -> Result<(), Error> {
    if let ClientTls::Files { certificate, key } = &config.tls {
        let chain = CertificateDer::from_pem_file(certificate).map(drop);
        refuse("tls.certificate", certificate, chain)?;
        refuse("tls.key", key, PrivateKeyDer::from_pem_file(key).map(drop))?;
    }
    if let Some(Verify { ca, .. }) = config.upstream_tls.verify() {
        let trusted = CertificateDer::from_pem_file(ca).map(drop);
        refuse("upstream_tls.ca", ca, trusted)?;
    }
    if let Some(key) = &config.upstream_public_key {
        let public = SubjectPublicKeyInfoDer::from_pem_file(key).map(drop);
        refuse("upstream_tls.public_key", key, public)?;
    }
    Ok(())
}

fn refuse(field: &str, path: &Path, outcome: Result<(), PemError>) -> Result<(), Error> {
    let error = match outcome {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let (why, remedy) = match (error, field) {
        (PemError::Io(error), _) => (
            format!("cannot be read: {error}"),
            "name a PEM file that the proxy may read",
        ),
        (PemError::NoItemsFound, "tls.key") => (
            "holds no private key".to_owned(),
            "name the PEM file that has PRIVATE KEY in it",
        ),
        (PemError::NoItemsFound, "upstream_tls.public_key") => (
            "holds no public key".to_owned(),
            "name the server's public_key.pem, which has PUBLIC KEY in it",
        ),
        (PemError::NoItemsFound, _) => (
            "holds no certificate".to_owned(),
            "name the PEM file that has CERTIFICATE in it",
        ),
        // The words of the PEM crate can quote the file, which may be a private key.
        (_, _) => (
            "is not a PEM file".to_owned(),
            "name a file with -----BEGIN ..----- in it",
        ),
    };
    Err(Error {
        place: Box::new(Place::field(field)),
        problem: Problem::File {
            path: path.display().to_string(),
            why,
            remedy,
        },
    })
}
