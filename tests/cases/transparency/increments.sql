# Increments as applications and their ORMs write them.

== Rails
UPDATE `posts` SET `posts`.`views` = COALESCE(`posts`.`views`, 0) + 1 WHERE `posts`.`id` = 1;
UPDATE `posts` SET `views` = COALESCE(`views`, 0) + 1 WHERE `posts`.`id` = 2;
UPDATE `posts` SET `views` = COALESCE(`views`, 0) - 1, `likes` = COALESCE(`likes`, 0) + 2 WHERE `posts`.`id` IN (1, 3);
UPDATE `posts` SET `posts`.`views` = COALESCE(`posts`.`views`, 0) + 1, `posts`.`title` = 'touched' WHERE `posts`.`id` = 4;
SELECT `posts`.* FROM `posts` ORDER BY `posts`.`id` ASC;

== Django
UPDATE `posts` SET `views` = (`posts`.`views` + 1) WHERE `posts`.`id` = 1;
UPDATE `posts` SET `views` = (`posts`.`views` + 5), `likes` = (`posts`.`likes` + 1) WHERE `posts`.`author_id` = 1;
SELECT `posts`.`id`, `posts`.`author_id`, `posts`.`title`, `posts`.`views`, `posts`.`likes` FROM `posts` WHERE `posts`.`id` = 1 LIMIT 21;

== Laravel
update `posts` set `views` = `views` + 1 where `id` = 3;
update `posts` set `views` = `views` + 1, `posts`.`title` = 'third again' where `id` = 3;
update `posts` set `likes` = `likes` - 3 where `posts`.`id` = 3 limit 1;
select * from `posts` where `posts`.`id` = 3 limit 1;

== Hibernate and JPA
update posts set views=views+1 where id=10;
update posts p1_0 set views=(p1_0.views+1) where p1_0.id=10;
select p1_0.id,p1_0.author_id,p1_0.likes,p1_0.title,p1_0.views from posts p1_0 where p1_0.id=10;

== SQLAlchemy
UPDATE posts SET views=(posts.views + 1) WHERE posts.id = 1;
SELECT posts.views AS posts_views, posts.id AS posts_id FROM posts WHERE posts.id = 1;

== Sequelize
UPDATE `posts` SET `views`=`views`+ 1 WHERE `id` = 2;
UPDATE `posts` SET `views`=`views`- 1,`likes`=`likes`- 1 WHERE `id` = 2;
SELECT `id`, `views`, `likes` FROM `posts` AS `Post` WHERE `Post`.`id` = 2;

== Prisma
UPDATE `{schema}`.`posts` SET `views` = (`{schema}`.`posts`.`views` + 1) WHERE (`{schema}`.`posts`.`id` = 1 AND 1=1);
SELECT `{schema}`.`posts`.`id`, `{schema}`.`posts`.`views` FROM `{schema}`.`posts` WHERE (`{schema}`.`posts`.`id` = 1 AND 1=1) LIMIT 1 OFFSET 0;

== shapes of the assignment
UPDATE posts SET views = 1 + views WHERE id = 1;
UPDATE posts SET views = (views) + (1) WHERE id = 1;
UPDATE posts SET views = views + -3 WHERE id = 1;
UPDATE posts SET views = views - -3 WHERE id = 1;
UPDATE posts SET VIEWS = Views + 1 WHERE ID = 1;
UPDATE posts SET views = IFNULL(views, 0) + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 + 1 WHERE id = 1;
UPDATE posts SET views = views + (2 * 3) WHERE id = 1;
UPDATE posts SET views = views + +1 WHERE id = 1;
UPDATE posts SET views = views + 0x10 WHERE id = 1;
UPDATE posts SET views = views + TRUE WHERE id = 1;
UPDATE posts SET views = views + 1.0 WHERE id = 1;
UPDATE posts SET views = views + 1234.000000 WHERE id = 1;
UPDATE posts SET views = views - 0034.000, likes = likes + 2.00 WHERE id = 1;
UPDATE posts SET views = views + 0.00 WHERE id = 1;
UPDATE posts SET likes = likes - 2.00 WHERE id = 1;
UPDATE posts SET likes = likes - 1000000.00 WHERE id = 1;
UPDATE posts SET views = views + 2147483647.000 WHERE id = 1;
UPDATE posts SET views = views + 1.00000000000000000000000000000000000000000000000000001 WHERE id = 1;
UPDATE posts SET views = views + 0.5 WHERE id = 1;
UPDATE posts SET views = views + 0.5e0 WHERE id = 1;
UPDATE posts SET views = views + '2' WHERE id = 1;
UPDATE posts SET views = views + NULL WHERE id = 6;
UPDATE posts SET views := views + 1 WHERE id = 1;
UPDATE posts SET posts.views = posts.views + 1 WHERE posts.id = 1;
UPDATE {schema}.posts SET {schema}.posts.views = {schema}.posts.views + 1 WHERE {schema}.posts.id = 1;
UPDATE posts AS p SET p.views = p.views + 1 WHERE p.id = 1;
UPDATE posts p SET views = views + 1 WHERE p.id = 1;
UPDATE LOW_PRIORITY posts SET views = views + 1 WHERE id = 1;
UPDATE IGNORE posts SET views = views + 1 WHERE id = 1;
SELECT id, views FROM posts ORDER BY id;

== which rows
UPDATE posts SET views = views + 1 WHERE id = 999;
UPDATE posts SET views = views + 1 WHERE id IN (1, 2, 999, 2);
UPDATE posts SET views = views + 1 WHERE id BETWEEN 2 AND 4;
UPDATE posts SET views = views + 1 WHERE id > 2 AND id <= 5 OR id = 1;
UPDATE posts SET views = views + 1 WHERE author_id = 2;
UPDATE posts SET views = views + 1 WHERE author_id = 77;
UPDATE posts SET views = views + 1 WHERE title = 'first';
UPDATE posts SET views = views + 1 WHERE title LIKE 'f%';
UPDATE posts SET views = views + 1 WHERE title = 'FIRST';
UPDATE posts SET views = views + 1 WHERE id = '1';
UPDATE posts SET views = views + 1 WHERE id = 1.0;
UPDATE posts SET views = views + 1 WHERE id = '1abc';
UPDATE posts SET views = views + 1 WHERE id = NULL;
UPDATE posts SET views = views + 1 WHERE id IS NULL;
UPDATE posts SET views = views + 1 WHERE NOT id = 1;
UPDATE posts SET views = views + 1 WHERE 1 = id;
UPDATE posts SET views = views + 1 WHERE id = 1 AND author_id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1 AND author_id = 2;
UPDATE posts SET views = views + 1 WHERE (id) = (1);
UPDATE posts SET views = views + 1 WHERE id = 1 OR 1 = 0;
UPDATE posts SET views = views + 1 WHERE 1 = 0;
UPDATE posts SET views = views + 1 WHERE (id, author_id) = (1, 1);
UPDATE posts SET views = views + 1 WHERE id = 1 LIMIT 1;
UPDATE posts SET views = views + 1 ORDER BY id DESC LIMIT 2;
UPDATE posts SET views = views + 1 WHERE id = 1 LIMIT 0;
UPDATE posts SET views = views + 1;
SELECT * FROM posts ORDER BY id;

== nothing changes
UPDATE posts SET views = views + 0 WHERE id = 1;
UPDATE posts SET views = views - 0 WHERE id IN (1, 2);
UPDATE posts SET views = views WHERE id = 1;
UPDATE posts SET views = views + 0, likes = likes + 1 WHERE id = 1;
UPDATE posts SET views = views + 00 WHERE id = 1;
SELECT views, likes FROM posts WHERE id = 1;

== a counter that is NULL
UPDATE posts SET score = score + 1 WHERE id = 2;
SELECT score FROM posts WHERE id = 2;
UPDATE posts SET score = COALESCE(score, 0) + 1 WHERE id = 2;
SELECT score FROM posts WHERE id = 2;
UPDATE posts SET score = score + 1;
SELECT id, score FROM posts ORDER BY id;
UPDATE posts SET score = NULL WHERE id = 1;
UPDATE posts SET score = score + 4 WHERE id = 1;
SELECT id, score FROM posts ORDER BY id;
UPDATE posts SET score = IFNULL(score, 0) + 1, views = views + 1;
SELECT id, score, views FROM posts ORDER BY id;

== a string as the key
UPDATE hits SET n = n + 1 WHERE path = '/';
UPDATE hits SET n = n + 1 WHERE path = '/ABOUT';
UPDATE hits SET n = n + 1 WHERE path = '/äpfel';
UPDATE hits SET n = n + 1 WHERE path = '/ ';
UPDATE hits SET n = n + 1 WHERE path = 5;
UPDATE hits SET n = n + 1 WHERE path = '05';
UPDATE hits SET n = n + 1 WHERE path = "/about";
UPDATE hits SET n = n + 1 WHERE path = _utf8mb4'/';
UPDATE hits SET n = n + 1 WHERE path = '/' COLLATE utf8mb4_bin;
UPDATE hits SET n = n + 1 WHERE path = 'it''s';
UPDATE hits SET n = n + 1 WHERE path = 'a\'b\\';
UPDATE hits SET n = n - 1 WHERE path = '/';
UPDATE hits SET n = n + 1 WHERE day = '2024-01-01';
UPDATE hits SET n = n + 1 WHERE day IS NULL;
SELECT * FROM hits ORDER BY path;

== two columns as the key, decimals as counters
UPDATE balances SET amount = amount + 10 WHERE account = 'alice' AND currency = 'EUR';
UPDATE balances SET amount = amount - 0.01 WHERE currency = 'EUR' AND account = 'alice';
UPDATE balances SET amount = amount + 1.5 WHERE account = 'bob';
UPDATE balances SET amount = amount + 0.005 WHERE account = 'bob' AND currency = 'EUR';
UPDATE balances SET spent = spent + 0.125, amount = amount - 0.13 WHERE account = 'bob' AND currency = 'USD';
UPDATE balances SET spent = spent - 1 WHERE account = 'bob' AND currency = 'EUR';
UPDATE balances SET amount = amount + 1e2 WHERE account = 'alice' AND currency = 'USD';
UPDATE balances SET amount = amount + 3 WHERE (account, currency) IN (('alice', 'EUR'), ('bob', 'USD'));
UPDATE balances SET amount = amount + 3 WHERE account = 'carol' AND currency = 'EUR';
UPDATE balances SET amount = amount * 1.1 WHERE account = 'alice';
SELECT account, currency, amount, spent FROM balances ORDER BY account, currency;

== every width
UPDATE widths SET c8 = c8 + 1, u8 = u8 + 1, c16 = c16 + 1, u16 = u16 + 1, c24 = c24 + 1, u24 = u24 + 1, c32 = c32 + 1, u32 = u32 + 1, c64 = c64 + 1, u64 = u64 + 1 WHERE id = 1;
UPDATE widths SET c16 = c16 + 1 WHERE id = 1;
UPDATE widths SET c24 = c24 - 30 WHERE id = 1;
UPDATE widths SET u64 = u64 + 9223372036854775808 WHERE id = 4;
UPDATE widths SET c64 = c64 - 4611686018427387904 WHERE id = 4;
UPDATE widths SET c16 = c16 + 100 WHERE id = 4;
UPDATE widths SET c16 = c16 + 100 WHERE id = 4;
UPDATE widths SET c8 = c8 - 3 WHERE id IN (1, 4);
SELECT * FROM widths ORDER BY id;

== a table that touches a timestamp
[direct] SET timestamp = 1700000000;
UPDATE articles SET opens = opens + 1 WHERE id = 1;
UPDATE articles SET opens = opens + 1, updated_at = NOW() WHERE id = 2;
UPDATE articles SET opens = opens + 1, updated_at = updated_at WHERE id = 3;
UPDATE articles SET opens = opens + 1, updated_at = '2010-01-01 00:00:00' WHERE slug = 'two';
UPDATE articles SET slug = 'uno' WHERE id = 1;
SELECT * FROM articles ORDER BY id;

== with assignments of other kinds
UPDATE posts SET views = views + 1, title = 'new title' WHERE id = 1;
UPDATE posts SET title = CONCAT(title, '!'), views = views + 1 WHERE id = 2;
UPDATE posts SET views = views + 1, likes = views WHERE id = 3;
UPDATE posts SET likes = views, views = views + 1 WHERE id = 3;
UPDATE posts SET views = views + 1, views = views + 1 WHERE id = 4;
UPDATE posts SET views = views + likes WHERE id = 5;
UPDATE posts SET views = likes + 1 WHERE id = 5;
UPDATE posts SET views = LAST_INSERT_ID(views + 1) WHERE id = 1;
SELECT LAST_INSERT_ID();
UPDATE posts SET views = GREATEST(views - 1000, 0) WHERE id = 1;
UPDATE posts SET views = views * 2 WHERE id = 2;
UPDATE posts SET views = views - views + 5 WHERE id = 3;
UPDATE posts SET views = IF(id = 4, views + 1, views) WHERE id IN (3, 4);
UPDATE posts SET views = CASE id WHEN 1 THEN views + 1 WHEN 2 THEN views + 2 ELSE views END WHERE id IN (1, 2);
SELECT * FROM posts ORDER BY id;

== variables and functions as the delta
SET @n = 3;
UPDATE posts SET views = views + @n WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = @n;
UPDATE posts SET views = views + ABS(-2) WHERE id = 1;
UPDATE posts SET views = views + (SELECT MAX(followers) FROM authors) WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE (@seen := id) = 1;
SELECT @seen;
UPDATE posts SET views = (@v := views + 1) WHERE id = 1;
SELECT @v;
SELECT id, views FROM posts ORDER BY id;

== comments and hints inside
UPDATE /* hot */ posts SET views /* c */ = views + /* one */ 1 WHERE id = 1 -- done;
UPDATE /*+ MAX_EXECUTION_TIME(1000) */ posts SET views = views + 1 WHERE id = 1;
/* app:web */ UPDATE posts SET views = views + 1 WHERE id = 1 /* trace:abc'def */;
UPDATE posts SET views = views + 1 WHERE id /*! = 1 */;
UPDATE posts SET views = views /*!99999 * 0 */ + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 # a comment
 WHERE id = 1;
UPDATE posts USE INDEX (PRIMARY) SET views = views + 1 WHERE id = 1;
/* countersink:off */ UPDATE posts SET views = views + 1 WHERE id = 2;
SELECT /*+ NO_INDEX_MERGE(posts) */ id, views FROM posts /* c */ WHERE id < 3 ORDER BY id;

== a cold table counts as ever
UPDATE authors SET followers = followers + 1 WHERE id = 1;
UPDATE tallies SET views = views + 1;
UPDATE comments SET votes = votes + 1 WHERE post_id = 1;
SELECT a.followers, t.views FROM authors a JOIN tallies t ON t.id = a.id ORDER BY a.id;
