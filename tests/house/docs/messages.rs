//! docs/troubleshooting.md and what the program says.

use std::fs;
use std::path::Path;

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::docs::page::{Page, home};

/// A text with fewer letters than this between what it is filled with passes on what others say.
const LEAST_LETTERS: usize = 10;

#[test]
fn every_message_of_the_page_is_one_of_the_program() {
    let source = said_anywhere();
    let mut gone = Vec::new();
    let told = told();
    assert!(told.len() > 100, "{}", told.len());
    for message in told {
        let parts = message.split("..").map(str::trim);
        let missing = parts.filter(|part| part.len() > 2 && !source.contains(part));
        gone.extend(missing.map(|part| format!("{part:?} of `{message}`")));
    }
    assert!(gone.is_empty(), "nobody says\n{}", gone.join("\n"));
}

#[test]
fn every_error_and_warning_is_on_the_page() {
    let told = told();
    let mut untold = Vec::new();
    let mut said = 0;
    for (file, text) in sources() {
        for template in errors(&text).into_iter().chain(warnings(&text)) {
            let longest = fixed_parts(&template)
                .into_iter()
                .max_by_key(|part| letters(part));
            let Some(longest) = longest.filter(|part| letters(part) >= LEAST_LETTERS) else {
                continue;
            };
            said += 1;
            if !told.iter().any(|message| is_of(message, &template)) {
                untold.push(format!("{file}: {longest:?}"));
            }
        }
    }
    assert!(said > 100, "{said}");
    assert!(
        untold.is_empty(),
        "docs/troubleshooting.md does not have\n{}",
        untold.join("\n")
    );
}

/// Whether a message of the page is (a part of) what this template says.
fn is_of(message: &str, template: &str) -> bool {
    let template = plain_braces(template);
    let mut rest = template.as_str();
    let mut letters_found = 0;
    for part in message
        .split("..")
        .map(str::trim)
        .filter(|part| part.len() > 2)
    {
        let Some(at) = rest.find(part) else {
            return false;
        };
        letters_found += letters(part);
        rest = &rest[at + part.len()..];
    }
    letters_found >= LEAST_LETTERS
}

fn letters(text: &str) -> usize {
    text.chars().filter(|letter| letter.is_alphabetic()).count()
}

/// Messages of the page: code in the first cell of a row, below the heading that says so.
fn told() -> Vec<String> {
    let page = Page::read("docs/troubleshooting.md");
    let section = |title: &str| {
        let sections = page.sections().into_iter();
        let mut found = sections.filter(|section| section.title == title);
        found
            .next()
            .unwrap_or_else(|| panic!("no section {title}"))
            .body
            .start
    };
    let within = section("Messages")..section("Alerts");
    let mut messages = Vec::new();
    let mut cell = 0;
    let mut is_body = false;
    for (event, range) in page.events() {
        match event {
            Event::Start(Tag::Table(_)) => is_body = false,
            Event::End(TagEnd::TableHead) => is_body = true,
            Event::Start(Tag::TableRow) => cell = 0,
            Event::End(TagEnd::TableCell) => cell += 1,
            Event::Code(code) if is_body && cell == 0 && within.contains(&range.start) => {
                messages.push(code.into_string());
            }
            _ => {}
        }
    }
    messages
}

/// All literals of the source, without what Rust writes otherwise.
fn said_anywhere() -> String {
    let texts = sources().into_iter().map(|(_, text)| text + "\n");
    plain_braces(&texts.collect::<String>())
}

/// Files of the source, of the proxy and of the crates beside it, with their names; their literals as they are said.
fn sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    collect(&home().join("src"), &mut sources);
    collect(&home().join("crates"), &mut sources);
    sources
}

fn collect(folder: &Path, sources: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of the package") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let name = path.strip_prefix(home()).unwrap_or(&path);
            sources.push((name.display().to_string(), said(&text)));
        }
    }
}

/// Joins literals that go over several lines.
fn said(text: &str) -> String {
    let mut pieces = text.split("\\\n");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |said, piece| said + piece.trim_start())
}

/// Braces as a format string shows them.
fn plain_braces(text: &str) -> String {
    text.replace("{{", "{").replace("}}", "}")
}

/// Texts of errors; those without a text of their own are another's.
fn errors(text: &str) -> Vec<String> {
    literals(text.split("#[error(").skip(1), 1)
}

/// Texts of warnings, before which a field or two may stand.
fn warnings(text: &str) -> Vec<String> {
    let warnings = text.split("tracing::warn!(").skip(1);
    let errors = text.split("tracing::error!(").skip(1);
    literals(warnings.chain(errors), 20)
}

/// The literal with which each text begins, behind so many bytes that are no spaces.
fn literals<'a>(texts: impl Iterator<Item = &'a str>, most_before: usize) -> Vec<String> {
    let literals = texts.filter_map(|rest| {
        let (before, rest) = rest.split_once('"')?;
        if before.trim().len() >= most_before {
            return None;
        }
        let mut literal = String::new();
        let mut letters = rest.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => return Some(literal),
                '\\' => literal.extend(letters.next().map(|escaped| match escaped {
                    'n' => '\n',
                    other => other,
                })),
                letter => literal.push(letter),
            }
        }
        None
    });
    literals.collect()
}

/// What stands between the placeholders of a format string.
fn fixed_parts(template: &str) -> Vec<String> {
    let template = template.replace("{{", "\u{1}").replace("}}", "\u{2}");
    let mut parts = Vec::new();
    for piece in template.split('{') {
        let fixed = piece.split_once('}').map_or(piece, |(_, fixed)| fixed);
        parts.push(fixed.replace('\u{1}', "{").replace('\u{2}', "}"));
    }
    parts
}
