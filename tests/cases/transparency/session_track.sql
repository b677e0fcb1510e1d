# What OK packets tell of the session, where the client has asked for it.

== the state of transactions
SET SESSION session_track_transaction_info = 'STATE';
UPDATE posts SET views = views * 2 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
# MariaDB sets a flag in the EOF of old when a change is due that the client cannot be told; ours may be among them.
[mysql] SELECT views FROM posts WHERE id = 1;
[mysql] SELECT views FROM posts /*! WHERE id = 1 */;
DELETE FROM posts WHERE id = 4;
UPDATE posts SET views = views * 2 WHERE id = 99;
UPDATE posts SET id = 2 WHERE id = 1;
INSERT INTO authors (id, name) VALUES (9, 'x');
UPDATE posts SET views = views * 2 WHERE id = 1;
DO 0;
DELETE FROM authors WHERE id = 9;
BEGIN;
SELECT name FROM authors WHERE id = 1;
UPDATE authors SET followers = followers + 1 WHERE id = 1;
COMMIT;
SELECT views FROM posts WHERE id = 1;

== the characteristics of transactions
SET SESSION session_track_transaction_info = 'CHARACTERISTICS';
UPDATE posts SET views = views * 2 WHERE id = 1;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
UPDATE posts SET views = views * 2 WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 1;
SET TRANSACTION READ ONLY;
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
UPDATE posts SET views = views + 1 WHERE id = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
UPDATE posts SET views = views * 2 WHERE id = 1;
START TRANSACTION READ ONLY;
SELECT author_id FROM posts WHERE id = 1;
COMMIT;
UPDATE posts SET views = views * 2 WHERE id = 1;

== schema and variables
SET SESSION session_track_schema = ON, session_track_system_variables = 'sql_safe_updates,character_set_client,autocommit', session_track_state_change = ON;
USE {schema};
UPDATE posts SET views = views * 2 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SET sql_safe_updates = 1;
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT views FROM posts /*! WHERE id = 1 */;
UPDATE posts SET views = views + 1 WHERE id = 1;
USE information_schema;
UPDATE {schema}.posts SET views = views * 2 WHERE id = 1;
SET NAMES latin1;
UPDATE {schema}.posts SET views = views * 2 WHERE id = 1;
SELECT views FROM {schema}.posts WHERE id = 1;

== a transaction that ends without a word
BEGIN;
[direct] CHECK TABLE posts;
UPDATE hits SET n = 5 WHERE path = '/';
BEGIN;
[direct] CHECK TABLE posts;
UPDATE hits SET n = n + 1 WHERE path = '/';
BEGIN;
[direct] CHECK TABLE posts;
SELECT n FROM hits WHERE path = '/';
UPDATE hits SET n = 7 WHERE path = '/';

== a transaction whose end comes with an error [fresh]
SET SESSION TRANSACTION READ ONLY;
START TRANSACTION READ ONLY;
UPDATE posts SET views = views + 1 WHERE id = 2;
ALTER TABLE posts RENAME TO renamed;
SELECT id, views FROM posts ORDER BY id;
DO 1;
START TRANSACTION READ ONLY;
SELECT name FROM authors WHERE id = 1;
ALTER TABLE posts RENAME TO renamed;
DO 1;
START TRANSACTION READ ONLY;
SELECT name FROM authors WHERE id = 1;
ALTER TABLE posts RENAME TO renamed;
[direct] PREPARE p FROM 'SELECT 1';
START TRANSACTION READ ONLY;
ALTER TABLE posts RENAME TO renamed;
UPDATE posts SET views = views + 1 WHERE id = 2;
DO 1;
\prepare early: SELECT name FROM authors WHERE id = 1
START TRANSACTION READ ONLY;
SELECT name FROM authors WHERE id = 1;
ALTER TABLE posts RENAME TO renamed;
\close early
DO 1;
SET SESSION TRANSACTION READ WRITE;
BEGIN;
SELECT name FROM authors WHERE id = 1;
ALTER TABLE posts DROP COLUMN nothing;
UPDATE posts SET views = views + 1 WHERE id = 2;
UPDATE posts SET views = views * 2 WHERE id = 2;

== the state of the client's own transactions
SET SESSION session_track_transaction_info = 'STATE';
BEGIN;
UPDATE posts SET views = views * 2 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
INSERT INTO authors (id, name) VALUES (8, 'y');
UPDATE posts SET likes = 5 WHERE id = 1;
COMMIT;
BEGIN;
SELECT name FROM authors WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE authors SET name = 'z' WHERE id = 8;
ROLLBACK;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DO 1;
SELECT name FROM authors WHERE id = 1;
DO 1;
DELETE FROM authors WHERE id = 8;
COMMIT;
BEGIN;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
DO 1;
UPDATE posts SET views = 100 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DO 1;
COMMIT;
BEGIN;
UPDATE posts SET views = views * 2 WHERE id = 1;
SAVEPOINT s;
SELECT 1;
DO 1;
ROLLBACK TO SAVEPOINT s;
INSERT INTO tallies (id, views) SELECT id, likes FROM posts WHERE id = 99;
COMMIT;
BEGIN;
UPDATE posts SET views = views * 2 WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
START TRANSACTION READ ONLY;
SELECT views FROM posts WHERE id = 1;
DO 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
DO 1;
COMMIT;
SET autocommit = 0;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DO 1;
COMMIT;
INSERT INTO posts (id, author_id, title) VALUES (55, 1, 'x') ON DUPLICATE KEY UPDATE views = views + 1;
REPLACE INTO posts (id, author_id, title) VALUES (55, 1, 'y');
DELETE FROM posts WHERE id = 55;
COMMIT;
SET autocommit = 1;

== the state of transactions, where it is not asked for
BEGIN;
UPDATE posts SET views = views * 2 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DO 1;
SELECT views FROM posts WHERE id = 1 FOR UPDATE;
COMMIT;
DO 1;
BEGIN;
SELECT name FROM authors WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
INSERT INTO authors (id, name) VALUES (1, 'again');
UPDATE posts SET views = views * 2 WHERE id = 1;
ROLLBACK;

== the state of transactions and statements that fail
SET SESSION session_track_transaction_info = 'STATE';
BEGIN;
UPDATE posts SET views = views * 2 WHERE id = 1;
INSERT INTO authors (id, name) VALUES (1, 'again');
DO 1;
UPDATE posts SET nothing = 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
ROLLBACK;
BEGIN;
INSERT INTO authors (id, name) VALUES (1, 'again');
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM nosuch;
SELECT views FROM posts WHERE id = 1;
DO 1;
COMMIT;

== the state of a transaction with a snapshot, behind a fold
SET SESSION session_track_transaction_info = 'STATE';
BEGIN;
UPDATE posts SET views = 7 WHERE id = 404;
START TRANSACTION WITH CONSISTENT SNAPSHOT;
UPDATE posts SET views = 7 WHERE title = 'none';
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;
COMMIT;
LOCK TABLES prices WRITE;
BEGIN;
[direct] UNLOCK TABLES;
UPDATE daily SET n = ?; <- 1.5
START TRANSACTION WITH CONSISTENT SNAPSHOT;
COMMIT;

== the state of a transaction, after a variable of more than 4 KiB
SET SESSION group_concat_max_len = 100000;
[mysql] SET @names = (SELECT GROUP_CONCAT(variable_name ORDER BY variable_name) FROM performance_schema.session_variables WHERE variable_name NOT LIKE '%_id');
[mariadb] SET @names = (SELECT GROUP_CONCAT(variable_name ORDER BY variable_name) FROM information_schema.session_variables WHERE variable_name NOT LIKE '%_id');
SET SESSION session_track_transaction_info = 'STATE', session_track_system_variables = 'session_track_system_variables';
BEGIN;
# An EOF packet of old does not tell of it, so the next OK does.
SELECT name FROM authors WHERE id = 1;
SET SESSION session_track_system_variables = @names;
UPDATE posts SET views = views + 1 WHERE id = 1;
DO 1;
COMMIT;

== the state of a transaction that SET and DO read in
[direct] SET SESSION session_track_transaction_info = 'STATE';
BEGIN;
SET SESSION sort_buffer_size = (SELECT views * 1000 + 100000 FROM posts WHERE id = 1);
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
BEGIN;
SET @x = (SELECT views FROM posts WHERE id = 1);
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
BEGIN;
SET @x = (SELECT id FROM authors LIMIT 1);
UPDATE posts SET views = views + 1 WHERE id = 1;
COMMIT;
BEGIN;
DO (SELECT views FROM posts WHERE id = 1);
COMMIT;
BEGIN;
SET @x = 5;
SELECT 1;
COMMIT;
