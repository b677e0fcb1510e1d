# INSERT .. ON DUPLICATE KEY UPDATE.

== count or begin
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = n + 1;
INSERT INTO hits (path, n) VALUES ('/fresh', 1) ON DUPLICATE KEY UPDATE n = n + 1;
INSERT INTO hits (path, n) VALUES ('/fresh', 1) ON DUPLICATE KEY UPDATE n = n + 1;
INSERT INTO hits (path, n) VALUES ('/', 5) ON DUPLICATE KEY UPDATE n = n + VALUES(n);
INSERT INTO hits SET path = '/', n = 1 ON DUPLICATE KEY UPDATE n = n + 2;
INSERT INTO hits (path, n) VALUES ('/', 1), ('/about', 1), ('/third', 1) ON DUPLICATE KEY UPDATE n = n + 1;
[mysql] INSERT INTO hits (path, n) VALUES ('/', 4) AS new ON DUPLICATE KEY UPDATE n = hits.n + new.n;
INSERT INTO hits (path, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + ?; <- '/', 1, 3
INSERT INTO hits (path, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + ?; <- '/param', 2, 3
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = n + 0;
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = n;
SELECT * FROM hits ORDER BY path;

== other assignments
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = 1;
INSERT INTO hits (path, n) VALUES ('/about', 3) ON DUPLICATE KEY UPDATE n = VALUES(n);
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = n * 2, day = '2024-07-07';
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = GREATEST(n, 10);
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = n - 1;
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE day = '2024-08-08';
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE path = '/moved';
INSERT INTO hits (path, n) VALUES ('/about', 1) ON DUPLICATE KEY UPDATE n = n + 1, day = NULL;
INSERT INTO hits (path, n) VALUES ('/about', 1) ON DUPLICATE KEY UPDATE n = IF(n > 10, n + 1, 0);
SELECT * FROM hits ORDER BY path;

== by a secondary key
[direct] SET timestamp = 1700000000;
INSERT INTO posts (id, author_id, title, views) VALUES (70, 1, 'first', 1) ON DUPLICATE KEY UPDATE views = views + 1;
INSERT INTO posts (id, author_id, title, views) VALUES (1, 1, 'seventy', 1) ON DUPLICATE KEY UPDATE views = views + 1, likes = likes + 1;
INSERT INTO articles (slug, opens) VALUES ('one', 1) ON DUPLICATE KEY UPDATE opens = opens + 1;
INSERT INTO articles (slug, opens) VALUES ('seven', 1) ON DUPLICATE KEY UPDATE opens = opens + 1;
SELECT LAST_INSERT_ID();
INSERT INTO articles (slug, opens) VALUES ('one', 1) ON DUPLICATE KEY UPDATE opens = opens + 1, id = LAST_INSERT_ID(id);
SELECT LAST_INSERT_ID();
SELECT id, slug, opens FROM articles ORDER BY id;
SELECT * FROM posts ORDER BY id;

== from a query
INSERT INTO hits (path, n) SELECT title, views FROM posts ON DUPLICATE KEY UPDATE n = hits.n + 1;
INSERT INTO hits (path, n) SELECT title, 1 FROM posts WHERE id < 3 ON DUPLICATE KEY UPDATE n = n + 1;
INSERT INTO tallies (id, views) SELECT id, views FROM posts ON DUPLICATE KEY UPDATE views = VALUES(views);
INSERT INTO tallies (id, views) SELECT id, views FROM posts ON DUPLICATE KEY UPDATE tallies.views = tallies.views + posts.views;
SELECT * FROM hits ORDER BY path;
SELECT id, views FROM tallies ORDER BY id;

== what fails before the duplicate is found
INSERT INTO posts (id, title) VALUES (1, 'x') ON DUPLICATE KEY UPDATE views = views + 1;
INSERT INTO posts (id, author_id, title, views) VALUES (1, 1, 'first', 99999999999) ON DUPLICATE KEY UPDATE views = views + 1;
INSERT INTO posts (id, author_id, title, views) VALUES (1, 'x', 'first', 1) ON DUPLICATE KEY UPDATE views = views + 1;
INSERT INTO posts (id, author_id, title) VALUES (1, 1, 'first') ON DUPLICATE KEY UPDATE nothing = nothing + 1;
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = n - 4000;
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = n + 4294967295;
SELECT * FROM posts ORDER BY id;
SELECT * FROM hits ORDER BY path;

== decimals and two columns
INSERT INTO balances (account, currency, amount) VALUES ('alice', 'EUR', 1) ON DUPLICATE KEY UPDATE amount = amount + 1.25;
INSERT INTO balances (account, currency, amount) VALUES ('alice', 'EUR', 1.5) ON DUPLICATE KEY UPDATE amount = amount + VALUES(amount);
INSERT INTO balances (account, currency, amount) VALUES ('alice', 'GBP', 1.5) ON DUPLICATE KEY UPDATE amount = amount + VALUES(amount);
INSERT INTO balances (account, currency, amount) VALUES ('bob', 'EUR', 1) ON DUPLICATE KEY UPDATE amount = amount - 1.25;
SELECT * FROM balances ORDER BY account, currency;

== near the limit of the counter's type
UPDATE daily SET n = 4194000 WHERE day = '2024-02-29';
UPDATE daily SET n = n + 5000 WHERE day = '2024-02-29';
INSERT INTO daily (day, token, n) VALUES ('2024-02-29', 'abcd', 4192000) ON DUPLICATE KEY UPDATE n = n + VALUES(n);
INSERT INTO daily (day, token, n) VALUES ('2024-02-29', 'abcd', 1) ON DUPLICATE KEY UPDATE n = n + 4192000;
SELECT day, n FROM daily ORDER BY day, token;

== a trigger that sets the key
[direct] CREATE TRIGGER one_path BEFORE INSERT ON hits FOR EACH ROW SET NEW.path = '/';
UPDATE hits SET n = n + 1 WHERE path = '/';
REPLACE INTO hits (path, n) VALUES ('/other', 5);
SELECT * FROM hits ORDER BY path;
UPDATE hits SET n = n + 1 WHERE path = '/';
INSERT INTO hits (path, n) VALUES ('/more', 1) ON DUPLICATE KEY UPDATE n = n * 2;
SELECT * FROM hits ORDER BY path;
[direct] DROP TRIGGER one_path;

== an upsert reads counters where it updates
INSERT INTO tallies (id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = (SELECT views FROM posts WHERE id = 1);
SELECT id, views FROM tallies ORDER BY id;
INSERT INTO tallies (id, views) SELECT p.id, 1 FROM posts p WHERE p.id = 1 ON DUPLICATE KEY UPDATE views = p.views;
SELECT id, views FROM tallies ORDER BY id;
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = n + 1, day = (SELECT '2024-01-01' FROM posts WHERE views = 100 LIMIT 1);
SELECT * FROM hits ORDER BY path;
INSERT INTO hits (path, n) VALUES ('/', 1) ON DUPLICATE KEY UPDATE n = 1 + (SELECT MAX(n) FROM (SELECT n FROM hits) AS h);
SELECT * FROM hits ORDER BY path;
INSERT INTO hits (path, n) VALUES ('/about', (SELECT MAX(n) FROM (SELECT n FROM hits) AS h)) ON DUPLICATE KEY UPDATE n = VALUES(n);
SELECT * FROM hits ORDER BY path;
REPLACE INTO hits (path, n) VALUES ('/about', 1 + (SELECT MIN(n) FROM (SELECT n FROM hits) AS h));
SELECT * FROM hits ORDER BY path;

# A CHAR loses the spaces at its end, and a NO PAD collation does not compare them away.
== keys with spaces at their end
INSERT INTO medals (board, grade, won) VALUES (1, 'gold ', 1) ON DUPLICATE KEY UPDATE won = LAST_INSERT_ID(won + 1);
SELECT LAST_INSERT_ID();
INSERT INTO medals (board, grade, won) VALUES (2, 'gold ', 1) ON DUPLICATE KEY UPDATE won = won * 2;
INSERT INTO medals (board, grade, won) VALUES (1, 'gold ', 1) ON DUPLICATE KEY UPDATE won = won + 1;
INSERT INTO medals (board, grade, won) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE won = won * 3; <- 1, 'gold '
INSERT INTO medals (board, grade, won) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE won = won + ?; <- 1, 'gold ', 4
REPLACE INTO medals (board, grade, won) SELECT board, CONCAT(grade, ' '), won FROM medals WHERE board = 2;
UPDATE medals SET won = won + 1 WHERE board = 1 AND grade = 'gold ';
SELECT board, grade, won FROM medals ORDER BY board, grade;
