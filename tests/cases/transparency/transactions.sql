# Transactions: own increments, rollbacks, savepoints, autocommit.

== committed
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 2;
UPDATE hits SET n = n + 1 WHERE path = '/';
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== rolled back
START TRANSACTION;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE author_id = 2;
ROLLBACK;
SELECT id, views FROM posts ORDER BY id;

== reads its own increments
BEGIN;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 10 WHERE id = 3;
SELECT SUM(views) FROM posts;
SELECT p.views, a.name FROM posts p JOIN authors a ON a.id = p.author_id ORDER BY p.id;
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts ORDER BY id;
COMMIT;
SELECT * FROM posts ORDER BY id;

== reads its own increments and rolls back
BEGIN;
UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 3;
SELECT views, likes FROM posts WHERE id = 3;
UPDATE posts SET views = 0 WHERE id = 1;
SELECT views FROM posts WHERE id IN (1, 3) ORDER BY id;
DELETE FROM posts WHERE id = 3;
SELECT id FROM posts ORDER BY id;
ROLLBACK;
SELECT * FROM posts ORDER BY id;

== savepoints
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
SAVEPOINT one;
UPDATE posts SET views = views + 10 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SAVEPOINT two;
UPDATE posts SET views = 0 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
ROLLBACK TO SAVEPOINT two;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 3 WHERE id = 1;
ROLLBACK TO one;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 5 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
RELEASE SAVEPOINT one;
ROLLBACK TO one;
COMMIT;
SELECT views FROM posts WHERE id = 1;

== a fold is rolled back to a savepoint
BEGIN;
SAVEPOINT a;
UPDATE posts SET views = views * 2 WHERE id = 1;
ROLLBACK TO SAVEPOINT a;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 3;
COMMIT;
SELECT views FROM posts WHERE id IN (1, 3) ORDER BY id;

== autocommit off
SET autocommit = 0;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
ROLLBACK;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 2 WHERE id = 1;
COMMIT;
UPDATE posts SET views = 9 WHERE id = 2;
SET autocommit = 1;
SELECT views FROM posts WHERE id IN (1, 2) ORDER BY id;
\reset
SELECT views FROM posts WHERE id IN (1, 2) ORDER BY id;

== commits that are implied
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SET autocommit = 1;
ROLLBACK;
SELECT views FROM posts WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
CREATE TEMPORARY TABLE nothing (a INT);
ROLLBACK;
SELECT views FROM posts WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
FLUSH TABLES posts;
ROLLBACK;
SELECT views FROM posts WHERE id = 1;

== chained
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT AND CHAIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
ROLLBACK AND CHAIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
SELECT views FROM posts WHERE id = 1;
SET completion_type = CHAIN;
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
ROLLBACK;
SELECT views FROM posts WHERE id = 1;
COMMIT AND NO CHAIN;
SET completion_type = 0;

== isolation levels
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
COMMIT;
SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
BEGIN;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT views FROM posts WHERE id = 1;
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SET TRANSACTION READ ONLY;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;

== a characteristic for the next transaction is not used up
SET TRANSACTION READ ONLY;
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SET TRANSACTION READ ONLY;
SELECT views FROM posts WHERE id = 1;
SET TRANSACTION READ ONLY;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = 0 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
COMMIT;

== read only
START TRANSACTION READ ONLY;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
DELETE FROM posts WHERE id = 1;
SELECT SUM(views) FROM posts;
COMMIT;
START TRANSACTION WITH CONSISTENT SNAPSHOT;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
SELECT views FROM posts WHERE id = 1;
SET SESSION TRANSACTION READ ONLY;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = 0 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;

== a failed statement leaves the transaction open
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'duplicate');
SELECT nothing FROM posts;
UPDATE widths SET c16 = c16 + 1 WHERE id = 2;
UPDATE widths SET c16 = c16 + 30000 WHERE id = 2;
SELECT views FROM posts WHERE id = 1;
COMMIT;
SELECT views FROM posts WHERE id = 1;
SELECT c16 FROM widths ORDER BY id;

== the snapshot of a reader
\connection b
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection a
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET likes = 0 WHERE id = 1;
\connection b
SELECT views, likes FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
COMMIT;
SELECT views, likes FROM posts WHERE id = 1;

== nothing uncommitted is seen
\connection b
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 2;
\connection a
SELECT id, views FROM posts ORDER BY id;
\connection b
COMMIT;
\connection a
SELECT id, views FROM posts ORDER BY id;

== ended by a reset
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
\reset
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;

== XA
XA START 'cs';
UPDATE posts SET views = views + 1 WHERE id = 1;
XA END 'cs';
XA ROLLBACK 'cs';
SELECT views FROM posts WHERE id = 1;
XA START 'cs';
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
XA END 'cs';
UPDATE posts SET views = views + 1 WHERE id = 1;
XA PREPARE 'cs';
XA COMMIT 'cs';
SELECT views FROM posts WHERE id = 1;

== READ ONLY for the next transaction outlives what it refuses
SET TRANSACTION READ ONLY;
UPDATE posts SET views = views * 2 WHERE id = 1;
UPDATE posts SET views = 0 WHERE id = 1;
DELETE FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
INSERT INTO tallies (id) VALUES (50);
SET @a = 5;
INSERT INTO tallies (id) VALUES (51);
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 1;
INSERT INTO tallies (id) VALUES (52);
[mysql] SET @@transaction_read_only = 1;
[mariadb] SET @@tx_read_only = 1;
REPLACE INTO posts (id, author_id, title) VALUES (1, 1, 'new');
SELECT 1;
REPLACE INTO posts (id, author_id, title) VALUES (1, 1, 'new');
BEGIN;
INSERT INTO tallies (id) VALUES (53);
COMMIT;
INSERT INTO tallies (id) VALUES (53);
SET TRANSACTION READ ONLY;
PREPARE s FROM 'UPDATE posts SET views = views * 2 WHERE id = 1';
EXECUTE s;
EXECUTE s;
SET TRANSACTION READ WRITE;
EXECUTE s;
SELECT id, views FROM posts ORDER BY id;

== reads that are folded for, READ ONLY
SET SESSION TRANSACTION READ ONLY;
SELECT views FROM posts /*! WHERE id = 1 */;
DO (SELECT MAX(views) FROM posts);
SET @v = (SELECT views FROM posts WHERE id = 1);
SELECT @v;
UPDATE posts SET views = views * 2 WHERE id = 1;
INSERT INTO tallies (id) VALUES (50);
SET SESSION TRANSACTION READ WRITE;
SET TRANSACTION READ ONLY;
SELECT views FROM posts /*! WHERE id = 1 */;
INSERT INTO tallies (id) VALUES (50);

== an isolation level for the next transaction is used up once
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
UPDATE posts SET views = views * 2 WHERE id = 1;
BEGIN;
SELECT author_id FROM posts WHERE id = 2;
\connection b
SELECT author_id FROM posts WHERE id = 2 FOR UPDATE NOWAIT;
\connection a
ROLLBACK;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
UPDATE posts SET views = views * 2 WHERE nothing = 1;
BEGIN;
SELECT author_id FROM posts WHERE id = 2;
\connection b
SELECT author_id FROM posts WHERE id = 2 FOR UPDATE NOWAIT;
\connection a
ROLLBACK;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET TRANSACTION READ ONLY;
UPDATE posts SET views = views * 2 WHERE id = 1;
SET TRANSACTION READ WRITE;
UPDATE widths SET c16 = c16 * 30000 WHERE id = 1;
BEGIN;
SELECT author_id FROM posts WHERE id = 2;
\connection b
SELECT author_id FROM posts WHERE id = 2 FOR UPDATE NOWAIT;
\connection a
ROLLBACK;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET TRANSACTION READ ONLY;
DELETE FROM posts WHERE id = 1;
SET TRANSACTION READ WRITE;
BEGIN;
SELECT author_id FROM posts WHERE id = 2;
\connection b
SELECT author_id FROM posts WHERE id = 2 FOR UPDATE NOWAIT;
\connection a
ROLLBACK;

== LOCK TABLES ends a transaction that has folded, with autocommit off
[direct] SET autocommit = 0;
UPDATE posts SET likes = 5 WHERE id = 2;
[direct] LOCK TABLES posts READ;
[direct] SELECT views, likes FROM posts ORDER BY id;
[direct] UNLOCK TABLES;
UPDATE posts SET views = views + 1 WHERE id = 2;
SELECT views FROM posts WHERE id = 2;
ROLLBACK;
SELECT views, likes FROM posts ORDER BY id;

== a fold whose predicate raises warnings, and reads behind it
START TRANSACTION;
UPDATE IGNORE hits SET n = 3 WHERE path = 5;
SELECT path, n FROM hits ORDER BY path;
UPDATE hits SET n = n + 1 WHERE path = '5';
SELECT path, n FROM hits WHERE path = '5';
ROLLBACK;

== BEGIN in a transaction that has failed
START TRANSACTION;
UPDATE posts SET views = views + 1 WHERE id = 2;
UPDATE posts SET score = 'x' WHERE id = 2;
START TRANSACTION READ ONLY;
SELECT views FROM posts WHERE id = 10 UNION ALL SELECT score FROM posts WHERE id = '2';
COMMIT AND CHAIN;
SELECT views, score FROM posts WHERE id = 2;
COMMIT;

== a row that comes while a READ COMMITTED transaction writes to it
[direct] SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
UPDATE posts SET views = 3 WHERE id = 77;
SELECT id, views FROM posts ORDER BY id;
\connection b
INSERT INTO posts (id, author_id, title, views) VALUES (77, 1, 'new', 5);
UPDATE posts SET views = views + 5 WHERE id = 77;
\connection a
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET views = 3 WHERE id = 77;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== a block of ORACLE mode in a transaction that has folded
[mariadb] [direct] SET sql_mode = 'ORACLE';
START TRANSACTION;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 1;
[mariadb] [direct] BEGIN UPDATE posts SET views = views * 2 WHERE id = 1; END;
SELECT views FROM posts WHERE id = 1;
ROLLBACK;
SELECT views FROM posts WHERE id = 1;

== a statement that is refused for its text opens no transaction
[direct] UPDATE posts SET views = views + 1 WHERE id = 3;
SET autocommit = 0;
[direct] SELECT likes FROM posts WHERE id = 3.0 UNION SELECT 1 FOR UPDATE WAIT 1;
[direct] SHOW ERRORS;
[direct] SELECT likes FROM posts WHERE id = 3 UNION SELECT 1 FOR UPDATE OF nothing WAIT 1;
[direct] SHOW ERRORS;
[direct] UPDATE posts SET views = 2 * views, nothing = 1 WHERE id = 3;
[direct] SHOW ERRORS;
[direct] UPDATE posts SET views = 2 * views WHERE id = 3 AND nothing = 1;
[direct] UPDATE posts SET title = 'x', nothing = 1 WHERE author_id = 1;
[direct] DELETE FROM posts WHERE nothing = 1;
[direct] INSERT INTO posts (id, author_id) SELECT nothing, 1 FROM posts;
[direct] UPDATE posts SET views = views * 2 WHERE id = 3; SELECT views FROM posts WHERE id = 3; -- done;
[direct] SELECT views FROM posts WHERE id = 3 FOR UPDATE OF nothing;
[direct] SHOW ERRORS;
COMMIT;

== and locks nothing in an open one
[direct] UPDATE posts SET views = views + 1 WHERE id = 3;
BEGIN;
[direct] SELECT views FROM posts WHERE id = 3 FOR UPDATE OF nothing;
[direct] UPDATE posts SET views = 2 * views, nothing = 1 WHERE id = 3;
[direct] UPDATE posts SET title = 'x', nothing = 1 WHERE author_id = 1;
\connection b
[direct] SET innodb_lock_wait_timeout = 5;
[direct] SELECT id FROM posts FOR UPDATE;
\connection a
ROLLBACK;

== its own error comes before that of a READ ONLY transaction
[direct] UPDATE posts SET views = views + 1 WHERE id = 3;
START TRANSACTION READ ONLY;
[direct] UPDATE posts SET views = 2 * views, nothing = 1 WHERE id = 3;
[direct] SHOW ERRORS;
[direct] DELETE FROM posts WHERE nothing = 1;
[direct] SHOW ERRORS;
ROLLBACK;
SET SESSION TRANSACTION READ ONLY;
[direct] UPDATE posts SET views = 2 * views, nothing = 1 WHERE id = 3;
[direct] SHOW ERRORS;
[direct] SELECT views FROM posts WHERE id = 3 FOR UPDATE OF nothing;
[direct] SHOW ERRORS;

== what is set for the next transaction outlives writes that are refused
SET TRANSACTION READ ONLY;
UPDATE posts SET author_id = 3 WHERE id = 77;
UPDATE posts SET score = score + 2 + 1 WHERE id IN (77, 3);
UPDATE posts SET score = score + 1 WHERE id = 3;
SELECT nobody FROM posts;
UPDATE posts SET author_id = 3 WHERE id = 1;
SELECT score FROM posts WHERE id = 3;
UPDATE posts SET score = score + 1 WHERE id = 3;
SET TRANSACTION READ ONLY;
DELETE FROM tallies WHERE id = 1;
UPDATE posts SET score = score * 2 WHERE id = 3;
PREPARE s FROM 'UPDATE posts SET score = score * 2 WHERE id = 3';
EXECUTE s;
EXECUTE s;
UPDATE posts SET author_id = 3 WHERE id = 77;UPDATE posts SET score = score + 2 + 1 WHERE id IN (77, 3) # done;
UPDATE posts SET score = score + 1 WHERE id = 3 AND EXISTS (SELECT 1 FROM authors WHERE authors.id = author_id);
SELECT * FROM posts ORDER BY id;

== what is set for the next transaction outlives questions about messages
SET TRANSACTION READ ONLY;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
SHOW WARNINGS;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
SHOW COUNT(*) WARNINGS;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
SHOW ERRORS LIMIT 1;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
SET completion_type = 0;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
SELECT @@warning_count;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
UPDATE tallies SET views = 5 WHERE id = 1;
SELECT score FROM posts WHERE id = 1;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;

== what is set for the session replaces its like for the next transaction alone
SET TRANSACTION READ ONLY;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
START TRANSACTION;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
COMMIT;
SET TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE;
SET LOCAL TRANSACTION READ WRITE;
UPDATE posts SET score = score * 2, author_id = 3 WHERE id = 1;
SELECT score FROM posts WHERE id = 1;
SET SESSION TRANSACTION READ ONLY;
SET TRANSACTION READ WRITE;
UPDATE posts SET nobody = 3 WHERE score * 2 = id;
UPDATE posts SET score = score * 2 WHERE id = 1;
UPDATE posts SET score = score * 2 WHERE id = 1;

== what is set for one transaction outlasts a statement that is refused
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT replies FROM topics WHERE id = 7 FOR UPDATE OF posts;
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT author_id, MAX(views) FROM posts;
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT id FROM posts UNION SELECT id, views FROM posts;
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT views AS a FROM posts JOIN posts ON 1;
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT NOFUNC(views) FROM posts;
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT ABS(views, 1) FROM posts;
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT views FROM posts WINDOW w AS (w);
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT views FROM posts PARTITION (p0);
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SELECT views COLLATE nope FROM posts;
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
ALTER TABLE nothing ADD x INT;
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
CALL nope();
SELECT id FROM posts ORDER BY id FOR UPDATE;
BEGIN;
COMMIT;

== CREATE TABLE .. SELECT in transactions that may only read
START TRANSACTION READ ONLY;
CREATE TABLE copied SELECT id, views FROM posts;
SELECT * FROM copied ORDER BY id;
DROP TABLE IF EXISTS copied;
START TRANSACTION READ ONLY;
SELECT id, views FROM posts;
CREATE TABLE copied AS SELECT id, views FROM posts WHERE id < 3;
SELECT * FROM copied ORDER BY id;
[direct] SHOW WARNINGS;
DROP TABLE IF EXISTS copied;
SET SESSION TRANSACTION READ ONLY;
CREATE TABLE copied AS SELECT id, views FROM posts WHERE id < 3;
[cursorless] CREATE TEMPORARY TABLE copied AS SELECT id, views FROM posts WHERE id < 3;
SELECT * FROM copied ORDER BY id;
DROP TABLE IF EXISTS copied;
SET TRANSACTION READ ONLY;
CREATE TABLE copied AS SELECT id, views FROM posts WHERE id < 3;
SELECT * FROM copied ORDER BY id;
DROP TABLE IF EXISTS copied;
SET SESSION TRANSACTION READ WRITE;
DROP TABLE IF EXISTS copied;
