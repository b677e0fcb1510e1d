//! The PEM files that rules.yaml names: whether they hold what they should.

use std::path::Path;

use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, SubjectPublicKeyInfoDer,
};

use super::error::{Error, Place, Problem};
use super::{CertificateFiles, ClientCertificates, Config, Verify};

/// Opens each file once, so that a wrong path is an error at start and not at the first client.
pub(super) fn check(config: &Config) -> Result<(), Error> {
    if let Some(tls) = &config.tls {
        check_pair(["tls.certificate", "tls.key"], tls.certificate.as_ref())?;
        if let Some(ClientCertificates { ca, crl, .. }) = &tls.clients {
            check_certificates("tls.ca", ca)?;
            if let Some(crl) = crl {
                let list = CertificateRevocationListDer::from_pem_file(crl).map(drop);
                refuse("tls.crl", crl, list)?;
            }
        }
    }
    if let Some(Verify { ca, .. }) = config.upstream_tls.verify() {
        check_certificates("upstream_tls.ca", ca)?;
    }
    check_pair(
        ["upstream_tls.certificate", "upstream_tls.key"],
        config.upstream_certificate.as_ref(),
    )?;
    if let Some(key) = &config.upstream_public_key {
        let public = SubjectPublicKeyInfoDer::from_pem_file(key).map(drop);
        refuse("upstream_tls.public_key", key, public)?;
    }
    Ok(())
}

fn check_pair(
    [certificate_field, key_field]: [&str; 2],
    files: Option<&CertificateFiles>,
) -> Result<(), Error> {
    let Some(CertificateFiles { certificate, key }) = files else {
        return Ok(());
    };
    check_certificates(certificate_field, certificate)?;
    refuse(key_field, key, PrivateKeyDer::from_pem_file(key).map(drop))
}

fn check_certificates(field: &str, path: &Path) -> Result<(), Error> {
    refuse(field, path, CertificateDer::from_pem_file(path).map(drop))
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
        (PemError::NoItemsFound, "tls.key" | "upstream_tls.key") => (
            "holds no private key".to_owned(),
            "name the PEM file that has PRIVATE KEY in it",
        ),
        (PemError::NoItemsFound, "upstream_tls.public_key") => (
            "holds no public key".to_owned(),
            "name the server's public_key.pem, which has PUBLIC KEY in it",
        ),
        (PemError::NoItemsFound, "tls.crl") => (
            "holds no revocation list".to_owned(),
            "name the PEM file that has X509 CRL in it",
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
