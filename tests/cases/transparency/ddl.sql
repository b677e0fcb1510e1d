# DDL on hot tables; schema and proxy are made anew after each session.

== TRUNCATE [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
TRUNCATE TABLE posts;
SELECT * FROM posts;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'first'), (3, 1, 'third');
SELECT * FROM posts ORDER BY id;
UPDATE posts SET views = views + 1;
SELECT * FROM posts ORDER BY id;
TRUNCATE hits;
SELECT COUNT(*) FROM hits;

== what else TRUNCATE tells and leaves [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
TRUNCATE TABLE posts;
SELECT ROW_COUNT();
SHOW WARNINGS;
DROP TABLE IF EXISTS hits, nothing;
BEGIN;
UPDATE authors SET followers = followers + 1 WHERE id = 1;
TRUNCATE posts nonsense;
SHOW WARNINGS;
ROLLBACK;
SELECT followers FROM authors WHERE id = 1;
START TRANSACTION READ ONLY;
TRUNCATE posts;
SELECT * FROM posts;
COMMIT;
SET autocommit = 0;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'first');
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts;
TRUNCATE posts;
ROLLBACK;
SELECT * FROM posts;
SET autocommit = 1;
SET sql_safe_updates = 1;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'first');
UPDATE posts SET views = views + 1 WHERE id = 1;
TRUNCATE posts;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'first');
SELECT views FROM posts;

== TRUNCATE where it is refused [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
FLUSH TABLES WITH READ LOCK;
TRUNCATE posts;
SHOW WARNINGS;
INSERT INTO authors (name) VALUES ('nobody');
UNLOCK TABLES;
LOCK TABLES posts READ;
TRUNCATE posts;
UNLOCK TABLES;
LOCK TABLES authors WRITE;
TRUNCATE posts;
UPDATE authors SET followers = followers + 1 WHERE id = 1;
UNLOCK TABLES;
LOCK TABLES posts WRITE;
UPDATE posts SET views = views + 1 WHERE id = 1;
TRUNCATE posts;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'first');
UNLOCK TABLES;
SELECT views FROM posts WHERE id = 1;
CREATE TABLE replies (id INT PRIMARY KEY, post_id INT NOT NULL, FOREIGN KEY (post_id) REFERENCES posts (id));
UPDATE posts SET views = views + 1 WHERE id = 1;
TRUNCATE posts;
SHOW WARNINGS;
SHOW ERRORS;
SELECT views FROM posts WHERE id = 1;
DROP TABLE posts;
SHOW WARNINGS;
SELECT views FROM posts WHERE id = 1;

== ALTER [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
ALTER TABLE posts ADD COLUMN extra INT NULL;
SELECT * FROM posts ORDER BY id;
UPDATE posts SET views = views + 1, extra = 5 WHERE id = 1;
SELECT * FROM posts ORDER BY id;
ALTER TABLE posts MODIFY views BIGINT NOT NULL DEFAULT 0;
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET views = views + 4294967296 WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;
CREATE INDEX by_views ON posts (views);
SELECT id FROM posts WHERE views > 99 ORDER BY id;
DROP INDEX by_views ON posts;
ALTER TABLE posts DROP COLUMN extra, COMMENT 'hot';
SELECT * FROM posts ORDER BY id;

== a counter is renamed [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
ALTER TABLE posts CHANGE views seen INT NOT NULL DEFAULT 0;
SELECT * FROM posts ORDER BY id;
UPDATE posts SET seen = seen + 1 WHERE id = 1;
SELECT seen FROM posts WHERE id = 1;

== DROP and CREATE [fresh]
UPDATE hits SET n = n + 1 WHERE path = '/';
DROP TABLE hits;
SELECT * FROM hits;
UPDATE hits SET n = n + 1 WHERE path = '/';
CREATE TABLE hits (path VARCHAR(60) NOT NULL PRIMARY KEY, day DATE NULL, n INT UNSIGNED NOT NULL DEFAULT 0) DEFAULT CHARSET = utf8mb4;
INSERT INTO hits (path) VALUES ('/');
SELECT * FROM hits;
UPDATE hits SET n = n + 1 WHERE path = '/';
SELECT * FROM hits;
DROP TABLE IF EXISTS hits, nothing;
DROP TABLE nothing;

== RENAME [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
RENAME TABLE posts TO old_posts;
SELECT * FROM old_posts ORDER BY id;
SELECT * FROM posts;
CREATE TABLE posts LIKE old_posts;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'first');
SELECT * FROM posts;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts;
RENAME TABLE posts TO new_posts, old_posts TO posts;
SELECT * FROM posts ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;

== DDL in a transaction [fresh]
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
ALTER TABLE posts ADD COLUMN extra INT NULL;
ROLLBACK;
SELECT * FROM posts ORDER BY id;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
TRUNCATE posts;
ROLLBACK;
SELECT * FROM posts;

== views and triggers [fresh]
CREATE VIEW authored AS SELECT a.name, a.followers FROM authors a;
SELECT * FROM authored ORDER BY name;
DROP VIEW authored;
CREATE TRIGGER new_comment AFTER INSERT ON comments FOR EACH ROW UPDATE authors SET followers = followers + 1 WHERE id = 1;
INSERT INTO comments (post_id, body) VALUES (1, 'x');
SELECT followers FROM authors ORDER BY id;

== the schema goes [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
CREATE TABLE extra (a INT);
DROP TABLE extra;
ALTER TABLE authors ADD COLUMN views INT NOT NULL DEFAULT 3;
SELECT * FROM authors ORDER BY id;
SELECT a.views, p.views FROM authors a JOIN posts p ON p.author_id = a.id ORDER BY p.id;
SELECT views FROM authors ORDER BY id;

== in a READ ONLY session [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
SET SESSION TRANSACTION READ ONLY;
RENAME TABLE posts TO old_posts;
SELECT views FROM old_posts WHERE id IN (1, 3) ORDER BY id;
RENAME TABLE old_posts TO posts;
SELECT views FROM posts WHERE id IN (1, 3) ORDER BY id;

== truncated with autocommit off [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
SET autocommit = 0;
TRUNCATE posts;
SELECT DISTINCT score FROM posts ORDER BY score;
SET autocommit = 1;

== truncated behind an error in a transaction [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
START TRANSACTION;
INSERT INTO authors (id, name) VALUES (1, 'again');
TRUNCATE posts;
SELECT id FROM posts;

== ALTER in a READ ONLY transaction [fresh]
START TRANSACTION READ ONLY;
SELECT u24 FROM widths WHERE id = 1;
ALTER TABLE widths RENAME COLUMN u24 TO other;
SELECT * FROM widths WHERE id = 1;
UPDATE widths SET c8 = c8 + 1 WHERE id = 1;
ROLLBACK;
SELECT * FROM widths WHERE id = 1;

== TRUNCATE in a READ ONLY transaction [fresh]
START TRANSACTION READ ONLY;
UPDATE widths SET c16 = c16 + 1 WHERE id = 1;
TRUNCATE TABLE widths;
INSERT INTO widths VALUES (1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2);
UPDATE widths SET c16 = c16 + 1 WHERE id = 1;
SELECT * FROM widths;

== RENAME in a READ ONLY transaction [fresh]
SET TRANSACTION READ ONLY;
START TRANSACTION;
SELECT views FROM posts WHERE id = 1;
RENAME TABLE posts TO gone, tallies TO posts;
SELECT * FROM posts ORDER BY id;
COMMIT;

== other DDL in a READ ONLY transaction [fresh]
START TRANSACTION READ ONLY;
SELECT views FROM posts WHERE id = 1;
CREATE INDEX by_views ON posts (views);
START TRANSACTION READ ONLY;
ANALYZE TABLE posts;
START TRANSACTION READ ONLY;
CREATE VIEW seen AS SELECT 1 AS one;
SELECT views FROM posts ORDER BY id;

== a transaction goes on behind DDL that is refused [fresh]
START TRANSACTION WITH CONSISTENT SNAPSHOT;
\roll_up
ALTER TABLE posts RENAME COLUMN views NONSENSE;
SELECT views FROM posts ORDER BY id;
SHOW WARNINGS;
UPDATE posts SET title = 'x' WHERE id = 1;
SELECT views FROM posts ORDER BY id;
[direct] COMMIT;

== a transaction goes on behind DDL that has a cursor [prepared] [fresh]
START TRANSACTION WITH CONSISTENT SNAPSHOT;
\roll_up
ALTER TABLE posts ADD INDEX by_counter (likes);
SELECT * FROM posts ORDER BY id;
[direct] ROLLBACK;

== a table that is made anew with other columns [fresh]
DROP TABLE balances;
CREATE TABLE IF NOT EXISTS balances (id INT PRIMARY KEY, spent INT NOT NULL DEFAULT 0);
UPDATE balances SET spent = spent + 1 WHERE account = 'alice' AND currency = 'EUR';
UPDATE balances SET spent = spent + 1 WHERE id = 1;
SELECT * FROM balances ORDER BY account, currency;
SELECT * FROM balances;

== a table that is made anew without one of its counters [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
DROP TABLE posts;
CREATE TABLE posts (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
INSERT INTO posts VALUES (1, 1), (2, 2);
UPDATE posts SET likes = likes + 1 WHERE id = 1;
UPDATE posts SET likes = likes * 2 WHERE id IN (1, 2);
SELECT * FROM posts ORDER BY id;
UPDATE posts SET posts.likes = posts.likes + 127 WHERE id = '2';

== LOCK TABLES of a table that has lost a counter of its rule [fresh]
UPDATE posts SET score = score + 1 WHERE id = 77;
ALTER TABLE posts RENAME COLUMN score TO other;
UPDATE posts SET score = score + 1 WHERE id = 2;
LOCK TABLES posts WRITE, posts AS x READ;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
DELETE FROM posts WHERE id = 3;
UNLOCK TABLES;
LOCK TABLES posts READ;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
UNLOCK TABLES;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT id, views, likes FROM posts ORDER BY id;

== temporary tables that executable comments make [fresh]
UPDATE prices SET sold = sold + 1 WHERE price = 1.00;
[direct] /*!50000 CREATE TEMPORARY TABLE IF NOT EXISTS prices (id INT, sold INT) */;
/*!50000 UPDATE prices SET sold = 0 */;
UPDATE prices SET sold = sold + 1;
/*!50000 DROP TEMPORARY TABLE IF EXISTS prices, other */;
/*!50000 SELECT sold FROM prices ORDER BY 1 */;
UPDATE prices SET sold = sold + 1 WHERE price = 1.00;
SELECT * FROM prices ORDER BY price;

== a write of a cold column behind a counter that is no more [fresh]
SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 3;
COMMIT;
UPDATE posts SET views = views + 1 WHERE id = 1;
ALTER TABLE posts RENAME COLUMN views TO other;
UPDATE posts SET views = views + 1 WHERE id = '2';
SELECT * FROM posts ORDER BY id;
BEGIN;
SELECT views FROM posts WHERE id = 3 FOR UPDATE;
UPDATE posts SET title = 'first' WHERE title = 'third';
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET title = CONCAT(title, '!') WHERE id = 1;
COMMIT;

== a snapshot that is made when slots have gone [fresh]
SET autocommit = 0;
ALTER TABLE posts RENAME COLUMN views TO seen;
UPDATE posts SET views = views + 1 WHERE id = 1;
[direct] SELECT * FROM posts ORDER BY id;
SHOW WARNINGS;
SELECT likes FROM posts ORDER BY id;
COMMIT;
ALTER TABLE posts RENAME COLUMN seen TO views;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts ORDER BY id;

== an UPDATE makes no snapshot when slots have gone [fresh]
ALTER TABLE posts RENAME COLUMN views TO seen;
BEGIN;
UPDATE posts SET title = 'x' WHERE title = 'second';
UPDATE posts SET likes = likes * 2 WHERE id = 1;
[direct] SELECT * FROM posts ORDER BY id;
SELECT likes FROM posts WHERE id = 1;
COMMIT;
ALTER TABLE posts RENAME COLUMN seen TO views;
SELECT * FROM posts ORDER BY id;

== other writes make no snapshot when slots have gone [fresh]
ALTER TABLE posts RENAME COLUMN views TO seen;
BEGIN;
INSERT INTO posts (id, author_id, title) VALUES (77, 1, 'x');
INSERT INTO posts (id, author_id, title) VALUES (77, 1, 'y') ON DUPLICATE KEY UPDATE title = 'z';
REPLACE INTO posts (id, author_id, title) VALUES (78, 1, 'w');
DELETE FROM posts WHERE id = 5;
[direct] SELECT * FROM posts ORDER BY id;
SELECT likes FROM posts WHERE id = 1;
COMMIT;
ALTER TABLE posts RENAME COLUMN seen TO views;
SELECT * FROM posts ORDER BY id;

== an increment of a column that DDL has renamed begins no transaction [fresh]
SET autocommit = 0;
UPDATE posts SET views = views + 1 WHERE id = 1;
ALTER TABLE posts RENAME COLUMN views TO other;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts ORDER BY id;
ALTER TABLE posts RENAME COLUMN other TO views;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts ORDER BY id;
COMMIT;
