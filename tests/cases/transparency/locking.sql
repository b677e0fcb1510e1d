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
