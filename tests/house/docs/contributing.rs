//! CONTRIBUTING.md and what it names: test binaries, environment variables, files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pulldown_cmark::Event;

use crate::docs::page::{Page, home};

/// Folders whose files may read a switch.
const SOURCES: [&str; 6] = ["src", "crates", "tests", "benches", "docker", "fuzz/tests"];

/// Modules of test binaries that have no tests.
const HELPERS: [&str; 2] = ["sources", "support"];

#[test]
fn every_switch_is_in_the_tables_and_no_other() {
    let mut read = switches(&fs::read_to_string(home().join("rules.yaml")).expect("the example"));
    for folder in SOURCES {
        each_file(&home().join(folder), &mut |text| {
            read.extend(switches(text))
        });
    }
    assert!(read.len() > 15, "{read:?}");
    assert_eq!(told(), read);
}

#[test]
fn every_part_of_the_tests_is_in_the_table_and_no_other() {
    let rows = rows("Test binaries");
    let links = rows.iter().flat_map(|row| row.split("](").skip(1));
    let links = links.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    let told: BTreeSet<_> = links.filter(|link| link.starts_with("tests/")).collect();
    assert!(told.len() > 30, "{told:?}");
    assert_eq!(told, parts());
}

#[test]
fn files_that_pages_name_are_there() {
    let mut gone = Vec::new();
    for page in Page::all() {
        if page.path.ends_with("CHANGELOG.md") {
            continue;
        }
        for (event, _) in page.events() {
            let Event::Code(code) = event else { continue };
            let is_path = ["src/", "tests/", "docs/", "benches/"]
                .iter()
                .any(|folder| code.starts_with(folder));
            let is_plain = !code.contains([' ', '*', '<', '{']);
            if is_path && is_plain && !home().join(&*code).exists() {
                gone.push(format!("{}: {code}", page.path.display()));
            }
        }
    }
    assert!(gone.is_empty(), "{}", gone.join("\n"));
}

/// The switches that the page's tables name in their first column.
fn told() -> BTreeSet<String> {
    let rows = rows("Switches");
    let cells = rows.iter().filter_map(|row| row.split(" | ").next());
    cells.flat_map(switches).collect()
}

/// The rows of a section's tables.
fn rows(title: &str) -> Vec<String> {
    let page = Page::read("CONTRIBUTING.md");
    let mut sections = page.sections().into_iter();
    let section = sections.find(|section| section.title == title);
    let body = section.unwrap_or_else(|| panic!("no section {title}")).body;
    let rows = page.text[body].lines();
    rows.filter_map(|row| row.strip_prefix("| ").map(str::to_owned))
        .collect()
}

/// The names of switches in a text.
fn switches(text: &str) -> BTreeSet<String> {
    let names = text.match_indices("COUNTERSINK_").map(|(at, _)| {
        let name = text[at..].chars();
        name.take_while(|letter| letter.is_ascii_uppercase() || *letter == '_')
            .collect::<String>()
    });
    names.filter(|name| name != "COUNTERSINK_").collect()
}

/// The first file of each test binary; where that only gathers modules, those of the modules.
fn parts() -> BTreeSet<String> {
    let entries = fs::read_dir(home().join("tests")).expect("the tests");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut parts = BTreeSet::new();
    for name in names {
        let path = format!("tests/{}", name.to_string_lossy());
        let main = format!("{path}/main.rs");
        let gathered = fs::read_to_string(home().join(&main)).map(|text| gathered(&path, &text));
        match gathered {
            Ok(Some(modules)) => parts.extend(modules),
            Ok(None) => parts.extend([main]),
            Err(_) if path.ends_with(".rs") => parts.extend([path]),
            Err(_) => {}
        }
    }
    parts
}

/// The modules of a binary's folder, where its first file has nothing else.
fn gathered(folder: &str, main: &str) -> Option<Vec<String>> {
    let starts = ["//", "#[", "mod ", "use "];
    let is_code =
        |line: &str| !line.is_empty() && !starts.iter().any(|start| line.starts_with(start));
    if main.lines().any(is_code) {
        return None;
    }
    let modules = main
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let own = modules.filter(|name| !HELPERS.contains(name));
    let file = |name| {
        let file = format!("{folder}/{name}.rs");
        match home().join(&file).is_file() {
            true => file,
            false => format!("{folder}/{name}/mod.rs"),
        }
    };
    Some(own.map(file).collect())
}

/// Shows the text of each file below a folder.
fn each_file(folder: &Path, show: &mut dyn FnMut(&str)) {
    for entry in fs::read_dir(folder).expect("a folder of the package") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            each_file(&path, show);
        } else if let Ok(text) = fs::read_to_string(&path) {
            show(&text);
        }
    }
}
