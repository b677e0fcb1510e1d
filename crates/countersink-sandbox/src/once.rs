//! Files and folders that are slow to make. One process makes them at a time, and others see them only when they are
//! complete.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::Error;

/// A file or folder that is made once, then used by later calls and by other processes.
#[derive(Debug)]
pub(super) struct Once<'a> {
    /// The folder that contains it, which is created if necessary.
    pub cache: &'a Path,
    /// Its name in that folder.
    pub name: &'a str,
    /// Whether what exists is complete.
    pub is_whole: fn(&Path) -> bool,
}

impl Once<'_> {
    /// Returns the path if it is complete. Otherwise calls `make` with an empty folder to work in, and moves the path
    /// that `make` returns to its place.
    pub fn get(
        &self,
        progress: &dyn Fn(&str),
        make: impl FnOnce(&Path) -> Result<PathBuf, Error>,
    ) -> Result<PathBuf, Error> {
        let whole = self.cache.join(self.name);
        if (self.is_whole)(&whole) {
            return Ok(whole);
        }
        fs::create_dir_all(self.cache).map_err(Error::file("create", self.cache))?;
        let _lock = self.lock(progress)?;
        if (self.is_whole)(&whole) {
            return Ok(whole); // the process that held the lock has made it
        }
        let prefix = format!("{}.part-", self.name);
        self.sweep(&prefix, &whole);
        // A new name each time, because a program that a killed process left behind may still write to the old one.
        let part = tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in(self.cache)
            .map_err(Error::file("create a folder in", self.cache))?;
        let made = make(part.path())?;
        fs::rename(&made, &whole).map_err(Error::file("rename", &made))?;
        Ok(whole)
    }

    /// Takes the lock. The system releases it when the file is closed, and so also when the process dies.
    fn lock(&self, progress: &dyn Fn(&str)) -> Result<File, Error> {
        let path = self.cache.join(format!("{}.lock", self.name));
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(Error::file("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress(&format!(
                    "waiting for another process that makes {}",
                    self.name
                ));
                file.lock().map_err(Error::file("lock", &path))?;
            }
            Err(TryLockError::Error(source)) => return Err(Error::file("lock", &path)(source)),
        }
        Ok(file)
    }

    /// Removes what killed processes left behind. What cannot be removed now is left to the next call.
    fn sweep(&self, prefix: &str, whole: &Path) {
        let _ = fs::remove_dir_all(whole);
        for entry in fs::read_dir(self.cache).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    fn once(cache: &Path) -> Once<'_> {
        Once {
            cache,
            name: "thing",
            is_whole: Path::is_file,
        }
    }

    fn write(part: &Path, text: &str) -> Result<PathBuf, Error> {
        let path = part.join("made");
        fs::write(&path, text).map_err(Error::file("write", &path))?;
        Ok(path)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_second_maker_waits_and_takes_what_the_first_made() {
        let cache = tempfile::tempdir().expect("a temp folder");
        let (said, heard) = mpsc::channel();
        let path = thread::scope(|scope| {
            let second = once(cache.path()).get(&|_| {}, |part| {
                let waiting = scope.spawn({
                    let cache = cache.path();
                    move || {
                        let tell =
                            |text: &str| said.send(text.to_owned()).expect("the test listens");
                        once(cache).get(&tell, |part| write(part, "second"))
                    }
                });
                assert!(
                    heard
                        .recv()
                        .expect("word that it waits")
                        .contains("waiting")
                );
                drop(waiting); // the scope joins it, after this call has released the lock
                write(part, "first")
            });
            second.expect("made")
        });
        assert_eq!(fs::read_to_string(path).expect("there"), "first");
    }

    #[test]
    fn a_failure_leaves_nothing_and_leftovers_are_swept() {
        let cache = tempfile::tempdir().expect("a temp folder");
        fs::create_dir(cache.path().join("thing")).expect("made"); // it exists, but is not complete
        fs::create_dir(cache.path().join("thing.part-old")).expect("made");
        let failed = once(cache.path()).get(&|_| {}, |part| {
            fs::read(part.join("none"))
                .map(|_| part.to_owned())
                .map_err(Error::file("read", part))
        });
        assert!(failed.is_err());
        assert_eq!(names(cache.path()), ["thing.lock"]);
        once(cache.path())
            .get(&|_| {}, |part| write(part, "made"))
            .expect("made");
        assert_eq!(names(cache.path()), ["thing", "thing.lock"]);
    }
}
