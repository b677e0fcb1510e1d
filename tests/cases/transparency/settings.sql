# What a session sets, and what the proxy's own statements make of it.

== no rows are selected: a fold holds its rows [text]
UPDATE posts SET views = views + 3 WHERE id = 1;
SET sql_select_limit = 0;
BEGIN;
UPDATE posts SET views = 0;
\connection b
SET innodb_lock_wait_timeout = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
\connection a
COMMIT;
SET sql_select_limit = DEFAULT;
SELECT id, views FROM posts ORDER BY id;

== no rows are selected: DDL [text]
UPDATE posts SET views = views + 3 WHERE id = 1;
SET sql_select_limit = 0;
ALTER TABLE posts COMMENT = 'x';
SET sql_select_limit = DEFAULT;
SELECT id, views FROM posts ORDER BY id;

== no rows are selected: locking reads [text]
UPDATE posts SET views = views + 3 WHERE id = 1;
SET sql_select_limit = 0;
BEGIN;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
SELECT views FROM posts WHERE id = 1 LIMIT 1 FOR UPDATE;
SELECT COUNT(*), SUM(views) FROM posts WHERE id < 3 LIMIT 5 FOR UPDATE;
COMMIT;
SET sql_select_limit = DEFAULT;
SELECT id, views FROM posts ORDER BY id;

== no rows are selected: functions that write [text]
SET sql_select_limit = 0;
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\connection a
UPDATE posts SET title = title WHERE id = 1 AND logged(2) = 2;
CALL logs(3, 4);
DO logged(4);
SELECT views FROM posts WHERE id = 1 LIMIT 1;
DO (SELECT MAX(views) FROM posts WHERE id = logged(5));
COMMIT;
SET sql_select_limit = DEFAULT;
SELECT id, views FROM tallies ORDER BY id;
SELECT id, views FROM posts ORDER BY id;

== one row is selected: a function that writes, in a snapshot [text]
SET sql_select_limit = 1;
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\connection a
UPDATE posts SET title = title WHERE id = logged(1);
SELECT views, title FROM posts WHERE id = 1;
COMMIT;
SELECT * FROM tallies;
SET sql_select_limit = DEFAULT;
SELECT * FROM tallies;
SELECT id, views FROM posts ORDER BY id;

== results in UTF-16: a snapshot, and slots that are rolled up [text]
SET character_set_results = utf16;
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\connection a
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET title = 'second' WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;
SET character_set_results = utf8mb4;
SELECT id, views FROM posts ORDER BY id;

== results in UTF-16: a snapshot [text]
SET character_set_results = utf16;
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\connection a
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET title = 'second' WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
COMMIT;

== results in UTF-32: safe updates [text]
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
SET character_set_results = utf32, sql_safe_updates = 1;
UPDATE posts SET views = 7 WHERE id = 1;
UPDATE posts SET views = 7 WHERE title = 'x';
DELETE FROM posts;
SELECT id, views FROM posts ORDER BY id;

== results in UTF-16: a temporary table [text]
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
SET character_set_results = utf16;
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT);
INSERT INTO posts VALUES (1, 5);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts;
ALTER TABLE posts ADD COLUMN x INT;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts;
SET character_set_results = utf8mb4;
DROP TABLE posts;
SELECT id, views FROM posts ORDER BY id;

== results in UCS-2: increments, decrements and reads [text]
SET character_set_results = ucs2;
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
UPDATE posts SET views = views + 5 WHERE id = 1;
UPDATE stock SET quantity = quantity - 1 WHERE sku = 1 AND quantity > 0;
SELECT COUNT(views), MAX(views), id FROM posts GROUP BY id;
UPDATE posts SET likes = LAST_INSERT_ID(likes + 1) WHERE id = 1;
SELECT LAST_INSERT_ID();
\prepare a: UPDATE posts SET views = views + ? WHERE id = ?
\execute a <- 1, 1
\prepare b: SELECT views, id FROM posts WHERE id = ?
\execute b <- 1
SHOW WARNINGS;
SELECT nothing FROM posts;
SHOW WARNINGS;

== rows that were folded: the time zone changes [text]
[direct] SET timestamp = 1700000100;
BEGIN;
SELECT opens FROM articles WHERE id = 1;
\connection b
[direct] SET timestamp = 1700000000;
UPDATE articles SET opens = opens + 5 WHERE id IN (1, 2);
\connection a
UPDATE articles SET slug = 'second' WHERE id IN (1, 2) AND slug LIKE 'zzz%';
UPDATE articles SET slug = IF(id = 1, 'first', slug) WHERE id IN (1, 2);
SET time_zone = '+05:00';
SELECT id, opens FROM articles ORDER BY id;
COMMIT;
SET time_zone = DEFAULT;
SELECT id, opens FROM articles ORDER BY id;

== rows that were folded: CHAR is padded [text]
BEGIN;
SELECT amount FROM balances;
\connection b
UPDATE balances SET amount = amount + 5;
\connection a
UPDATE balances SET note = IF(currency = 'EUR', 'x', note);
SET sql_mode = CONCAT(@@sql_mode, ',PAD_CHAR_TO_FULL_LENGTH');
SELECT account, amount FROM balances ORDER BY account, currency;
COMMIT;
SELECT account, amount FROM balances ORDER BY account, currency;
SET sql_mode = DEFAULT;

== rows that were folded: the character set of literals changes [text]
BEGIN;
SELECT views FROM posts;
\connection b
UPDATE posts SET views = views + 5;
\connection a
UPDATE posts SET likes = IF(id = 1, 70, likes);
SET character_set_connection = utf16;
SELECT id, views, likes FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;
SET NAMES utf8mb4;

== no large joins: rows of a snapshot [text]
SET sql_big_selects = 0, max_join_size = 1;
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\connection a
UPDATE posts SET title = IF(id = 1, 'first', title) WHERE id IN (1, 2);
SET sql_big_selects = 1;
SELECT id, views FROM posts ORDER BY id;
SET sql_big_selects = 0, max_join_size = 1;
SELECT JSON_ARRAYAGG(views) FROM posts WHERE id = 2;
SELECT views, RANK() OVER (ORDER BY views) FROM posts WHERE id = 2;
COMMIT;
SET sql_big_selects = 1;
SELECT id, views FROM posts ORDER BY id;

== no large joins: rows that were folded [text]
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\connection a
UPDATE posts SET title = IF(id = 1, 'first', title) WHERE id IN (1, 2);
SET sql_big_selects = 0, max_join_size = 1;
SELECT views FROM posts WHERE id = 2;
SELECT views FROM posts WHERE id = 1;
COMMIT;
SET sql_big_selects = 1;
SELECT id, views FROM posts ORDER BY id;

== a READ ONLY session: WITH and EXECUTE [text]
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
SET SESSION TRANSACTION READ ONLY;
WITH x AS (SELECT views, id FROM posts) SELECT views, RANK() OVER (ORDER BY views) FROM x ORDER BY id;
PREPARE s FROM 'SELECT JSON_ARRAYAGG(views) FROM posts WHERE id = 1';
EXECUTE s;
SELECT JSON_ARRAYAGG(views) FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SET SESSION TRANSACTION READ WRITE;
SELECT id, views FROM posts ORDER BY id;

== messages that are not kept [text]
SET max_error_count = 0;
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
SELECT @@warning_count, @@error_count;
UPDATE posts SET views = 'x' WHERE id = 1;
SELECT @@warning_count, @@error_count;
SHOW WARNINGS;
SET max_error_count = 1;
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
SELECT @@warning_count, @@error_count;
SHOW WARNINGS;

== statements that are not logged [text]
SET sql_log_bin = 0;
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
UPDATE posts SET views = views + 5 WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
SET sql_log_bin = 1;
SELECT id, views FROM posts ORDER BY id;

== results in UTF-16: decimals, and expressions [text]
SET character_set_results = utf16;
UPDATE balances SET amount = amount + 1.25 WHERE account = 'bob';
SELECT * FROM balances ORDER BY account, currency;
SELECT amount, spent, amount + spent, spent / 3 FROM balances ORDER BY account, currency;
UPDATE posts SET views = views + 2 WHERE id = 1;
SELECT views, likes, score, GREATEST(views, likes), ABS(score), ROUND(views, -2), views / 3 FROM posts WHERE id = 1;
UPDATE posts SET views = 7 WHERE id = 1 nonsense;
SHOW WARNINGS;

== literals that are not UTF-8 for the server [text]
SET NAMES latin1;
INSERT INTO hits (path, n) VALUES ('/é', 1), ('/ß', 2);
UPDATE hits SET n = n + 5 WHERE path = '/é';
UPDATE hits SET n = n + 5 WHERE path = '/ß';
UPDATE hits SET n = n * 2 WHERE path = '/é';
SELECT n FROM hits WHERE path = '/é';
BEGIN;
SELECT n FROM hits WHERE path = '/ß';
\connection b
UPDATE hits SET n = n + 7 WHERE n < 9;
\connection a
UPDATE hits SET day = '2026-01-01' WHERE path IN ('/é', '/ß');
SELECT path, n, day FROM hits ORDER BY path;
UPDATE hits SET n = 0 WHERE path LIKE '/é%';
SELECT path, n, day FROM hits ORDER BY path;
COMMIT;
DELETE FROM hits WHERE path IN ('/é', '/ß');
SELECT path, n, day FROM hits ORDER BY path;

== keys of which the client writes the spaces [text]
SET sql_mode = CONCAT(@@sql_mode, ',PAD_CHAR_TO_FULL_LENGTH');
BEGIN;
SELECT amount FROM balances;
\connection b
UPDATE balances SET amount = amount + 5;
\connection a
UPDATE balances SET note = 'x' WHERE currency = 'EUR' AND account LIKE 'al%';
SELECT account, amount FROM balances ORDER BY account, currency;
COMMIT;
SELECT account, amount FROM balances ORDER BY account, currency;

== messages of a query that are not kept [text]
SET max_error_count = 1;
SELECT views, title + 0, title + 1 FROM posts WHERE 5 MOD 2 AND id < 3;
SELECT @@warning_count, @@error_count;
SHOW WARNINGS;
