//! What object-relational mappers send for an increment is slotted, and adds what MySQL would have added.
//!
//! tests/cases/orm.yaml has statements of real libraries, captured by tests/clients/orm/capture (which fetches them;
//! see there). Here they are sent again, to a server directly and to its twin through a proxy.

mod capture;
mod golden;
mod recorder;
mod replay;
mod table;

use countersink_sandbox::Flavour;

use crate::support;

#[test]
fn increments_of_libraries_are_slotted_on_mysql() {
    support::block_on(replay::all(Flavour::MySql));
}

#[test]
fn increments_of_libraries_are_slotted_on_mariadb() {
    support::block_on(replay::all(Flavour::MariaDb));
}

/// What is not slotted, by library and the beginning of its statement; docs/orms.md says why.
const NOT_SLOTTED: [(&str, &str); 5] = [
    (
        "Django",
        "UPDATE `posts` SET `title` = 'post 3', `views` = 10",
    ),
    ("Pony", "UPDATE `posts`\nSET `views` = 11"),
    ("mysql2", "UPDATE posts SET likes = likes + ? WHERE id = ?"),
    ("DBIx::Class", "UPDATE `posts` SET `likes` = likes - '2'"),
    ("DBIx::Class", "UPDATE `posts` SET `likes` = likes - ?"),
];

#[test]
fn nothing_else_is_not_slotted() {
    let libraries = golden::read();
    let increments = libraries.iter().flat_map(|library| {
        let increments = library.increments.iter();
        increments.map(|increment| (library.library.as_str(), increment))
    });
    let not_slotted: Vec<_> = increments
        .filter(|(_, increment)| increment.plan != "Slotted")
        .map(|(library, increment)| (library, increment.statement.as_str()))
        .collect();
    let is_of = |(library, statement): (&str, &str), (known, start): (&str, &str)| {
        known == library && statement.starts_with(start)
    };
    for found in &not_slotted {
        let is_known = NOT_SLOTTED.iter().any(|known| is_of(*found, *known));
        assert!(is_known, "{found:?} is not slotted");
    }
    for known in NOT_SLOTTED {
        let is_found = not_slotted.iter().any(|found| is_of(*found, known));
        assert!(is_found, "{known:?} is slotted, or gone");
    }
}

#[test]
fn the_page_shows_what_was_captured() {
    let table = table::table(&golden::read());
    assert!(
        table::read().contains(&table),
        "docs/orms.md has another table than:\n{table}"
    );
}

#[test]
#[ignore = "run tests/clients/orm/capture, which fetches the libraries"]
fn capture() {
    support::block_on(capture::capture());
}
