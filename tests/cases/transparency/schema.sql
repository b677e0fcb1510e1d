# What tells of the tables rather than of the values.

== SHOW and DESCRIBE
DESCRIBE posts;
DESC posts views;
SHOW COLUMNS FROM posts;
SHOW FULL COLUMNS FROM posts LIKE 'v%';
SHOW FIELDS FROM hits FROM {schema};
[masked] SHOW INDEX FROM posts;
SHOW CREATE TABLE posts;
SHOW CREATE TABLE {schema}.balances;
SHOW TABLES LIKE 'posts';
SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = '{schema}' AND table_name = 'posts' ORDER BY ordinal_position;
SHOW CREATE TABLE nothing;
DESCRIBE posts nothing;

# MySQL 9.7.4 itself dies of an EXPLAIN with a cursor.
== EXPLAIN
[cursorless] EXPLAIN SELECT title FROM posts WHERE id = 1;
[cursorless] EXPLAIN UPDATE posts SET title = 'x' WHERE id = 1;
[cursorless] EXPLAIN SELECT views FROM posts WHERE id = 1;
[cursorless] EXPLAIN UPDATE posts SET views = views + 1 WHERE id = 1;
[cursorless] EXPLAIN FORMAT=JSON SELECT nothing FROM posts;
[cursorless] EXPLAIN DELETE FROM posts WHERE id = 1;

== fields
\field_list posts %
\field_list posts v%
\field_list authors %
\field_list nothing %

== maintenance
ANALYZE TABLE authors;
CHECK TABLE posts;
[mysql] CHECKSUM TABLE authors;
SHOW WARNINGS;
SHOW STATUS LIKE 'nothing';
SHOW VARIABLES LIKE 'autocommit';
DO 0;
DO (SELECT views FROM posts WHERE id = 1);
SET @v = (SELECT SUM(views) FROM posts);
SELECT @v;
