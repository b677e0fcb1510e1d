# What a session sets changes the meaning of its texts.

== ANSI quotes
SET sql_mode = 'ANSI_QUOTES';
UPDATE "posts" SET "views" = "views" + 1 WHERE "id" = 1;
SELECT "views", 'views' FROM "posts" WHERE "id" = 1;
UPDATE hits SET n = n + 1 WHERE path = "/";
SET sql_mode = '';
UPDATE hits SET n = n + 1 WHERE path = "/";
SELECT "views" FROM posts WHERE id = 1;
SET sql_mode = 'ANSI';
SELECT "views" || '!' FROM "posts" WHERE "id" = 1;
SELECT SUM ("views") FROM posts;

== backslashes
UPDATE hits SET n = n + 1 WHERE path = '/\'; UPDATE hits SET n = 0; -- ';
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
UPDATE hits SET n = n + 1 WHERE path = '\';
UPDATE hits SET n = n + 1 WHERE path = '\' OR path = '/';
SELECT n, '\' FROM hits WHERE path = '/';
UPDATE hits SET n = n + ? WHERE path = ?; <- 1, '/'
SET sql_mode = DEFAULT;
SELECT n, '\\' FROM hits WHERE path = '/';
SELECT n FROM hits ORDER BY path;

== pipes
SET sql_mode = 'PIPES_AS_CONCAT';
SELECT views || likes FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE title = 'fir' || 'st';
SET sql_mode = '';
SELECT views || likes FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE title = 'fir' || 'st';
SELECT id, views FROM posts ORDER BY id;

== character sets
SET NAMES latin1;
SELECT path, n FROM hits ORDER BY n;
UPDATE hits SET n = n + 1 WHERE path = '/about';
SET NAMES utf8mb4;
UPDATE hits SET n = n + 1 WHERE path = '/Äpfel';
SELECT n FROM hits WHERE path = '/Äpfel';
SET NAMES gbk;
UPDATE hits SET n = n + 1 WHERE path = '/';
SELECT n FROM hits WHERE path = '/';
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
UPDATE hits SET n = n + 1 WHERE path = '/ABOUT';
SET character_set_results = NULL;
SELECT path, n FROM hits ORDER BY n;
SET NAMES sjis;
SELECT views FROM posts WHERE id = 1;
SET NAMES utf8mb4;
SELECT path, n FROM hits ORDER BY n;

== the schema
USE information_schema;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE {schema}.posts SET views = views + 1 WHERE id = 1;
SELECT views FROM {schema}.posts WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
USE {schema};
SELECT views FROM posts WHERE id = 1;
\init_db information_schema
SELECT views FROM {schema}.posts WHERE id = 1;
\init_db nowhere
\init_db {schema}
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
USE nowhere;
SELECT DATABASE();
SELECT views FROM `{schema}` . `posts` WHERE id = 1;

== safe updates
SET sql_safe_updates = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1;
UPDATE posts SET views = views + 1 WHERE title LIKE '%';
UPDATE posts SET views = 0;
DELETE FROM posts;
UPDATE posts SET views = views + 1 LIMIT 1;
SELECT views FROM posts WHERE id = 1;
SET sql_select_limit = 2;
SELECT id, views FROM posts ORDER BY id;
SELECT id FROM (SELECT id, views FROM posts ORDER BY id) t ORDER BY id;
SET max_join_size = 1;
SET sql_big_selects = 0;
SELECT p.views FROM posts p JOIN authors a;

== reset
SET sql_mode = 'ANSI_QUOTES';
SET @x = 1;
CREATE TEMPORARY TABLE posts (id INT, views INT);
\reset
SELECT "views" FROM posts WHERE id = 1;
SELECT views, @x FROM posts WHERE id = 1;

== a temporary table in front [fresh]
SELECT views FROM posts WHERE id = 1;
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT);
INSERT INTO posts VALUES (1, 5);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts;
SELECT views FROM {schema}.posts WHERE id = 1;
DELETE FROM posts;
DROP TEMPORARY TABLE posts;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
CREATE TEMPORARY TABLE scratch (id INT PRIMARY KEY, views INT);
ALTER TABLE scratch RENAME TO posts;
UPDATE posts SET views = views + 1;
SELECT * FROM posts;
DROP TABLE posts;
SELECT views FROM posts WHERE id = 1;

== variables of all kinds
SET @before = (SELECT views FROM posts WHERE id = 1);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views - @before FROM posts WHERE id = 1;
SET @total = 0;
SELECT @total := @total + views FROM posts ORDER BY id;
SELECT @total;
SET SESSION group_concat_max_len = 5;
SELECT GROUP_CONCAT(views ORDER BY id) FROM posts;
SET sql_auto_is_null = 1;
INSERT INTO comments (post_id, body) VALUES (1, 'x');
SELECT id FROM comments WHERE id IS NULL;

== spaces before parentheses
SELECT COUNT (*) FROM posts;
SELECT SUM (views) FROM posts;
SET sql_mode = 'IGNORE_SPACE';
SELECT COUNT (*), SUM (views), MAX (likes) FROM posts;
UPDATE posts SET views = views + 1 WHERE id = MOD (5, 2);
UPDATE posts SET views = GREATEST (views, 5) WHERE id = 1;
SELECT SUM (views) FROM posts WHERE id IN (1, 2);

== NOT binds tighter
SELECT id, views FROM posts WHERE NOT views BETWEEN 150 AND 400 ORDER BY id;
UPDATE posts SET views = views + 1 WHERE NOT id BETWEEN 2 AND 9;
SET sql_mode = 'HIGH_NOT_PRECEDENCE';
SELECT id, views FROM posts WHERE NOT views BETWEEN 150 AND 400 ORDER BY id;
SELECT id, views FROM posts WHERE NOT views BETWEEN 0 AND 400 ORDER BY id;
UPDATE posts SET views = views + 1 WHERE NOT id BETWEEN 0 AND 1;
UPDATE posts SET views = views * 2 WHERE NOT id BETWEEN 0 AND 1;
SELECT id, views FROM posts ORDER BY id;

== backslashes inside characters
SET NAMES gbk;
UPDATE posts SET views = views + 1 WHERE title = '誠\' OR id = 1;
SELECT id, views FROM posts WHERE title = '誠\' OR id = 1;
PREPARE s FROM 'UPDATE posts SET views = views * 2 WHERE id = 1';
EXECUTE s;
PREPARE t FROM 'UPDATE posts SET views = views * 2 WHERE title = "誠\" OR id = 1';
EXECUTE t;
SET @n = 1;
PREPARE u FROM 'UPDATE posts SET views = views + ? WHERE id = 1';
EXECUTE u USING @n;
SET NAMES sjis;
UPDATE posts SET views = views + 1 WHERE title = '表\' OR id = 1;
SELECT views FROM posts WHERE id = 1;
SET NAMES latin1;
UPDATE hits SET n = n + 1 WHERE path = '/Ä\\' OR path = '/';
SET @path = '/Äpfel';
PREPARE v FROM 'UPDATE hits SET n = n + 1 WHERE path = ?';
EXECUTE v USING @path;
PREPARE w FROM 'UPDATE hits SET n = n + 1 WHERE path = ''/Äpfel''';
EXECUTE w;
SET NAMES utf8mb4;
EXECUTE v USING @path;
SET NAMES ucs2;
SET character_set_client = utf16;
SET character_set_connection = ucs2;
SELECT n FROM hits WHERE path = '/';
UPDATE hits SET n = n + 1 WHERE path = '/';
PREPARE x FROM 'SELECT n FROM hits WHERE path = ''/''';
EXECUTE x;
SET character_set_results = utf16;
SELECT n FROM hits WHERE path = '/';
SET NAMES utf8mb4;
SELECT path, n FROM hits ORDER BY path;

== letter case of names
SELECT views FROM POSTS WHERE id = 1;
UPDATE Posts SET views = views + 1 WHERE id = 1;
SELECT P.views FROM posts p WHERE p.id = 1;
SELECT VIEWS, p.Likes FROM posts p WHERE P.ID = 1;
SELECT Views AS v FROM posts WHERE iD = 1;
UPDATE posts SET VIEWS = Views + 1 WHERE ID = 1;
SELECT `VIEWS` FROM posts WHERE id = 1;

== aliases that are names of hot tables
SELECT posts.followers FROM authors AS posts ORDER BY posts.id;
SELECT hits.views FROM posts hits WHERE hits.id = 1;
SELECT posts.n, hits.views FROM hits AS posts JOIN posts AS hits ON hits.id = 1 WHERE posts.path = '/';
SELECT posts.views FROM (SELECT 5 AS views) posts;
SELECT views FROM (SELECT id, followers AS views FROM authors) AS posts ORDER BY id;
UPDATE authors posts SET posts.followers = posts.followers + 1 WHERE posts.id = 1;
UPDATE tallies posts SET posts.views = posts.views + 1 WHERE posts.id = 1;
UPDATE posts AS hits SET hits.views = hits.views + 1 WHERE hits.id = 1;
UPDATE posts AS posts_slots SET posts_slots.views = posts_slots.views + 1 WHERE posts_slots.id = 1;
SELECT countersink_s.views FROM posts countersink_s WHERE countersink_s.id = 1;
SELECT posts.id FROM authors posts WHERE EXISTS (SELECT 1 FROM posts p WHERE p.author_id = posts.id AND p.views > 150) ORDER BY 1;
DELETE posts FROM comments AS posts WHERE posts.id = 4;
SELECT id, views FROM posts ORDER BY id;

== common table expressions that are named like hot tables
WITH posts AS (SELECT 1 AS id, 7 AS views) SELECT views FROM posts;
WITH posts AS (SELECT id, views FROM posts) SELECT * FROM posts ORDER BY id;
WITH posts AS (SELECT 1 AS views) SELECT p.views, q.views FROM posts p, {schema}.posts q WHERE q.id = 1;
WITH RECURSIVE posts AS (SELECT 1 AS views UNION ALL SELECT views + 1 FROM posts WHERE views < 3) SELECT * FROM posts;
WITH x AS (SELECT views FROM posts WHERE id = 1), posts AS (SELECT views + 1 AS views FROM x) SELECT views FROM posts;
SELECT (WITH posts AS (SELECT 9 AS views) SELECT views FROM posts), views FROM posts WHERE id = 1;
WITH hits AS (SELECT id, views FROM posts) SELECT h.views, (SELECT SUM(n) FROM {schema}.hits) FROM hits h WHERE h.id = 3;
INSERT INTO tallies (id, views) WITH posts AS (SELECT 60 AS id, 5 AS views) SELECT id, views FROM posts;
[mysql] WITH hits AS (SELECT 1 AS id) UPDATE posts SET views = views + 1 WHERE id IN (SELECT id FROM hits);
[mysql] WITH hits AS (SELECT 1 AS id) DELETE FROM posts WHERE id IN (SELECT id FROM hits);
SELECT id, views FROM posts ORDER BY id;

== temporary tables in front, by all ways [fresh]
CREATE TEMPORARY TABLE posts AS SELECT id, views FROM posts;
SELECT * FROM posts ORDER BY id;
UPDATE posts SET views = views + 1;
SELECT * FROM posts ORDER BY id;
ALTER TABLE posts RENAME TO scratch;
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
SET @t = 'ALTER TABLE scratch RENAME TO posts';
PREPARE s FROM @t;
EXECUTE s;
UPDATE posts SET views = views + 1;
SELECT * FROM posts ORDER BY id;
BEGIN;
UPDATE posts SET views = views + 1;
ROLLBACK;
SELECT * FROM posts ORDER BY id;
DROP TABLE IF EXISTS nothing, posts;
SELECT id, views FROM posts ORDER BY id;
[mariadb] EXECUTE IMMEDIATE 'CREATE OR REPLACE TEMPORARY TABLE posts (id INT, views INT)';
[mysql] CREATE TEMPORARY TABLE posts (id INT, views INT);
SELECT * FROM posts;
\reset
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
CREATE TEMPORARY TABLE IF NOT EXISTS {schema}.posts (views INT);
INSERT INTO posts VALUES (3);
SELECT views FROM posts;
USE information_schema;
SELECT views FROM {schema}.posts;
DROP TEMPORARY TABLE {schema}.posts;
SELECT SUM(views) FROM {schema}.posts;

== a temporary table comes and goes under a prepared statement [prepared] [fresh]
\prepare seek: SELECT id, views FROM posts WHERE id = ?
\prepare inc: UPDATE posts SET views = views + 1 WHERE id = ?
\execute seek <- 1
\execute inc <- 1
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT);
INSERT INTO posts VALUES (1, 5);
\execute seek <- 1
\execute inc <- 1
\execute seek <- 1
\prepare later: SELECT id, views FROM posts WHERE id = ?
\prepare more: UPDATE posts SET views = views + 1 WHERE id = ?
\execute later <- 1
\execute more <- 1
DROP TEMPORARY TABLE posts;
\execute seek <- 1
\execute inc <- 1
\execute later <- 1
\execute more <- 1
\execute later cursor <- 1
\fetch later 5
\execute later <- 3
SELECT id, views FROM posts ORDER BY id;

== ROW_COUNT() behind COM_STMT_PREPARE
START TRANSACTION;
\prepare a: UPDATE hits SET n = n + 1 WHERE path = ?
[direct] SELECT ROW_COUNT();
[direct] UPDATE authors SET followers = followers + 1;
[direct] SET @x = 1;
\prepare b: SELECT n FROM hits WHERE path = ?
[direct] SELECT ROW_COUNT();
ROLLBACK;

== sql_select_limit and statements that fold several rows
[direct] SET sql_select_limit = 1;
UPDATE posts SET views = 0 WHERE id IN (1, 2, 3);
UPDATE posts SET likes = 0 WHERE author_id < 3;
START TRANSACTION;
DELETE FROM posts WHERE title LIKE 'f%';
[direct] SET sql_select_limit = DEFAULT;
SELECT * FROM posts ORDER BY id;
ROLLBACK;
SELECT * FROM posts ORDER BY id;

== max_join_size
[direct] SET sql_big_selects = 0, max_join_size = 1;
UPDATE posts SET views = 0 WHERE id = 1;
UPDATE posts SET likes = 0 WHERE author_id = 3;
UPDATE posts SET views = views + 1 WHERE id = 2;
SELECT views FROM posts WHERE id = 2;
[direct] SET sql_big_selects = DEFAULT, max_join_size = DEFAULT;
SELECT * FROM posts ORDER BY id;

# Temporary tables in front of a hot one, made, renamed and dropped in either protocol.
== temporary tables, created and dropped
UPDATE posts SET views = views + 1 WHERE id = 1;
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT);
INSERT INTO posts VALUES (1, 100);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DROP TEMPORARY TABLE posts;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT id, views FROM posts;

== temporary tables, dropped by drop table
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT);
DROP TABLE posts;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;

== temporary tables, prepared before
\prepare inc: UPDATE posts SET views = views + 1 WHERE id = 1
\prepare make: CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT)
\prepare fill: INSERT INTO posts VALUES (1, 100)
\prepare read: SELECT views FROM posts WHERE id = 1
\prepare gone: DROP TEMPORARY TABLE posts
\execute inc
\execute read
\execute make
\execute fill
\execute inc
\execute read
\execute gone
\execute inc
\execute read
\execute make
\execute fill
\execute inc
\execute read
[direct] SELECT views FROM posts WHERE id = 1;
[direct] UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SELECT views FROM posts WHERE id = 1;
\execute gone
[direct] UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SELECT views FROM posts WHERE id = 1;

== temporary tables, made in binary, used as text
\prepare make: CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT)
[direct] UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] UPDATE posts SET views = views + 1 WHERE id = 1;
\execute make
[direct] INSERT INTO posts VALUES (1, 100);
[direct] UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SELECT views FROM posts WHERE id = 1;
[direct] DROP TEMPORARY TABLE posts;
[direct] UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SELECT views FROM posts WHERE id = 1;

== temporary tables, renamed
CREATE TEMPORARY TABLE scratch (id INT PRIMARY KEY, views INT);
INSERT INTO scratch VALUES (1, 100);
ALTER TABLE scratch RENAME TO posts;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
ALTER TABLE posts RENAME TO scratch;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT views FROM scratch WHERE id = 1;
ALTER TABLE scratch RENAME TO posts;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DROP TABLE posts;
SELECT views FROM posts WHERE id = 1;

== temporary tables, renamed in turn
\prepare there: ALTER TABLE scratch RENAME TO posts
\prepare back: ALTER TABLE posts RENAME TO scratch
CREATE TEMPORARY TABLE scratch (id INT PRIMARY KEY, views INT);
INSERT INTO scratch VALUES (1, 100);
\execute there
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
\execute back
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
\execute there
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;

== temporary tables, filled from another hot table [fresh]
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT) SELECT id, replies AS views FROM topics;
SELECT ROW_COUNT();
SELECT * FROM posts ORDER BY id;
BEGIN;
UPDATE topics SET replies = replies + 3 WHERE id = 1;
DROP TEMPORARY TABLE posts;
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY) SELECT id, replies FROM topics;
SELECT * FROM posts ORDER BY id;
ROLLBACK;

== temporary tables, and what is told of their DDL [fresh]
BEGIN;
ALTER TABLE other RENAME TO posts;
SHOW WARNINGS;
CREATE TEMPORARY TABLE IF NOT EXISTS posts (id INT PRIMARY KEY, views INT);
CREATE TEMPORARY TABLE IF NOT EXISTS posts (id INT PRIMARY KEY, views INT);
SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = 1;
DROP TEMPORARY TABLE IF EXISTS posts, other;
SHOW WARNINGS;
SELECT views FROM posts WHERE id = 1;
ROLLBACK;
PREPARE make FROM 'CREATE TEMPORARY TABLE IF NOT EXISTS posts (id INT PRIMARY KEY, views INT)';
EXECUTE make;
EXECUTE make;
SELECT @@warning_count;
SELECT COUNT(*) FROM posts;

== temporary tables, renamed in read-only transactions [fresh]
START TRANSACTION READ ONLY;
ALTER TABLE other RENAME TO posts;
SHOW WARNINGS;
SELECT views FROM posts WHERE id = 1;
SELECT 1;
COMMIT;
[mysql] SET transaction_read_only = ON;
[mariadb] SET tx_read_only = ON;
BEGIN;
ALTER TABLE other RENAME TO posts;
SHOW WARNINGS;
SELECT views FROM posts WHERE id = 1;
SELECT 1;
COMMIT;

== temporary tables, under lock tables
LOCK TABLES posts WRITE;
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT);
UNLOCK TABLES;
INSERT INTO posts VALUES (1, 100);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DROP TEMPORARY TABLE posts;
SELECT views FROM posts WHERE id = 1;

== temporary tables, another session increments
\connection a
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT);
INSERT INTO posts VALUES (1, 100);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DROP TEMPORARY TABLE posts;
\connection b
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
\connection a
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;

== temporary tables, another session increments, the names go and come
\connection a
CREATE TEMPORARY TABLE scratch (id INT PRIMARY KEY, views INT);
INSERT INTO scratch VALUES (1, 100);
ALTER TABLE scratch RENAME TO posts;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
ALTER TABLE posts RENAME TO scratch;
\connection b
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
\connection a
SELECT views FROM posts WHERE id = 1;
ALTER TABLE scratch RENAME TO posts;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DROP TABLE posts;
\connection b
UPDATE posts SET views = views + 1 WHERE id = 1;
\connection a
SELECT views FROM posts WHERE id = 1;

== temporary tables, in a transaction
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT);
INSERT INTO posts VALUES (1, 100);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
COMMIT;
SELECT views FROM posts WHERE id = 1;

== temporary tables, as a copy
UPDATE posts SET views = views + 1 WHERE id = 1;
CREATE TEMPORARY TABLE posts AS SELECT id, views FROM posts;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DROP TEMPORARY TABLE posts;
SELECT views FROM posts WHERE id = 1;

== temporary tables, a copy by LIKE
CREATE TEMPORARY TABLE posts LIKE posts;
INSERT INTO posts (id, author_id, title, views) VALUES (1, 1, 'x', 100);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;

== what is set for one transaction, and a write of several tables that names no column
SET SESSION TRANSACTION READ ONLY;
SET TRANSACTION READ WRITE;
UPDATE posts p JOIN authors a ON a.id = p.author_id SET p.views = 1, a.nosuch = 2;
UPDATE authors SET name = 'one' WHERE id = 2;
UPDATE authors SET name = 'two' WHERE id = 2;
SET TRANSACTION READ WRITE;
DELETE p FROM posts p JOIN authors a ON a.nosuch = 1;
UPDATE authors SET name = 'three' WHERE id = 2;
SELECT name FROM authors WHERE id = 2;

== the words of an error in a READ ONLY session
SET SESSION TRANSACTION READ ONLY;
SELECT views - 18446744073709551615 FROM posts WHERE id = 1;
SET TRANSACTION READ WRITE;
SELECT views - 18446744073709551615 FROM posts WHERE id = 1;
UPDATE authors SET name = 'one' WHERE id = 2;

== the row inserted last, by IS NULL
[direct] SET timestamp = 1600000000, sql_auto_is_null = 1;
INSERT INTO articles (slug, opens) VALUES ('x', 5);
SELECT id, opens FROM articles WHERE id IS NULL;
SELECT id, opens FROM articles WHERE id IS NULL;
INSERT INTO articles (slug, opens) VALUES ('y', 5);
UPDATE articles SET opens = opens + 1 WHERE id IS NULL;
SELECT id, opens FROM articles WHERE id IS NULL;
INSERT INTO articles (slug, opens) VALUES ('z', 5);
UPDATE articles SET opens = opens + 1 WHERE id = 1;
SELECT id, opens FROM articles WHERE ISNULL(id);
INSERT INTO articles (slug, opens) VALUES ('zz', 5);
SELECT id FROM comments WHERE id IS NULL;
INSERT INTO articles (slug, opens) VALUES ('w', 5);
SELECT id, opens FROM articles WHERE NOT id IS NOT NULL AND opens > 0;
INSERT INTO articles (slug, opens) VALUES ('v', 5);
UPDATE articles SET opens = opens * 2 WHERE id IS UNKNOWN;
SELECT id, opens FROM articles WHERE id IS NULL;
INSERT INTO articles (slug, opens) VALUES ('u', 5);
PREPARE s FROM 'SELECT id, opens FROM articles WHERE id IS NULL';
EXECUTE s;
EXECUTE s;
SET sql_auto_is_null = 0;
SELECT id, opens FROM articles WHERE id IS NULL;

== the row inserted last, in a transaction
[direct] SET timestamp = 1600000000, sql_auto_is_null = 1;
BEGIN;
INSERT INTO articles (slug, opens) VALUES ('x', 5);
SELECT id, opens FROM articles WHERE id IS NULL;
SELECT id, opens FROM articles WHERE id IS NULL;
INSERT INTO articles (slug, opens) VALUES ('y', 5);
SELECT opens FROM articles WHERE id IS NULL FOR UPDATE;
SELECT opens FROM articles WHERE id IS NULL;
INSERT INTO articles (slug, opens) VALUES ('z', 5);
UPDATE articles SET opens = opens + 1 WHERE id IS NULL;
SELECT opens FROM articles WHERE id IS NULL;
INSERT INTO articles (slug, opens) VALUES ('w', 5);
UPDATE articles SET slug = 'found' WHERE id IS NULL;
SELECT slug, opens FROM articles ORDER BY id;
COMMIT;

== the row inserted last, prepared [prepared]
\prepare read: SELECT id, opens FROM articles WHERE id IS NULL
\prepare add: UPDATE articles SET opens = opens + ? WHERE id IS NULL
[direct] SET timestamp = 1600000000, sql_auto_is_null = 1;
INSERT INTO articles (slug, opens) VALUES ('x', 5);
\execute read
\execute read
INSERT INTO articles (slug, opens) VALUES ('y', 5);
\execute add <- 3
\execute read
INSERT INTO articles (slug, opens) VALUES ('z', 5);
\execute read cursor
\fetch read 5
SET sql_auto_is_null = 0;
\execute read

== info texts in other languages
SET lc_messages = 'de_DE';
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
UPDATE posts SET views = views * 2 WHERE author_id = 1;
UPDATE posts SET views = views + 1 WHERE id = 99;
SHOW WARNINGS;
SELECT views FROM nothing;
SELECT likes - 1000 FROM posts WHERE id = 1;
SELECT views, nothing FROM posts WHERE id = 1;
UPDATE posts SET id = 2 WHERE id = 1;
SHOW WARNINGS;
SET lc_messages = 'fr_FR';
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 2;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
UPDATE posts SET title = 'x' WHERE id = 2;
UPDATE posts SET title = 'x' WHERE id = 2;
SELECT views FROM posts WHERE id = 2;
COMMIT;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
SET lc_messages = 'en_GB';
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE author_id = 1;

== a SELECT of a built-in function leaves characteristics of the next transaction
SET TRANSACTION READ ONLY;
SELECT n FROM hits WHERE path = '/none' FOR UPDATE;
[direct] SELECT ROW_COUNT(); UPDATE daily SET n = n + 1 WHERE day = '2024-02-29' AND token = 'ab';
UPDATE posts SET title = 'b' WHERE id = 10;
SET TRANSACTION READ ONLY;
SELECT CONCAT('a', 'b'), (SELECT 1);
UPDATE posts SET views = 5 WHERE id = 10;
UPDATE posts SET views = views + 1 WHERE id = 10;
BEGIN;
UPDATE posts SET views = 6 WHERE id = 10;
COMMIT;
UPDATE posts SET views = 7 WHERE id = 10;
