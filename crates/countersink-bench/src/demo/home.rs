//! Where the server's programs are kept and where its data goes, and what waiting for the disk costs there.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Error;

/// The data folder's own name, and the socket's in it.
const SOCKET_SUFFIX: &str = "/countersink-abcdef/socket";
/// Longest path of a unix socket that every system takes, in bytes.
const SOCKET_PATH_LIMIT: usize = 103;
/// A folder with a short path that outlives a restart, so it is on a disk.
const SHORT_FOLDER: &str = "/var/tmp";
/// Writes to take the median of.
const SYNCS: usize = 15;

/// The demo's folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// Fetched programs and initialised data folders; kept for the next run.
    pub servers: PathBuf,
    /// Where the running server's folder is made; a disk, since commits wait for it.
    pub data: PathBuf,
}

impl Home {
    /// Beside the build when run from a cargo checkout, else in the user's cache folder.
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

    /// What it takes here until a small write is on the disk: the floor under every durable commit.
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

/// The `target` folder that cargo built this executable in; cargo marks it.
fn target_folder(executable: &Path) -> Option<&Path> {
    executable
        .ancestors()
        .skip(1)
        .take(4) // target/<triple>/<profile>/deps, in tests
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
}

/// As the XDG base directory specification has it: a relative path is to be passed over.
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
