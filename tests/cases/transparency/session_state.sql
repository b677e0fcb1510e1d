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
