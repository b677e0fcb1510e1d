# Results without column definitions, for clients that may go without. Others are refused them.

== text, with definitions and without
SELECT id, views, likes FROM posts WHERE id = 1;
[mysql] SET resultset_metadata = NONE;
SELECT id, views, likes FROM posts WHERE id = 1;
SELECT id, views, likes FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT * FROM posts ORDER BY id;
SELECT SUM(views), COUNT(*) FROM posts;
SELECT views FROM posts WHERE id = 99;
SELECT id FROM posts ORDER BY views DESC LIMIT 2;
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
SELECT 1, NULL, 'x';
SHOW TABLES LIKE 'posts';
[mysql] SET resultset_metadata = FULL;
SELECT id, views, likes FROM posts WHERE id = 1;
SELECT SUM(views), COUNT(*) FROM posts;

== with parameters
[mysql] SET resultset_metadata = NONE;
SELECT id, views + ? FROM posts WHERE views > ? ORDER BY id LIMIT 10; <- 5, 100
UPDATE posts SET views = views + ? WHERE id = ?; <- 1, 2
UPDATE posts SET views = views + ? WHERE id = ?; <- '1', 2
UPDATE posts SET score = score + ? WHERE id = ?; <- 1.5e0, 1
SELECT id, views, score FROM posts WHERE id = ?; <- '2'
SELECT * FROM balances WHERE account = ? ORDER BY currency; <- 'alice'

== in transactions and snapshots
[mysql] SET resultset_metadata = NONE;
BEGIN;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT views FROM posts WHERE id = 2;
ROLLBACK;
START TRANSACTION WITH CONSISTENT SNAPSHOT;
SELECT views, likes FROM posts WHERE id = 1;
SELECT SUM(views) FROM posts;
UPDATE posts SET likes = likes + 2 WHERE id = 2;
SELECT * FROM posts ORDER BY id;
COMMIT;
SELECT * FROM posts ORDER BY id;

== diagnostics
[mysql] SET resultset_metadata = NONE;
SELECT views, CAST('x' AS SIGNED) FROM posts WHERE id = 1;
SHOW WARNINGS;
SHOW COUNT(*) WARNINGS;
SELECT @@warning_count, @@error_count;
SELECT missing FROM posts;
SHOW ERRORS;
SELECT ROW_COUNT();
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT ROW_COUNT();
SELECT @@warning_count;
INSERT INTO posts (id, author_id, title, views) VALUES (1, 1, 'again', 1);
SHOW WARNINGS;
[mysql] SET resultset_metadata = FULL;
SHOW WARNINGS;

== prepared in SQL
[mysql] SET resultset_metadata = NONE;
PREPARE see FROM 'SELECT views FROM posts WHERE id = ?';
SET @id = 1, @other = '2';
EXECUTE see USING @id;
EXECUTE see USING @other;
PREPARE add_one FROM 'UPDATE posts SET views = views + 1 WHERE id = ?';
EXECUTE add_one USING @id;
EXECUTE see USING @id;
[mysql] SET resultset_metadata = FULL;
EXECUTE see USING @id;
SELECT views INTO @seen FROM posts WHERE id = 1;
SELECT @seen;

== several statements
[mysql] SELECT views FROM posts WHERE id = 1; SET resultset_metadata = NONE; SELECT views FROM posts WHERE id = 1; SET resultset_metadata = FULL; SELECT views FROM posts WHERE id = 1;

== prepared with definitions, executed without, and the other way round
\prepare with: SELECT id, views FROM posts WHERE id = ?
\execute with <- 1
[mysql] SET resultset_metadata = NONE;
\execute with again <- 1
\prepare without: SELECT id, views FROM posts WHERE id = ?
\execute without <- 1
\prepare add: UPDATE posts SET views = views + ? WHERE id = ?
\execute add <- 1, 1
\execute without again <- 1
\execute without cursor <- 2
\fetch without 5
BEGIN;
\execute without <- 1
\execute add again <- 2, 1
\execute without <- 1
COMMIT;
[mysql] SET resultset_metadata = FULL;
\execute without again <- 1
\execute without cursor <- 2
\fetch without 5
\execute with <- 2
\field_list posts v%
[mysql] SET resultset_metadata = NONE;
\field_list posts v%
\reset
SELECT views FROM posts WHERE id = 1;
