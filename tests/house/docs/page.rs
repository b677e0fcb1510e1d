//! A page of Markdown.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The package's folder.
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page, and where it is.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
}

/// A heading, and what stands below it until the next of any level.
pub struct Section {
    pub level: HeadingLevel,
    pub title: String,
    pub body: Range<usize>,
}

impl Page {
    pub fn read(path: impl AsRef<Path>) -> Self {
        let path = home().join(path);
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, text }
    }

    /// All pages for readers: README, CONTRIBUTING, CHANGELOG, and docs.
    pub fn all() -> Vec<Self> {
        let folder = |folder: PathBuf| {
            let entries = fs::read_dir(&folder).expect("a folder of the package");
            entries.map(|entry| entry.expect("an entry").path())
        };
        let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
        let folders = [
            home().into(),
            home().join("docs"),
            home().join("docs/design"),
        ];
        let mut paths: Vec<_> = folders
            .into_iter()
            .flat_map(folder)
            .filter(is_page)
            .collect();
        paths.sort();
        paths.into_iter().map(Self::read).collect()
    }

    pub fn events(&self) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES).into_offset_iter()
    }

    /// Where links and pictures lead.
    pub fn links(&self) -> Vec<String> {
        let links = self.events().filter_map(|(event, _)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.into_string())
            }
            _ => None,
        });
        links.collect()
    }

    pub fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        let mut title: Option<String> = None;
        for (event, range) in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => {
                    if let Some(last) = sections.last_mut() {
                        last.body.end = range.start;
                    }
                    title = Some(String::new());
                }
                Event::End(TagEnd::Heading(level)) => sections.push(Section {
                    level,
                    title: title.take().expect("it has begun"),
                    body: range.end..self.text.len(),
                }),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(title) = &mut title {
                        title.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        sections
    }

    /// Names of its headings, as the sites that show Markdown make them.
    pub fn anchors(&self) -> HashSet<String> {
        let mut anchors = HashSet::new();
        for section in self.sections() {
            let anchor = anchor(&section.title);
            let again = (1..).map(|number| format!("{anchor}-{number}"));
            let mut names = std::iter::once(anchor.clone()).chain(again);
            let free = names.find(|name| !anchors.contains(name));
            anchors.extend(free);
        }
        anchors
    }
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    kept.collect::<String>().to_lowercase()
}

#[test]
fn anchors_are_those_of_the_headings() {
    let page = Page {
        path: PathBuf::new(),
        text: "# One, two\n## `a.b[].c_d`\n## Same\ntext\n## Same\n".to_owned(),
    };
    let expected = ["one-two", "abc_d", "same", "same-1"];
    assert_eq!(page.anchors(), expected.map(str::to_owned).into());
}
