//! The certificate that clients are shown, read again when its files change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{Error, last_change, read};
use crate::net::tls::ShownCertificate;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// A certificate and its files.
pub(super) struct Renewed {
    shown: Arc<ShownCertificate>,
    certificate: PathBuf,
    key: PathBuf,
    changed: [Option<SystemTime>; 2],
}

impl Renewed {
    /// Reads the files.
    pub(super) fn read(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let changed = [last_change(certificate), last_change(key)];
        let shown = ShownCertificate::new(&read(certificate)?, &read(key)?)?;
        Ok(Self {
            shown: Arc::new(shown),
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            changed,
        })
    }

    /// The certificate that is shown, now and after each change.
    pub(super) fn shown(&self) -> Arc<ShownCertificate> {
        Arc::clone(&self.shown)
    }

    /// Reads the files again whenever one of them has changed, until it is dropped. Whoever renews a certificate writes
    /// two files, one after the other: what does not fit yet is left as it is until the next change.
    pub(super) async fn keep(mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let changed = [last_change(&self.certificate), last_change(&self.key)];
            if changed == self.changed || changed.contains(&None) {
                continue;
            }
            self.changed = changed;
            match self.read_again() {
                Ok(()) => tracing::info!("certificate {} read again", self.certificate.display()),
                Err(why) => tracing::error!("the certificate stays as it is: {why}"),
            }
        }
    }

    fn read_again(&self) -> Result<(), Error> {
        let (certificate, key) = (read(&self.certificate)?, read(&self.key)?);
        Ok(self.shown.replace(&certificate, &key)?)
    }
}
