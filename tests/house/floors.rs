//! The floors inside `session`. Its files have methods of one type, which calls without an import; so a call of such a
//! method counts as an import of the file that defines it.

use std::collections::{BTreeMap, BTreeSet};

use crate::layers::assert_none;
use crate::sources::{Source, code_lines, sources};

/// From the lowest up. A room uses rooms of its own floor and of lower ones.
const FLOORS: &[&[&str]] = &[
    &["connect", "error"],
    &["error_kind", "link", "literal", "shared", "state", "text"],
    &["exchange"],
    &["one_shot", "reply"],
    &[
        "definitions",
        "diagnostics",
        "effects",
        "interrupted",
        "parameters",
        "plan",
        "refusal",
        "rights",
        "session_variables",
        "tables_in_sight",
        "user_variables",
    ],
    &["act"],
    &["command"],
    &["run"],
];

/// The most files that may use each other in a circle: `state` and one of its own.
const LARGEST_CIRCLE: usize = 2;

/// Where the session's files are.
const FOLDER: &str = "src/session/";

/// The file that declares the rooms, and gives `Session` to all of them.
const DOOR: &str = "mod.rs";

#[test]
fn the_rooms_of_a_session_use_lower_floors_only() {
    let house = House::of(&sources());
    let mut found = Vec::new();
    for (from, uses) in &house.uses {
        for (to, names) in uses {
            match (floor(from), floor(to)) {
                (Some(here), Some(there)) if there <= here => {}
                (Some(_), Some(_)) => found.push(format!("{from} -> {to}: {names:?}")),
                _ => found.push(format!("{from} or {to} is on no floor")),
            }
        }
    }
    assert_none(
        "a room of the session uses one above it; see FLOORS",
        &found,
    );
}

#[test]
fn files_of_a_session_use_each_other_in_small_circles_only() {
    let house = House::of(&sources());
    let large: Vec<_> = house
        .circles()
        .into_iter()
        .filter(|circle| circle.len() > LARGEST_CIRCLE)
        .map(|circle| format!("{circle:?}"))
        .collect();
    assert_none(
        "files use each other in a circle; move a method down",
        &large,
    );
}

#[test]
fn every_room_of_a_session_is_there() {
    let house = House::of(&sources());
    let rooms: BTreeSet<_> = house.uses.keys().map(|name| room(name)).collect();
    let listed = FLOORS.iter().flat_map(|floor| floor.iter().copied());
    let missing: Vec<_> = listed
        .filter(|listed| !rooms.contains(listed))
        .map(str::to_owned)
        .collect();
    assert_none("a room of FLOORS is not there", &missing);
}

#[test]
fn a_call_counts_as_an_import() {
    let file = |name: &str, text: &str| {
        let name = format!("{FOLDER}{name}");
        Source {
            name,
            room: "session".to_owned(),
            text: text.to_owned(),
        }
    };
    let house = House::of(&[
        file(
            "act/read.rs",
            "use crate::session::reply::{Original, Replied};\nimpl Session {\n    pub(crate) async fn read(&mut self) {\n        \
             self\n            .reply_with(1)\n            .await\n    }\n}\n",
        ),
        file(
            "reply.rs",
            "impl Session {\n    pub(crate) fn reply_with(&mut self) {\n        self.read();\n    }\n}\n",
        ),
        file(
            "link/mod.rs",
            "impl Link {\n    fn read_more(&mut self) {\n        self.read();\n    }\n}\n",
        ),
    ]);
    let uses = |from: &str| house.uses[from].keys().cloned().collect::<Vec<_>>();
    assert_eq!(uses("act/read.rs"), ["reply.rs"]);
    assert_eq!(uses("reply.rs"), ["act/read.rs"]);
    assert_eq!(uses("link/mod.rs"), [""; 0]);
    assert_eq!(house.circles(), [["act/read.rs", "reply.rs"]]);
}

/// The floor of a file's room.
fn floor(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&room(name)))
}

/// The room of a file.
fn room(name: &str) -> &str {
    name.split(['/', '.']).next().unwrap_or_default()
}

/// Which file uses which.
struct House {
    /// By file: the files that it uses, and by what name.
    uses: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl House {
    fn of(sources: &[Source]) -> Self {
        let files: Vec<_> = sources
            .iter()
            .filter_map(|source| Some((source.name.strip_prefix(FOLDER)?, code(source))))
            .filter(|(name, _)| *name != DOOR)
            .collect();
        let names: BTreeSet<_> = files.iter().map(|(name, _)| *name).collect();
        let mut methods: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, code) in &files {
            for (method, _) in bodies(code) {
                methods.entry(method).or_default().insert(name);
            }
        }
        let mut uses = BTreeMap::new();
        for (name, code) in &files {
            let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            let mut note = |to: &str, what: &str| {
                if to != *name {
                    let what = what.to_owned();
                    used.entry(to.to_owned()).or_default().insert(what);
                }
            };
            for (_, body) in bodies(code) {
                for called in calls(body) {
                    for to in methods.get(called).into_iter().flatten() {
                        note(to, called);
                    }
                }
            }
            for path in imports(code) {
                if let Some(to) = file_of(&path, &names) {
                    note(to, &path);
                }
            }
            uses.insert((*name).to_owned(), used);
        }
        Self { uses }
    }

    /// The files that use each other by way of others or directly, in groups of at least two.
    fn circles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<_, _> = self
            .uses
            .keys()
            .map(|name| (name.as_str(), self.reached_from(name)))
            .collect();
        let mut circles = BTreeSet::new();
        for (name, reach) in &reached {
            let circle: Vec<_> = reach
                .iter()
                .filter(|other| reached[*other].contains(name))
                .copied()
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn reached_from<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(name) = open.pop() {
            let next = self.uses.get(name).into_iter().flatten();
            open.extend(
                next.map(|(to, _)| to.as_str())
                    .filter(|to| reached.insert(*to)),
            );
        }
        reached
    }
}

/// A file without comments and tests.
fn code(source: &Source) -> String {
    code_lines(source).fold(String::new(), |mut code, (_, line)| {
        code.push_str(line);
        code.push('\n');
        code
    })
}

/// The methods that a file adds to the session, and their bodies.
fn bodies(code: &str) -> impl Iterator<Item = (&str, &str)> {
    let blocks = code.split("\nimpl Session {\n").skip(1);
    let first = code.strip_prefix("impl Session {\n").into_iter();
    let blocks = first.chain(blocks).map(|block| match block.find("\n}") {
        Some(end) => &block[..end],
        None => block,
    });
    blocks.flat_map(|block| {
        let heads = block.match_indices("fn ").filter(|(at, _)| {
            let line = block[..*at].rfind('\n').map_or(0, |end| end + 1);
            let before = block[line..*at].strip_prefix("    ");
            matches!(
                before,
                Some("" | "async " | "pub " | "pub async " | "pub(crate) " | "pub(crate) async ")
            )
        });
        let heads: Vec<_> = heads.map(|(at, _)| at).collect();
        let ends = heads.clone().into_iter().skip(1).chain([block.len()]);
        let pairs: Vec<_> = heads.into_iter().zip(ends).collect();
        pairs.into_iter().map(|(start, end)| {
            let text = &block[start + "fn ".len()..end];
            let name = text
                .find(|letter: char| !is_word(letter))
                .unwrap_or(text.len());
            text.split_at(name)
        })
    })
}

/// The methods that a body calls on the session.
fn calls(body: &str) -> impl Iterator<Item = &str> {
    body.match_indices("self").filter_map(|(at, _)| {
        let is_whole = !body[..at].ends_with(is_word);
        let rest = body[at + "self".len()..].trim_start().strip_prefix('.')?;
        let end = rest.find(|letter: char| !is_word(letter))?;
        let (name, rest) = rest.split_at(end);
        (is_whole && rest.starts_with('(')).then_some(name)
    })
}

/// The paths below `crate::session::` that a file names.
fn imports(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for part in code.split("crate::session::").skip(1) {
        let end = part.find(|letter: char| !is_word(letter) && letter != ':');
        let (path, rest) = part.split_at(end.unwrap_or(part.len()));
        match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((names, _)) if path.is_empty() || path.ends_with("::") => {
                let names = names.split(',').map(str::trim);
                let names = names.filter(|name| !name.is_empty());
                paths.extend(names.map(|name| format!("{path}{name}")));
            }
            _ => paths.push(path.to_owned()),
        }
    }
    paths
}

/// The file that a path leads to.
fn file_of<'a>(path: &str, names: &BTreeSet<&'a str>) -> Option<&'a str> {
    let parts: Vec<_> = path.split("::").collect();
    (1..=parts.len()).rev().find_map(|length| {
        let folder = parts[..length].join("/");
        let find = |name: String| names.get(name.as_str()).copied();
        find(format!("{folder}.rs")).or_else(|| find(format!("{folder}/mod.rs")))
    })
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
