# SELECTs of counters from one table.

== lists
SELECT views FROM posts WHERE id = 1;
SELECT * FROM posts ORDER BY id;
SELECT posts.* FROM posts ORDER BY id;
SELECT p.* FROM posts p ORDER BY p.id;
SELECT p.*, p.views FROM posts AS p WHERE p.id IN (1, 2) ORDER BY p.id;
SELECT *, views + 1 FROM posts WHERE id = 1;
SELECT {schema}.posts.views FROM {schema}.posts WHERE {schema}.posts.id = 1;
SELECT {schema}.posts.* FROM posts WHERE id = 1;
SELECT Views, LIKES FROM posts WHERE id = 1;
SELECT `views` AS v, likes l, score 's' FROM posts WHERE id = 1;
SELECT views AS `id`, id AS `views` FROM posts WHERE id = 1;
SELECT 1 FROM posts WHERE id = 1;
SELECT title FROM posts WHERE id = 1;
SELECT id FROM posts WHERE id = 999;
SELECT views FROM posts WHERE id = 999;
SELECT ALL views FROM posts WHERE id = 1;
SELECT 'views' FROM posts WHERE id = 1;
SELECT (views) FROM posts WHERE id = 1;
TABLE authors;
[mysql] TABLE hits;

== expressions
SELECT views + 1, views * 2, views / 3, views DIV 3, views % 7, -views FROM posts WHERE id = 1;
SELECT views + likes, views - likes, likes - views + 1000 FROM posts WHERE id = 1;
SELECT likes - 100 FROM posts WHERE id = 3;
SELECT COALESCE(score, 0), IFNULL(score, views), NULLIF(views, 100), score IS NULL FROM posts ORDER BY id;
SELECT IF(views > 99, 'hot', 'cold'), CASE WHEN views > 150 THEN 'a' WHEN views > 50 THEN 'b' ELSE 'c' END FROM posts ORDER BY id;
SELECT CASE views WHEN 100 THEN 'hundred' ELSE views END FROM posts ORDER BY id;
SELECT CONCAT(views, '/', likes), LENGTH(views), HEX(views), CAST(views AS CHAR), FORMAT(views, 2) FROM posts WHERE id = 3;
SELECT views & 1, views | 1, views ^ 3, ~likes, views << 2 FROM posts WHERE id = 1;
SELECT views = 100, views <=> score, views BETWEEN 1 AND 1000, views IN (100, 200), views NOT IN (1) FROM posts ORDER BY id;
SELECT GREATEST(views, likes), LEAST(views, score), ABS(score), SIGN(views), ROUND(views, -2), SQRT(views) FROM posts WHERE id = 1;
SELECT views AS v, v2 FROM (SELECT views, views + 1 AS v2 FROM posts WHERE id = 1) AS t;
SELECT @v := views FROM posts WHERE id = 1;
SELECT @v;
SELECT views INTO @w FROM posts WHERE id = 3;
SELECT @w;
SELECT CAST(views AS SIGNED), CAST(views AS UNSIGNED), CAST(views AS DECIMAL(10,2)), CONVERT(views, CHAR) FROM posts WHERE id = 1;
SELECT views DIV 0, views / 0, views % 0 FROM posts WHERE id = 1;
SELECT JSON_OBJECT('id', id, 'views', views) FROM posts WHERE id = 1;
SELECT CONCAT_WS(',', id, views, NULL, score) FROM posts ORDER BY id;

== the types of every column
SELECT * FROM widths ORDER BY id;
SELECT c8, u8, c16, u16, c24, u24, c32, u32, c64, u64 FROM widths WHERE id = 1;
SELECT c8 + 1, u8 + 1, c16 + 1, u16 + 1, c24 + 1, u24 + 1, c32 + 1, u32 + 1, c64 + 1 FROM widths WHERE id = 1;
SELECT amount, spent, amount + spent, amount * 2, spent / 3 FROM balances ORDER BY account, currency;
SELECT * FROM hits ORDER BY n;
SELECT * FROM articles ORDER BY id;

== WHERE
SELECT id FROM posts WHERE views = 100 ORDER BY id;
SELECT id FROM posts WHERE views > 99 AND likes < 40 ORDER BY id;
SELECT id FROM posts WHERE views + likes > 150 ORDER BY id;
SELECT id FROM posts WHERE score IS NULL ORDER BY id;
SELECT id FROM posts WHERE score IS NOT NULL AND score < 6 ORDER BY id;
SELECT id FROM posts WHERE views IN (100, 300) ORDER BY id;
SELECT id FROM posts WHERE views NOT BETWEEN 60 AND 250 ORDER BY id;
SELECT id FROM posts WHERE NOT views > 100 ORDER BY id;
SELECT id FROM posts WHERE views LIKE '1%' ORDER BY id;
SELECT id FROM posts WHERE views ORDER BY id;
SELECT id FROM posts WHERE (views, likes) = (100, 10);
SELECT id FROM posts WHERE views > likes * 5 ORDER BY id;
SELECT id FROM posts WHERE views = '100' ORDER BY id;
SELECT path FROM hits WHERE n >= 12 ORDER BY path;
SELECT account FROM balances WHERE amount < 0;
SELECT id, views FROM posts WHERE id = 1 OR views = 0 ORDER BY id;

== ORDER BY and LIMIT
SELECT id, views FROM posts ORDER BY views DESC, id;
SELECT id FROM posts ORDER BY views, id;
SELECT id FROM posts ORDER BY views DESC, id DESC LIMIT 2;
SELECT id, views FROM posts ORDER BY views DESC, id LIMIT 1, 2;
SELECT id, views FROM posts ORDER BY views DESC, id LIMIT 2 OFFSET 1;
SELECT id, views AS v FROM posts ORDER BY v DESC, id;
SELECT id, views FROM posts ORDER BY 2, 1;
SELECT id, title AS views FROM posts ORDER BY views;
SELECT id, likes AS views FROM posts ORDER BY views, id;
SELECT id FROM posts ORDER BY views + likes DESC, id;
SELECT id FROM posts ORDER BY -views, id;
SELECT id FROM posts ORDER BY posts.views, id;
SELECT id FROM posts ORDER BY score IS NULL, score, id;
SELECT id FROM posts ORDER BY FIELD(views, 300, 100), id;
SELECT SQL_CALC_FOUND_ROWS id FROM posts ORDER BY views DESC, id LIMIT 2;
SELECT FOUND_ROWS();
SELECT id, views FROM posts ORDER BY id LIMIT 0;

== DISTINCT
SELECT DISTINCT views FROM posts ORDER BY views;
SELECT DISTINCT author_id, views FROM posts ORDER BY 1, 2;
SELECT DISTINCTROW views FROM posts ORDER BY views;
SELECT COUNT(DISTINCT views) FROM posts;

== with parameters
SELECT id, views FROM posts WHERE views >= ? ORDER BY id; <- 100
SELECT id, views FROM posts WHERE views >= ? ORDER BY id; <- '100'
SELECT id, views FROM posts WHERE id = ? AND views < ?; <- 1, 1000.5
SELECT ?, views FROM posts WHERE id = 1; <- 'x'
SELECT views + ? FROM posts WHERE id = ?; <- 1.5, 1
SELECT id FROM posts ORDER BY views DESC, id LIMIT ?; <- 2
SELECT id FROM posts ORDER BY views DESC, id LIMIT ?, ?; <- 1, 2
SELECT path, n FROM hits WHERE path = ?; <- '/'

== odd spellings
select	views
  from posts
 where id=1;
SELECT/**/views/**/FROM/**/posts/**/WHERE/**/id=1;
SELECT views FROM posts WHERE id = 1 AND 'views' <> "it's; views";
(SELECT views FROM posts WHERE id = 1);
((SELECT views FROM posts WHERE id = 1));
SELECT HIGH_PRIORITY views FROM posts WHERE id = 1;
SELECT SQL_NO_CACHE views FROM posts WHERE id = 1;
SELECT STRAIGHT_JOIN views FROM posts WHERE id = 1;
SELECT views FROM posts FORCE INDEX (PRIMARY) WHERE id = 1;
SELECT views FROM posts IGNORE INDEX (author_id) WHERE author_id = 1 ORDER BY id;
SELECT SQL_SMALL_RESULT author_id, SUM(views) FROM posts GROUP BY author_id ORDER BY author_id;
SELECT posts . views FROM posts WHERE posts . id = 1;
SELECT --views FROM posts WHERE id = 1;
SELECT 1 --views
  FROM posts WHERE id = 1;
SELECT 1 --views, -views, - -views FROM posts WHERE id = 1;
SELECT id --? FROM posts WHERE id = 1; <- 5
SELECT views FROM posts PROCEDURE ANALYSE();
SELECT views FROM posts PARTITION (p0);
