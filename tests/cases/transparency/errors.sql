# Errors and warnings are MySQL's own.

== names
UPDATE posts SET viewz = viewz + 1 WHERE id = 1;
UPDATE posts SET views = viewz + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE ident = 1;
UPDATE post SET views = views + 1 WHERE id = 1;
UPDATE nowhere.posts SET views = views + 1 WHERE id = 1;
UPDATE posts p SET posts.views = posts.views + 1 WHERE p.id = 1;
UPDATE posts SET p.views = p.views + 1 WHERE id = 1;
SELECT viewz FROM posts;
SELECT views, viewz FROM posts;
SELECT x.views FROM posts;
SELECT views FROM posts p WHERE posts.id = 1;
SELECT views FROM posts JOIN tallies ON tallies.id = posts.id;
SELECT p.views FROM posts p JOIN posts p ON p.id = 1;
SELECT id FROM posts JOIN tallies USING (id) ORDER BY views;
SELECT views FROM posts ORDER BY viewz;
SELECT author_id, SUM(views) FROM posts GROUP BY author;
SELECT views FROM (SELECT id FROM posts) t;
SELECT COUNTZ(views) FROM posts;
SELECT SUM(views, 1) FROM posts;
SELECT SUM(SUM(views)) FROM posts;
SELECT views FROM posts WHERE SUM(views) > 1;

== syntax
UPDATE posts SET views = views + WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE;
UPDATE posts views = views + 1;
UPDATE posts SET views == views + 1;
SELECT views FROM posts WHERE id = = 1;
SELECT views, FROM posts;
SELECT views FROM posts WHERE id = 1 ORDER;
SELECT views FROM posts posts posts;
UPDATE posts SET views = views + 1 WHERE id = 1 RETURNING views;
SELECT 'views FROM posts;
SELECT "views FROM posts;
SELECT views FROM `posts;
UPDATE posts SET views = views + 1 WHERE id = 1) ;
SELECT ? FROM posts;
UPDATE posts SET views = views + ? WHERE id = ?;

== values
INSERT INTO posts (id, author_id, title, views) VALUES (2, 1, 'x', 1);
UPDATE posts SET views = NULL WHERE id = 1;
UPDATE posts SET views = 'abc' WHERE id = 1;
UPDATE posts SET views = views + 'abc' WHERE id = 1;
UPDATE posts SET views = 99999999999 WHERE id = 1;
UPDATE posts SET likes = -1 WHERE id = 1;
UPDATE posts SET likes = likes - 1 WHERE id = 4;
UPDATE posts SET likes = likes - 11 WHERE id = 1;
UPDATE posts SET views = views / 0 WHERE id = 1;
UPDATE posts SET title = 'first' WHERE id = 2;
UPDATE posts SET id = 2 WHERE id = 1;
UPDATE posts SET views = views + 1, title = NULL WHERE id = 1;
INSERT INTO posts (id, author_id, title, views) VALUES (80, 1, 'x', NULL);
INSERT INTO posts (id) VALUES (81);
SELECT * FROM posts ORDER BY id;

== subqueries
UPDATE posts SET views = views + 1 WHERE id IN (SELECT id FROM posts WHERE views > 1);
UPDATE posts SET views = (SELECT MAX(views) FROM posts) WHERE id = 1;
DELETE FROM posts WHERE id = (SELECT MAX(id) FROM posts);
UPDATE posts SET views = views + 1 WHERE id = (SELECT id FROM authors);
SELECT (SELECT views FROM posts);
SELECT views = (SELECT id, views FROM posts LIMIT 1) FROM posts;
INSERT INTO posts SELECT * FROM posts;
SELECT * FROM posts ORDER BY id;

== warnings
SET sql_mode = '';
UPDATE posts SET views = views + 'abc' WHERE id = 1;
[direct] SHOW WARNINGS;
UPDATE posts SET views = views + '5 apples' WHERE id = 1;
[direct] SHOW WARNINGS;
UPDATE posts SET likes = -5 WHERE id = 1;
[direct] SHOW WARNINGS;
UPDATE widths SET c16 = c16 + 1000 WHERE id = 2;
[direct] SHOW WARNINGS;
UPDATE widths SET c8 = c8 + 5, u8 = u8 + 5 WHERE id = 2;
[direct] SHOW WARNINGS;
SELECT views / 0 FROM posts WHERE id = 1;
[direct] SHOW WARNINGS;
SELECT views FROM posts WHERE title = 5;
[direct] SHOW WARNINGS;
UPDATE posts SET views = NULL WHERE id IN (1, 2);
[direct] SHOW WARNINGS;
INSERT IGNORE INTO posts (id, author_id, title) VALUES (1, 1, 'again');
[direct] SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SHOW WARNINGS;
[direct] SHOW COUNT(*) WARNINGS;
[direct] SELECT @@warning_count, @@error_count;
SELECT * FROM posts ORDER BY id;
SELECT * FROM widths ORDER BY id;

== warnings outlive nothing
SELECT nothing;
[direct] SHOW WARNINGS;
[direct] SHOW ERRORS;
UPDATE posts SET views = 5 WHERE id = 1;
[direct] SHOW WARNINGS;
SELECT nothing;
[direct] SELECT @@error_count;
SELECT views FROM posts WHERE id = 1;
[direct] SHOW WARNINGS;
SELECT nothing;
[direct] SHOW WARNINGS LIMIT 1;

== GET DIAGNOSTICS
SELECT nothing;
GET DIAGNOSTICS CONDITION 1 @state = RETURNED_SQLSTATE, @text = MESSAGE_TEXT;
SELECT @state, @text;
UPDATE posts SET views = views + 1 WHERE id = 1;
GET DIAGNOSTICS @rows = ROW_COUNT, @conditions = NUMBER;
SELECT @rows, @conditions;

== a value out of range, while another session has rows locked
[direct] SET SESSION innodb_lock_wait_timeout = 1;
UPDATE widths SET u8 = u8 + 1 WHERE id = 1;
\connection b
BEGIN;
UPDATE widths SET u24 = COALESCE(u24, 0) + 1, c16 = 7 WHERE id = 2;
\connection a
SELECT -c64 FROM widths ORDER BY id;
\connection b
COMMIT;
