# Locking reads and LOCK TABLES.

== FOR UPDATE
BEGIN;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
SELECT title FROM posts WHERE id = 2 FOR UPDATE;
SELECT * FROM posts WHERE author_id = 1 ORDER BY id FOR UPDATE;
SELECT views FROM posts WHERE id = 999 FOR UPDATE;
COMMIT;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;

== FOR SHARE
BEGIN;
SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE;
[mysql] SELECT views FROM posts WHERE id = 1 FOR SHARE;
[mysql] SELECT p.views, a.name FROM posts p JOIN authors a ON a.id = p.author_id WHERE p.id = 1 FOR SHARE OF p;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE;
ROLLBACK;
START TRANSACTION READ ONLY;
SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
COMMIT;

== read, compute, write
BEGIN;
SELECT views, likes FROM posts WHERE id = 3 FOR UPDATE;
UPDATE posts SET views = 301, likes = 31 WHERE id = 3;
COMMIT;
SELECT views, likes FROM posts WHERE id = 3;

== NOWAIT and SKIP LOCKED
BEGIN;
SELECT views FROM posts WHERE id = 1 FOR UPDATE NOWAIT;
SELECT views FROM posts WHERE id IN (1, 2) ORDER BY id FOR UPDATE SKIP LOCKED;
\connection b
BEGIN;
SELECT views FROM posts WHERE id = 1 FOR UPDATE NOWAIT;
SELECT id, views FROM posts WHERE id IN (1, 2, 3) ORDER BY id FOR UPDATE SKIP LOCKED;
ROLLBACK;
\connection a
ROLLBACK;

== LOCK TABLES
LOCK TABLES posts WRITE;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT * FROM authors;
SELECT * FROM hits;
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;
LOCK TABLES posts READ, authors READ;
SELECT views FROM posts WHERE id = 1;
SELECT p.views FROM posts p WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT a.id FROM posts, authors a WHERE posts.id = a.id;
UNLOCK TABLES;
LOCK TABLES posts AS p WRITE, authors READ LOCAL;
UPDATE posts p SET p.views = p.views + 1 WHERE p.id = 1;
SELECT p.views FROM posts p WHERE p.id = 1;
SELECT views FROM posts WHERE id = 1;
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;
LOCK TABLES authors WRITE;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UNLOCK TABLES;

== LOCK TABLES ends with a transaction
LOCK TABLES posts WRITE;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
SELECT views FROM posts WHERE id = 1;

== HANDLER
HANDLER posts OPEN;
HANDLER authors OPEN;
HANDLER authors READ FIRST;
HANDLER authors CLOSE;
HANDLER posts CLOSE;

== prepared while tables are locked, executed when they are not, and the other way round [prepared]
LOCK TABLES posts WRITE;
\prepare inc: UPDATE posts SET views = views + ? WHERE id = ?
\prepare get: SELECT id, views FROM posts WHERE id = ?
\execute inc <- 1, 1
\execute get <- 1
UNLOCK TABLES;
UPDATE posts SET views = views + 5 WHERE id = 1;
\execute inc <- 2, 1
\execute get <- 1
LOCK TABLES posts READ;
\execute get <- 1
\execute inc <- 2, 1
LOCK TABLES posts WRITE;
\execute inc <- 4, 1
\execute get <- 1
UNLOCK TABLES;
\execute get <- 1

== increments that are not committed, for those who do not wait
UPDATE posts SET likes = likes + 1, views = views + 1 WHERE id = 1;
BEGIN;
UPDATE posts SET likes = likes + 1, views = views + 1 WHERE id = 1;
COMMIT;
BEGIN;
UPDATE posts SET likes = likes + 1, views = views + 1 WHERE id = 1;
\connection b
SELECT id FROM posts WHERE id IN (1, 2, 3) ORDER BY id FOR UPDATE SKIP LOCKED;
SELECT id, views FROM posts WHERE id IN (1, 2, 3) ORDER BY id FOR UPDATE SKIP LOCKED;
[mysql] SELECT * FROM posts ORDER BY id LIMIT 2 FOR SHARE SKIP LOCKED;
SELECT id, views FROM posts ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
SELECT id FROM posts WHERE views > 0 OR 1 = 1 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
SELECT COUNT(*), SUM(views) FROM posts FOR UPDATE SKIP LOCKED;
[mysql] SELECT a.id, p.views FROM authors a JOIN posts p ON p.author_id = a.id WHERE a.id = 1 ORDER BY p.id FOR UPDATE OF p SKIP LOCKED;
SELECT views FROM posts WHERE id = 1 FOR UPDATE NOWAIT;
SELECT id FROM posts WHERE id = 1 FOR UPDATE NOWAIT;
[mysql] SELECT * FROM posts WHERE id = 1 FOR SHARE NOWAIT;
SELECT views FROM posts WHERE id = 2 FOR UPDATE NOWAIT;
SELECT id, views FROM posts WHERE author_id = 2 ORDER BY id FOR UPDATE NOWAIT;
[mysql] SELECT title FROM posts WHERE id = 2 FOR SHARE NOWAIT;
BEGIN;
SELECT id, views FROM posts WHERE id IN (1, 2, 3) ORDER BY id FOR UPDATE SKIP LOCKED;
SELECT views FROM posts WHERE id = ? FOR UPDATE NOWAIT; <- 1
SELECT id FROM posts WHERE id = ? FOR UPDATE SKIP LOCKED; <- 1
SELECT id FROM posts WHERE id = ? FOR UPDATE SKIP LOCKED; <- 3
ROLLBACK;
\connection a
ROLLBACK;

# Several names, several hot tables, and READ beside WRITE.
== LOCK TABLES, several aliases
UPDATE posts SET views = views + 1 WHERE id = 1;
LOCK TABLES posts AS a READ, posts AS b READ, posts READ;
SELECT a.views, b.views FROM posts AS a JOIN posts AS b ON a.id = b.id WHERE a.id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts AS a SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;

== LOCK TABLES, read local
UPDATE posts SET views = views + 1 WHERE id = 1;
LOCK TABLES posts READ LOCAL;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET title = 'x' WHERE id = 1;
DELETE FROM posts WHERE id = 1;
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;

== LOCK TABLES, syntax errors
LOCK TABLE posts LOW_PRIORITY WRITE;
UPDATE posts SET views = views + 1 WHERE id = 1;
UNLOCK TABLES;
LOCK TABLES authors READ;
LOCK TABLES posts READ LOCAL, hits WRITE LOCAL;
LOCK TABLES posts CONCURRENT WRITE;
SELECT name FROM authors WHERE id = 1;
UNLOCK TABLES;

== LOCK TABLES, read
UPDATE posts SET views = views + 1 WHERE id = 1;
LOCK TABLES posts READ;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT views FROM posts AS p WHERE id = 1;
UNLOCK TABLES;

== LOCK TABLES, mixed
UPDATE posts SET views = views + 1 WHERE id = 1;
LOCK TABLES posts WRITE, posts AS p READ;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT p.views FROM posts AS p WHERE id = 1;
UPDATE posts AS p SET views = views + 1 WHERE id = 1;
SELECT posts.views, p.views FROM posts JOIN posts AS p ON p.id = posts.id WHERE p.id = 1;
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;

== LOCK TABLES, write by an alias alone
UPDATE posts SET views = views + 1 WHERE id = 1;
LOCK TABLES posts AS p WRITE;
UPDATE posts AS p SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts AS p WHERE id = 1;
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;

== LOCK TABLES, two writes
UPDATE posts SET views = views + 1 WHERE id = 1;
LOCK TABLES posts AS p WRITE, posts AS q WRITE, hits READ;
UPDATE posts AS p JOIN posts AS q ON p.id = q.id SET p.views = q.views + 1 WHERE p.id = 1;
UPDATE hits SET n = n + 1;
SELECT p.views, q.views FROM posts AS p JOIN posts AS q ON p.id = q.id WHERE p.id = 1;
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;

== LOCK TABLES, two tables, one for reading
UPDATE posts SET views = views + 1 WHERE id = 1;
LOCK TABLES posts READ, hits WRITE;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UNLOCK TABLES;

== LOCK TABLES, the same name twice
LOCK TABLES posts READ, posts READ;
LOCK TABLES posts AS p READ, posts AS p WRITE;
LOCK TABLES posts READ, posts WRITE;
UNLOCK TABLES;

== FLUSH TABLES of named tables WITH READ LOCK
UPDATE posts SET views = views + 1 WHERE id = 1;
FLUSH TABLES posts WITH READ LOCK;
SELECT views FROM posts WHERE id = 1;
SELECT id, views FROM posts ORDER BY views, id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 1;
UPDATE posts SET title = 'x' WHERE id = 1;
DELETE FROM posts;
TRUNCATE TABLE posts;
ALTER TABLE posts ADD COLUMN x INT;
SELECT * FROM authors;
UPDATE hits SET n = n + 1;
SELECT n FROM hits;
FLUSH TABLES posts WITH READ LOCK;
SELECT p.views FROM posts p;
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
FLUSH LOCAL TABLES posts, authors WITH READ LOCK;
SELECT posts.id, posts.views, authors.name FROM posts JOIN authors ON authors.id = posts.author_id ORDER BY posts.id;
BEGIN;
UPDATE posts SET views = views * 2 WHERE id = 1;
ROLLBACK;
SELECT id, views FROM posts ORDER BY id;

== FLUSH TABLES of others, and for export
FLUSH TABLES authors WITH READ LOCK;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = 7 WHERE id = 1;
UPDATE authors SET name = 'x';
SELECT name FROM authors ORDER BY id;
UNLOCK TABLES;
UPDATE posts SET views = views + 1 WHERE id = 1;
FLUSH TABLES nosuch WITH READ LOCK;
FLUSH TABLES posts, nosuch WITH READ LOCK;
UPDATE posts SET views = views + 1 WHERE id = 1;
FLUSH TABLES posts WITH READ LOCK nonsense;
UPDATE posts SET views = views + 1 WHERE id = 1;
FLUSH TABLES posts FOR EXPORT;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = 7 WHERE id = 1;
TRUNCATE TABLE posts;
UNLOCK TABLES;
SELECT id, views FROM posts ORDER BY id;

== a fold locks the rows of its statement, and no more
\connection b
BEGIN;
INSERT INTO posts (id, author_id, title, views) VALUES (1, 1, 'x', 1) ON DUPLICATE KEY UPDATE views = views * 2;
\connection a
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
SELECT views FROM posts WHERE id = 10 FOR UPDATE NOWAIT;
\connection b
ROLLBACK;
BEGIN;
UPDATE posts SET views = views * 2 WHERE id IN (1, 2);
\connection a
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection b
ROLLBACK;
BEGIN;
REPLACE INTO posts (id, author_id, title, views) VALUES (1, 1, 'second', 1);
\connection a
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection b
ROLLBACK;
BEGIN;
DELETE FROM posts WHERE id = 2 OR id = 3;
\connection a
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection b
ROLLBACK;
BEGIN;
UPDATE posts SET views = views * 2 WHERE (id, author_id) = (1, 1);
\connection a
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection b
ROLLBACK;
BEGIN;
SELECT views FROM posts WHERE id = 3;
UPDATE posts SET title = 'x' WHERE (id, author_id) = (1, 1);
\connection a
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection b
ROLLBACK;

== SKIP LOCKED makes no snapshot
BEGIN;
SELECT id FROM posts WHERE id = 1 FOR UPDATE SKIP LOCKED;
\connection b
UPDATE posts SET title = 'new', views = views + 1 WHERE id = 2;
\connection a
SELECT id, title, views FROM posts ORDER BY id;
COMMIT;

== SKIP LOCKED sees slots that are younger than the snapshot
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection b
INSERT INTO posts (id, author_id, title) VALUES (77, 1, 'later');
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 3;
UPDATE posts SET views = views + 1 WHERE id = 77;
COMMIT;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 3;
UPDATE posts SET views = views + 1 WHERE id = 77;
\connection a
SELECT id, views FROM posts WHERE id > 2 ORDER BY id FOR UPDATE SKIP LOCKED;
[mariadb] SELECT id FROM posts ORDER BY id LOCK IN SHARE MODE SKIP LOCKED;
[mysql] SELECT id, views FROM posts ORDER BY id FOR SHARE SKIP LOCKED;
COMMIT;
\connection b
ROLLBACK;

== the first increment of a row is locked against sharing
INSERT INTO posts (id, author_id, title) VALUES (77, 1, 'new'), (78, 1, 'newer');
\connection b
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 77;
\connection a
[mariadb] SELECT id FROM posts ORDER BY id LOCK IN SHARE MODE SKIP LOCKED;
[mysql] SELECT id FROM posts ORDER BY id FOR SHARE SKIP LOCKED;
[mysql] SELECT id, views FROM posts WHERE id = ? FOR SHARE SKIP LOCKED; <- 77
[mysql] SELECT id, views FROM posts WHERE id = ? FOR SHARE SKIP LOCKED; <- 78
SELECT id, views FROM posts ORDER BY id DESC LIMIT 1 FOR UPDATE SKIP LOCKED;
\connection b
ROLLBACK;

== SKIP LOCKED waits for nobody at SERIALIZABLE
\connection b
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
\connection a
SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
BEGIN;
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
SELECT id FROM posts WHERE author_id = 1 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
COMMIT;
\connection b
ROLLBACK;

== rows that are copied within their table are locked alone
BEGIN;
SELECT views FROM posts WHERE id = 1;
[direct] INSERT INTO posts (id, author_id, title, views) SELECT id + 500, author_id, CONCAT(title, id), views FROM posts WHERE id < 3;
\connection b
BEGIN;
SELECT id FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
SELECT COUNT(*), SUM(score) FROM posts FOR UPDATE SKIP LOCKED;
ROLLBACK;
\connection a
SELECT id, views FROM posts ORDER BY id;
ROLLBACK;

# The proxy sets a savepoint before it folds in a transaction that may have a snapshot. If no table has been used before,
# ROLLBACK TO SAVEPOINT would release the locks of the client's statement.
== locks after a statement without a table
\connection a
BEGIN;
SELECT 1;
SELECT views FROM posts WHERE id = 3 FOR UPDATE;
\connection b
SELECT id FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection a
COMMIT;
BEGIN;
DO 1;
UPDATE posts SET likes = likes * 1 WHERE id = 3;
\connection b
SELECT id FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection a
COMMIT;
BEGIN;
SELECT 1;
UPDATE posts SET likes = likes - 1000 WHERE id = 1;
\connection b
SELECT id FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection a
COMMIT;

== locks after a statement without a table, of rows whose slots are folded
\connection a
BEGIN;
SELECT 1;
SELECT views, likes, score FROM posts WHERE id = 1 FOR UPDATE;
\connection b
SELECT id, views FROM posts ORDER BY id FOR UPDATE SKIP LOCKED;
\connection a
UPDATE posts SET views = 1000 WHERE id = 1;
COMMIT;
SELECT id, views FROM posts ORDER BY id;
