//! Where the server's programs are kept, where its data goes, and how long a disk sync takes there.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Error;

/// The name of the data folder, and of the socket in it.
const SOCKET_SUFFIX: &str = "/countersink-abcdef/socket";
/// Maximum length of a unix socket's path that every system accepts, in bytes.
const SOCKET_PATH_LIMIT: usize = 103;
/// A folder with a short path whose contents survive a restart, so it is on a disk.
const SHORT_FOLDER: &str = "/var/tmp";
/// Number of writes to take the median of.
const SYNCS: usize = 15;

/// The demo's folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// Fetched programs and initialised data folders, which are kept for the next run.
    pub servers: PathBuf,
    /// Where the running server's folder is created. It is on a disk, since commits wait for it.
    pub data: PathBuf,
}

impl Home {
    /// Finds the folders: beside the build if run from a cargo checkout, otherwise in the user's cache folder.
    pub fn find() -> Result<Self, Error> {
        let executable = std::env::current_exe().unwrap_or_default();
        let target = target_folder(&executable).map(Path::to_owned);
        let cache = || Some(cache_folder(&|name| std::env::var_os(name))?.join("countersink"));
        let base = target.or_else(cache).ok_or(Error::NoFolder)?;
        Ok(Self::under(&base))
    }

    fn under(base: &Path) -> Self {
        let servers = base.join("servers");
        let data = match servers.as_os_str().len() + SOCKET_SUFFIX.len() > SOCKET_PATH_LIMIT {
            true => PathBuf::from(SHORT_FOLDER),
            false => servers.clone(),
        };
        Self { servers, data }
    }

    /// How long a small write takes to reach the disk here. No durable commit can be faster.
    pub fn disk_sync(&self) -> io::Result<Duration> {
        let mut file = tempfile::tempfile_in(&self.data)?;
        let mut times = Vec::with_capacity(SYNCS);
        for _ in 0..SYNCS {
            let before = Instant::now();
            write_through(&mut file)?;
            times.push(before.elapsed());
        }
        times.sort_unstable();
        Ok(times[SYNCS / 2])
    }
}

fn write_through(file: &mut File) -> io::Result<()> {
    file.write_all(&[0; 512])?;
    file.sync_data()
}

/// The `target` folder in which cargo built this executable. Cargo marks it.
fn target_folder(executable: &Path) -> Option<&Path> {
    executable
        .ancestors()
        .skip(1)
        .take(4) // target/<triple>/<profile>/deps, in tests
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
}

/// The cache folder according to the XDG base directory specification, which says to ignore relative paths.
fn cache_folder(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| {
        environment(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_told_by_cargo_s_mark() {
        let folder = tempfile::tempdir().expect("a temp folder");
        let executable = folder.path().join("release/countersink");
        assert_eq!(target_folder(&executable), None);
        std::fs::write(folder.path().join("CACHEDIR.TAG"), "").expect("written");
        assert_eq!(target_folder(&executable), Some(folder.path()));
    }

    #[test]
    fn the_cache_folder_is_xdg_s_or_under_home() {
        let cache = |xdg: Option<&str>, home: Option<&str>| {
            cache_folder(&|name| match name {
                "XDG_CACHE_HOME" => xdg.map(OsString::from),
                _ => home.map(OsString::from),
            })
        };
        assert_eq!(cache(Some("/c"), Some("/h")), Some("/c".into()));
        assert_eq!(cache(Some("c"), Some("/h")), Some("/h/.cache".into()));
        assert_eq!(cache(None, None), None);
    }

    #[test]
    fn the_socket_s_path_stays_within_its_limit() {
        let near = Home::under(Path::new("/home/me/countersink/target"));
        assert_eq!(near.data, near.servers);
        let far = Home::under(&Path::new("/").join("x".repeat(70)));
        assert_eq!(far.data, Path::new(SHORT_FOLDER));
        assert!(far.data.as_os_str().len() + SOCKET_SUFFIX.len() <= SOCKET_PATH_LIMIT);
    }
}
