//! The house's own rules, read from its source: stairs go one way, rooms are small, nothing panics on input.

use std::collections::BTreeMap;
use std::fs;

use crate::sources::{
    Source, below, code_lines, crates, source, sources, tests_and_benches, with_crates,
};

/// The floors from the lowest up. A room uses rooms of lower floors, and itself.
const FLOORS: &[&[&str]] = &[
    &["error", "config", "metrics", "reason"],
    &["wire", "catalog", "spans"],
    &["net", "sql"],
    &["counter", "traffic"],
    &["explain", "check", "sentinel"],
    &["advise", "driver", "session"],
    &["server"],
    &["admin"],
    &["cli"],
    &["main", "lib"],
];

/// Steps on the same floor or upward that are allowed all the same: who, whom, why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "metrics",
    "reason",
    "statements are counted by the reason for their plan",
)];

/// The last column of a comment.
const WIDEST_COMMENT: usize = 120;

/// The most lines of a file.
const LONGEST_FILE: usize = 600;

/// The file that has the servers' error numbers under their names.
const ERROR_CODES: &str = "crates/countersink-server-errors/src/lib.rs";

/// Numbers in the range of the servers' errors that are sizes, times, years and the port of MySQL.
const NOT_ERRORS: &[u32] = &[1000, 1024, 2000, 2048, 3306, 3600, 4096];

/// Files that may call `unwrap()` outside their tests, each with a reason.
const MAY_UNWRAP: &[(&str, &str)] = &[];

#[test]
fn rooms_use_lower_floors_only() {
    let sources = sources();
    let unknown: Vec<_> = sources
        .iter()
        .filter(|source| floor(&source.room).is_none())
        .map(|source| format!("{}: room `{}` is on no floor", source.name, source.room))
        .collect();
    assert_none("a room has no floor; add it to FLOORS", &unknown);
    let steps: Vec<_> = sources.iter().flat_map(upward_steps).collect();
    assert_none("a room may use lower floors only", &steps);
}

/// The sockets of a session are below all that acts on them.
#[test]
fn the_link_knows_nothing_of_its_session() {
    let mut found = Vec::new();
    for source in sources() {
        if !source.name.starts_with("src/session/link/") {
            continue;
        }
        for (number, line) in code_lines(&source) {
            let names = line.contains("crate::session::") || line.contains("super::super::");
            if names && !line.contains("crate::session::error::") {
                found.push(format!("{}:{number}: {}", source.name, line.trim()));
            }
        }
    }
    assert_none("link uses a room above it", &found);
}

/// Whoever needs packets and no proxy may compile `wire` by itself.
#[test]
fn wire_uses_only_itself() {
    let sources = sources();
    let found: Vec<_> = sources
        .iter()
        .filter(|source| source.room == "wire")
        .flat_map(|source| {
            let others = uses(source).filter(|(_, room)| room != "wire");
            others.map(|(line, room)| format!("{}:{line}: `{room}`", source.name))
        })
        .collect();
    assert_none("wire uses another room", &found);
}

/// What sessions share, and what one knows of itself, is below what it does.
#[test]
fn the_rooms_below_a_session_have_no_methods_of_it() {
    let mut found = Vec::new();
    for source in sources() {
        let rooms = ["src/session/state/", "src/session/shared/"];
        if !rooms.iter().any(|room| source.name.starts_with(room)) {
            continue;
        }
        for (number, line) in code_lines(&source) {
            if line.contains("impl Session ") || line.contains("&mut Session") {
                found.push(format!("{}:{number}: {}", source.name, line.trim()));
            }
        }
    }
    assert_none("a room below the session acts on it", &found);
}

/// One place decides what becomes of a plan, one acts on it, one explains it. Others make plans, or ask them.
#[test]
fn plans_are_matched_in_their_rooms_only() {
    const ROOMS: [&str; 3] = ["src/sql/", "src/explain/", "src/session/act/mod.rs"];
    let mut found = Vec::new();
    for source in sources() {
        if ROOMS.iter().any(|room| source.name.starts_with(room)) {
            continue;
        }
        let lines = code_lines(&source).filter(|(_, line)| matches_a_plan(line));
        found.extend(lines.map(|(number, line)| format!("{}:{number}: {line}", source.name)));
    }
    assert_none(
        "a plan is matched outside its rooms; give it a method, or move the match to act",
        &found,
    );
}

/// Whether a line has a pattern of a plan or a decision.
fn matches_a_plan(line: &str) -> bool {
    // What an arm comes to may make a plan.
    let (line, is_arm) = match line.split_once("=>") {
        Some((pattern, _)) => (pattern, true),
        None => (line, false),
    };
    let is_whole = |at: usize| !line[..at].ends_with(|before: char| !is_no_word(before));
    let names = ["Plan::", "Decision::"].iter().any(|name| {
        let mut places = line.match_indices(name);
        places.any(|(at, name)| {
            let variant = line[at + name.len()..].starts_with(|first: char| first.is_uppercase());
            is_whole(at) && variant
        })
    });
    let line = line.trim_start();
    let is_pattern = is_arm
        || line.contains("matches!(")
        || line.contains("let Plan::")
        || line.contains("let Decision::")
        || line.contains("Some(Plan::")
        || line.starts_with('|');
    names && is_pattern
}

#[test]
fn a_pattern_of_a_plan_is_found_in_each_spelling() {
    for line in [
        "            Plan::Forward(reason) => reason,",
        "            Some(Plan::Write(write)) if true => {",
        "        if let Plan::Read(read) = &*plan {",
        "            | Plan::Fold(_)",
        "        matches!(decision, Decision::Read(_))",
    ] {
        assert!(matches_a_plan(line), "{line}");
    }
    for line in [
        "        Ok(Arc::new(Plan::Forward(Reason::Off)))",
        "            None => PredictedPlan::Passes,",
        "            false => Plan::Forward(Reason::Off),",
        "        plans.iter().filter(|plan| plan.is_read()) // Plan",
        "        times(PredictedPlan::gains)",
    ] {
        assert!(!matches_a_plan(line), "{line}");
    }
}

#[test]
fn every_exception_is_used() {
    let sources = sources();
    let unused: Vec<_> = EXCEPTIONS
        .iter()
        .filter(|(from, to, _)| {
            let goes =
                |source: &Source| source.room == *from && uses(source).any(|(_, used)| used == *to);
            !sources.iter().any(goes)
        })
        .map(|(from, to, _)| format!("{from} -> {to}"))
        .collect();
    assert_none("an exception that nobody needs", &unused);
}

#[test]
fn no_file_is_longer_than_a_room_may_be() {
    let long: Vec<_> = with_crates()
        .iter()
        .chain(&tests_and_benches())
        .map(|source| (source.name.clone(), source.text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(name, lines)| format!("{name}: {lines} lines, at most {LONGEST_FILE}"))
        .collect();
    assert_none("a file is too long; split it", &long);
}

/// The compiler's own formatter leaves comments as they are.
#[test]
fn no_comment_is_wider_than_a_page() {
    let mut wide = Vec::new();
    for source in with_crates().iter().chain(&tests_and_benches()) {
        for (index, line) in source.text.lines().enumerate() {
            let text = line.trim_start();
            let is_row_of_a_table = text.contains("//! |") || text.contains("/// |");
            if text.starts_with("//") && !is_row_of_a_table && line.chars().count() > WIDEST_COMMENT
            {
                wide.push(format!("{}:{}", source.name, index + 1));
            }
        }
    }
    assert_none("a comment is too wide; wrap it", &wide);
}

#[test]
fn nothing_unwraps_outside_tests() {
    let mut found = Vec::new();
    for source in with_crates() {
        if MAY_UNWRAP.iter().any(|(name, _)| *name == source.name) {
            continue;
        }
        for (number, line) in code_lines(&source) {
            if line.contains(".unwrap()") || line.contains(".unwrap_err()") {
                found.push(format!("{}:{number}: {}", source.name, line.trim()));
            }
        }
    }
    assert_none(
        "unwrap() outside tests; say why it holds with expect(..)",
        &found,
    );
}

/// Tests keep to numbers: they assert what goes over the wire.
#[test]
fn errors_are_called_by_their_names() {
    let mut found = Vec::new();
    for source in with_crates()
        .iter()
        .filter(|source| source.name != ERROR_CODES)
    {
        let mut goes_on = false;
        for (number, line) in code_lines(source) {
            if !error_numbers(line, goes_on).is_empty() {
                found.push(format!("{}:{number}: {}", source.name, line.trim()));
            }
            goes_on = line.ends_with('\\');
        }
    }
    let what = format!("a server's error number outside {ERROR_CODES}; use its name");
    assert_none(&what, &found);
}

#[test]
fn every_named_error_is_used() {
    let sources = with_crates();
    let room = sources.iter().find(|source| source.name == ERROR_CODES);
    let declares = |line: &&str| line.starts_with("    ER_") || line.starts_with("    WARN_");
    let mut uses: BTreeMap<&str, usize> = room
        .expect("the room is there")
        .text
        .lines()
        .filter(declares)
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| (name.trim(), 0))
        .collect();
    assert!(uses.len() > 50, "{uses:?}");
    for (_, line) in sources.iter().flat_map(code_lines) {
        for word in line.split(is_no_word) {
            uses.entry(word).and_modify(|count| *count += 1);
        }
    }
    // Its own declaration is one.
    let unused = uses.iter().filter(|(_, count)| **count < 2);
    let unused: Vec<_> = unused.map(|(name, _)| (*name).to_owned()).collect();
    assert_none("an error's name that nobody uses", &unused);
}

#[test]
fn an_error_number_is_found_in_each_spelling() {
    for line in [
        "const NO_SUCH_TABLE: u16 = 1146;",
        "if error.code == 1213 && tries < 3 {",
        "        1055, 1056, 1064, 1093,",
        "    matches!(code, 1064 | READ_ONLY)",
        "            4_025 => true,",
        "code: 1317u16,",
        "const SYNTAX: &[u8] = b\"1064\";",
        "const REFUSED: [u16; 1] = [1045]; // 1045 is a wrong password",
    ] {
        assert!(!error_numbers(line, false).is_empty(), "{line}");
    }
    for line in [
        "const LARGEST: usize = 16 * 1024;",
        "const PORT: u16 = 3306;",
        "sleep(1_500_000); wait(999); let x1146 = table_1146;",
        "let text = \"READ COMMITTED does not go with it (1665)\";",
        "let bytes = 0x1146;",
        "error.code == ER_NO_SUCH_TABLE // 1146",
    ] {
        assert_eq!(error_numbers(line, false), [0; 0], "{line}");
    }
    assert_eq!(error_numbers("end in 1213\", 1146", true), [1146]);
}

/// The proxy may use them; they would be no crates of their own if they needed it. Cargo refuses a circle of
/// dependencies, but takes one by way of `[dev-dependencies]`.
#[test]
fn the_crates_beside_the_proxy_know_nothing_of_it() {
    let mut found = Vec::new();
    for path in crates() {
        let manifest = path.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        let names = |line: &&str| {
            let name = line.split(['=', '.', ' ']).next();
            name == Some("countersink") || line.contains("package = \"countersink\"")
        };
        let lines = text.lines().filter(names);
        found.extend(lines.map(|line| format!("{}: {line}", manifest.display())));
        for source in below(&path.join("src")) {
            for (number, line) in code_lines(&source) {
                if line.contains("countersink::") {
                    found.push(format!("{}:{number}: {}", source.name, line.trim()));
                }
            }
        }
    }
    assert_none("a crate uses the proxy", &found);
}

#[test]
fn an_upward_step_is_found_in_each_spelling() {
    for line in [
        "use crate::session::Session;",
        "pub(crate) use crate::session;",
        "    let plan = crate::session::plan();",
        "use crate::{config::Config, session::{Session, State}};",
        "use crate::{\n    config::Config,\n    session,\n};",
    ] {
        let steps = upward_steps(&source("src/wire/packet.rs", line));
        assert_eq!(steps.len(), 1, "{line}: {steps:?}");
        assert!(steps[0].contains("src/wire/packet.rs:"), "{steps:?}");
    }
    for line in [
        "use crate::wire::packet::Header;",
        "use crate::config::Config;",
        "/// As [`crate::session::Session`] does.",
        "// crate::session",
        "#[cfg(test)]\nmod tests {\n    use crate::session::Session;\n}",
    ] {
        assert_eq!(
            upward_steps(&source("src/wire/packet.rs", line)),
            [""; 0],
            "{line}"
        );
    }
}

/// The rooms that a file names behind `crate::`, with line numbers.
fn uses(source: &Source) -> impl Iterator<Item = (usize, String)> {
    let mut found = Vec::new();
    let mut group: Option<Group> = None;
    for (number, line) in code_lines(source) {
        let mut rest = line;
        if let Some(open) = &mut group {
            found.extend(open.take(rest).into_iter().map(|room| (number, room)));
            if open.depth == 0 {
                group = None;
            }
            continue;
        }
        while let Some((_, after)) = rest.split_once("crate::") {
            rest = after;
            if let Some(inside) = after.strip_prefix('{') {
                let mut open = Group {
                    depth: 1,
                    expects_room: true,
                };
                found.extend(open.take(inside).into_iter().map(|room| (number, room)));
                if open.depth > 0 {
                    group = Some(open);
                }
                break;
            }
            found.push((number, first_word(after)));
        }
    }
    found
        .into_iter()
        .filter(|(_, room)| room.starts_with(|first: char| first.is_lowercase()))
}

/// The inside of `use crate::{..}`, over as many lines as it takes.
struct Group {
    depth: usize,
    /// The next word is a room's name.
    expects_room: bool,
}

impl Group {
    fn take(&mut self, text: &str) -> Vec<String> {
        let mut rooms = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let word = first_word(rest);
            match first {
                _ if self.depth == 0 => break,
                '{' => self.depth += 1,
                '}' => self.depth -= 1,
                ',' if self.depth == 1 => self.expects_room = true,
                _ if !word.is_empty() && self.depth == 1 && self.expects_room => {
                    self.expects_room = false;
                    rest = &rest[word.len()..];
                    rooms.push(word);
                    continue;
                }
                _ => {}
            }
            rest = &rest[first.len_utf8()..];
        }
        rooms
    }
}

/// The numbers in a line of code that are in the range of the servers' errors. Of a string literal only one that is
/// nothing but a number counts, as rows of SHOW WARNINGS have it; prose may name errors. `goes_on` says that the line
/// before has ended within a literal.
fn error_numbers(line: &str, goes_on: bool) -> Vec<u32> {
    let mut found = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        let is_literal = (index % 2 == 1) != goes_on;
        if is_literal {
            let is_whole = index > 0;
            found.extend(error_number(part).filter(|_| is_whole));
            continue;
        }
        let code = part.split("//").next().unwrap_or_default();
        found.extend(code.split(is_no_word).filter_map(error_number));
        if code.len() < part.len() {
            break;
        }
    }
    found
}

fn error_number(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches("u16").replace('_', "");
    let number = digits.parse().ok()?;
    ((1000..5000).contains(&number) && !NOT_ERRORS.contains(&number)).then_some(number)
}

fn is_no_word(letter: char) -> bool {
    !letter.is_alphanumeric() && letter != '_'
}

fn first_word(text: &str) -> String {
    text.chars()
        .take_while(|&c| c.is_alphanumeric() || c == '_')
        .collect()
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

fn upward_steps(source: &Source) -> Vec<String> {
    let own = floor(&source.room).unwrap_or(FLOORS.len());
    let is_allowed = |to: &str| {
        to == source.room
            || EXCEPTIONS
                .iter()
                .any(|(from, whom, _)| *from == source.room && *whom == to)
    };
    uses(source)
        .filter(|(_, to)| !is_allowed(to))
        .filter_map(|(line, to)| {
            let theirs = floor(&to)?;
            (theirs >= own).then(|| {
                format!(
                    "{}:{line}: `{}` (floor {own}) uses `{to}` (floor {theirs})",
                    source.name, source.room
                )
            })
        })
        .collect()
}

pub(super) fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}
