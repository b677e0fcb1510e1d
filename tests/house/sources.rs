//! The house's source files, and which of their lines are code.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the house.
pub(super) struct Source {
    /// Its path from the package's root.
    pub(super) name: String,
    /// The top-level room that it is in, if it is one of the proxy's.
    pub(super) room: String,
    pub(super) text: String,
}

pub(super) fn source(name: &str, text: &str) -> Source {
    let inside = name.trim_start_matches("src/");
    let room = inside.split(['/', '.']).next().unwrap_or_default();
    Source {
        name: name.to_owned(),
        room: room.to_owned(),
        text: text.to_owned(),
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The proxy's own.
pub(super) fn sources() -> Vec<Source> {
    let sources = below(&root().join("src"));
    assert!(
        sources.len() > 50,
        "the source files are not where they are looked for"
    );
    sources
}

/// The proxy's own and those of the crates beside it.
pub(super) fn with_crates() -> Vec<Source> {
    let crates = crates().into_iter().map(|path| path.join("src"));
    let mut sources = sources();
    sources.extend(crates.flat_map(|path| below(&path)));
    sources
}

/// Those of the proxy's tests, of its fuzzers and of its benchmarks.
pub(super) fn tests_and_benches() -> Vec<Source> {
    let folders = ["tests", "benches", "fuzz/src", "fuzz/tests"];
    let sources = folders.map(|folder| below(&root().join(folder)));
    assert!(
        sources.iter().all(|sources| !sources.is_empty()),
        "tests and benchmarks are not where they are looked for"
    );
    sources.into_iter().flatten().collect()
}

/// The folders of the crates beside the proxy.
pub(super) fn crates() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("crates")).expect("a folder");
    let mut crates: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(!crates.is_empty(), "there are no crates beside the proxy");
    crates.sort();
    crates
}

/// The sources in a folder, without the modules that a crate has for its unit tests.
pub(super) fn below(folder: &Path) -> Vec<Source> {
    let mut files = Vec::new();
    gather(folder, &mut files);
    files.sort();
    let tests: Vec<_> = files.iter().flat_map(|path| test_modules(path)).collect();
    files
        .iter()
        .filter(|path| {
            !tests
                .iter()
                .any(|test| path.starts_with(test) || **path == test.with_extension("rs"))
        })
        .map(|path| {
            let name = path.strip_prefix(root()).expect("below the root");
            let text = fs::read_to_string(path).expect("a source file");
            source(&name.display().to_string(), &text)
        })
        .collect()
}

/// The modules that a file declares for its tests: their paths without an extension.
fn test_modules(path: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(path).expect("a source file");
    let folder = match path.file_name().and_then(|name| name.to_str()) {
        Some("mod.rs" | "lib.rs" | "main.rs") => path.parent().expect("a folder").to_owned(),
        _ => path.with_extension(""),
    };
    text.split("#[cfg(test)]\n")
        .skip(1)
        .filter_map(|rest| rest.lines().next()?.split_once("mod ")?.1.strip_suffix(';')) // not `mod tests {`
        .map(|name| folder.join(name))
        .collect()
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            gather(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The lines that are neither comments nor tests, with their numbers. A test module is the last thing in a file, or a
/// file of its own, which [`sources`] leaves out.
pub(super) fn code_lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let tests = source
        .text
        .match_indices("#[cfg(test)]\n")
        .map(|(at, _)| at)
        .find(|at| is_inline_module(&source.text[*at..]));
    source.text[..tests.unwrap_or(source.text.len())]
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether the module behind `#[cfg(test)]` is in this file rather than in one of its own.
fn is_inline_module(text: &str) -> bool {
    let declaration = text.lines().nth(1).unwrap_or_default();
    declaration.contains("mod ") && declaration.ends_with('{')
}
