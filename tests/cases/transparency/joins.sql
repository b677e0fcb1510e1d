# Counters in joins, subqueries, derived tables, unions.

== hot and cold
SELECT p.id, p.views, a.name FROM posts p JOIN authors a ON a.id = p.author_id ORDER BY p.id;
SELECT * FROM posts p JOIN authors a ON a.id = p.author_id ORDER BY p.id;
SELECT p.*, a.followers FROM posts p INNER JOIN authors a ON a.id = p.author_id WHERE p.views > 50 ORDER BY p.id;
SELECT a.*, views FROM authors a, posts WHERE posts.author_id = a.id ORDER BY posts.id;
SELECT a.name, p.views FROM authors a LEFT JOIN posts p ON p.author_id = a.id AND p.views > 150 ORDER BY a.id, p.id;
SELECT a.name, p.views FROM posts p RIGHT JOIN authors a ON p.author_id = a.id AND p.views > 150 ORDER BY a.id, p.id;
SELECT a.id, p.views, p.score FROM authors a LEFT JOIN posts p ON p.id = a.id + 8 ORDER BY a.id;
SELECT p.id, c.id, p.views FROM posts p LEFT OUTER JOIN comments c ON c.post_id = p.id ORDER BY p.id, c.id;
SELECT p.views, t.views FROM posts p JOIN tallies t ON t.id = p.id ORDER BY p.id;
SELECT id, p.views FROM posts p JOIN tallies t USING (id) ORDER BY id;
SELECT * FROM posts JOIN tallies USING (id) ORDER BY id;
SELECT * FROM posts NATURAL JOIN tallies;
SELECT p.id FROM posts p JOIN tallies t ON t.views = p.views ORDER BY p.id;
SELECT COUNT(*) FROM posts CROSS JOIN authors;
SELECT p.views FROM posts p STRAIGHT_JOIN authors a ON a.id = p.author_id WHERE p.id = 1;
SELECT p.views FROM (posts p, authors a) WHERE p.author_id = a.id AND p.id = 1;
SELECT p.views FROM posts p JOIN (authors a JOIN comments c ON c.votes >= 0) ON c.post_id = p.id AND a.id = p.author_id ORDER BY c.id;

== hot and hot
SELECT a.id, a.views, b.id, b.views FROM posts a JOIN posts b ON b.id = a.id + 1 ORDER BY a.id;
SELECT a.id FROM posts a JOIN posts b ON a.views = b.views AND a.id < b.id ORDER BY a.id;
SELECT a.id, b.views - a.views FROM posts a LEFT JOIN posts b ON b.id = a.id + 1 ORDER BY a.id;
SELECT p.views, h.n FROM posts p JOIN hits h ON h.path = CAST(p.id AS CHAR) ORDER BY p.id;
SELECT p.id, w.c32, b.amount FROM posts p JOIN widths w ON w.id = p.id JOIN balances b ON b.account = 'alice' ORDER BY p.id, b.currency;
SELECT * FROM hits a JOIN hits b ON a.n < b.n ORDER BY a.path, b.path;

== subqueries
SELECT (SELECT views FROM posts WHERE id = 1);
SELECT (SELECT MAX(views) FROM posts), (SELECT COUNT(*) FROM posts);
SELECT a.name, (SELECT SUM(p.views) FROM posts p WHERE p.author_id = a.id) AS total FROM authors a ORDER BY a.id;
SELECT a.name, (SELECT p.views FROM posts p WHERE p.author_id = a.id ORDER BY p.views DESC LIMIT 1) FROM authors a ORDER BY a.id;
SELECT name FROM authors WHERE id IN (SELECT author_id FROM posts WHERE views > 99) ORDER BY id;
SELECT name FROM authors WHERE id NOT IN (SELECT author_id FROM posts WHERE views > 150) ORDER BY id;
SELECT name FROM authors a WHERE EXISTS (SELECT 1 FROM posts p WHERE p.author_id = a.id AND p.views = 0) ORDER BY id;
SELECT name FROM authors a WHERE NOT EXISTS (SELECT * FROM posts p WHERE p.author_id = a.id AND p.likes > 25) ORDER BY id;
SELECT id FROM posts WHERE views = (SELECT MAX(views) FROM posts);
SELECT id FROM posts WHERE views > (SELECT AVG(views) FROM posts) ORDER BY id;
SELECT id FROM posts WHERE views >= ALL (SELECT views FROM posts);
SELECT id FROM posts p WHERE views > ANY (SELECT followers * 10 FROM authors WHERE id = p.author_id) ORDER BY id;
SELECT id FROM posts p WHERE views > (SELECT AVG(views) FROM posts q WHERE q.author_id = p.author_id) ORDER BY id;
SELECT id FROM tallies WHERE views IN (SELECT views FROM posts) ORDER BY id;
SELECT (SELECT views FROM posts WHERE posts.id = tallies.id) - views FROM tallies ORDER BY id;
SELECT views FROM tallies WHERE id = (SELECT MIN(id) FROM posts WHERE views > 0);
SELECT id, (SELECT COUNT(*) FROM comments c WHERE c.post_id = p.id) FROM posts p ORDER BY views, id;

== derived tables
SELECT t.v FROM (SELECT views AS v FROM posts WHERE id < 3) t ORDER BY t.v;
SELECT MAX(v) FROM (SELECT author_id, SUM(views) AS v FROM posts GROUP BY author_id) t;
SELECT * FROM (SELECT * FROM posts) t WHERE t.views > 99 ORDER BY t.id;
SELECT p.id, t.total FROM posts p JOIN (SELECT author_id, SUM(views) total FROM posts GROUP BY author_id) t ON t.author_id = p.author_id ORDER BY p.id;
SELECT x.views FROM (SELECT id, title AS views FROM posts) x WHERE x.id = 1;
[mysql] SELECT a.id, t.views FROM authors a, LATERAL (SELECT p.views FROM posts p WHERE p.author_id = a.id ORDER BY p.views DESC, p.id LIMIT 1) t ORDER BY a.id;

== common table expressions
WITH p AS (SELECT id, views FROM posts) SELECT SUM(views) FROM p;
WITH top AS (SELECT id, views FROM posts ORDER BY views DESC, id LIMIT 2), a AS (SELECT * FROM authors) SELECT top.id, top.views FROM top ORDER BY top.id;
WITH posts AS (SELECT 1 AS id, 5 AS views) SELECT views FROM posts;
WITH p (a, b) AS (SELECT id, views FROM posts) SELECT b FROM p WHERE a = 1;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT n.i, p.views FROM n JOIN posts p ON p.id = n.i ORDER BY n.i;
WITH c AS (SELECT 1 AS one) SELECT views, one FROM posts, c WHERE id = 1;

== unions
SELECT views FROM posts WHERE id = 1 UNION SELECT followers FROM authors WHERE id = 1 ORDER BY 1;
SELECT id, views FROM posts WHERE id < 3 UNION ALL SELECT id, likes FROM posts WHERE id < 3 ORDER BY 1, 2;
SELECT views FROM posts UNION DISTINCT SELECT views FROM tallies ORDER BY views;
(SELECT id, views FROM posts ORDER BY views DESC, id LIMIT 1) UNION (SELECT id, views FROM posts ORDER BY views, id LIMIT 1) ORDER BY id;
SELECT 'a' AS k, views FROM posts WHERE id = 1 UNION ALL SELECT 'b', amount FROM balances WHERE account = 'bob' ORDER BY 1, 2;
SELECT views FROM posts INTERSECT SELECT views FROM tallies ORDER BY 1;
SELECT views FROM posts EXCEPT SELECT views FROM tallies ORDER BY 1;
