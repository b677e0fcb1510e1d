//! The tables of the schema: those with counters, those beside them, and what acts on rows out of sight.

/// A table with counters.
pub(super) struct Hot {
    pub(super) name: &'static str,
    pub(super) key: &'static [&'static str],
    pub(super) counters: &'static [&'static str],
    pub(super) touch: &'static [&'static str],
}

pub(super) const HOT: &[Hot] = &[
    Hot {
        name: "posts",
        key: &["id"],
        counters: &["views", "likes", "score"],
        touch: &[],
    },
    Hot {
        name: "hits",
        key: &["path"],
        counters: &["n"],
        touch: &[],
    },
    Hot {
        name: "balances",
        key: &["account", "currency"],
        counters: &["amount", "spent"],
        touch: &[],
    },
    Hot {
        name: "widths",
        key: &["id"],
        counters: &[
            "c8", "u8", "c16", "u16", "c24", "u24", "c32", "u32", "c64", "u64",
        ],
        touch: &[],
    },
    Hot {
        name: "articles",
        key: &["id"],
        counters: &["opens"],
        touch: &[],
    },
    Hot {
        name: "topics",
        key: &["id"],
        counters: &["replies"],
        touch: &["changed_at"],
    },
    Hot {
        name: "daily",
        key: &["day", "token"],
        counters: &["n"],
        touch: &[],
    },
    Hot {
        name: "prices",
        key: &["price"],
        counters: &["sold"],
        touch: &[],
    },
    Hot {
        name: "stock",
        key: &["sku"],
        counters: &["quantity", "reserved"],
        touch: &[],
    },
];

pub(super) const COLD: &[&str] = &["authors", "comments", "tallies"];

/// Rows that a foreign key, a trigger or a routine changes.
pub(super) const RELATED: &[Hot] = &[
    Hot {
        name: "threads",
        key: &["id"],
        counters: &["replies"],
        touch: &[],
    },
    Hot {
        name: "medals",
        key: &["board", "grade"],
        counters: &["won"],
        touch: &[],
    },
];

pub(super) const CREATE: &str = "\
CREATE TABLE posts (
  id INT NOT NULL PRIMARY KEY,
  author_id INT NOT NULL,
  title VARCHAR(100) NOT NULL,
  views INT NOT NULL DEFAULT 0,
  likes INT UNSIGNED NOT NULL DEFAULT 0,
  score BIGINT NULL,
  UNIQUE KEY title (title),
  KEY author_id (author_id)
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE hits (
  path VARCHAR(60) NOT NULL PRIMARY KEY,
  day DATE NULL,
  n INT UNSIGNED NOT NULL DEFAULT 0
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE balances (
  account VARCHAR(20) NOT NULL,
  currency CHAR(3) NOT NULL,
  amount DECIMAL(12,2) NOT NULL DEFAULT 0.00,
  spent DECIMAL(10,3) UNSIGNED NOT NULL DEFAULT 0.000,
  note VARCHAR(40) NULL,
  PRIMARY KEY (account, currency)
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE widths (
  id SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
  c8 TINYINT NOT NULL, u8 TINYINT UNSIGNED NOT NULL,
  c16 SMALLINT NOT NULL, u16 SMALLINT UNSIGNED NOT NULL,
  c24 MEDIUMINT NOT NULL, u24 MEDIUMINT UNSIGNED NOT NULL,
  c32 INT NOT NULL, u32 INT UNSIGNED NOT NULL,
  c64 BIGINT NOT NULL, u64 BIGINT UNSIGNED NOT NULL
);
CREATE TABLE articles (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  slug VARCHAR(40) NOT NULL,
  opens INT NOT NULL DEFAULT 0,
  updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  UNIQUE KEY slug (slug)
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE topics (
  id INT NOT NULL PRIMARY KEY,
  title VARCHAR(40) NOT NULL,
  replies INT NOT NULL DEFAULT 0,
  changed_at DATETIME(3) NULL
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE daily (
  day DATE NOT NULL,
  token BINARY(4) NOT NULL,
  n MEDIUMINT NOT NULL DEFAULT 0,
  PRIMARY KEY (day, token)
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE prices (
  price DECIMAL(8,2) NOT NULL PRIMARY KEY,
  sold SMALLINT UNSIGNED NOT NULL DEFAULT 0
);
CREATE TABLE stock (
  sku VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL PRIMARY KEY,
  quantity INT NOT NULL DEFAULT 0,
  reserved BIGINT NULL,
  CHECK (quantity >= 0)
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE authors (
  id INT NOT NULL PRIMARY KEY,
  name VARCHAR(50) NOT NULL,
  followers INT NOT NULL DEFAULT 0
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE comments (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  post_id INT NOT NULL,
  body TEXT NOT NULL,
  votes INT NOT NULL DEFAULT 0,
  KEY post_id (post_id)
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE tallies (
  id INT NOT NULL PRIMARY KEY,
  views INT NOT NULL DEFAULT 0,
  total DECIMAL(20,2) NULL,
  body LONGTEXT NULL
) DEFAULT CHARSET = utf8mb4;
";

pub(super) const CREATE_RELATED: &[&str] = &[
    "CREATE TABLE boards (id INT NOT NULL PRIMARY KEY, name VARCHAR(200) NOT NULL)",
    "CREATE TABLE threads (
       id INT NOT NULL PRIMARY KEY, board INT NULL, name VARCHAR(200) NOT NULL, replies INT NOT NULL DEFAULT 0,
       FOREIGN KEY (board) REFERENCES boards (id) ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE medals (
       board INT NOT NULL, grade CHAR(6) NOT NULL, won INT NOT NULL DEFAULT 0, PRIMARY KEY (board, grade),
       FOREIGN KEY (board) REFERENCES boards (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TRIGGER renamed AFTER UPDATE ON boards FOR EACH ROW UPDATE threads SET name = NEW.name WHERE id = OLD.id",
    "CREATE PROCEDURE retitle (k INT, new VARCHAR(50)) UPDATE posts SET title = new WHERE id = k",
    "CREATE FUNCTION retitled (k INT, new VARCHAR(50)) RETURNS INT DETERMINISTIC MODIFIES SQL DATA
     BEGIN UPDATE posts SET title = new WHERE id = k; RETURN k; END",
    "CREATE FUNCTION logged (k INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA
     BEGIN REPLACE INTO tallies (id, views) VALUES (k, 1); RETURN k; END",
    "CREATE PROCEDURE logs (k INT, v INT)
     BEGIN REPLACE INTO tallies (id, views) VALUES (k, v); UPDATE authors SET name = name WHERE id = 0; END",
    // The OK of a CALL that has run no other statement has the row count of the statement before it, on MySQL.
    "CREATE PROCEDURE one_out (OUT n INT) BEGIN UPDATE authors SET followers = followers + 1; SET n = 7; END",
    "CREATE PROCEDURE in_and_out (INOUT n INT, OUT m VARCHAR(20))
     BEGIN SELECT n; SELECT n UNION SELECT 5; SET n = n + 1, m = 'set'; END",
    "CREATE PROCEDURE several_results ()
     BEGIN SELECT 1; SELECT 'x' AS b UNION SELECT 'y'; UPDATE authors SET followers = followers + 1; END",
    "CREATE PROCEDURE fails_late () BEGIN SELECT 1; SELECT nothing; END",
    "CREATE PROCEDURE fetches ()
     BEGIN DECLARE a INT; DECLARE c CURSOR FOR SELECT 5; OPEN c; FETCH c INTO a; CLOSE c; SELECT 1 UNION SELECT 2; END",
    "CREATE PROCEDURE takes (n INT) SELECT n",
];
