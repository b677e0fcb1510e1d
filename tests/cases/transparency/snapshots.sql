# What a transaction sees of rows that others increment, that it changes itself, and that are rolled up meanwhile.

== a row whose other column the transaction sets
BEGIN;
SELECT views FROM posts WHERE id = 1;
\roll_up
UPDATE posts SET title = 'x' WHERE id = 1;
SELECT views, title FROM posts WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== the same, and others increment before
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\connection a
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET title = 'x' WHERE id = 1;
SELECT views, title FROM posts WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 2;
\roll_up
\connection a
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a row that the transaction sets to what it is
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\connection a
\roll_up
UPDATE posts SET title = title WHERE id = 1;
SELECT views, title FROM posts WHERE id = 1;
UPDATE posts SET title = CONCAT(title, '') WHERE id IN (1, 2);
SELECT views, title FROM posts WHERE id = 1;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== one of two rows changes
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\connection a
UPDATE posts SET title = 'second' WHERE id IN (1, 2);
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== rows found by another column
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id < 4;
\roll_up
UPDATE posts SET views = views + 7 WHERE id < 4;
\connection a
UPDATE posts SET title = CONCAT(title, '!') WHERE author_id = 1;
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== an upsert of another column
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\roll_up
\connection a
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'x') ON DUPLICATE KEY UPDATE title = 'up';
SELECT id, views, title FROM posts ORDER BY id;
INSERT INTO posts (id, author_id, title) VALUES (2, 1, 'x') ON DUPLICATE KEY UPDATE title = title;
SELECT id, views, title FROM posts ORDER BY id;
INSERT INTO posts (id, author_id, title, likes) VALUES (2, 1, 'x', 1) ON DUPLICATE KEY UPDATE likes = likes + 1;
SELECT id, views, likes, title FROM posts ORDER BY id;
COMMIT;
SELECT id, views, likes FROM posts ORDER BY id;

== a locking read leaves the snapshot as it is
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\connection a
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
SELECT views FROM posts WHERE id = 1;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a locking read after a roll-up
BEGIN;
SELECT views FROM posts WHERE id = 1;
\roll_up
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
SELECT views FROM posts WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET views = 5 WHERE id = 3;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a write that changes nothing
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\connection a
UPDATE posts SET views = views - 1 WHERE id = 1 AND views > 1000000;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = -1 WHERE id = 'x';
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = 9999999999999 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DELETE FROM posts WHERE id = 1 AND views < 0;
SHOW WARNINGS;
SELECT views FROM posts WHERE id = 1;
SELECT ROW_COUNT();
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a fold of other rows
BEGIN;
SELECT views FROM posts WHERE id = 1;
\roll_up
UPDATE posts SET views = views * 2 WHERE author_id = 2;
SELECT id, views FROM posts ORDER BY id;
INSERT INTO authors (id, name, followers) SELECT id + 100, title, views FROM posts WHERE id < 4;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a savepoint is undone
BEGIN;
SELECT views FROM posts WHERE id = 1;
\roll_up
SAVEPOINT a;
UPDATE posts SET views = 1000 WHERE id = 1;
UPDATE posts SET title = 'x' WHERE id = 2;
SELECT id, views FROM posts ORDER BY id;
ROLLBACK TO a;
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
SAVEPOINT `A`;
UPDATE posts SET title = 'x' WHERE id = 2;
ROLLBACK WORK TO SAVEPOINT a;
SELECT id, views FROM posts ORDER BY id;
RELEASE SAVEPOINT A;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== increments that cancel each other
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\roll_up
\connection a
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views - 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== the same once such transactions are known
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views - 1 WHERE id = 1;
COMMIT;
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\roll_up
\connection a
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views - 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== read committed: a row that the transaction has changed stays as it is
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN;
UPDATE posts SET title = 'x' WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
\roll_up
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 2;
\connection a
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a transaction that is rolled back by an error
BEGIN;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET title = 'x' WHERE id = 1;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'again');
SELECT id, views FROM posts ORDER BY id;
ROLLBACK;
SELECT id, views FROM posts ORDER BY id;

== a row that comes again
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
DELETE FROM posts WHERE id = 1;
\connection a
SELECT views FROM posts WHERE id = 1;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'again');
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== autocommit off
SET autocommit = 0;
SELECT views FROM posts WHERE id = 1;
\roll_up
UPDATE posts SET title = 'x' WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
ROLLBACK;
SELECT id, views FROM posts ORDER BY id;
COMMIT;

== prepared once
\prepare s: SELECT views FROM posts WHERE id = ?
\prepare u: UPDATE posts SET title = ? WHERE id = ?
BEGIN;
\execute s <- 1
\roll_up
\execute u <- 'x', 1
\execute s <- 1
\execute u <- 'x', 1
\execute s <- 1
COMMIT;

== a trigger that comes when there was none changes the transaction's own rows [fresh]
CREATE TRIGGER followed AFTER UPDATE ON authors FOR EACH ROW UPDATE posts SET title = CONCAT(title, NEW.followers) WHERE author_id = NEW.id;
UPDATE posts SET views = views + 7 WHERE id IN (1, 2, 3);
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\roll_up
UPDATE authors SET followers = followers + 1 WHERE id = 1;
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;

== writes of other tables that read counters
\connection b
BEGIN;
SELECT id, views, score FROM posts ORDER BY id;
\connection a
UPDATE posts SET views = views + 7, score = score + 2 WHERE id = 1;
UPDATE posts SET views = views + 9 WHERE id = 2;
\connection b
UPDATE tallies SET views = (SELECT MAX(views) FROM posts) WHERE id = 1;
SELECT id, views, score FROM posts ORDER BY id;
\roll_up
UPDATE tallies SET total = (SELECT SUM(p.views) FROM posts p WHERE p.score > 0), body = 'x' WHERE id = 1;
SELECT * FROM tallies ORDER BY id;
INSERT INTO tallies (id, views, body) SELECT id + 100, views, CONCAT(views, title) FROM posts WHERE views > 0;
SHOW WARNINGS;
[direct] INSERT INTO tallies (id, views) VALUES (200, (SELECT views FROM posts WHERE id = 1)), (201, 5);
INSERT INTO tallies (id, views) SELECT ?, views + ? FROM posts WHERE id = ?; <- 202, 3, 2
REPLACE INTO tallies (id, views) SELECT 200, SUM(views) FROM posts;
SELECT ROW_COUNT();
INSERT INTO tallies (id, views) SELECT 200, views FROM posts WHERE id = 1;
SHOW WARNINGS;
[direct] INSERT INTO tallies (id, views) VALUES (203, (SELECT views FROM posts));
UPDATE tallies t SET total = (SELECT score FROM posts WHERE posts.id = t.id AND views > t.views) WHERE id < 3;
UPDATE tallies SET total = (SELECT views FROM posts WHERE nobody = 1);
UPDATE tallies SET views = (SELECT MAX(views) * 100000000 FROM posts) WHERE id = 1;
SHOW WARNINGS;
DELETE FROM tallies WHERE views IN (SELECT views FROM posts WHERE id > 1);
DELETE FROM tallies WHERE id > (SELECT COUNT(*) FROM posts WHERE views > ?) AND id < 150; <- 10
SELECT * FROM tallies ORDER BY id;
SELECT id, views, score FROM posts ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE tallies SET views = (SELECT views FROM posts WHERE id = 1) WHERE id = 1;
\prepare u: UPDATE tallies SET views = (SELECT views FROM posts WHERE id = ?) WHERE id = 1; /* done */;
\execute u <- 2
SELECT views FROM posts WHERE id = 1;
SELECT views FROM tallies WHERE id = 1;
COMMIT;
SELECT id, views, score FROM posts ORDER BY id;
SELECT * FROM tallies ORDER BY id;

== a write that reads counters and fails takes no number twice [fresh]
CREATE TABLE logs (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL, UNIQUE KEY n (n));
BEGIN;
SELECT views FROM posts WHERE id = 1;
INSERT INTO logs (n) SELECT views FROM posts WHERE id = 1;
INSERT INTO logs (n) SELECT views FROM posts WHERE id = 1;
SHOW WARNINGS;
INSERT INTO logs (n) VALUES (-1);
SELECT LAST_INSERT_ID();
[direct] INSERT INTO logs (n) VALUES ((SELECT views FROM posts WHERE id = 1));
INSERT INTO logs (n) VALUES (-2);
[direct] INSERT INTO logs (n) VALUES ((SELECT views FROM posts));
INSERT INTO logs (n) VALUES (-3);
SELECT * FROM logs ORDER BY id;
COMMIT;
DROP TABLE logs;

== a dump reads the snapshot
\connection b
[direct] SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
[direct] START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */;
\connection a
UPDATE posts SET likes = likes * 2 WHERE id < 3;
UPDATE posts SET views = views + 1 WHERE id = 1;
\connection b
[direct] SELECT /*!40001 SQL_NO_CACHE */ * FROM posts;
[direct] SELECT /*!40001 SQL_NO_CACHE */ `id`, `likes`, `views` FROM `posts`;
[direct] SELECT /*!40001 SQL_NO_CACHE */ * FROM `posts` WHERE 1=1 ORDER BY `id`;
[direct] ROLLBACK;

== a query in an executable comment reads the snapshot [fresh]
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\connection a
BEGIN;
SELECT views FROM posts WHERE id = 2;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\roll_up
\connection a
/*!50000 SELECT views FROM posts WHERE id = 1 */;
SELECT views /*! + 1 */ FROM posts WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
COMMIT;

== writes of rows that a query of another table names
\connection b
BEGIN;
SELECT id, views, likes FROM posts ORDER BY id;
\connection a
UPDATE posts SET views = views + 7 WHERE id IN (1, 2, 3, 10);
\roll_up
UPDATE posts SET views = views + 9 WHERE id IN (1, 2, 3, 10);
\connection b
UPDATE posts SET likes = likes + 1 WHERE id IN (SELECT post_id FROM comments WHERE votes > ?) AND author_id < 9; <- 2
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET title = CONCAT(title, '!') WHERE id IN (SELECT c.post_id FROM comments c);
SELECT id, views, likes, title FROM posts ORDER BY id;
DELETE FROM posts WHERE id > 5 AND author_id NOT IN (SELECT DISTINCT id FROM authors WHERE id < 3 OR name = 'Brian');
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET views = views * 2 WHERE id IN (SELECT id FROM comments WHERE post_id = 1 AND votes = 0);
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET views = views * 2 WHERE id IN (SELECT id FROM comments WHERE post_id = 5);
SELECT id, views, likes FROM posts ORDER BY id;
COMMIT;
SELECT id, views, likes, title FROM posts ORDER BY id;
UPDATE posts SET views = views * 2 WHERE id IN (SELECT post_id FROM {schema}.comments WHERE comments.id < 3);
SELECT id, views, likes, title FROM posts ORDER BY id;

== a query of another table that names columns of the row, or none that there is
BEGIN;
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET likes = likes * 2 WHERE id IN (SELECT author_id FROM comments);
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET title = CONCAT(title, '!') WHERE id IN (SELECT author_id FROM comments);
SELECT id, views, title FROM posts ORDER BY id;
UPDATE posts SET likes = likes * 2 WHERE id IN (SELECT nothing FROM comments);
UPDATE posts SET likes = likes * 2 WHERE id IN (SELECT post_id FROM nothing);
UPDATE posts SET title = 'x' WHERE id IN (SELECT nothing FROM comments);
SHOW WARNINGS;
SELECT id, views, likes FROM posts ORDER BY id;
COMMIT;
UPDATE posts SET likes = likes * 2 WHERE id IN (SELECT author_id FROM comments);
UPDATE posts SET likes = likes * 2 WHERE id IN (SELECT nothing FROM comments);
SELECT id, views, likes, title FROM posts ORDER BY id;

== the rest of a condition tells the rows where such a query does not
\connection b
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection a
UPDATE posts SET views = views + 7 WHERE id IN (1, 3);
\roll_up
UPDATE posts SET views = views + 9 WHERE id IN (1, 3);
\connection b
UPDATE posts SET likes = likes * 2 WHERE author_id = 1 AND id IN (SELECT author_id FROM comments);
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET title = CONCAT(title, '!') WHERE author_id = 1 AND id IN (SELECT author_id FROM comments);
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;
SELECT id, views, likes, title FROM posts ORDER BY id;

== a query of a view, or of a table of another engine, names the rows [fresh]
CREATE VIEW named AS SELECT post_id FROM comments;
CREATE TABLE listed (post_id INT) ENGINE = MyISAM;
INSERT INTO listed VALUES (1), (3);
BEGIN;
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET likes = likes * 2 WHERE id IN (SELECT post_id FROM named);
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET title = CONCAT(title, '!') WHERE id IN (SELECT post_id FROM listed);
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;
DELETE FROM posts WHERE id IN (SELECT post_id FROM listed);
SELECT id, views, likes, title FROM posts ORDER BY id;
DROP VIEW named;
DROP TABLE listed;

== SET, DO and SHOW read what is committed
\connection b
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection a
UPDATE posts SET views = views + 7 WHERE id IN (1, 3);
\roll_up
UPDATE posts SET views = views + 9 WHERE id IN (1, 3);
\connection b
SET @a = (SELECT views FROM posts WHERE id = 1), @b = (SELECT SUM(views) FROM posts);
SELECT @a, @b;
SELECT id, views FROM posts ORDER BY id;
DO (SELECT @c := SUM(views) FROM posts);
SELECT @c;
SELECT id, views FROM posts ORDER BY id;
SET @a = (SELECT views FROM posts);
SHOW WARNINGS;
SHOW VARIABLES WHERE Variable_name = 'autocommit' AND 775 < (SELECT SUM(views) FROM posts);
SELECT id, views FROM posts ORDER BY id;
COMMIT;

== a write that changes some of the rows that it is folded for
\connection a
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2, 3, 10);
\connection a
UPDATE posts SET title = UPPER(title) WHERE views > 8;
SHOW WARNINGS;
SELECT ROW_COUNT();
SELECT id, views, title FROM posts ORDER BY id;
UPDATE posts SET views = 7 WHERE id IN (1, 3, 4);
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;
SELECT id, views, title FROM posts ORDER BY id;
== the same by a touch column in its predicate
\connection a
BEGIN;
SELECT id, replies, changed_at FROM topics ORDER BY id;
\connection b
UPDATE topics SET replies = replies + 5 WHERE id = 1;
UPDATE topics SET replies = replies + 5, changed_at = '2026-01-01' WHERE id = 3;
\connection a
UPDATE topics SET title = UPPER(title) WHERE changed_at IS NULL;
SELECT ROW_COUNT();
SELECT id, replies, changed_at, title FROM topics ORDER BY id;
COMMIT;
SELECT id, replies, changed_at, title FROM topics ORDER BY id;
== the same prepared, with a limit, and a delete
\connection a
\prepare p: UPDATE posts SET title = ?, score = 1 WHERE views > ? ORDER BY views DESC LIMIT 2
\prepare d: DELETE FROM posts WHERE views = ?
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2, 3, 10);
\connection a
\execute p <- 'x', 2
SELECT id, views, title FROM posts ORDER BY id;
\execute d <- 5
SELECT id, views, title FROM posts ORDER BY id;
ROLLBACK;
SELECT id, views, title FROM posts ORDER BY id;

== the same, and what SHOW WARNINGS tells
\connection a
BEGIN;
SELECT id, u24 FROM widths ORDER BY id;
\connection b
UPDATE widths SET c32 = c32 + 1 WHERE id < 5;
UPDATE widths SET c32 = c32 + 1 WHERE id = 4;
\connection a
UPDATE IGNORE widths AS t SET t.u24 = t.u24 * 2 WHERE id < 5;
SHOW WARNINGS;
SELECT id, u24, c32 FROM widths ORDER BY id;
UPDATE IGNORE widths SET u24 = 1 WHERE id < 5 AND u24 < 5;
SHOW WARNINGS;
SELECT id, u24, c32 FROM widths ORDER BY id;
ROLLBACK;

== a slot row that the transaction has closed itself
BEGIN;
UPDATE posts SET score = score + 1 WHERE id = 3;
COMMIT;
BEGIN;
UPDATE posts SET score = COALESCE(score, 0) + 2 WHERE id = 3;
COMMIT;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id IN (3, 7);
COMMIT;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 3;
COMMIT;
BEGIN;
UPDATE posts SET score = score + 1 WHERE id = 3;
UPDATE posts SET score = NULL WHERE id = 3;
UPDATE posts SET views = views + 1 WHERE id IN (3, 7);
UPDATE posts SET score = COALESCE(score, 0) + 2 WHERE id = 3;
SELECT id, views, score FROM posts WHERE id IN (3, 7);
COMMIT;
SELECT id, views, score FROM posts WHERE id IN (3, 7);

== a parameter in the select list reads the snapshot
START TRANSACTION WITH CONSISTENT SNAPSHOT;
\roll_up
SELECT n + ? FROM hits WHERE path = ?; <- 7, '/'
[direct] PREPARE p FROM 'SELECT n + ? FROM hits WHERE path = ?';
[direct] SET @n = 7, @k = '/';
[direct] EXECUTE p USING @n, @k;
[direct] EXECUTE p USING @n, @k;
SELECT views + ?, COALESCE(score, ?) FROM posts ORDER BY id; <- 1, 2
[direct] SET @n = 1.5;
[direct] EXECUTE p USING @n, @k;
[direct] PREPARE p FROM 'SELECT n + ? FROM hits WHERE path = ?';
[direct] SET @n = 'it''s';
[direct] EXECUTE p USING @n, @k;
[direct] PREPARE p FROM 'SELECT n + ? FROM hits WHERE path = ?';
[direct] SET @n = 2.5e0;
[direct] EXECUTE p USING @n, @k;
[direct] SHOW WARNINGS;
[direct] SET @n = NULL;
[direct] EXECUTE p USING @n, @k;
[direct] PREPARE p FROM 'SELECT n + ? FROM hits WHERE path = ?';
[direct] SET @n = 7;
[direct] EXECUTE p USING @n, @k;
SELECT n + ? FROM hits WHERE path = ?; <- 1.5, '/'
SELECT n + ? FROM hits WHERE path = ?; <- NULL, '/'
SELECT CONCAT(?, n) FROM hits WHERE path = ?; <- 'a', '/'
SELECT CONCAT(?, n), SUM(n) + ? FROM hits GROUP BY path ORDER BY path; <- 'abcd', 2
SELECT n + ? FROM hits WHERE path = ?; <- 7, '/'
\connection b
UPDATE hits SET n = n + 5 WHERE path = '/';
\connection a
SELECT n + ? FROM hits WHERE path = ?; <- 7, '/'
[direct] EXECUTE p USING @n, @k;
SELECT n FROM hits WHERE path = '/';
UPDATE hits SET n = n + 1 WHERE path = '/';
SELECT n + ? FROM hits WHERE path = ?; <- 7, '/'
[direct] EXECUTE p USING @n, @k;
COMMIT;
SELECT n + ? FROM hits WHERE path = ?; <- 7, '/'
[direct] DEALLOCATE PREPARE p;

== TABLE reads the snapshot
BEGIN;
SELECT name FROM authors ORDER BY id;
\roll_up
TABLE topics;
(TABLE topics ORDER BY replies DESC LIMIT 1);
SELECT id, replies FROM topics UNION SELECT 9, 9 ORDER BY id;
SELECT * FROM (TABLE topics) AS t ORDER BY id;
SELECT 1, 'one', 1, NULL UNION ALL TABLE topics ORDER BY 1, 2;
UPDATE topics SET replies = replies + 1 WHERE id = 2;
TABLE topics;
COMMIT;
TABLE topics;
TABLE topics LIMIT ?; <- 1
TABLE topics WHERE id = 1;
TABLE topics AS t;
SELECT COUNT(*) FROM topics WHERE id IN (SELECT id FROM (TABLE topics) AS t);

== a query that is not read sees the snapshot
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 7 WHERE id IN (1, 3);
\connection a
SELECT id, views, likes FROM posts WHERE 5 MOD 2 ORDER BY id;
SHOW WARNINGS;
SELECT id, views FROM posts ORDER BY id;
SELECT SUM(views) FROM posts WHERE 5 MOD 2 AND id < ?; <- 3
SELECT id, views FROM posts WHERE 5 MOD 2 ORDER BY views DESC, id;
UPDATE posts SET views = views + 1 WHERE id = 2;
SELECT id, views FROM posts WHERE 5 MOD 2 ORDER BY id;
UPDATE posts SET title = 'x' WHERE id = 3;
SELECT id, views, title FROM posts WHERE 5 MOD 2 ORDER BY id;
SELECT id, views FROM posts WHERE 5 MOD nothing;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a query that is not read, of rows that others have left alone, waits for nobody
[direct] SET SESSION innodb_lock_wait_timeout = 1;
\roll_up
BEGIN;
SELECT COUNT(*) FROM hits;
\connection b
BEGIN;
SELECT id FROM posts WHERE id = 1 FOR UPDATE;
\connection a
SELECT id, views FROM posts WHERE 5 MOD 2 AND id = 2;
COMMIT;
\connection b
COMMIT;

== a query that is not read, in a transaction that may only read
\roll_up
START TRANSACTION READ ONLY;
SELECT id, views FROM posts WHERE 5 MOD 2 ORDER BY id;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\connection a
SELECT id, views FROM posts WHERE 5 MOD 2 ORDER BY id;
\connection b
\roll_up
\connection a
SELECT id, views FROM posts WHERE 5 MOD 2 ORDER BY id;
COMMIT;

== a query that is refused makes no snapshot
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
START TRANSACTION READ ONLY;
SELECT id, views FROM posts WHERE 5 MOD 2 ORDER BY id OFFSET;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 3);
\roll_up
\connection a
SELECT id, views FROM posts ORDER BY id;
COMMIT;

== a query that is not read, and calls a function that writes
CREATE TABLE calls (n INT NOT NULL);
CREATE FUNCTION counted(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO calls VALUES (x); RETURN x; END;
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 7 WHERE id IN (1, 3);
\connection a
SELECT id, views, counted(likes) FROM posts WHERE 5 MOD 2 AND id = 2 ORDER BY id;
SELECT n FROM calls ORDER BY n;
COMMIT;
SELECT n FROM calls ORDER BY n;
SELECT id, views FROM posts ORDER BY id;
DROP FUNCTION counted;
DROP TABLE calls;

== with touch columns, decimals and a key of text
BEGIN;
SELECT COUNT(*) FROM hits;
\connection b
UPDATE hits SET n = n + 5 WHERE path = '/';
\roll_up
UPDATE hits SET n = n + 3 WHERE path = '/about';
UPDATE posts SET score = score + 1.25 WHERE id = 1;
\roll_up
\connection a
SELECT path, n FROM hits WHERE 5 MOD 2 ORDER BY path;
SELECT id, score FROM posts WHERE 5 MOD 2 ORDER BY id;
SELECT p.id, p.views, h.path, h.n FROM posts p, hits h WHERE 5 MOD 2 ORDER BY p.id, h.path;
COMMIT;
SELECT path, n FROM hits ORDER BY path;
SELECT id, score FROM posts ORDER BY id;

== PROCEDURE ANALYSE() after a snapshot [mariadb]
START TRANSACTION WITH CONSISTENT SNAPSHOT;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 7 WHERE id IN (1, 3);
\connection a
SELECT views FROM posts WHERE id = 1 PROCEDURE ANALYSE();
SELECT id, views FROM posts PROCEDURE ANALYSE(10, 256);
SELECT views FROM posts ORDER BY views, id LIMIT 1 PROCEDURE ANALYSE();
SELECT id, views FROM posts ORDER BY id;
COMMIT;

== sql_auto_is_null in a snapshot
[direct] SET sql_auto_is_null = 1;
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 1 WHERE id = 2;
\connection a
SELECT id, views FROM posts WHERE id IS NOT NULL AND score IS NULL ORDER BY id;
SELECT id, views FROM posts ORDER BY id;
COMMIT;

== statements inside SET STATEMENT, in a snapshot [mariadb]
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 1 WHERE id = 2;
\connection a
SET STATEMENT max_statement_time = 10 FOR SELECT id, views FROM posts ORDER BY id;
SET STATEMENT max_statement_time = 10 FOR UPDATE posts SET views = views + 1 WHERE id = 1;
SET STATEMENT sql_mode = 'ANSI_QUOTES' FOR SELECT "views" FROM posts WHERE id = 1;
SET STATEMENT max_statement_time = 10 FOR SELECT views FROM posts WHERE id = 1 FOR UPDATE;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a compound statement that fails half way, in a snapshot [mariadb]
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\connection a
[direct] BEGIN NOT ATOMIC UPDATE posts SET title = 'x' WHERE id = 2; UPDATE nothing SET x = 1; END;
SELECT id, title FROM posts ORDER BY id;
COMMIT;
SELECT id, title, views FROM posts ORDER BY id;
