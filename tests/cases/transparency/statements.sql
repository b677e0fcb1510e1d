# Statements of other kinds that name a hot table or concern nothing at all.

== nothing to do with tables
SELECT 1;
SELECT 1, 'a', NULL, 1.5, 1e0, x'6162', DATE '2024-01-01';
SELECT NOW() IS NOT NULL;
SELECT @@autocommit, @@version_comment IS NOT NULL;
SELECT 'posts', "views";
SELECT REPEAT('ab', 300);
SELECT REPEAT('ab', 40000);
SET @a = 1;
SELECT @a + 1;
DO 1;
SELECT SLEEP(0);
SELECT BENCHMARK(1, 1);
[masked] SELECT CONNECTION_ID();
[masked] SELECT UUID();
SELECT USER() LIKE 'root@%';
SELECT LAST_INSERT_ID(17);
SELECT LAST_INSERT_ID();
KILL 4294967290;
HELP 'nothing at all';

== procedures and functions [fresh]
CREATE PROCEDURE two () SELECT 1 AS a UNION SELECT 2;
CALL two();
CREATE PROCEDURE several () BEGIN SELECT 1; SELECT 'x' AS b; UPDATE authors SET followers = followers + 1; END;
CALL several();
CREATE PROCEDURE out_parameter (OUT n INT) SET n = 7;
CALL out_parameter(@n);
SELECT @n;
CREATE PROCEDURE fails () SELECT nothing;
CALL fails();
CALL nothing();
CREATE FUNCTION twice (n INT) RETURNS INT DETERMINISTIC RETURN n * 2;
SELECT twice(views) FROM posts WHERE id = 1;
UPDATE posts SET views = twice(views) WHERE id = 1;
UPDATE posts SET views = views + twice(3) WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
CREATE PROCEDURE counts () UPDATE posts SET views = views + 1 WHERE id = 1;
CALL counts();
SELECT views FROM posts WHERE id = 1;

== compound statements of MariaDB [mariadb]
BEGIN NOT ATOMIC UPDATE authors SET followers = followers + 1 WHERE id = 1; SELECT followers FROM authors WHERE id = 1; END;
SET STATEMENT max_statement_time = 10 FOR SELECT views FROM posts WHERE id = 1;
SET STATEMENT max_statement_time = 10 FOR UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT VALUE(views) FROM posts WHERE id = 1;
SELECT id, views FROM posts ORDER BY id OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY;
SELECT views FROM posts WHERE id = 1 FOR UPDATE WAIT 1;

== load a local file
\infile 30,thirty\n31,thirty-one\n
LOAD DATA LOCAL INFILE 'any' INTO TABLE authors FIELDS TERMINATED BY ',' (id, name);
SELECT * FROM authors ORDER BY id;
\infile 90,1,ninety,5\n1,1,duplicate,6\n
LOAD DATA LOCAL INFILE 'any' INTO TABLE posts FIELDS TERMINATED BY ',' (id, author_id, title, views);
SHOW WARNINGS;
SELECT id, title, views FROM posts ORDER BY id;
\infile /,50\n/loaded,7\n
LOAD DATA LOCAL INFILE 'any' REPLACE INTO TABLE hits FIELDS TERMINATED BY ',' (path, n);
SELECT * FROM hits ORDER BY path;
\infile 40,forty\n
LOAD DATA LOCAL INFILE 'any' INTO TABLE authors FIELDS TERMINATED BY ',' (id, name) SET followers = (SELECT views FROM posts WHERE id = 1);
SELECT * FROM authors ORDER BY id;
\infile
LOAD DATA LOCAL INFILE 'empty' INTO TABLE authors;
LOAD DATA LOCAL INFILE 'any' INTO TABLE nothing;

== outside of the schema
SELECT COUNT(*) > 0 FROM information_schema.tables WHERE table_name = 'posts';
SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_name IN ('posts', 'authors') ORDER BY 1;

== row constructors and VALUES
[mysql] VALUES ROW(1, 2), ROW(3, 4);
[mariadb] VALUES (1, 2), (3, 4);
SELECT ROW(1, 2) = ROW(1, 2);
SELECT id FROM posts WHERE ROW(id, views) > ROW(2, 50) ORDER BY id;
SELECT views FROM posts WHERE id = (1);
SELECT views FROM posts WHERE title REGEXP '^f' ORDER BY id;
SELECT views FROM posts WHERE MATCH (title) AGAINST ('first');
SELECT views COLLATE utf8mb4_bin FROM posts WHERE id = 1;
SELECT ALL views, DATE_ADD('2024-01-01', INTERVAL views DAY) FROM posts WHERE id = 1;
SELECT views FROM posts WHERE id = 1 INTO @a;
SELECT @a;
SELECT likes, views, score FROM posts WHERE id = 2 INTO @a, @b, @c;
SELECT @a, @b, @c, @a - 30;
SELECT ROW_COUNT();
SELECT amount, spent INTO @a, @b FROM balances WHERE account = 'bob' AND currency = 'EUR' FOR UPDATE;
SELECT @a, @b, @a + @b;
SELECT views INTO @a FROM posts WHERE id = 4200;
SHOW WARNINGS;
SELECT views INTO @a FROM posts;
SELECT views INTO @a, @b FROM posts WHERE id = 1;
SELECT (SELECT views INTO @a FROM posts WHERE id = 1);
SELECT views INTO @a FROM posts WHERE id = 1 UNION SELECT 1;
SELECT @a;
SELECT 1 INTO OUTFILE '/nonexistent/file';

== a table named as a query
[mysql] SELECT id, views FROM posts WHERE id = 1 UNION ALL TABLE tallies;
[mysql] TABLE posts ORDER BY id;
[mysql] TABLE posts UNION ALL TABLE posts;
[mysql] SELECT '/', NULL, 1 UNION TABLE hits;
[mysql] TABLE hits UNION SELECT '/', NULL, 1;
[mysql] SELECT '/', '2024-01-01', 1000 INTERSECT TABLE hits;
[mysql] TABLE hits EXCEPT SELECT '/', '2024-01-01', 1000;
[mysql] SELECT * FROM (SELECT '/', NULL, 1 UNION TABLE hits) AS u ORDER BY 1, 2, 3;
[mysql] SELECT id FROM authors WHERE 1000 IN (SELECT n FROM (SELECT 'a' AS path, NULL AS day, 1 AS n UNION TABLE hits) AS h);
[mysql] WITH h AS (SELECT 'a' AS path, NULL AS day, 1 AS n UNION TABLE hits) SELECT * FROM h ORDER BY 1;
[mysql] INSERT INTO tallies (id, views) SELECT 50, 1 EXCEPT TABLE tallies;
[mysql] UPDATE authors SET followers = (SELECT MAX(n) FROM (SELECT 'a' AS path, NULL AS day, 1 AS n UNION TABLE hits) AS h) WHERE id = 1;
SELECT * FROM authors;

== what is neither read nor written by rows
[direct] CREATE PROCEDURE told(n INT) SELECT n;
CALL told((SELECT views FROM posts WHERE id = 1));
CALL told((SELECT MAX(n) FROM hits));
SET @v = (SELECT views FROM posts WHERE id = 3);
SELECT @v;
DO (SELECT views FROM posts WHERE id = 3);
SHOW COLUMNS FROM authors WHERE 100 = (SELECT views FROM posts WHERE id = 1);
SHOW VARIABLES WHERE variable_name = 'autocommit' AND 1000 = (SELECT n FROM hits WHERE path = '/');
SHOW CHARACTER SET WHERE charset = 'ascii' AND 1000 = (SELECT n FROM hits WHERE path = '/');
SHOW COLUMNS FROM authors WHERE 1000 = (SELECT /* n */ MAX(n) FROM hits);
[mysql] SHOW COLUMNS FROM authors WHERE 100 = /*! (SELECT views FROM posts WHERE id = 1) */;
[direct] DROP PROCEDURE told;

== no space between tokens
SELECT`views`FROM`posts`WHERE`id`=1;
SELECT`views`,`likes`AS`l`FROM`posts`WHERE`id`IN(1,2)ORDER BY`views`;
SELECT*FROM`posts`WHERE`id`=1;
SELECT`p`.*FROM`posts`AS`p`WHERE`id`=1;
SELECT`p`.`views`+`p`.`likes`FROM`posts`AS`p`WHERE`p`.`views`>1 AND`p`.`id`=1;
SELECT`views`FROM`posts`GROUP BY`views`HAVING`views`>1 ORDER BY`views`;
SELECT`views`,COUNT(*)FROM`posts`GROUP BY`views`ORDER BY`views`;
SELECT(`views`)FROM`posts`WHERE`id`=1;
SELECT-`views`FROM`posts`WHERE`id`=1;
SELECT`views`'v'FROM`posts`WHERE`id`=1;
SELECT`views`"v",'x''y'FROM`posts`WHERE`id`=1;
SELECT/**/`views`/**/FROM/**/`posts`/**/WHERE`id`=1;
SELECT DISTINCT`views`FROM`posts`ORDER BY`views`;
SELECT CASE`views`WHEN`likes`THEN`views`ELSE`likes`END FROM`posts`WHERE`id`=1;
SELECT NOT`views`FROM`posts`WHERE`id`=1;
SELECT 5DIV`views`FROM`posts`WHERE`id`=1;
SELECT`views`DIV`likes`FROM`posts`WHERE`id`=1;
SELECT`a`.`views`FROM`posts`AS`a`JOIN`posts`AS`b`USING(`id`)WHERE`id`=1;
SELECT*FROM`posts`NATURAL JOIN`authors`;
SELECT`views`FROM`posts`WHERE`id`=?AND`views`>?; <- 1, 2
SELECT`views`FROM`posts`WHERE`id`=1 LIMIT?; <- 1
UPDATE`posts`SET`views`=`views`+1 WHERE`id`=1;
UPDATE`posts`SET`views`=`views`+1 WHERE`posts`.`id`=1 AND`title`='first';
UPDATE`posts`SET`views`=`views`+?WHERE`id`=?; <- 1, 2
UPDATE`posts`SET`views`=`views`+?WHERE`id`=?AND`title`='second'; <- 1, 2
UPDATE`posts`SET`views`=`views`+1 WHERE`{schema}`.`posts`.`id`=1;
UPDATE`hits`SET`n`=`n`+1 WHERE`path`='/';
DELETE FROM`hits`WHERE`path`='/about';
INSERT INTO`hits`(`path`,`n`)VALUES('/',1)ON DUPLICATE KEY UPDATE`n`=`n`+1;
SELECT`views`FROM`posts`WHERE`id`=1 FOR UPDATE;
SELECT`views`FROM`posts`WHERE`id`IN(SELECT`id`FROM`authors`)UNION SELECT`likes`FROM`posts`WHERE`id`=3;
WITH`c`AS(SELECT`views`FROM`posts`)SELECT*FROM`c`ORDER BY`views`;
UPDATE posts SET views=views+1 WHERE id=99999;
SELECT@@warning_count,ROW_COUNT();
UPDATE posts SET views=5 WHERE id=1;
SELECT@@warning_count;
UPDATE posts SET views=6 WHERE id=1;
SELECT`id`,ROW_COUNT()AS`x`FROM`authors`WHERE`id`=1;
[direct] PREPARE s FROM'SELECT`views`FROM`posts`WHERE`id`=?AND`views`>?AND?';
[direct] SET @a=1,@b=2;
[direct] EXECUTE s USING@a,@b,@a;
[direct] PREPARE s FROM'UPDATE`posts`SET`views`=`views`+?WHERE`id`=?AND`title`<>?';
[direct] EXECUTE s USING@a,@b,@a;
[direct] DEALLOCATE PREPARE s;
SELECT`views`FROM`posts`ORDER BY`id`;

== executable comments are read as the server reads them [fresh]
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views /*!50000 + 1 */ WHERE id /*! = 1 */;
SELECT views /*!50000 + 1 */ FROM posts WHERE id = 1;
SELECT /*!50000 views + 1 */ FROM posts WHERE id = 1;
SELECT /*!50000 views */ FROM posts WHERE id = 1;
SELECT /*!50000 views + likes */ AS x, views/*!+1*/, (views /*! + 1) */ FROM posts WHERE id = 1;
SELECT views /* x */ + 1 FROM posts WHERE id = 1;
SELECT /*!80000 views + 1, */ likes /*M! + 1 */ FROM posts WHERE id = 1;
SELECT /*! MAX(views) */, MAX(views /*M!100100 + 1 */) FROM posts GROUP BY author_id ORDER BY author_id;
SELECT (SELECT views /*! + 1 */ FROM posts WHERE id = 1) /*! + 1 */;
SELECT views /*!50000 + nothing */ FROM posts WHERE id = 1;
SELECT views /*!50000 + */ FROM posts WHERE id = 1;
SELECT views FROM posts WHERE id = 1 /*!50000 ORDER */ title;
UPDATE posts SET views = views /*!50000 + */ WHERE id = 1;
UPDATE posts SET views = views - 100000 /*! * 3 */ WHERE id = 1;
SELECT views /*!99999 + 1 */ FROM posts WHERE id = 1;
/*!50000 SELECT views FROM posts WHERE title = 'first' */;
/*!50000 SET @a = 5 */;
/*!50000 SHOW WARNINGS */;
/*!50000 BEGIN */;
/*!50000 UPDATE posts SET views = views + 1 WHERE id = 2 */;
/*!50000 SELECT views FROM posts WHERE id = 2 */;
/*!50000 ROLLBACK */;
SELECT views FROM posts WHERE id IN (1, 2) ORDER BY id;
