# Aggregates, groups and windows over counters.

== without groups
SELECT SUM(views) FROM posts;
SELECT SUM(views), MIN(views), MAX(views), AVG(views), COUNT(views), COUNT(*) FROM posts;
SELECT SUM(likes), MIN(likes), MAX(likes), AVG(likes) FROM posts;
SELECT SUM(score), MIN(score), MAX(score), AVG(score), COUNT(score) FROM posts;
SELECT SUM(amount), MIN(amount), MAX(amount), AVG(amount), SUM(spent) FROM balances;
SELECT SUM(c8), SUM(u8), SUM(c16), SUM(u24), SUM(c32), SUM(c64), SUM(u64), MAX(u64), MIN(c64) FROM widths;
SELECT SUM(views + likes), SUM(views) + SUM(likes), SUM(DISTINCT views) FROM posts;
SELECT SUM(views) FROM posts WHERE id = 999;
SELECT MAX(views) FROM posts WHERE id = 999;
SELECT COUNT(*) FROM posts WHERE views > 99;
SELECT SUM(views > 99), SUM(IF(views > 99, likes, 0)) FROM posts;
SELECT STD(views), VARIANCE(views), BIT_OR(views), BIT_AND(views), BIT_XOR(likes) FROM posts;
SELECT GROUP_CONCAT(views ORDER BY views DESC SEPARATOR '; ') FROM posts;
SELECT GROUP_CONCAT(DISTINCT views ORDER BY views) FROM posts;
[mysql] SELECT JSON_ARRAYAGG(views) FROM posts WHERE id = 1;
SELECT MAX(views) - MIN(views) AS spread FROM posts;
SELECT SUM(p.views) AS `SUM(views)` FROM posts p;

== by another column
SELECT author_id, SUM(views) FROM posts GROUP BY author_id ORDER BY author_id;
SELECT author_id, SUM(views) AS total, MAX(likes) FROM posts GROUP BY author_id ORDER BY total DESC, author_id;
SELECT author_id, COUNT(*) FROM posts WHERE views > 60 GROUP BY author_id ORDER BY author_id;
SELECT author_id, SUM(views) FROM posts GROUP BY author_id HAVING SUM(views) > 150 ORDER BY author_id;
SELECT author_id, SUM(views) AS s FROM posts GROUP BY author_id HAVING s > 150 ORDER BY s;
SELECT author_id FROM posts GROUP BY author_id HAVING MAX(views) = 300;
SELECT author_id, SUM(views) FROM posts GROUP BY author_id WITH ROLLUP;
SELECT a.name, SUM(p.views) FROM authors a LEFT JOIN posts p ON p.author_id = a.id GROUP BY a.id, a.name ORDER BY a.id;
SELECT account, SUM(amount) FROM balances GROUP BY account ORDER BY SUM(amount);
SELECT ANY_VALUE(views) FROM posts WHERE id = 1;
SELECT author_id, MAX(views) AS views FROM posts GROUP BY author_id ORDER BY views, author_id;

== by the counter itself
SELECT views, COUNT(*) FROM posts GROUP BY views ORDER BY views;
SELECT views AS v, COUNT(*) FROM posts GROUP BY v ORDER BY v;
SELECT views DIV 100 AS bucket, COUNT(*), SUM(likes) FROM posts GROUP BY bucket ORDER BY bucket;
SELECT views > 99, COUNT(*) FROM posts GROUP BY views > 99 ORDER BY 1;
SELECT views FROM posts GROUP BY 1 ORDER BY 1;
SELECT id, views FROM posts GROUP BY id ORDER BY id;
SELECT id, views, COUNT(*) FROM posts GROUP BY id, views HAVING views > 99 ORDER BY id;
SELECT id, title, views FROM posts HAVING views > 99 ORDER BY id;
SELECT id, views AS v FROM posts HAVING v > 99 ORDER BY id;

== refused by ONLY_FULL_GROUP_BY
SELECT author_id, views FROM posts GROUP BY author_id;
SET sql_mode = '';
SELECT author_id, COUNT(views) FROM posts GROUP BY author_id ORDER BY author_id;

== windows
SELECT id, views, RANK() OVER (ORDER BY views DESC) FROM posts ORDER BY id;
SELECT id, SUM(views) OVER (PARTITION BY author_id ORDER BY id) FROM posts ORDER BY id;
SELECT id, ROW_NUMBER() OVER (ORDER BY views DESC, id) AS r FROM posts ORDER BY r;
SELECT id, views - LAG(views) OVER (ORDER BY id) FROM posts ORDER BY id;
SELECT id, AVG(views) OVER w, MAX(likes) OVER w FROM posts WINDOW w AS (PARTITION BY author_id) ORDER BY id;
SELECT id, SUM(views) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM posts ORDER BY id;
SELECT DISTINCT author_id, FIRST_VALUE(views) OVER (PARTITION BY author_id ORDER BY views DESC, id) FROM posts ORDER BY 1;

== integers that go through a temporary table
SELECT views > 99 AS b, score IS NULL, id IN (1, 2), COUNT(*) FROM posts GROUP BY b, 2, 3 ORDER BY 1, 2, 3;
SELECT DISTINCT views > 99, likes & 1, views DIV 100 FROM posts ORDER BY 1, 2, 3;
SELECT DISTINCT MAX(views) OVER (PARTITION BY author_id), MIN(likes) OVER (PARTITION BY author_id) FROM posts ORDER BY 1, 2;
SELECT id, MAX(c8) OVER w, MIN(u8) OVER w, MAX(c16) OVER w, MAX(u24) OVER w, MAX(c32) OVER w, MAX(u32) OVER w, MAX(u64) OVER w, COUNT(c8) OVER w, c8 > 5 FROM widths WINDOW w AS (ORDER BY id) ORDER BY id;
SELECT id > 2 AS big, MAX(c8), MIN(u8), MAX(c16), MAX(u24), MAX(c32), MAX(u32), MAX(u64), SUM(c8), COUNT(c8) FROM widths GROUP BY big ORDER BY big DESC;
SELECT views > 99 FROM posts UNION SELECT likes > 5 FROM posts ORDER BY 1;
SELECT LENGTH(views), SIGN(score), views > 99 FROM posts GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
[mysql] SELECT t.b, COUNT(*) FROM (SELECT views > 99 AS b FROM posts) t GROUP BY t.b ORDER BY t.b;
SELECT p.views > 99 AS b, a.name FROM posts p JOIN authors a ON a.id = p.author_id ORDER BY b, a.name;
SELECT FIRST_VALUE(views) OVER w AS f, LAG(likes) OVER w, NTILE(2) OVER w, RANK() OVER w FROM posts WINDOW w AS (ORDER BY id) ORDER BY f, 2, 3, 4;
