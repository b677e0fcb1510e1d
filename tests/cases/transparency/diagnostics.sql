# What statements ask about the one before them, behind folds and increments.

== ROW_COUNT in a query
UPDATE posts SET views = views * 2;
SELECT ROW_COUNT();
SELECT ROW_COUNT();
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT ROW_COUNT(), views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT ROW_COUNT() AS changed;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views + ROW_COUNT() FROM posts WHERE id = ROW_COUNT();
UPDATE posts SET views = views + 1 WHERE author_id IN (1, 2);
SELECT 'x', ROW_COUNT() * 2;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'duplicate') ON DUPLICATE KEY UPDATE views = 5;
SELECT ROW_COUNT();
DELETE FROM posts WHERE id > 3;
SELECT ROW_COUNT() FROM authors;
DELETE FROM posts WHERE id = 99;
SELECT ROW_COUNT();
SELECT views FROM posts WHERE id = 1;
SELECT ROW_COUNT();
UPDATE posts SET id = 2 WHERE id = 1;
SELECT ROW_COUNT();
UPDATE authors SET followers = followers + 1;
SELECT id, views, ROW_COUNT() FROM posts ORDER BY id;
UPDATE authors SET followers = followers + 1;
UPDATE posts SET views = ROW_COUNT() WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;

== ROW_COUNT in other statements
UPDATE posts SET views = views * 2;
SET @a = ROW_COUNT();
SELECT @a;
UPDATE posts SET views = views * 2 WHERE id < 3;
DO ROW_COUNT();
UPDATE posts SET views = views * 2 WHERE id < 3;
INSERT INTO tallies (id, views) VALUES (100 + ROW_COUNT(), ROW_COUNT());
UPDATE posts SET views = views * 2 WHERE id < 3;
UPDATE tallies SET views = ROW_COUNT() WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id < 3;
UPDATE posts SET views = views + ROW_COUNT() WHERE id = 1;
UPDATE posts SET likes = ROW_COUNT() WHERE id = 2;
DELETE FROM posts WHERE id = 3;
DELETE FROM tallies WHERE id = ROW_COUNT();
UPDATE posts SET views = views + 1;
REPLACE INTO hits (path, n) VALUES ('/rows', ROW_COUNT());
UPDATE nothing SET n = ROW_COUNT();
SELECT id, views, likes FROM posts ORDER BY id;
SELECT id, views FROM tallies ORDER BY id;
SELECT n FROM hits WHERE path = '/rows';
UPDATE posts SET views = views * 2;
SET @a = @@warning_count, @b = @@error_count;
SELECT @a, @b;
UPDATE posts SET id = 2 WHERE id = 1;
SET @a = ROW_COUNT(), @b = @@error_count;
SELECT @a, @b;

== prepared before [prepared]
\prepare rows: SELECT ROW_COUNT(), 'x' AS x
\prepare keep: SET @a = ROW_COUNT()
\prepare hot: UPDATE posts SET views = ROW_COUNT() + ? WHERE id = 1
\prepare both: SELECT id, views, ROW_COUNT() FROM posts WHERE id < ? ORDER BY id
\prepare fold: UPDATE posts SET views = views * 2 WHERE id < ?
\prepare inc: UPDATE posts SET views = views + ? WHERE author_id = 1
\execute fold <- 3
\execute rows
\execute rows
\execute fold <- 4
\execute keep
SELECT @a;
\execute inc <- 1
\execute rows cursor
\fetch rows 1
\fetch rows 1
\execute fold <- 4
\execute rows cursor
\fetch rows 5
SELECT 1;
\execute rows cursor
\fetch rows 5
\execute inc <- 1
\execute hot <- 10
\execute both <- 4
\execute fold <- 4
\execute both <- 4
\execute fold <- 4
\ping
\execute rows
SELECT views FROM posts WHERE id = 1;

== by SQL-level EXECUTE
PREPARE seen FROM 'SELECT ROW_COUNT()';
PREPARE keep FROM 'SET @a = ROW_COUNT()';
PREPARE fold FROM 'UPDATE posts SET views = views * 2 WHERE id < 4';
PREPARE inc FROM 'UPDATE posts SET views = views + 1 WHERE author_id = 1';
EXECUTE fold;
EXECUTE seen;
EXECUTE seen;
EXECUTE inc;
EXECUTE seen;
EXECUTE fold;
EXECUTE keep;
SELECT @a;
EXECUTE fold;
SELECT ROW_COUNT();
EXECUTE fold;
EXECUTE nothing;
SELECT ROW_COUNT();
EXECUTE fold;
PREPARE again FROM 'SELECT ROW_COUNT()';
EXECUTE again;

== GET DIAGNOSTICS of a statement
UPDATE posts SET views = views * 2;
GET DIAGNOSTICS @rows = ROW_COUNT, @conditions = NUMBER;
GET CURRENT DIAGNOSTICS @again = ROW_COUNT;
SELECT ROW_COUNT();
SELECT @rows, @conditions, @again;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
GET DIAGNOSTICS @conditions = NUMBER, @rows = ROW_COUNT;
SELECT @rows, @conditions;
UPDATE posts SET id = 2 WHERE id = 1;
GET DIAGNOSTICS @conditions = NUMBER, @rows = ROW_COUNT;
SELECT @rows, @conditions;

== conditions of an error
UPDATE posts SET id = 2 WHERE id = 1;
GET DIAGNOSTICS CONDITION 1 @state = RETURNED_SQLSTATE, @text = MESSAGE_TEXT, @code = MYSQL_ERRNO, @class = CLASS_ORIGIN, @subclass = SUBCLASS_ORIGIN, @constraint = CONSTRAINT_NAME, @table = TABLE_NAME;
SELECT @state, @text, @code, @class, @subclass, @constraint, @table;
UPDATE posts SET id = 2 WHERE id = 1;
[direct] SHOW WARNINGS;
[direct] SHOW ERRORS;
[direct] SHOW COUNT(*) ERRORS;
[direct] SELECT @@warning_count, @@error_count, ROW_COUNT();
UPDATE widths SET c16 = c16 * 30000 WHERE id = 1;
SHOW WARNINGS;
UPDATE posts SET views = 'it''s \\ not' WHERE id = 1;
SHOW ERRORS;
[direct] SHOW COUNT(*) WARNINGS;
UPDATE posts SET views = 'Äh' WHERE id = 1;
[direct] SHOW WARNINGS;
[direct] SELECT ROW_COUNT();
UPDATE posts SET views = 1 WHERE id = (SELECT 1 UNION SELECT 2);
SHOW WARNINGS;
SET sql_mode = '';
UPDATE posts SET views = 'three' WHERE id < 3;
[direct] SHOW WARNINGS;
UPDATE posts SET views = '4x' WHERE id < 3;
[direct] SELECT @@warning_count, ROW_COUNT();
UPDATE posts SET views = '5x' WHERE id < 3;
SELECT ROW_COUNT();
UPDATE posts SET views = '6x' WHERE id < 2;
[direct] SELECT @@warning_count AS w, @@error_count + ROW_COUNT() AS e;
UPDATE posts SET views = '7x' WHERE id < 3;
[direct] SHOW COUNT(*) WARNINGS;

== ids and found rows
INSERT INTO comments (post_id, body) VALUES (1, 'x');
UPDATE posts SET views = views + 1 WHERE author_id = 1;
SELECT LAST_INSERT_ID();
UPDATE posts SET views = views * 2 WHERE author_id = 1;
SELECT LAST_INSERT_ID();
UPDATE posts SET views = LAST_INSERT_ID(views + 1) WHERE id = 1;
SELECT LAST_INSERT_ID();
UPDATE posts SET views = views + 1 WHERE author_id = 1;
INSERT INTO tallies (id, views) VALUES (LAST_INSERT_ID(), 1);
SELECT SQL_CALC_FOUND_ROWS id, views FROM posts ORDER BY id LIMIT 2;
SELECT FOUND_ROWS();
SELECT SQL_CALC_FOUND_ROWS views FROM posts /*! ORDER BY id LIMIT 2 */;
SELECT FOUND_ROWS();
SELECT id, views FROM posts WHERE id < 4 ORDER BY id;
SELECT FOUND_ROWS();
SELECT id FROM tallies ORDER BY id;

== in packets of several [text]
UPDATE posts SET views = views * 2; SELECT ROW_COUNT(); SELECT ROW_COUNT();
UPDATE posts SET views = views * 2 WHERE id < 3; SET @a = ROW_COUNT(); SELECT @a;
UPDATE posts SET views = views + 1 WHERE id < 3; INSERT INTO tallies (id) VALUES (100 + ROW_COUNT()); SELECT ROW_COUNT(), views FROM posts WHERE id = 1;
SET sql_mode = ''; UPDATE authors SET followers = 1; SELECT ROW_COUNT(), views FROM posts WHERE id = 1;
SELECT id FROM tallies ORDER BY id;

== behind a session variable in a packet of several [text]
UPDATE posts SET title = 'x', views = 5 WHERE id = 1;
SET autocommit = 0; SELECT ROW_COUNT();
UPDATE posts SET title = 'y', views = 6 WHERE id = 1;
SET sql_mode = ''; SELECT @@warning_count, ROW_COUNT();
SET @@sql_mode = 'NO_AUTO_CREATE_USER,STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'; SHOW WARNINGS; SELECT views FROM posts WHERE id = 1;
SET SESSION sql_mode = 'STRICT_TRANS_TABLES'; SHOW COUNT(*) WARNINGS; SHOW WARNINGS; SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 1; SET sql_mode = ''; INSERT INTO tallies (id) VALUES (200 + ROW_COUNT());
SELECT id FROM tallies ORDER BY id;
COMMIT;

== messages of a folded statement behind COM_STMT_PREPARE
[direct] SET SESSION sql_mode = '';
UPDATE widths SET u24 = NULL, c16 = c16 - 1 WHERE id = 2;
\prepare cold: SELECT * FROM authors WHERE id = ?
[direct] SHOW COUNT(*) WARNINGS;
UPDATE widths SET u24 = NULL, c16 = c16 - 1 WHERE id = 2;
\prepare cold: SELECT * FROM authors WHERE id = ?
[direct] SHOW WARNINGS;
UPDATE widths SET u24 = NULL, c16 = c16 - 1 WHERE id = 2;
\prepare hot: SELECT views FROM posts WHERE id = ?
[direct] SELECT ROW_COUNT(), @@warning_count;

== an error behind COM_STMT_PREPARE
[direct] UPDATE posts SET views = views + 1, id = id WHERE id = 1 nonsense;
\prepare hot: UPDATE balances SET amount = amount + ? WHERE account = ? AND currency = ?
[direct] SELECT @@warning_count;
[direct] UPDATE posts SET views = views + 1, id = id WHERE id = 1 nonsense;
\prepare cold: INSERT INTO tallies (id) VALUES (?)
[direct] SHOW WARNINGS;
[direct] UPDATE posts SET views = views + 1, id = id WHERE id = 1 nonsense;
\prepare neither: SELECT ?
[direct] SHOW WARNINGS;
[direct] UPDATE posts SET views = views + 1, id = id WHERE id = 1 nonsense;
\prepare variable: SET @a = ?
[direct] SELECT @@error_count;
[direct] UPDATE posts SET views = views + 1, id = id WHERE id = 1 nonsense;
\prepare shown: SHOW COLUMNS FROM authors
[direct] SHOW ERRORS;

== an error behind which a transaction of ours has ended
SET SESSION TRANSACTION READ ONLY;
UPDATE posts SET views = 5 WHERE id = 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = 5 WHERE id = 1;
SELECT @@warning_count, @@error_count;
DELETE FROM posts WHERE id = 1;
[direct] SHOW COUNT(*) ERRORS;
DELETE FROM posts WHERE id = 1;
[direct] GET DIAGNOSTICS CONDITION 1 @code = MYSQL_ERRNO, @text = MESSAGE_TEXT;
SELECT @code, @text;
SET SESSION TRANSACTION READ WRITE;
[cursorless] SELECT likes - 1000 FROM posts WHERE id = 1;
[direct] SHOW WARNINGS;
[cursorless] SELECT likes - 1000 FROM posts WHERE id = 1;
SELECT @@warning_count, @@error_count;
[cursorless] SELECT (likes - 1000) + (likes - 1000) + (likes - 1000) + (likes - 1000) + (likes - 1000) + (likes - 1000) FROM posts WHERE id = 1;
[direct] SHOW ERRORS;
BEGIN;
[cursorless] SELECT likes - 1000 FROM posts WHERE id = 1;
[direct] SHOW WARNINGS;
ROLLBACK;
SELECT views FROM posts WHERE id = 1;

== warnings of statements that are logged as they are
SET SESSION binlog_format = STATEMENT;
UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE author_id = 1 LIMIT 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views * 2 WHERE author_id = 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views * 2 WHERE author_id = 1 LIMIT 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = 3 LIMIT 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = 2;
[direct] SELECT @@warning_count;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
[direct] SHOW WARNINGS;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
[direct] SHOW WARNINGS;
COMMIT;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'duplicate') ON DUPLICATE KEY UPDATE views = views + 5;
[direct] SHOW WARNINGS;
INSERT INTO tallies (id, views) SELECT id + 10, views FROM posts;
[direct] SHOW WARNINGS;
UPDATE posts SET title = LEFT(USER(), 1), views = views + 1 WHERE id = 1;
[direct] SHOW WARNINGS;
SET SESSION binlog_format = ROW;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
[direct] SHOW WARNINGS;

== warnings that are asked for first in a packet of several [text]
[direct] SET SESSION sql_mode = 'STRICT_TRANS_TABLES';
[direct] SHOW COUNT(*) WARNINGS; SELECT views FROM posts WHERE id = 1;
[direct] SET SESSION sql_mode = 'STRICT_TRANS_TABLES';
[direct] SHOW WARNINGS; SELECT views FROM posts WHERE id = 1;
[direct] SET SESSION sql_mode = 'STRICT_TRANS_TABLES';
[direct] SHOW ERRORS; UPDATE posts SET views = views + 1 WHERE id = 1;

== no warning of our questions
/*!50000 SELECT t.reserved FROM stock AS t WHERE sku = 'A-1' */;
[direct] SHOW WARNINGS;
SET @a = 1;
SELECT views FROM posts WHERE id = 1;
[direct] SHOW WARNINGS;

== SHOW COUNT leaves the messages of a refused statement
SELECT (SELECT MAX(views) FROM posts) AS most PROCEDURE this_is_none_that_would_be_known_to_anyone_who_has_read_the_manual('x');
[direct] SHOW COUNT(*) ERRORS;
[direct] SHOW COUNT(*) WARNINGS;
[direct] SHOW WARNINGS;
[direct] SELECT ROW_COUNT();
SELECT (SELECT MAX(views) FROM posts) AS most PROCEDURE this_is_none_that_would_be_known_to_anyone_who_has_read_the_manual('x');
[direct] SHOW COUNT(*) WARNINGS;
[direct] SELECT @@warning_count;

== no warning of a savepoint of ours behind a temporary table
BEGIN;
SELECT sold FROM prices WHERE price = 1.00;
CREATE TEMPORARY TABLE sums (n INT);
SELECT sold FROM prices WHERE price = 1.00 FOR UPDATE;
[direct] SHOW WARNINGS;
SELECT sold FROM prices WHERE price = 1.00 FOR UPDATE;
[direct] SHOW COUNT(*) WARNINGS;
SELECT sold / 0 FROM prices WHERE price = 1.00 FOR UPDATE;
[direct] SHOW WARNINGS;
ROLLBACK;

== ROW_COUNT behind SHOW WARNINGS, in a transaction
BEGIN;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views * 2, title = 'x' WHERE id IN (1, 2) AND views > 0;
[direct] SHOW WARNINGS;
SELECT ROW_COUNT();
ROLLBACK;

== ROW_COUNT behind SHOW WARNINGS
UPDATE posts SET views = views / 3, title = 'x' WHERE id IN (1, 2) AND views > 0;
[direct] SHOW WARNINGS;
SELECT ROW_COUNT();
DELETE FROM posts WHERE id = 2;
[direct] SHOW WARNINGS;
SELECT ROW_COUNT();

== how many warnings an increment has left
[direct] SET SESSION sql_mode = '';
UPDATE hits SET n = n + 1 WHERE path = 5;
[direct] SELECT @@warning_count;
[direct] SHOW WARNINGS;
UPDATE hits SET n = n + 1 WHERE path = 5;
[direct] SELECT @@warning_count, @@error_count, ROW_COUNT();
UPDATE hits SET n = n + 1 WHERE path = 5;
SELECT ROW_COUNT(), @@warning_count + 1, n FROM hits WHERE path = '/';
UPDATE hits SET n = n * 2 WHERE path = 5;
SELECT ROW_COUNT(), @@warning_count, @@error_count, n FROM hits WHERE path = '/';
UPDATE hits SET n = n * 2 WHERE path = 5;
INSERT INTO tallies (id) VALUES (300 + @@warning_count);
UPDATE hits SET n = n + 1 WHERE path = '/';
SELECT ROW_COUNT(), @@warning_count, n FROM hits WHERE path = '/';
SELECT id FROM tallies ORDER BY id;
UPDATE hits SET n = n + 1 WHERE path = 5;
[direct] SHOW COUNT(*) WARNINGS;
\prepare q: SELECT @@warning_count
UPDATE hits SET n = n + 1 WHERE path = 5;
\execute q

== the warnings of a write that was held, behind the end of its transaction
[direct] SET SESSION sql_mode = 'NO_UNSIGNED_SUBTRACTION';
BEGIN;
SELECT COUNT(*) FROM posts WHERE likes > 50;
UPDATE posts SET likes = likes - 1;
SAVEPOINT s;
[direct] SHOW WARNINGS;
COMMIT;
[direct] SHOW COUNT(*) WARNINGS;
[direct] SHOW WARNINGS;
BEGIN;
SELECT COUNT(*) FROM posts WHERE likes > 50;
UPDATE posts SET likes = likes - 1;
ROLLBACK TO SAVEPOINT nothing;
[direct] SHOW WARNINGS;
ROLLBACK;

== a BEGIN that fails, or warns, behind a statement whose diagnostics are kept
DELETE FROM posts WHERE id = 3;
[direct] BEGIN;UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SHOW WARNINGS;
ROLLBACK;
[direct] SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
DELETE FROM posts WHERE id = 2;
START TRANSACTION WITH CONSISTENT SNAPSHOT;
[direct] SELECT @@warning_count;
[direct] SHOW WARNINGS;
ROLLBACK;

# What is no statement leaves the messages of the last one.

== a statement is reset behind its warnings [text]
\prepare w: UPDATE IGNORE posts SET views = 7 WHERE title = 1
\execute w
\reset_statement w
SHOW WARNINGS;

== a statement is reset behind its warnings, counted [text]
\prepare w: UPDATE IGNORE posts SET views = 7 WHERE title = 1
\execute w
\reset_statement w
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== a statement is reset behind its warnings, and pinged [text]
\prepare w: UPDATE IGNORE posts SET views = 7 WHERE title = 1
\execute w
\reset_statement w
\ping
\close w
\ping
SHOW WARNINGS;

== a statement is reset behind its rows [text]
\prepare w: UPDATE posts SET views = 7, title = 'x' WHERE id < 3
\execute w
\reset_statement w
SELECT ROW_COUNT(), @@warning_count, @@error_count;
