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
