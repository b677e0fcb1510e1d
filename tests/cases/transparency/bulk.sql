# MariaDB's COM_STMT_BULK_EXECUTE: one statement, many rows of parameters.

== increments in bulk [mariadb] [prepared]
\prepare a: UPDATE posts SET views = views + ? WHERE id = ?
UPDATE posts SET views = views + 10 WHERE id = 2;
UPDATE posts SET views = views + 10 WHERE id = 3;
\bulk a <- 1, 1; 2, 2; 3, 1; 4, 99
\bulk a again <- 5, 2; 6, 3
\bulk a <- 1l, 1l; NULL, 99l; 2l, NULL; 0l, 1l
\bulk a <- '1', '2'; 'x', '1'
\bulk a <- 1, 1; 2147483647, 2; 1, 3
SHOW WARNINGS;
\execute a again <- 7, 1
\execute a <- 8, 2
\bulk a <- 1.5, 1; 2.5, 2
\bulk a <- 1e0, 1; 2e0, 2
\bulk a <- 5, 1; DEFAULT, 2
\bulk a <- 5, 1; IGNORE, 2
\bulk a <- 5, DEFAULT; 1, 2
SELECT id, views FROM posts ORDER BY id;

== increments in bulk in a transaction [mariadb] [prepared]
UPDATE posts SET views = views + 10 WHERE id = 2;
UPDATE posts SET views = views + 10 WHERE id = 3;
\prepare a: UPDATE posts SET views = views + ? WHERE id = ?
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection b
UPDATE posts SET views = views + 100 WHERE id IN (1, 2, 3);
\connection a
\bulk a <- 1, 1; 2, 2; 4, 99
SELECT id, views FROM posts ORDER BY id;
\bulk a <- 1, 77; 1, 78
SELECT id, views FROM posts ORDER BY id;
\bulk a <- 1, 3; 2147483647, 1
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;
BEGIN;
\bulk a <- 1, 1; 2, 2
UPDATE posts SET views = views + 1 WHERE id = 2;
ROLLBACK;
SELECT id, views FROM posts ORDER BY id;

== absolute values in bulk in a transaction, of rows that stay as they are [mariadb] [prepared]
UPDATE posts SET views = views + 10 WHERE id = 2;
UPDATE posts SET views = views + 10 WHERE id = 1;
\prepare a: UPDATE posts SET views = ? WHERE id = ?
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection b
UPDATE posts SET views = 50 WHERE id = 2;
UPDATE posts SET views = views + 1 WHERE id = 2;
UPDATE posts SET views = views + 1 WHERE id = 1;
\connection a
\bulk a <- 51, 2; 51, 2
SELECT id, views FROM posts ORDER BY id;
\bulk a <- 7, 1; 8, 1
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a bulk execution that fails in the middle, in a transaction [mariadb] [prepared]
UPDATE posts SET views = views + 10 WHERE id = 2;
UPDATE posts SET views = views + 10 WHERE id = 1;
\prepare a: UPDATE posts SET views = ? WHERE id = ?
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection b
UPDATE posts SET views = views + 1 WHERE id IN (1, 2);
\connection a
\bulk a <- NULL, 2; 7, 1
SHOW WARNINGS;
SELECT id, views FROM posts ORDER BY id;
\bulk a <- 5, 2; 6, 2; NULL, 2; 7, 99
SHOW WARNINGS;
SELECT id, views FROM posts ORDER BY id;
ROLLBACK;
SELECT id, views FROM posts ORDER BY id;

== upserts in bulk [mariadb] [prepared]
\prepare a: INSERT INTO hits (path, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + 1
UPDATE hits SET n = n + 5 WHERE path = '/';
\bulk a <- '/', 1; '/new', 2; '/', 3; '/new', 4
\bulk a <- '/', DEFAULT; '/newer', DEFAULT
\bulk a <- '/', IGNORE
\bulk a <- '/NEWER', 1; NULL, 2; '/', 3
SHOW WARNINGS;
SELECT * FROM hits ORDER BY path;
BEGIN;
\bulk a <- '/', 1; '/newest', 2
SELECT * FROM hits ORDER BY path;
COMMIT;
SELECT * FROM hits ORDER BY path;

== other rows in bulk [mariadb] [prepared]
\prepare a: INSERT INTO posts (id, author_id, title, views) VALUES (?, 1, ?, ?)
UPDATE posts SET views = views + 5 WHERE id = 2;
\bulk a <- 71, 'a', 1; 72, 'b', DEFAULT
\bulk a <- 73, 'c', 1; 2, 'd', 1; 74, 'e', 1
\bulk a <- 75, 'c', 1; 76, 'c', 1; 77, 'f', 1
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\bulk a <- 81, 'k', 1; 82, 'l', 2
UPDATE posts SET views = views + 1 WHERE id = 81;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, title, views FROM posts ORDER BY id;
\prepare b: UPDATE posts SET title = ? WHERE id = ?
\bulk b <- 'x', 2; 'y', 71
BEGIN;
\bulk b <- 'z', 2; 'w', 72
SELECT id, title, views FROM posts ORDER BY id;
COMMIT;
\prepare c: DELETE FROM posts WHERE id = ?
\bulk c <- 71; 2; 99
\prepare d: REPLACE INTO posts (id, author_id, title, views) VALUES (?, 1, ?, ?)
\bulk d <- 1, 'p', 1; 3, 'q', 2; 91, 'p', 7
SELECT id, title, views FROM posts ORDER BY id;
\prepare e: SELECT views FROM posts WHERE id = ?
\bulk e <- 1; 2
START TRANSACTION READ ONLY;
SELECT views FROM posts WHERE id = 3;
\bulk e <- 3; 3
\execute e <- 3
COMMIT;
\prepare f: UPDATE posts SET views = 0, title = ? WHERE title = ?
UPDATE posts SET views = views + 5 WHERE id IN (3, 72);
\bulk f <- 'one', 'q'; 'two', 'one'; 'q', 'w'; 'q', 'none'
SELECT id, title, views FROM posts ORDER BY id;
\prepare g: UPDATE posts SET views = views + 1
\bulk g <- 1; 2
\bulk nothing <- 1; 2
\ping

== malformed bulk executions [mariadb] [prepared]
\prepare a: UPDATE posts SET views = views + ? WHERE id = ?
UPDATE posts SET views = views + 5 WHERE id = 1;
\raw fa ff ff ff ff 80 00 08 00 08 00 00 01 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00
\raw fa ff ff ff ff 80 00 08 00 08 00 00 01 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00
\raw fa ff ff ff ff 80 00 08 00 08 00 00 01 00 00 00 00 00 00 00
\raw fa ff ff ff ff 80 00 08 00 08 00 00 01
\raw fa ff ff ff ff 80 00 08 00
\raw fa ff ff ff ff 80 00
\raw fa ff ff ff ff 00 00
\raw fa ff ff ff ff 00 00 01 01
\raw fa ff ff ff ff 00 00 00 01 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00
\raw fa ff ff ff ff 40 00 00 01 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00
\execute a again <- 1, 2
SELECT id, views FROM posts ORDER BY id;

== bulk executions under LOCK TABLES [mariadb] [prepared]
\prepare a: UPDATE posts SET views = views + ? WHERE id = ?
UPDATE posts SET views = views + 5 WHERE id = 1;
[direct] LOCK TABLES posts WRITE;
\bulk a <- 1, 1; 2, 2
SELECT id, views FROM posts ORDER BY id;
SELECT * FROM hits;
[direct] UNLOCK TABLES;
SELECT id, views FROM posts ORDER BY id;

== a bulk execution for a server that may not know the command [prepared]
\prepare a: UPDATE posts SET views = views + ? WHERE id = ?
UPDATE posts SET views = views + 5 WHERE id = 1;
\bulk a <- 1, 1; 2, 2
\execute a <- 3, 1
\ping
SELECT id, views FROM posts ORDER BY id;
