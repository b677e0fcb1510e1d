//! The server's disk, which can be full.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Enough for a server and what it writes during all rounds, and little enough to be filled in memory.
const SIZE: &str = "size=512m";

/// A file system of its own, in memory.
pub struct Disk {
    folder: TempDir,
}

impl Disk {
    /// `None` where this process may not mount one.
    pub fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temp folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", SIZE, "countersink-faults"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        let is_mounted = mounted.is_ok_and(|status| status.success());
        is_mounted.then_some(Self { folder })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Nothing more can be written.
    pub fn fill(&self) {
        let mut ballast = File::create(self.ballast()).expect("a file");
        let zeros = vec![0; 64 * 1024];
        while ballast.write(&zeros).is_ok() {}
    }

    pub fn free(&self) {
        fs::remove_file(self.ballast()).expect("it is there");
    }

    fn ballast(&self) -> PathBuf {
        self.folder().join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The server may be on its way out still.
        let unmounted = Command::new("umount")
            .arg("--lazy")
            .arg(self.folder())
            .status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} stays mounted", self.folder().display());
        }
    }
}
