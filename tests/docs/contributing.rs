//! CONTRIBUTING.md and what it names: test binaries, environment variables, files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pulldown_cmark::Event;

use crate::page::{Page, home};

/// Folders whose files may read a switch.
const SOURCES: [&str; 4] = ["src", "tests", "benches", "docker"];

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
fn every_test_binary_is_in_the_table_and_no_other() {
    let page = Page::read("CONTRIBUTING.md");
    let told: BTreeSet<_> = page
        .links()
        .into_iter()
        .filter(|link| link.starts_with("tests/") && is_binary(link))
        .collect();
    let tests = home().join("tests");
    let entries = fs::read_dir(&tests).expect("the tests");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let there: BTreeSet<_> = names
        .flat_map(|name| {
            let name = name.to_string_lossy().into_owned();
            [format!("tests/{name}"), format!("tests/{name}/main.rs")]
        })
        .filter(|path| is_binary(path) && home().join(path).is_file())
        .collect();
    assert!(there.len() > 20, "{there:?}");
    assert_eq!(told, there);
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
    let page = Page::read("CONTRIBUTING.md");
    let mut sections = page.sections().into_iter();
    let section = sections.find(|section| section.title == "Switches");
    let body = section.expect("a section of switches").body;
    let rows = page.text[body].lines();
    let cells = rows.filter_map(|row| row.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(switches).collect()
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

/// Whether a path of the package is that of a test binary's first file.
fn is_binary(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    match parts[..] {
        ["tests", file] => file.ends_with(".rs"),
        ["tests", _, file] => file == "main.rs",
        _ => false,
    }
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
