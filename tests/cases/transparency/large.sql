# Packets of 16 MiB and more, both ways.

== a long value [slow]
SELECT REPEAT('x', 17000000);
SELECT REPEAT('x', 16777215), 1;
SELECT LENGTH(REPEAT('x', 16777210));

== a long statement [slow]
INSERT INTO tallies (id, body) VALUES (50, '{x:17000000}');
SELECT id, LENGTH(body) FROM tallies WHERE id = 50;
SELECT body FROM tallies WHERE id = 50;
SELECT LENGTH('{x:16777190}');
SELECT LENGTH('{x:1100000}');

== a long statement on a hot table [slow]
UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> '{x:17000000}';
SELECT views FROM posts WHERE id = 1 AND title <> '{x:1100000}';
UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> '{x:100000}';
SELECT views FROM posts WHERE id = 1;
SELECT p.views, LENGTH(t.body) FROM posts p JOIN tallies t ON t.id = 1 WHERE p.id = 1 AND '' = '{x:1200000}';
SELECT p.views, REPEAT('y', 17000000) FROM posts p WHERE p.id = 1;

== a long parameter [prepared] [slow]
\prepare ins: INSERT INTO tallies (id, body) VALUES (?, ?)
\long_data ins 1 {x:9000000}
\long_data ins 1 {x:9000000}
\execute ins <- 51, LONG_DATA
SELECT LENGTH(body) FROM tallies WHERE id = 51;

== a long query first in a snapshot [slow] [text]
BEGIN;
SELECT COUNT(*) FROM authors;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 1 WHERE id = 2;
\connection a
SELECT id, views FROM posts WHERE '' <> '{x:1200000}' ORDER BY id;
SELECT id, views FROM posts ORDER BY id;
SELECT id, views FROM posts WHERE '' <> '{x:1200000}' AND id = 1 FOR UPDATE;
SELECT id, views FROM posts ORDER BY id;
COMMIT;

== a long statement after a session variable [slow]
SELECT views FROM posts WHERE id = 1;
[direct] SET sql_safe_updates = 1;
UPDATE posts SET views = views * 2 WHERE id = 1 AND '' <> '{x:1200000}';
SELECT id, views FROM posts ORDER BY id;

== a long parameter in a snapshot [slow] [prepared]
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\roll_up
\connection a
SELECT id, views FROM posts WHERE ? <> title ORDER BY id; <- '{x:1200000}'
SELECT id, views FROM posts ORDER BY id;
COMMIT;
