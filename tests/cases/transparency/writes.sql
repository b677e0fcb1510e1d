# Writes that are no increments: absolute values, deletes, inserts, replaces.

== absolute values
UPDATE posts SET views = 0 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = 500 WHERE id IN (2, 3);
UPDATE posts SET views = 500 WHERE id = 3;
UPDATE posts SET views = views + 1 WHERE id = 3;
UPDATE posts SET views = 501 WHERE id = 3;
UPDATE posts SET views = 7, likes = 8, score = 9;
UPDATE posts SET views = DEFAULT WHERE id = 1;
UPDATE posts SET views = DEFAULT(views) WHERE id = 2;
UPDATE posts SET score = NULL WHERE id = 4;
UPDATE posts SET views = '12' WHERE id = 4;
UPDATE posts SET views = (SELECT COUNT(*) FROM comments WHERE comments.post_id = posts.id) WHERE id = 1;
UPDATE hits SET n = 0;
UPDATE balances SET amount = 0 WHERE account = 'bob';
SELECT * FROM posts ORDER BY id;

== a counter in the predicate
UPDATE posts SET title = 'hundred' WHERE views = 100 AND id = 1;
UPDATE posts SET views = views + 1 WHERE views = 100;
UPDATE posts SET views = views + 1 WHERE views > 250;
UPDATE posts SET likes = likes + 1 WHERE views < 100 AND author_id = 3;
UPDATE posts SET views = views - 1 WHERE id = 4 AND views > 0;
UPDATE posts SET views = views - 1 WHERE id = 10 AND views > 0;
UPDATE posts SET views = 0 ORDER BY views DESC LIMIT 1;
UPDATE posts SET title = CONCAT('most ', id) ORDER BY views DESC, id LIMIT 2;
DELETE FROM posts WHERE views > 150 AND id = 2;
DELETE FROM posts ORDER BY views, id LIMIT 1;
SELECT * FROM posts ORDER BY id;

== columns that are no counters
UPDATE posts SET title = 'renamed' WHERE id = 1;
UPDATE posts SET title = 'renamed' WHERE id = 1;
UPDATE posts SET author_id = 3, title = UPPER(title) WHERE id IN (2, 3);
UPDATE balances SET note = 'views' WHERE account = 'alice';
UPDATE hits SET day = '2024-05-05' WHERE path LIKE '/%';
SELECT * FROM posts ORDER BY id;

== other columns from a counter
UPDATE posts SET title = views WHERE id = 1;
UPDATE posts SET title = CONCAT(title, ' ', views), author_id = likes WHERE id = 2;
UPDATE posts SET likes = views WHERE id = 3;
UPDATE tallies SET views = (SELECT SUM(views) FROM posts) WHERE id = 1;
UPDATE tallies SET total = (SELECT AVG(views) FROM posts) WHERE id = 2;
SELECT * FROM posts ORDER BY id;
SELECT * FROM tallies ORDER BY id;

== deletes
DELETE FROM posts WHERE id = 1;
SELECT * FROM posts WHERE id = 1;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'first again');
SELECT * FROM posts WHERE id = 1;
DELETE FROM posts WHERE id IN (2, 999);
DELETE FROM posts WHERE author_id = 2;
DELETE FROM hits WHERE path = '/';
DELETE FROM balances WHERE account = 'alice' LIMIT 1;
DELETE FROM posts WHERE id = 999;
INSERT INTO hits (path, n) VALUES ('/', 5);
UPDATE hits SET n = n + 1 WHERE path = '/';
SELECT * FROM hits ORDER BY path;
DELETE FROM hits;
INSERT INTO hits (path) VALUES ('/');
SELECT * FROM hits ORDER BY path;

== the key changes
UPDATE posts SET id = 100 WHERE id = 1;
SELECT id, views FROM posts WHERE id IN (1, 100);
UPDATE posts SET id = id + 1000;
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET id = 1010, views = views + 1 WHERE id = 1100;
UPDATE posts SET id = 1, views = 5 WHERE id = 1100;
UPDATE hits SET path = '/home' WHERE path = '/';
UPDATE hits SET path = '/Home' WHERE path = '/home';
UPDATE hits SET n = n + 1 WHERE path = '/HOME';
UPDATE balances SET currency = 'GBP' WHERE account = 'bob' AND currency = 'EUR';
SELECT * FROM hits ORDER BY path;
SELECT * FROM balances ORDER BY account, currency;

== inserts
[direct] SET timestamp = 1700000000;
INSERT INTO posts (id, author_id, title, views) VALUES (20, 1, 'twenty', 3);
INSERT INTO posts SET id = 21, author_id = 1, title = 'twenty-one';
INSERT INTO posts VALUES (22, 1, 'twenty-two', 1, 2, 3), (23, 1, 'twenty-three', DEFAULT, 5, NULL);
INSERT IGNORE INTO posts (id, author_id, title, views) VALUES (1, 1, 'again', 3), (24, 1, 'twenty-four', 4);
INSERT INTO articles (slug, opens) VALUES ('four', 4);
SELECT LAST_INSERT_ID();
INSERT INTO articles (slug) VALUES ('five'), ('six');
SELECT LAST_INSERT_ID();
SELECT id, slug, opens FROM articles ORDER BY id;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'duplicate');
INSERT INTO posts (id, author_id, title) VALUES (30, 1, 'first');
UPDATE posts SET views = views + 1 WHERE id = 20;
SELECT * FROM posts ORDER BY id;
[mariadb] [cursorless] INSERT INTO posts (id, author_id, title, views) VALUES (40, 1, 'forty', 3) RETURNING id, views;
[mariadb] [cursorless] DELETE FROM posts WHERE id = 40 RETURNING id, views;
[mariadb] [cursorless] DELETE FROM posts WHERE id = 3 RETURNING *;

== replaces
REPLACE INTO posts (id, author_id, title, views) VALUES (1, 1, 'first', 5);
REPLACE INTO posts (id, author_id, title) VALUES (1, 1, 'first');
SELECT * FROM posts WHERE id = 1;
REPLACE INTO posts (id, author_id, title) VALUES (50, 1, 'second');
SELECT * FROM posts WHERE id IN (2, 50) ORDER BY id;
REPLACE posts SET id = 3, author_id = 9, title = 'three', views = 1;
REPLACE INTO hits (path) VALUES ('/'), ('/new');
SELECT * FROM hits ORDER BY path;
SELECT * FROM posts ORDER BY id;

== from a hot table
INSERT INTO tallies (id, views) SELECT id + 100, views FROM posts;
SELECT * FROM tallies ORDER BY id;
INSERT INTO tallies (id, total) SELECT 900, SUM(views) FROM posts;
INSERT INTO posts (id, author_id, title, views) SELECT id + 60, author_id, CONCAT('copy of ', title), views FROM posts WHERE id < 4;
INSERT INTO tallies (id, views) VALUES (901, (SELECT MAX(views) FROM posts));
REPLACE INTO tallies (id, views) SELECT id, views FROM posts WHERE id IN (1, 2);
INSERT INTO authors (id, name) SELECT id + 10, title FROM posts WHERE views > 99;
SELECT * FROM tallies ORDER BY id;
SELECT * FROM posts ORDER BY id;
SELECT * FROM authors ORDER BY id;

== into a new table [fresh]
CREATE TABLE copy AS SELECT * FROM posts;
SHOW CREATE TABLE copy;
SELECT * FROM copy ORDER BY id;
CREATE TABLE sums AS SELECT author_id, SUM(views) AS total, MAX(likes) AS likes, AVG(score) AS score FROM posts GROUP BY author_id;
SHOW CREATE TABLE sums;
SELECT * FROM sums ORDER BY author_id;
CREATE TEMPORARY TABLE t SELECT id, views + 1 AS v, likes FROM posts;
SHOW CREATE TABLE t;
SELECT * FROM t ORDER BY id;
CREATE TABLE wide AS SELECT c8, u16, c24, u32, c64, u64 FROM widths WHERE id = 1;
SHOW CREATE TABLE wide;
CREATE TABLE like_posts LIKE posts;
INSERT INTO like_posts SELECT * FROM posts;
SELECT * FROM like_posts ORDER BY id;

== affected rows
UPDATE posts SET views = views + 1 WHERE id IN (1, 2, 3);
[direct] SELECT ROW_COUNT();
UPDATE posts SET views = 0 WHERE id = 10;
[direct] SELECT ROW_COUNT();
UPDATE posts SET views = 5 WHERE id IN (1, 2);
[direct] SELECT ROW_COUNT();
DELETE FROM posts WHERE id > 4;
[direct] SELECT ROW_COUNT();
SELECT views FROM posts WHERE id = 1;
[direct] SELECT ROW_COUNT();
SELECT views FROM posts ORDER BY id LIMIT 2;
[direct] SELECT FOUND_ROWS();
INSERT INTO comments (post_id, body) VALUES (1, 'x');
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT LAST_INSERT_ID();
UPDATE posts SET views = 77 WHERE id = 1;
SELECT LAST_INSERT_ID();

== rows that are found by other columns than the key
UPDATE posts SET views = 0 WHERE title = 'first';
UPDATE posts SET views = 1, likes = 2 WHERE author_id = 2 AND views > 60;
UPDATE posts SET views = likes WHERE author_id IN (1, 3) OR title LIKE 'th%';
UPDATE posts SET views = 7 WHERE author_id BETWEEN 2 AND 3 ORDER BY views DESC LIMIT 2;
UPDATE posts SET views = 8 WHERE author_id = ? AND title <> ?; <- 1, 'second'
UPDATE posts SET likes = 3 WHERE title = 5;
UPDATE balances SET amount = 5 WHERE note IS NULL;
UPDATE widths SET c8 = 5 WHERE u8 >= 0;
DELETE FROM posts WHERE title = 'second';
DELETE FROM posts WHERE author_id > 2 LIMIT 1;
INSERT INTO posts (id, author_id, title) VALUES (2, 1, 'second'), (5, 3, 'fifth');
SELECT * FROM posts ORDER BY id;
SELECT * FROM balances ORDER BY account, currency;
SELECT * FROM widths ORDER BY id;

== the same in a transaction
START TRANSACTION;
UPDATE posts SET views = 0 WHERE author_id = 1;
SELECT id, views, likes FROM posts ORDER BY id;
[direct] UPDATE posts SET author_id = 1 WHERE id = 3;
UPDATE posts SET views = 5 WHERE author_id = 1;
SELECT id, views, likes FROM posts ORDER BY id;
SAVEPOINT here;
UPDATE posts SET likes = 9 WHERE author_id = 3;
DELETE FROM posts WHERE title = 'fifth';
ROLLBACK TO SAVEPOINT here;
SELECT id, views, likes FROM posts ORDER BY id;
UPDATE posts SET views = views + 1 WHERE author_id = 1;
UPDATE posts SET likes = 1 WHERE title = 'tenth' AND author_id = 3;
SELECT id, views, likes FROM posts ORDER BY id;
ROLLBACK;
SELECT id, views, likes FROM posts ORDER BY id;

== under every isolation level
[direct] SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
UPDATE posts SET views = 1 WHERE author_id = 1;
START TRANSACTION;
UPDATE posts SET views = 2 WHERE title = 'third';
SELECT id, views FROM posts ORDER BY id;
COMMIT;
[direct] SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
UPDATE posts SET views = 3 WHERE author_id = 3;
[direct] SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
START TRANSACTION;
UPDATE posts SET views = 4 WHERE author_id = 2;
SELECT id, views FROM posts ORDER BY id;
COMMIT;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
UPDATE posts SET views = 5 WHERE title = 'tenth';
SELECT id, views FROM posts ORDER BY id;

== rows in the way of new ones
[direct] SET timestamp = 1700000000;
REPLACE INTO posts (id, author_id, title, views) VALUES (60, 1, 'first', 5);
REPLACE INTO posts (id, author_id, title) VALUES (61, 1, 'second'), (3, 2, 'sixty-two'), (10, 2, 'third');
REPLACE INTO posts (id, author_id, title) VALUES (4.4, 1, 'rounded');
REPLACE INTO posts (id, author_id, title) VALUES ('5', 1, 5);
REPLACE INTO posts SET id = ?, author_id = 1, title = ?; <- 77, 'rounded'
REPLACE INTO posts SET id = ?, author_id = 1, title = ?; <- 77.4, 'seventy-seven'
REPLACE INTO posts VALUES (60, 1, 'whole row', 1, 1, NULL);
INSERT INTO posts (id, author_id, title, views) VALUES (80, 1, 'whole row', 1), (81, 1, '5', 1) ON DUPLICATE KEY UPDATE views = VALUES(views), title = CONCAT(title, '!');
REPLACE INTO articles (slug, opens) VALUES ('one', 3), ('two', 4), ('nine', 5);
INSERT INTO articles (id, slug, opens) VALUES (NULL, 'nine', 1), (DEFAULT, 'ten', 1) ON DUPLICATE KEY UPDATE opens = opens * 2;
REPLACE INTO prices VALUES (9.994, 3), ('1.00', 4), (77, 5);
REPLACE INTO hits (path, n) VALUES (5, 6);
[direct] SET sql_mode = '';
REPLACE INTO hits (path, n) VALUES (CONCAT('/', ''), 6);
REPLACE INTO stock (sku, quantity) VALUES ('A-1                                   ', 3);
REPLACE INTO widths VALUES (70000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
REPLACE INTO daily VALUES ('2024-01-01 10:00:00', 'abcd', 3), (20240229, 'abcd', 4);
SELECT * FROM posts ORDER BY id;
SELECT id, slug, opens FROM articles ORDER BY id;
SELECT * FROM prices ORDER BY price;
SELECT * FROM hits ORDER BY path;
SELECT * FROM stock ORDER BY sku;
SELECT * FROM daily ORDER BY day, token;

== a write of some rows that reads others
UPDATE posts SET title = (SELECT CONCAT('x', MAX(views)) FROM (SELECT views FROM posts) AS p) WHERE id = 2;
UPDATE posts SET views = views + 1, title = (SELECT CONCAT('y', MAX(views)) FROM (SELECT views FROM posts) AS p) WHERE id = 4;
DELETE FROM hits WHERE path = '/about' AND 1000 <= (SELECT MAX(n) FROM (SELECT n FROM hits) AS h);
UPDATE posts SET likes = (SELECT MAX(views) FROM (SELECT views FROM posts) AS p) WHERE id = 2;
SELECT * FROM posts ORDER BY id;
SELECT * FROM hits ORDER BY path;

== what is returned [text]
[mariadb] INSERT INTO authors VALUES (9, 'Zoe', 1) RETURNING (SELECT views FROM posts WHERE id = 1);
[mariadb] DELETE FROM authors WHERE id = 9 RETURNING (SELECT views FROM posts WHERE id = 3);
[mariadb] REPLACE INTO authors VALUES (9, 'Zoe', 1) RETURNING (SELECT views FROM posts WHERE id = 1);
[mariadb] INSERT INTO hits (path, n) VALUES ('/new', 1) RETURNING n, (SELECT views FROM posts WHERE id = 3);
