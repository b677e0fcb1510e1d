//! `countersink explain` and EXPLAIN FORMAT=COUNTERSINK against real servers: what they change (nothing), what they
//! refuse, and whether the locks that they name are those that are taken.
//!
//! What the plans are is in the golden cases (`tests/proxy/golden`).

mod command;
mod counts;
mod locks;
mod session;
mod tls;

/// Tables of a test, in which `~` stands for its schema.
const TABLES: &str = "\
    CREATE TABLE ~.posts (id INT PRIMARY KEY, author_id INT, views INT NOT NULL DEFAULT 0); \
    INSERT INTO ~.posts VALUES (1, 7, 10), (42, 7, 100)";

/// Its rule.
const RULE: &str = "columns: [views]\nrest: never";

const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 42";
