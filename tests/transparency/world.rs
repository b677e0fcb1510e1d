//! The schema that sessions are played in: hot tables of all kinds, cold ones beside them, and what they hold.

use std::time::{Duration, Instant};

use countersink::driver::{Driver, Packet, Reply};
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink_sandbox::{Address, Flavour};

use crate::case::Session;
use crate::difference::{Difference, Exchange};
use crate::random::OBSERVED;
use crate::support::client::{connect, number, rows, run, run_all};

/// A table with counters.
struct Hot {
    name: &'static str,
    key: &'static [&'static str],
    counters: &'static [&'static str],
    touch: &'static [&'static str],
}

const HOT: &[Hot] = &[
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

const COLD: &[&str] = &["authors", "comments", "tallies"];

/// Topics whose world has [`RELATED`], as the prover's has: what it prints is played as any other file.
const TOPICS: &[&str] = &["out_of_sight", "any_file"];

/// Rows that a foreign key, a trigger or a routine changes.
const RELATED: &[Hot] = &[
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

const CREATE: &str = "\
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

const CREATE_RELATED: &[&str] = &[
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

const FILL_RELATED: &str = "\
INSERT INTO boards VALUES (1, 'news'), (2, 'talk');
INSERT INTO threads VALUES (1, 1, 'first', 10), (2, 2, 'second', 20), (3, NULL, 'third', 0);
INSERT INTO medals VALUES (1, 'gold', 10), (1, 'silver', 5), (2, 'gold', 20), (2, 'silver', 0);
";

const FILL: &str = "\
INSERT INTO authors VALUES (1, 'Ada', 10), (2, 'Brian', 20), (3, 'Cleo', 0);
INSERT INTO posts VALUES
  (1, 1, 'first', 100, 10, 5), (2, 1, 'second', 200, 20, NULL), (3, 2, 'third', 300, 30, -3),
  (4, 2, 'fourth', 50, 0, 0), (5, 3, 'fifth', 100, 50, NULL), (10, 3, 'tenth', 0, 0, 12);
INSERT INTO hits VALUES ('/', '2024-01-01', 1000), ('/about', NULL, 20), ('/Äpfel', '2024-02-29', 8), ('5', NULL, 12);
INSERT INTO balances VALUES
  ('alice', 'EUR', 100.00, 12.500, NULL), ('alice', 'USD', -20.50, 0.000, 'debt'),
  ('bob', 'EUR', 0.00, 7.125, 'it''s'), ('bob', 'USD', 99999.99, 1.000, NULL);
INSERT INTO widths VALUES
  (1, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20),
  (2, 126, 254, 32766, 65534, 8388606, 16777214, 2147483646, 4294967294, 9223372036854775806, 18446744073709551614),
  (3, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0),
  (4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO articles VALUES (1, 'one', 11, '2020-01-01 00:00:01'), (2, 'two', 22, '2020-01-01 00:00:02'), (3, 'three', 0, '2020-01-01 00:00:03');
INSERT INTO topics VALUES (1, 'tea', 5, '2020-01-01 00:00:01.500'), (2, 'coffee', 0, NULL), (3, 'milk', 7, '2020-01-01 00:00:03.000');
INSERT INTO daily VALUES ('2024-01-01', 'abcd', 10), ('2024-01-01', X'00FF2027', 8388600), ('2024-02-29', 'abcd', -3);
INSERT INTO prices VALUES (1.00, 65530), (9.99, 12), (-5.50, 0), (100.00, 7);
INSERT INTO stock VALUES ('A-1', 5, 2), ('a-1', 0, NULL), ('été', 1, -4);
INSERT INTO comments VALUES (1, 1, 'good', 3), (2, 1, 'better', 0), (3, 2, 'best', 1), (4, 9, 'lost', 0);
INSERT INTO tallies VALUES (1, 100, 1.50, NULL), (2, 200, NULL, 'x');
";

/// Costs more than all the rest, so it is done for sessions that see it only.
const REWIND: &str = "\
ALTER TABLE articles AUTO_INCREMENT = 100;
ALTER TABLE comments AUTO_INCREMENT = 100;
";

/// Moves a part of some values from base into slots; the sums stay. Two slots, and one that is zero: it is closed, as
/// it would be where the proxy itself had set the score of its row to NULL. By their base alone the posts would stand
/// in another order.
const INTO_SLOTS: &str = "\
UPDATE posts SET views = views - 97 WHERE id IN (1, 3);
UPDATE posts SET views = views - 7 WHERE id = 10;
UPDATE posts SET likes = likes - 4 WHERE id IN (1, 3);
INSERT INTO posts_slots (id, slot, views, likes) VALUES (1, 0, 94, 4), (1, 5, 3, 0), (3, 0, 99, 1), (3, 2, -2, 3), (10, 1, 7, 0), (2, 0, 0, 0);
UPDATE posts SET score = score - 2 WHERE id IN (1, 3);
UPDATE posts_slots SET score = 2 WHERE (id, slot) IN ((1, 5), (3, 0));
UPDATE posts_slots SET open = 0 WHERE id = 2;
UPDATE hits SET n = n - 6 WHERE path IN ('/', '/Äpfel', '5');
INSERT INTO hits_slots (path, slot, n) VALUES ('/', 0, 6), ('/Äpfel', 3, 6), ('5', 0, 5), ('5', 1, 1);
UPDATE balances SET amount = amount - 0.25, spent = spent - 1.125 WHERE account = 'alice' AND currency = 'EUR' OR account = 'bob' AND currency = 'EUR';
INSERT INTO balances_slots (account, currency, slot, amount, spent) VALUES ('alice', 'EUR', 0, 0.25, 1.125), ('bob', 'EUR', 7, 0.50, 0.125), ('bob', 'EUR', 8, -0.25, 1.000);
UPDATE widths SET c16 = c16 - 5, u16 = u16 - 5, c24 = c24 - 5, u24 = u24 - 5, c32 = c32 - 5, u32 = u32 - 5, c64 = c64 - 5, u64 = u64 - 5 WHERE id = 1;
INSERT INTO widths_slots (id, slot, c16, u16, c24, u24, c32, u32, c64, u64) VALUES (1, 0, 5, 5, 5, 5, 5, 5, 5, 5);
UPDATE articles SET opens = opens - 3, updated_at = updated_at WHERE id < 3;
INSERT INTO articles_slots (id, slot, opens) VALUES (1, 0, 3), (2, 4, 3);
UPDATE topics SET replies = replies - 2, changed_at = '2019-12-31 23:59:59.999' WHERE id = 1;
UPDATE daily SET n = n - 4 WHERE token = 'abcd';
INSERT INTO daily_slots (day, token, slot, n) VALUES ('2024-01-01', 'abcd', 0, 5), ('2024-01-01', 'abcd', 2, -1), ('2024-02-29', 'abcd', 0, 4);
UPDATE prices SET sold = sold - 3 WHERE price IN (1.00, 9.99);
INSERT INTO prices_slots (price, slot, sold) VALUES (1.00, 0, 3), (9.99, 0, 1), (9.99, 1, 2);
UPDATE stock SET reserved = reserved - 2 WHERE sku = 'A-1';
INSERT INTO stock_slots (sku, slot, reserved) VALUES ('A-1', 0, 2);
INSERT INTO topics_slots (id, slot, replies, changed_at) VALUES (1, 0, 1, '2020-01-01 00:00:01.500'), (1, 1, 1, '2020-01-01 00:00:00'), (3, 0, 0, NULL);
";

const RELATED_INTO_SLOTS: &str = "\
UPDATE threads SET replies = replies - 3 WHERE id IN (1, 2);
INSERT INTO threads_slots (id, slot, replies) VALUES (1, 0, 3), (2, 0, 2), (2, 1, 1);
UPDATE medals SET won = won - 2 WHERE grade = 'gold';
INSERT INTO medals_slots (board, grade, slot, won) VALUES (1, 'gold', 0, 2), (2, 'gold', 0, 1), (2, 'gold', 2, 1);
";

/// The schema of a topic.
pub struct World {
    pub schema: String,
    /// With [`RELATED`], and rolled up when a step says so alone.
    has_related: bool,
    flavour: Flavour,
}

impl World {
    pub fn new(flavour: Flavour, topic: &str) -> Self {
        Self {
            schema: format!("cs_{topic}"),
            has_related: TOPICS.contains(&topic),
            flavour,
        }
    }

    /// The prover's, of this lane.
    pub fn of_the_prover(flavour: Flavour, lane: usize) -> Self {
        Self {
            has_related: true,
            ..Self::new(flavour, &format!("random_{lane}"))
        }
    }

    fn hot(&self) -> impl Iterator<Item = &'static Hot> + use<> {
        let related = if self.has_related { RELATED } else { &[] };
        HOT.iter().chain(related)
    }

    /// All tables, those first that refer to others.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let boards: &[&str] = if self.has_related { &["boards"] } else { &[] };
        let cold = COLD.iter().chain(boards).copied();
        self.hot().map(|hot| hot.name).chain(cold)
    }

    /// Those that a session names, or changes out of sight.
    pub fn names_in(&self, session: &Session) -> Vec<&'static str> {
        /// Words, and the tables that foreign keys, triggers and routines change for them.
        const OUT_OF_SIGHT: &[(&str, &str)] = &[
            ("boards", "threads"),
            ("boards", "medals"),
            ("retitle", "posts"),
            ("logged", "tallies"),
            ("logs", "tallies"),
            ("CALL", "authors"),
        ];
        let text = session.to_string();
        let is_changed = |name: &str| {
            let mut words = OUT_OF_SIGHT.iter().filter(|(_, table)| *table == name);
            text.contains(name) || words.any(|(word, _)| text.contains(word))
        };
        self.names().filter(|name| is_changed(name)).collect()
    }

    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The rules of the proxy.
    pub fn rules(&self) -> String {
        let mut text = "counters:\n".to_owned();
        let interval = if self.has_related { "1h" } else { "10ms" };
        for hot in self.hot() {
            let (columns, touch) = (hot.counters.join(", "), hot.touch.join(", "));
            text += &format!(
                "  - {{table: {}.{}, columns: [{columns}], touch: [{touch}], rollup: {interval}}}\n",
                self.schema, hot.name
            );
        }
        text
    }

    /// Fills in `{schema}` and `{x:100}`.
    pub fn expand(&self, text: &str) -> String {
        let text = text.replace("{schema}", &self.schema);
        let Some((before, rest)) = text.split_once("{x:") else {
            return text;
        };
        let (length, after) = rest.split_once('}').expect("a brace that closes");
        let length = length.parse().expect("a length");
        [before, &"x".repeat(length), after].concat()
    }

    /// Makes the schema anew, its tables empty.
    pub async fn create(&self, server: &Address) {
        let mut driver = connect(server, None).await;
        let schema = &self.schema;
        run(&mut driver, &format!("DROP DATABASE IF EXISTS {schema}")).await;
        run(
            &mut driver,
            &format!("CREATE DATABASE {schema} DEFAULT CHARACTER SET utf8mb4"),
        )
        .await;
        run(&mut driver, &format!("USE {schema}")).await;
        run_all(&mut driver, CREATE).await;
        if self.has_related {
            for create in CREATE_RELATED {
                run(&mut driver, create).await;
            }
        }
    }

    /// Puts the rows into the tables of the plain server; `rewind` sets AUTO_INCREMENT back as well.
    pub async fn fill(&self, server: &Address, rewind: bool) {
        let filled = self.fill_and("", server, rewind).await;
        filled.expect("tables to be filled");
    }

    /// Puts the same values into the tables of the server behind the proxy, a part of them into slots.
    pub async fn fill_with_slots(&self, server: &Address, rewind: bool) {
        let slots = self
            .hot()
            .map(|hot| format!("DELETE FROM {}_slots;\n", hot.name));
        let mut script = slots.collect::<String>() + INTO_SLOTS;
        if self.has_related {
            script += RELATED_INTO_SLOTS;
        }
        const ATTEMPTS: usize = 10;
        for _ in 0..ATTEMPTS {
            self.until_slots_are_there(server).await;
            match self.fill_and(&script, server, rewind).await {
                Ok(()) => return,
                // The proxy has only now seen the DDL that the sequence before ended with.
                Err(error) if error.contains("1146") => {}
                Err(error) => panic!("{error}"),
            }
        }
        panic!("slot tables come and go");
    }

    /// DDL takes slot tables away; they are made anew when all proxies have seen what has become of the table.
    async fn until_slots_are_there(&self, server: &Address) {
        let mut driver = connect(server, Some(&self.schema)).await;
        let names: Vec<_> = self
            .hot()
            .map(|hot| format!("'{}_slots'", hot.name))
            .collect();
        let there = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ({})",
            names.join(", ")
        );
        let deadline = Instant::now() + Duration::from_secs(30);
        while number(&mut driver, &there).await < i64::try_from(names.len()).expect("few") {
            assert!(Instant::now() < deadline, "a slot table has not come back");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// In one transaction, for slots may be rolled up at any time.
    async fn fill_and(&self, script: &str, server: &Address, rewind: bool) -> Result<(), String> {
        let mut driver = connect(server, Some(&self.schema)).await;
        let empty = self.names().map(|name| format!("DELETE FROM {name};\n"));
        let empty: String = empty.collect();
        let related = if self.has_related { FILL_RELATED } else { "" };
        let script = format!("SET NAMES utf8mb4;\nBEGIN;\n{empty}{FILL}{related}{script}COMMIT");
        match driver.query(&script).await {
            Ok(Reply::Err(error)) => return Err(format!("{error} in: {script}")),
            Ok(_) => {}
            Err(error) => return Err(format!("{error} in: {script}")),
        }
        if rewind {
            run_all(&mut driver, REWIND).await;
        }
        Ok(())
    }

    /// A session that reads what all tables hold, for [`World::observe`].
    pub async fn observer(&self, server: &Address) -> Driver {
        let mut driver = connect(server, Some(&self.schema)).await;
        run(
            &mut driver,
            "SET NAMES utf8mb4, lock_wait_timeout = 5, innodb_lock_wait_timeout = 5",
        )
        .await;
        driver
    }

    /// All rows of these tables, as an exchange.
    pub async fn observe(&self, observer: &mut Driver, names: &[&str], label: &str) -> Exchange {
        let reads = names
            .iter()
            .map(|name| format!("SELECT * FROM {name} ORDER BY 1, 2"));
        let text = reads.collect::<Vec<_>>().join(";");
        let payload = observer.query_payload(&text);
        let sent = observer.send(&payload).await;
        let packets = match sent {
            Ok(()) => observer.packets(ResponseKind::Results).await,
            Err(error) => Err(error),
        };
        let is_told =
            |packet: &Packet| matches!(packet.packet_kind, PacketKind::Row | PacketKind::Err);
        Exchange {
            label: label.to_owned(),
            request: OBSERVED,
            answer: packets
                .map(|packets| packets.into_iter().filter(is_told).collect())
                .map_err(|error| error.to_string()),
            masked: false,
            binary: Vec::new(),
            statement_id: None,
        }
    }

    /// What these tables of both sides hold, told by three fresh sessions: directly, through the proxy, and added up
    /// from base and slots.
    pub async fn compare_tables(
        &self,
        names: &[&str],
        plain: &Address,
        proxy: &Address,
        proxied: &Address,
    ) -> Vec<Difference> {
        let schema = Some(self.schema.as_str());
        let mut plain = connect(plain, schema).await;
        let mut proxy = connect(proxy, schema).await;
        let mut behind = connect(proxied, schema).await;
        for driver in [&mut plain, &mut proxy, &mut behind] {
            run(driver, "SET NAMES utf8mb4").await;
        }
        let mut found = Vec::new();
        for name in names {
            let query = format!("SELECT * FROM {name} ORDER BY 1, 2");
            let theirs = outcome(&mut plain, &query).await;
            let ours = outcome(&mut proxy, &query).await;
            if theirs != ours {
                let detail = format!("  direct  {}\n  proxied {}\n", shown(&theirs), shown(&ours));
                found.push(Difference::new(&query, "fresh session", detail));
            }
        }
        let slot_tables = rows(
            &mut behind,
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
        )
        .await
        .concat();
        for hot in self.hot().filter(|hot| names.contains(&hot.name)) {
            // DDL takes a slot table away, and it stays away while the table does not fit its rule.
            let has_slots = slot_tables.contains(&format!("{}_slots", hot.name));
            let counters = format!("SELECT {} FROM {}", hot.counters.join(", "), hot.name);
            if let Reply::Err(_) = outcome(&mut plain, &counters).await {
                continue; // the session dropped or renamed it
            }
            found.extend(hot.compare_sums(&mut plain, &mut behind, has_slots).await);
        }
        found
    }
}

async fn outcome(driver: &mut Driver, query: &str) -> Reply {
    driver
        .query(query)
        .await
        .unwrap_or_else(|error| panic!("{error}: {query}"))
}

fn shown(reply: &Reply) -> String {
    let Reply::Rows(rows) = reply else {
        return format!("{reply:?}");
    };
    let value = |value: &Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".to_owned(),
    };
    let rows = rows
        .iter()
        .map(|row| row.iter().map(value).collect::<Vec<_>>().join(" "));
    rows.collect::<Vec<_>>().join(" | ")
}

impl Hot {
    /// base + SUM(slots) on the one side against the value on the other; and no slot without its row.
    async fn compare_sums(
        &self,
        plain: &mut Driver,
        behind: &mut Driver,
        has_slots: bool,
    ) -> Vec<Difference> {
        let Self { name, key, .. } = self;
        let key_list = key.join(", ");
        let same_key: Vec<_> = key.iter().map(|key| format!("s.{key} = t.{key}")).collect();
        let same_key = same_key.join(" AND ");
        let sums: Vec<_> = self
            .counters
            .iter()
            .map(|counter| {
                format!("t.{counter} + COALESCE((SELECT SUM(s.{counter}) FROM {name}_slots s WHERE {same_key}), 0)")
            })
            .collect();
        let values: Vec<_> = self
            .counters
            .iter()
            .map(|counter| format!("t.{counter} + 0"))
            .collect();
        let query = |columns: Vec<String>| {
            format!(
                "SELECT {key_list}, {} FROM {name} t ORDER BY {key_list}",
                columns.join(", ")
            )
        };
        let theirs = rows(plain, &query(values.clone())).await;
        let sums = match has_slots {
            true => query(sums),
            false => query(values.clone()),
        };
        let ours = rows(behind, &sums).await;
        let mut found = Vec::new();
        if theirs != ours {
            let detail = format!("  direct  {theirs:?}\n  base + SUM(slots) {ours:?}\n");
            found.push(Difference::new(&sums, "fresh session", detail));
        }
        if !has_slots {
            return found;
        }
        let has_value: Vec<_> = self
            .counters
            .iter()
            .map(|counter| format!("s.{counter} <> 0"))
            .collect();
        let orphans = format!(
            "SELECT * FROM {name}_slots s WHERE ({}) AND NOT EXISTS (SELECT 1 FROM {name} t WHERE {same_key})",
            has_value.join(" OR ")
        );
        let orphans = rows(behind, &orphans).await;
        if !orphans.is_empty() {
            let detail = format!("  slots without a row: {orphans:?}\n");
            found.push(Difference::new(
                &format!("slots of {name}"),
                "fresh session",
                detail,
            ));
        }
        found
    }
}
