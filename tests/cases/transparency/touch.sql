# Columns that tell when a row was last changed, beside a counter.

== a column that sets itself
[direct] SET timestamp = 1700000000;
UPDATE articles SET opens = opens + 1 WHERE id = 1;
SELECT * FROM articles ORDER BY id;
SELECT updated_at FROM articles WHERE id = 1;
UPDATE articles SET opens = opens + 1 WHERE id = 1;
[direct] SET timestamp = 1700000100;
UPDATE articles SET opens = opens + 2 WHERE id = 1;
UPDATE articles SET opens = opens - 2 WHERE slug = 'two';
SELECT id, opens, updated_at FROM articles ORDER BY updated_at DESC, id;
# The clock goes back, and the column with it.
[direct] SET timestamp = 1600000000;
UPDATE articles SET opens = opens + 1 WHERE id = 1;
SELECT id, opens, updated_at FROM articles WHERE id = 1;
UPDATE articles SET opens = opens + 1 WHERE id = 1;
SELECT id, opens, updated_at FROM articles WHERE id = 1;
UPDATE articles SET opens = opens + 0 WHERE id = 3;
UPDATE articles SET slug = 'uno' WHERE id = 1;
SELECT * FROM articles ORDER BY id;

== reads of such a column
[direct] SET timestamp = 1700000000;
UPDATE articles SET opens = opens + 1 WHERE id IN (1, 2);
SELECT a.updated_at, a.opens FROM articles a WHERE a.updated_at > '2021-01-01' ORDER BY a.id;
SELECT COUNT(*) FROM articles WHERE updated_at < '2021-01-01 00:00:00';
SELECT MAX(updated_at), MIN(updated_at) FROM articles;
SELECT DATE(updated_at), YEAR(updated_at), DATE_FORMAT(updated_at, '%d.%m.%Y %H:%i:%s') FROM articles ORDER BY id;
SELECT id FROM articles ORDER BY updated_at DESC, id DESC LIMIT 1;
SELECT updated_at AS t FROM articles WHERE id = 1 FOR UPDATE;
SELECT t.u FROM (SELECT id, updated_at AS u FROM articles) t ORDER BY t.id;
SELECT id, updated_at FROM articles WHERE id = ?; <- 1
SELECT id, updated_at FROM articles WHERE updated_at >= ? ORDER BY id; <- '2022-01-01 00:00:00'

== in transactions
[direct] SET timestamp = 1700000000;
BEGIN;
UPDATE articles SET opens = opens + 1 WHERE id = 1;
SELECT opens, updated_at FROM articles WHERE id = 1;
[direct] SET timestamp = 1700000001;
UPDATE articles SET opens = opens + 1 WHERE id = 1;
SELECT opens, updated_at FROM articles WHERE id = 1;
ROLLBACK;
SELECT opens, updated_at FROM articles WHERE id = 1;
BEGIN;
UPDATE articles SET opens = opens + 1 WHERE id = 2;
COMMIT;
SELECT * FROM articles ORDER BY id;

== set by the application
[direct] SET timestamp = 1709294400.25;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 1;
SELECT * FROM topics ORDER BY id;
UPDATE topics SET replies = replies + 1, changed_at = CURRENT_TIMESTAMP WHERE id = 3;
SELECT * FROM topics ORDER BY id;
[direct] SET timestamp = 1709294410.5;
UPDATE topics SET changed_at = NOW(6), replies = replies + 1 WHERE id = 1;
UPDATE topics SET replies = replies + ?, changed_at = ? WHERE id = ?; <- 1, '2024-03-01 12:00:11.125', 1
UPDATE topics SET replies = replies + ?, changed_at = ? WHERE id = ?; <- 2, '2024-03-01 12:00:12.125', 3
SELECT * FROM topics ORDER BY id;
UPDATE `topics` SET `replies` = `replies` + 1, `topics`.`changed_at` = '2024-03-01 12:00:13' WHERE `id` = 1;
SELECT changed_at, replies FROM topics WHERE id = 1;
# Earlier than before, far from the clock, NULL, nonsense: as MySQL has it.
UPDATE topics SET replies = replies + 1, changed_at = '2024-03-01 12:00:09' WHERE id = 1;
SELECT changed_at, replies FROM topics WHERE id = 1;
UPDATE topics SET replies = replies + 1, changed_at = '2030-01-01' WHERE id = 1;
SELECT changed_at, replies FROM topics WHERE id = 1;
UPDATE topics SET replies = replies + 1, changed_at = NULL WHERE id = 1;
SELECT changed_at, replies FROM topics WHERE id = 1;
UPDATE topics SET replies = replies + 1, changed_at = 'soon' WHERE id = 1;
UPDATE topics SET replies = replies + 1, changed_at = '2024-03-01 12:00:10.9996' WHERE id = 3;
SELECT changed_at, replies FROM topics ORDER BY id;

== a time where there was none
[direct] SET timestamp = 1709294400;
UPDATE topics SET replies = replies + 1, changed_at = NOW() WHERE id = 2;
SELECT * FROM topics ORDER BY id;
UPDATE topics SET replies = replies + 1, changed_at = NOW() WHERE id = 2;
SELECT * FROM topics ORDER BY id;
UPDATE topics SET replies = replies + 1, changed_at = changed_at WHERE id = 2;
UPDATE topics SET replies = replies + 1 WHERE id = 2;
SELECT * FROM topics ORDER BY id;

== ordinary saves
[direct] SET timestamp = 1709294400;
UPDATE topics SET replies = replies + 1, changed_at = NOW() WHERE id = 1;
UPDATE topics SET title = 'green tea', changed_at = '2024-03-01 11:00:00' WHERE id = 1;
SELECT * FROM topics WHERE id = 1;
UPDATE topics SET title = 'black tea', changed_at = NOW() WHERE id = 1;
SELECT * FROM topics WHERE id = 1;
UPDATE topics SET title = 'old' WHERE changed_at < '2023-01-01';
UPDATE topics SET replies = replies + 1 WHERE id = 1 AND changed_at = '2024-03-01 12:00:00.000';
UPDATE topics SET title = changed_at WHERE id = 1;
DELETE FROM topics WHERE changed_at IS NULL;
SELECT * FROM topics ORDER BY id;

== a time without an increment
[direct] SET timestamp = 1709294400;
UPDATE topics SET replies = replies + 1, changed_at = NOW() WHERE id = 1;
UPDATE topics SET replies = replies + 0, changed_at = '2024-03-01 11:00:00' WHERE id = 1;
SELECT * FROM topics WHERE id = 1;
UPDATE topics SET replies = replies + 1, changed_at = NOW() WHERE id = 1;
UPDATE topics SET replies = replies + ?, changed_at = ? WHERE id = ?; <- 0, '2024-03-01 10:00:00', 1
SELECT * FROM topics WHERE id = 1;

== upserts
[direct] SET timestamp = 1709294400;
UPDATE topics SET replies = replies + 1, changed_at = NOW() WHERE id = 1;
INSERT INTO topics VALUES (1, 'tea', 1, NOW()) ON DUPLICATE KEY UPDATE replies = replies + 1, changed_at = NOW();
INSERT INTO topics VALUES (1, 'tea', 1, '2022-01-01') ON DUPLICATE KEY UPDATE replies = replies + 1, changed_at = VALUES(changed_at);
SELECT * FROM topics ORDER BY id;
INSERT INTO tallies (id, views) SELECT id + 10, YEAR(changed_at) FROM topics WHERE changed_at IS NOT NULL;
SELECT id, views FROM tallies ORDER BY id;

== set to the present that slots hold
[direct] SET timestamp = 1700000000;
UPDATE articles SET opens = opens + 1 WHERE id = 2;
UPDATE articles SET updated_at = NOW() WHERE slug LIKE 't%';
UPDATE articles SET opens = opens + 1 WHERE id = 3;
UPDATE articles SET updated_at = CURRENT_TIMESTAMP WHERE id = 3;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 1;
BEGIN;
UPDATE topics SET changed_at = NOW(3) WHERE id = 1;
COMMIT;
INSERT INTO topics (id, title) VALUES (3, 'x') ON DUPLICATE KEY UPDATE changed_at = NOW();
UPDATE topics SET replies = replies + 1, changed_at = NOW() WHERE id = 3;
INSERT INTO topics (id, title) VALUES (3, 'x') ON DUPLICATE KEY UPDATE changed_at = NOW();

== set to a present that has gone back
[direct] SET timestamp = 1700000000;
UPDATE articles SET opens = opens + 1 WHERE id = 2;
[direct] SET timestamp = 1600000000;
UPDATE articles SET updated_at = NOW() WHERE id = 2;
SELECT updated_at FROM articles WHERE id = 2;

# An increment that sets no time opens a slot row without asking base for its time.
== a time after an increment without one
[direct] SET timestamp = 1709294400;
UPDATE topics SET replies = replies + 1 WHERE id = 2;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 2;
SELECT * FROM topics ORDER BY id;
UPDATE topics SET replies = replies + 1 WHERE id = 2;
SELECT * FROM topics ORDER BY id;

== an earlier time after an increment without one
[direct] SET timestamp = 1600000000;
UPDATE topics SET replies = replies + 1 WHERE id = 3;
UPDATE topics SET replies = replies + 1 WHERE id = 3;
[direct] SET timestamp = 1500000000;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 3;
SELECT * FROM topics ORDER BY id;
UPDATE topics SET replies = replies + 1 WHERE id = 3;
[direct] SET timestamp = 1400000000;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 3;
SELECT * FROM topics ORDER BY id;

== times and none in transactions
[direct] SET timestamp = 1709294400;
BEGIN;
UPDATE topics SET replies = replies + 1 WHERE id = 2;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 2;
COMMIT;
BEGIN;
UPDATE topics SET replies = replies + 1 WHERE id = 2;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 2;
SELECT * FROM topics ORDER BY id;
ROLLBACK;
SELECT * FROM topics ORDER BY id;
UPDATE topics SET replies = replies + 1 WHERE id = 2;
\roll_up
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 2;
SELECT * FROM topics ORDER BY id;

== times in groups
[direct] SET timestamp = 1709294400;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 2;
UPDATE articles SET updated_at = NOW() WHERE id = 2;
SET sql_mode = 'ONLY_FULL_GROUP_BY';
SELECT id, changed_at FROM topics GROUP BY id ORDER BY id;
SELECT MAX(changed_at), MIN(changed_at), COUNT(changed_at) FROM topics;
SELECT MAX(changed_at) FROM topics GROUP BY id ORDER BY id;
SELECT id FROM topics GROUP BY id HAVING MAX(changed_at) > '2024-01-01' ORDER BY id;
SELECT COUNT(*) FROM topics WHERE changed_at > '2024-01-01';
SELECT DATE(changed_at) FROM topics ORDER BY changed_at, id;
SELECT (SELECT MAX(changed_at) FROM topics) AS latest, id FROM topics ORDER BY id;
SELECT DISTINCT changed_at FROM topics ORDER BY changed_at;

# A zero date is a value, though a function of dates may take it for NULL on MySQL.
== times that are zero
[direct] SET timestamp = 1709294400;
[direct] SET sql_mode = '';
[direct] UPDATE articles SET updated_at = '0000-00-00 00:00:00' WHERE id = 2;
[direct] UPDATE topics SET changed_at = '0000-00-00 00:00:00' WHERE id = 2;
[direct] SET sql_mode = DEFAULT;
SELECT id, updated_at FROM articles ORDER BY id;
SELECT * FROM topics ORDER BY id;
UPDATE topics SET replies = replies + 1 WHERE id = 2;
SELECT * FROM topics ORDER BY id;
UPDATE topics SET replies = replies + 1, changed_at = NOW(3) WHERE id = 2;
SELECT * FROM topics ORDER BY id;
UPDATE articles SET opens = opens + 1 WHERE id = 2;
SELECT id, updated_at FROM articles ORDER BY id;
