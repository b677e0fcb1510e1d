//! What a run begins with: seeds that are made of what the repository has, and inputs that were found and kept.

use std::path::{Path, PathBuf};

use crate::Target;

/// An input and what it is called.
pub struct Entry {
    /// The name of its file, or where it comes from.
    pub name: String,
    /// The input.
    pub data: Vec<u8>,
}

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The seeds of a target.
pub fn seeds(target: &Target) -> Vec<Entry> {
    let seeds = (target.seeds)(&root()).into_iter().enumerate();
    let entries = seeds.map(|(number, data)| Entry {
        name: format!("seed_{number}"),
        data,
    });
    entries.collect()
}

/// What is kept of a target in `corpus`, sorted by name.
///
/// # Panics
///
/// If the folder cannot be read.
pub fn kept(target: &Target) -> Vec<Entry> {
    let folder = root().join("fuzz/corpus").join(target.name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let entry = |path: PathBuf| Entry {
        name: path.file_name().unwrap_or_default().display().to_string(),
        data: std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}")),
    };
    paths.into_iter().map(entry).collect()
}
