//! Certificates, authorities and revocation lists, read again when their files change.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Error, last_change};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Files that belong together, and when they were last changed.
#[derive(Debug)]
pub(super) struct Files {
    paths: Vec<PathBuf>,
    changed: Vec<Option<SystemTime>>,
}

impl Files {
    /// As they are now; whoever reads them must do so afterwards.
    pub(super) fn now<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let paths: Vec<_> = paths.into_iter().map(Path::to_owned).collect();
        Self {
            changed: changes(&paths),
            paths,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether one of them has been changed, and all are there.
    fn have_changed(&mut self) -> bool {
        let changed = changes(&self.paths);
        if changed == self.changed || changed.contains(&None) {
            return false;
        }
        self.changed = changed;
        true
    }

    fn names(&self) -> String {
        let names = self.paths.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }
}

fn changes(paths: &[PathBuf]) -> Vec<Option<SystemTime>> {
    paths.iter().map(|path| last_change(path)).collect()
}

/// What becomes of a change of some files.
pub(super) struct Renewal {
    files: Files,
    /// Reads them, and puts what they hold in force. What does not fit changes nothing.
    read_again: Box<dyn Fn() -> Result<(), Error> + Send>,
}

impl Renewal {
    pub(super) fn new(
        files: Files,
        read_again: impl Fn() -> Result<(), Error> + Send + 'static,
    ) -> Self {
        Self {
            files,
            read_again: Box::new(read_again),
        }
    }
}

/// Reads files again whenever one of them has changed, until it is dropped. Whoever renews a certificate writes two
/// files, one after the other: what does not fit yet is left as it is until the next change.
pub(super) async fn keep(mut renewals: Vec<Renewal>) {
    if renewals.is_empty() {
        return;
    }
    loop {
        tokio::time::sleep(LOOK).await;
        for renewal in &mut renewals {
            if !renewal.files.have_changed() {
                continue;
            }
            match (renewal.read_again)() {
                Ok(()) => tracing::info!("{} read again", renewal.files.names()),
                Err(why) => tracing::error!("certificates stay as they are: {why}"),
            }
        }
    }
}
