//! DDL that gives the hot table's name to other rows, takes it away, or empties it; each script ends with a table
//! `posts`.

use countersink_sandbox::Flavour;

use crate::concurrent::chance::Chance;
use crate::concurrent::ledger::Vessel;

/// Which rows have which name: `posts`, which is hot, `posts_b`, and the partition of `parts`.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    pub posts: Vessel,
    pub posts_b: Vessel,
    pub parts: Vessel,
}

/// A statement, and what the hot table's name stands for when it has run.
#[derive(Clone, Debug)]
pub struct Step {
    pub text: &'static str,
    pub vessel: Option<Vessel>,
    pub wiped: Option<Vessel>,
}

pub const COLUMNS: &str =
    "id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, title VARCHAR(20) NOT NULL DEFAULT ''";

/// The tables at first.
pub fn tables(rows: i64) -> String {
    let keys: Vec<_> = (1..=rows).map(|row| format!("({row})")).collect();
    let keys = keys.join(", ");
    format!(
        "CREATE TABLE posts ({COLUMNS}); CREATE TABLE posts_b LIKE posts; \
         CREATE TABLE parts ({COLUMNS}) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1000)); \
         INSERT INTO posts (id) VALUES {keys}; INSERT INTO posts_b (id) VALUES {keys}; INSERT INTO parts (id) VALUES {keys}"
    )
}

const INSERT: &str = "INSERT INTO posts (id) VALUES (1), (2), (3)";
const CREATE: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, title VARCHAR(20) NOT NULL DEFAULT '')";
const CREATE_OR_REPLACE: &str = "CREATE OR REPLACE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, title VARCHAR(20) NOT NULL DEFAULT '')";

/// A script, and which rows have which name behind it.
pub fn script(chance: &mut Chance, flavour: Flavour, names: Names) -> (Vec<Step>, Names) {
    let Names {
        posts,
        posts_b,
        parts,
    } = names;
    let at = |text, vessel| Step {
        text,
        vessel: Some(vessel),
        wiped: None,
    };
    let away = |text| Step {
        text,
        vessel: None,
        wiped: None,
    };
    let wipes = |text| Step {
        text,
        vessel: None,
        wiped: Some(posts),
    };
    let swapped = Names {
        posts: posts_b,
        posts_b: posts,
        ..names
    };
    let kinds = if flavour == Flavour::MariaDb { 11 } else { 10 };
    match chance.below(kinds) {
        0 => (
            vec![at(
                "RENAME TABLE posts TO posts_x, posts_b TO posts, posts_x TO posts_b",
                posts_b,
            )],
            swapped,
        ),
        1 => (
            vec![
                at("RENAME TABLE posts TO posts_x, posts_b TO posts", posts_b),
                at("RENAME TABLE posts_x TO posts_b", posts_b),
            ],
            swapped,
        ),
        2 => (
            vec![
                away("RENAME TABLE posts TO posts_x"),
                at("RENAME TABLE posts_x TO posts", posts),
            ],
            names,
        ),
        3 => (
            vec![
                away("ALTER TABLE posts RENAME TO posts_x"),
                at("ALTER TABLE posts_b RENAME posts", posts_b),
                at("ALTER TABLE posts_x RENAME AS posts_b", posts_b),
            ],
            swapped,
        ),
        4 => (
            vec![
                away("ALTER TABLE posts RENAME COLUMN views TO seen"),
                at("ALTER TABLE posts RENAME COLUMN seen TO views", posts),
            ],
            names,
        ),
        5 => (
            vec![
                away("ALTER TABLE posts CHANGE views seen BIGINT NOT NULL DEFAULT 0"),
                at(
                    "ALTER TABLE posts CHANGE COLUMN seen views BIGINT NOT NULL DEFAULT 0",
                    posts,
                ),
            ],
            names,
        ),
        6 => (
            vec![at(
                "ALTER TABLE parts EXCHANGE PARTITION p0 WITH TABLE posts",
                parts,
            )],
            Names {
                posts: parts,
                parts: posts,
                ..names
            },
        ),
        7 => (
            vec![wipes("TRUNCATE TABLE posts"), at(INSERT, posts)],
            names,
        ),
        8 => (
            vec![
                at("CREATE TABLE junk (id INT)", posts),
                wipes("DROP TABLE junk, posts"),
                away(CREATE),
                at(INSERT, posts),
            ],
            names,
        ),
        9 => (
            vec![
                at("ALTER TABLE posts ADD INDEX by_title (title)", posts),
                at("ALTER TABLE posts DROP INDEX by_title", posts),
            ],
            names,
        ),
        _ => (vec![wipes(CREATE_OR_REPLACE), at(INSERT, posts)], names),
    }
}
