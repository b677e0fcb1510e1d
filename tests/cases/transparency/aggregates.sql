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
