//! The statements that sessions send. They write to no row of the well-behaved clients: those have ids that no literal
//! here names.

/// COM_QUERY, where `{id}` is a row.
pub(super) const STATEMENTS: &[(&str, &[&str])] = &[
    (
        "increment",
        &[
            "UPDATE posts SET views = views + 1 WHERE id = {id}",
            "UPDATE posts SET views = views + 1, stock = stock - 1 WHERE id = {id}",
            "UPDATE `posts` SET `views` = `views` + 2 WHERE `id` = {id} -- twice",
            "UPDATE posts SET views = views + 1 WHERE id IN (1, {id})",
            "UPDATE daily SET hits = hits + 1 WHERE day = 'a' AND id = {id}",
            "UPDATE posts SET views = LAST_INSERT_ID(views + 1) WHERE id = {id}",
            "UPDATE posts SET views = views + 'x' WHERE id = {id}",
            "UPDATE posts SET views = views + 9223372036854775807 WHERE id = {id}",
        ],
    ),
    (
        "guarded",
        &[
            "UPDATE posts SET stock = stock - 1 WHERE id = {id} AND stock > 0",
            "UPDATE posts SET stock = stock - 60 WHERE id = {id} AND stock >= 60",
        ],
    ),
    (
        "upsert",
        &[
            "INSERT INTO posts (id, views) VALUES ({id}, 1) ON DUPLICATE KEY UPDATE views = views + 1",
            "INSERT INTO daily VALUES ('a', {id}, 1) ON DUPLICATE KEY UPDATE hits = hits + 1",
            "INSERT INTO daily VALUES ('b', {id}, 1), ('a', {id}, 1) ON DUPLICATE KEY UPDATE hits = hits + 1",
            "REPLACE INTO posts (id, views) VALUES ({id}, 3)",
            "INSERT INTO posts (id) VALUES ({id})",
        ],
    ),
    (
        "write",
        &[
            "UPDATE posts SET views = 7 WHERE id = {id}",
            "UPDATE posts SET views = views * 2 WHERE id = {id}",
            "UPDATE posts SET title = 'x' WHERE id = {id}",
            "DELETE FROM posts WHERE id = {id}",
            "DELETE FROM daily WHERE day = 'a' AND id = {id}",
            "INSERT INTO notes VALUES ({id}, 'x') ON DUPLICATE KEY UPDATE text = 'y'",
        ],
    ),
    (
        "read",
        &[
            "SELECT views FROM posts WHERE id = {id}",
            "SELECT id, views, stock, title FROM posts WHERE id < 10 ORDER BY id",
            "SELECT SUM(views), COUNT(*) FROM posts WHERE id < 10",
            "SELECT views FROM posts WHERE id = {id} FOR UPDATE",
            "SELECT hits FROM daily WHERE day = 'a' AND id = {id}",
            "SELECT p.id, p.views, n.text FROM posts p JOIN notes n ON n.id = p.id WHERE p.id < 10 ORDER BY p.id",
            "SELECT id FROM posts WHERE views > 5 AND id < 10 ORDER BY views DESC, id LIMIT 2",
            "SELECT 1",
            "SELECT ROW_COUNT(), LAST_INSERT_ID()",
            "SHOW WARNINGS",
            "SELECT REPEAT('x', 70000), views FROM posts WHERE id = {id}",
        ],
    ),
    (
        "error",
        &[
            "",
            "SELECT",
            "SELECT '",
            "SELECT nothing FROM posts",
            "SELECT * FROM missing",
            "UPDATE posts SET nothing = nothing + 1 WHERE id = {id}",
            "UPDATE posts SET views = views + 1 WHERE id = {id} AND",
            "CALL missing()",
            ";",
            "/* nothing */",
            "\u{0}",
        ],
    ),
    (
        "transaction",
        &[
            "BEGIN",
            "BEGIN",
            "COMMIT",
            "COMMIT",
            "ROLLBACK",
            "ROLLBACK",
            "START TRANSACTION READ ONLY",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "SET autocommit = 0",
            "SET autocommit = 1",
            "SAVEPOINT s",
            "ROLLBACK TO s",
            "RELEASE SAVEPOINT s",
            "COMMIT AND CHAIN",
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        ],
    ),
    (
        "LOCK TABLES",
        &[
            "LOCK TABLES posts WRITE",
            "LOCK TABLES posts READ, notes WRITE",
            "UNLOCK TABLES",
            "UNLOCK TABLES",
        ],
    ),
    (
        "PREPARE by SQL",
        &[
            "PREPARE p FROM 'UPDATE posts SET views = views + ? WHERE id = {id}'",
            "PREPARE q FROM 'SELECT views FROM posts WHERE id = ?'",
            "PREPARE q FROM 'SELECT'",
            "SET @a = {id}",
            "EXECUTE p USING @a",
            "EXECUTE q USING @a",
            "EXECUTE p",
            "EXECUTE missing",
            "DEALLOCATE PREPARE p",
        ],
    ),
    (
        "several in one",
        &[
            "UPDATE posts SET views = views + 1 WHERE id = {id}; SELECT views FROM posts WHERE id = {id}",
            "SELECT 1; SELECT; SELECT 2",
            "BEGIN; UPDATE posts SET views = views + 1 WHERE id = {id}; ROLLBACK; SELECT views FROM posts WHERE id = {id}",
            "UPDATE posts SET views = views + 1 WHERE id = {id};",
        ],
    ),
    (
        "LOAD DATA LOCAL",
        &[
            "LOAD DATA LOCAL INFILE 'any' REPLACE INTO TABLE notes",
            "LOAD DATA LOCAL INFILE 'any' IGNORE INTO TABLE posts (id, views)",
        ],
    ),
    (
        "session state",
        &[
            "SET NAMES latin1",
            "SET NAMES utf8mb4",
            "SET SESSION sql_mode = 'ANSI_QUOTES'",
            "SET SESSION sql_mode = ''",
            "USE missing",
            "CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT)",
            "DROP TEMPORARY TABLE IF EXISTS posts",
            "KILL QUERY CONNECTION_ID()",
            "DO 0",
            "SET max_statement_time = 'x'",
            "HANDLER posts OPEN",
            "SET SESSION transaction_read_only = 1",
            "SET SESSION transaction_read_only = 0",
        ],
    ),
];

/// COM_STMT_PREPARE, and how many parameters there are.
pub(super) const PREPARED: &[(&str, usize)] = &[
    ("UPDATE posts SET views = views + ? WHERE id = ?", 2),
    ("UPDATE posts SET views = views + 1 WHERE id = ?", 1),
    ("SELECT views FROM posts WHERE id = ?", 1),
    (
        "SELECT id, views FROM posts WHERE id < ? AND id < 10 ORDER BY id",
        1,
    ),
    (
        "INSERT INTO daily VALUES ('a', ?, ?) ON DUPLICATE KEY UPDATE hits = hits + 1",
        2,
    ),
    (
        "UPDATE posts SET stock = stock - ? WHERE id = ? AND stock >= ?",
        3,
    ),
    (
        "INSERT INTO notes VALUES (?, ?) ON DUPLICATE KEY UPDATE text = 'z'",
        2,
    ),
    ("SELECT ?", 1),
    ("SELECT 1", 0),
    ("BEGIN", 0),
    ("COMMIT", 0),
    ("SELECT", 0),
    ("", 0),
    ("SELECT 1; SELECT 2", 0),
    ("SELECT * FROM missing WHERE id = ?", 1),
];
