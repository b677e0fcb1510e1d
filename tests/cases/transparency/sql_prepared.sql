# SQL syntax for prepared statements: EXECUTE follows the text that was prepared.

== increments
PREPARE inc FROM 'UPDATE posts SET views = views + ? WHERE id = ?';
SET @n = 2, @id = 1, @none = NULL, @text = '3', @half = 0.5, @float = 1e0, @less = -4;
EXECUTE inc USING @n, @id;
EXECUTE Inc USING @n, @id;
EXECUTE `INC` USING @n, @text;
EXECUTE inc USING @text, @id;
EXECUTE inc USING @half, @id;
EXECUTE inc USING @float, @id;
EXECUTE inc USING @less, @id;
EXECUTE inc USING @none, @id;
EXECUTE inc USING @n, @none;
EXECUTE inc USING @n, @unset;
EXECUTE inc USING @unset, @n;
EXECUTE inc USING @n;
EXECUTE inc;
EXECUTE inc USING @n, @id, @id;
[mariadb] EXECUTE inc USING 5, 1;
[mariadb] EXECUTE inc USING @n + 1, CONCAT('', 1);
[mysql] EXECUTE inc USING 5, 1;
PREPARE path FROM "UPDATE hits SET n = n + 1 WHERE path = ?";
SET @path = '/about', @latin = _latin1'/about', @binary = X'2F', @umlaut = '/Äpfel';
EXECUTE path USING @path;
EXECUTE path USING @latin;
EXECUTE path USING @binary;
EXECUTE path USING @umlaut;
EXECUTE path USING @id;
SELECT path, n FROM hits ORDER BY path;
PREPARE fixed FROM 'UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 3';
EXECUTE fixed;
EXECUTE fixed;
SELECT id, views, likes FROM posts ORDER BY id;

== reads
PREPARE one FROM 'SELECT id, views, likes FROM posts WHERE id = ?';
SET @id = 1, @n = 2, @text = 'first', @float = 1e0;
EXECUTE one USING @id;
EXECUTE one USING @text;
EXECUTE one USING @float;
PREPARE title FROM 'SELECT views FROM posts WHERE title = ? AND views > ?';
EXECUTE title USING @text, @n;
PREPARE more FROM 'SELECT p.views, a.name FROM posts p JOIN authors a ON a.id = p.author_id ORDER BY p.views DESC, p.id LIMIT ?';
EXECUTE more USING @n;
EXECUTE more USING @text;
EXECUTE more USING @unset;
PREPARE sum FROM 'SELECT views + ? AS total, ? FROM posts WHERE id = 1';
EXECUTE sum USING @n, @text;
EXECUTE sum USING @float, @id;
PREPARE every FROM 'SELECT * FROM posts ORDER BY id;';
EXECUTE every;
EXECUTE every;
PREPARE locked FROM 'SELECT views FROM posts WHERE id = ? FOR UPDATE';
BEGIN;
EXECUTE locked USING @id;
COMMIT;
PREPARE star FROM 'SELECT COUNT(*), SUM(views), MAX(likes) FROM posts';
EXECUTE star;
PREPARE cold FROM 'SELECT name FROM authors WHERE id = ?';
EXECUTE cold USING @id;
START TRANSACTION READ ONLY;
EXECUTE one USING @id;
EXECUTE every;
EXECUTE nothing;
EXECUTE one;
COMMIT;

== other writes
SET @id = 1, @n = 7;
PREPARE put FROM 'UPDATE posts SET views = ? WHERE id = ?';
EXECUTE put USING @n, @id;
PREPARE del FROM 'DELETE FROM posts WHERE id = ?';
EXECUTE del USING @id;
PREPARE ins FROM 'INSERT INTO posts (id, author_id, title, views) VALUES (?, 1, ''new'', ?)';
EXECUTE ins USING @id, @n;
EXECUTE ins USING @id, @n;
PREPARE up FROM 'INSERT INTO posts (id, author_id, title, views) VALUES (?, 1, ''new'', 1) ON DUPLICATE KEY UPDATE views = views + VALUES(views)';
EXECUTE up USING @id;
PREPARE sel FROM 'INSERT INTO tallies (id, views) SELECT id + 100, views FROM posts WHERE id > ?';
EXECUTE sel USING @id;
SELECT * FROM tallies ORDER BY id;
SELECT * FROM posts ORDER BY id;
START TRANSACTION READ ONLY;
EXECUTE put USING @n, @id;
EXECUTE put USING @n;
COMMIT;

== in a transaction
PREPARE inc FROM 'UPDATE posts SET views = views + ? WHERE id = ?';
PREPARE seek FROM 'SELECT views FROM posts WHERE id = ?';
SET @n = 2, @id = 1;
BEGIN;
EXECUTE seek USING @id;
EXECUTE inc USING @n, @id;
EXECUTE seek USING @id;
EXECUTE inc USING @n, @id;
ROLLBACK;
EXECUTE seek USING @id;
SET autocommit = 0;
EXECUTE inc USING @n, @id;
SET autocommit = 1;
EXECUTE seek USING @id;
PREPARE done FROM 'COMMIT';
BEGIN;
EXECUTE inc USING @n, @id;
EXECUTE done;
ROLLBACK;
EXECUTE seek USING @id;

== names come and go
PREPARE s FROM 'UPDATE posts SET views = views + 1 WHERE id = 1';
EXECUTE S;
PREPARE s FROM 'UPDATE posts SET views = views + 10 WHERE id = 2';
EXECUTE s;
PREPARE s FROM 5;
EXECUTE s;
PREPARE s FROM 'UPDATE posts SET views = views + 10 WHERE id = 2';
PREPARE s FROM 'UPDATE nothing SET views = 1';
EXECUTE s;
PREPARE s FROM 'UPDATE posts SET views = views + 100 WHERE id = 3';
DEALLOCATE PREPARE S;
EXECUTE s;
DEALLOCATE PREPARE s;
PREPARE s FROM 'UPDATE posts SET views = views + 100 WHERE id = 3';
DROP PREPARE `s`;
EXECUTE s;
PREPARE s FROM 'UPDATE posts SET views = views + 100 WHERE id = 3';
\reset
EXECUTE s;
PREPARE é FROM 'UPDATE posts SET views = views + 1000 WHERE id = 4';
EXECUTE É;
EXECUTE e;
EXECUTE é;
PREPARE immediate FROM 'UPDATE posts SET views = views * 2 WHERE id = 3';
EXECUTE immediate;
SELECT id, views FROM posts ORDER BY id;

== texts in disguise
PREPARE s FROM 'UPDATE po\sts SET views = views * 2 WHERE id = 1';
EXECUTE s;
PREPARE s FROM 'SELECT \'it''s\', views FROM p\osts WHERE title LIKE \'fir\%\' OR id = 3';
EXECUTE s;
SET @sql = CONCAT('SELECT SUM(views) FROM po', 'sts');
PREPARE total FROM @sql;
EXECUTE total;
SET @sql = NULL;
EXECUTE total;
PREPARE total FROM @sql;
EXECUTE total;
SET @sql = CONCAT('UPDATE hits SET n = n * 2 WHERE path = ''/', 'Äpfel''');
PREPARE umlaut FROM @sql;
EXECUTE umlaut;
PREPARE umlaut FROM 'UPDATE hits SET n = n + 1 WHERE path = ''/Äpfel''';
EXECUTE umlaut;
PREPARE umlaut FROM 'SELECT ''Ä😀'', n FROM hits WHERE path = ''/Äpfel''';
EXECUTE umlaut;
SET @q = 'UPDATE posts SET views = views * 2 WHERE id = 3';
[mariadb] PREPARE s FROM CONCAT(@q, '');
[mysql] PREPARE s FROM @q;
EXECUTE s;
/*!50000 EXECUTE s */;
/*!50000 PREPARE s FROM @q */;
EXECUTE s;
[mariadb] SET STATEMENT max_statement_time = 100 FOR EXECUTE s;
[mariadb] SET STATEMENT max_statement_time = 100 FOR PREPARE s FROM 'UPDATE posts SET views = views * 2 WHERE id = 4';
[mariadb] EXECUTE s;
EXECUTE IMMEDIATE 'SELECT views FROM posts WHERE id = 1';
EXECUTE IMMEDIATE 'UPDATE posts SET views = views + ? WHERE id = ?' USING @n, @id;
EXECUTE IMMEDIATE @q;
SELECT id, views FROM posts ORDER BY id;

== in packets of several [text]
SET @q = 'UPDATE posts SET views = views * 2 WHERE id = 1';
SELECT 1; PREPARE s FROM @q; EXECUTE s; SELECT 2;
DO 0; EXECUTE s;
DO 0; DEALLOCATE PREPARE s; EXECUTE s; SELECT 3;
SELECT views FROM posts WHERE id = 1;

== what PREPARE knew
USE information_schema;
PREPARE s FROM 'UPDATE {schema}.posts SET views = views + 1 WHERE id = 1';
PREPARE miss FROM 'UPDATE posts SET views = views + 1 WHERE id = 1';
USE {schema};
EXECUTE s;
PREPARE inner FROM 'UPDATE posts SET views = views * 2 WHERE id = 1';
PREPARE `inner` FROM 'UPDATE posts SET views = views * 2 WHERE id = 1';
PREPARE `read` FROM 'SELECT views FROM posts WHERE id = 1';
USE information_schema;
EXECUTE `inner`;
EXECUTE `read`;
USE {schema};
SET sql_mode = 'ANSI_QUOTES';
PREPARE a FROM 'UPDATE "posts" SET "views" = "views" + 1 WHERE title = ''first''';
PREPARE quoted FROM "posts";
SET sql_mode = '';
EXECUTE a;
PREPARE b FROM 'UPDATE posts SET views = views + 1 WHERE title = "first"';
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES';
EXECUTE b;
PREPARE c FROM 'UPDATE posts SET views = views + 1 WHERE title = ''\'' OR id = 2';
EXECUTE c;
EXECUTE `read`;
SET sql_mode = DEFAULT;
SELECT id, views FROM posts ORDER BY id;

== DDL by EXECUTE [fresh]
PREPARE inc FROM 'UPDATE posts SET views = views + 1 WHERE id = 1';
PREPARE seek FROM 'SELECT * FROM posts ORDER BY id';
EXECUTE inc;
PREPARE alt FROM 'ALTER TABLE posts ADD COLUMN extra INT NULL';
EXECUTE alt;
EXECUTE inc;
EXECUTE seek;
PREPARE trunc FROM 'TRUNCATE TABLE hits';
EXECUTE trunc;
INSERT INTO hits (path) VALUES ('/');
SELECT * FROM hits;
PREPARE tmp FROM 'CREATE TEMPORARY TABLE posts (id INT, views INT)';
EXECUTE tmp;
INSERT INTO posts VALUES (1, 5);
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT * FROM posts;
PREPARE gone FROM 'DROP TEMPORARY TABLE posts';
EXECUTE gone;
UPDATE posts SET views = views + 1 WHERE id = 1;
EXECUTE seek;
EXECUTE inc;
SELECT views FROM posts WHERE id = 1;

== prepared by a procedure [fresh]
CREATE PROCEDURE prep(q VARCHAR(200)) BEGIN SET @hidden = q; PREPARE s FROM @hidden; END;
PREPARE s FROM 'SELECT 1';
CALL prep('UPDATE posts SET views = views * 2 WHERE id = 1');
EXECUTE s;
SELECT views FROM posts WHERE id = 1;
PREPARE s FROM 'UPDATE posts SET views = views + 1 WHERE id = 1';
EXECUTE s;
SELECT views FROM posts WHERE id = 1;

== under locks
PREPARE inc FROM 'UPDATE posts SET views = views + 1 WHERE id = 1';
PREPARE seek FROM 'SELECT views FROM posts WHERE id = 1';
LOCK TABLES posts WRITE;
EXECUTE inc;
EXECUTE seek;
UNLOCK TABLES;
LOCK TABLES posts READ;
EXECUTE inc;
EXECUTE seek;
UNLOCK TABLES;
EXECUTE seek;

== an error of EXECUTE behind PREPARE with a comment at its end
[direct] PREPARE sql_one FROM 'UPDATE posts SET views = ? WHERE id = ?'; -- done;
[direct] SET @n = NULL, @k = 3.0;
[direct] EXECUTE sql_one USING @n, @k; -- done;
[direct] SHOW ERRORS;

== writes of other columns in a transaction that has a snapshot
PREPARE s FROM 'UPDATE posts SET title = ? WHERE id = ?';
PREPARE u FROM 'INSERT INTO posts (id, author_id, title) VALUES (?, 1, ?) ON DUPLICATE KEY UPDATE title = VALUES(title)';
PREPARE d FROM 'DELETE FROM posts WHERE id = ? AND title = ?';
SET @t = 'x', @k = 1, @two = '2', @none = 99;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT views FROM posts WHERE id = 1;
\connection b
UPDATE posts SET views = views + 1 WHERE id IN (1, 2, 3);
\roll_up
\connection a
EXECUTE s USING @t, @k;
SELECT id, views FROM posts WHERE id < 4 ORDER BY id;
EXECUTE s USING @t, @two;
SELECT id, views FROM posts WHERE id < 4 ORDER BY id;
EXECUTE s USING @t, @none;
EXECUTE u USING @none, @t;
EXECUTE u USING @k, @none;
EXECUTE d USING @none, @t;
SELECT id, title, views FROM posts ORDER BY id;
COMMIT;

== execute of a text that is not known, in a snapshot
CREATE PROCEDURE prep() PREPARE s FROM 'SELECT id, views FROM posts ORDER BY id';
CREATE PROCEDURE prep_write() PREPARE w FROM 'UPDATE posts SET views = views + 1 WHERE id = 2';
CALL prep();
CALL prep_write();
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 1 WHERE id = 2;
\connection a
EXECUTE w;
SELECT id, views FROM posts WHERE id = 2;
COMMIT;
BEGIN;
SELECT views FROM posts WHERE id = 3;
EXECUTE s;
COMMIT;
DROP PROCEDURE prep;
DROP PROCEDURE prep_write;

== execute of a text that is not known, which fails, in a snapshot
CREATE PROCEDURE prep() PREPARE w FROM 'UPDATE posts SET views = views + 1, title = NULL WHERE id = 2';
CREATE PROCEDURE prep_call() PREPARE c FROM 'CALL two()';
CREATE PROCEDURE two() BEGIN UPDATE posts SET title = 'by two' WHERE id = 2; UPDATE nothing SET x = 1; END;
CALL prep();
CALL prep_call();
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\connection a
EXECUTE w;
EXECUTE c;
SELECT id, title FROM posts ORDER BY id;
[direct] COMMIT;
SELECT id, title, views FROM posts ORDER BY id;
DROP PROCEDURE prep;
DROP PROCEDURE prep_call;
DROP PROCEDURE two;

== a prepared text from an expression, in a snapshot [mariadb]
SET @t = 'posts';
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 1 WHERE id = 2;
\connection a
EXECUTE IMMEDIATE CONCAT('SELECT id, views FROM ', @t, ' ORDER BY id');
PREPARE s FROM CONCAT('SELECT id, views FROM ', @t, ' WHERE id = ?');
SET @n = 1;
EXECUTE s USING @n;
EXECUTE IMMEDIATE CONCAT('UPDATE ', @t, ' SET views = views + 1 WHERE id = ?') USING @n;
EXECUTE s USING @n;
COMMIT;
SELECT id, views FROM posts ORDER BY id;

== prepared under another sql_mode, executed in a snapshot
PREPARE s FROM 'SELECT id, views FROM posts ORDER BY id';
[direct] SET sql_mode = 'ANSI_QUOTES';
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\roll_up
UPDATE posts SET views = views + 1 WHERE id = 2;
\connection a
EXECUTE s;
SELECT id, views FROM posts ORDER BY id;
COMMIT;

== a name whose statement is gone because its text was refused
[direct] PREPARE s FROM 'SELECT id, views FROM posts';
[direct] PREPARE s FROM 'SELECT * FROM widths WHERE id = 2 FOR SHARE WAIT 1';
SET autocommit = 0;
[direct] EXECUTE s;
SELECT 1;
[direct] PREPARE s FROM 'SELECT id, views FROM posts ORDER BY id';
[direct] PREPARE s FROM 'SELECT 1' USING @a;
[direct] EXECUTE s;
SELECT 1;

== semicolons behind PREPARE and EXECUTE, in a snapshot
START TRANSACTION WITH CONSISTENT SNAPSHOT;
SELECT views FROM posts WHERE id = 3;
\roll_up
SELECT COUNT(*) FROM posts WHERE views > 50;
[direct] PREPARE sql_two FROM'SELECT id FROM posts ORDER BY likes, id';;;
[direct] EXECUTE sql_two;;;
[direct] PREPARE sql_two FROM'SELECT id FROM posts WHERE id = ?';;;
SET @n = 1;
[direct] EXECUTE sql_two USING @n;;;
COMMIT;

== PREPARE from an expression where a statement has the name
[direct] PREPARE s FROM 'SELECT id, views FROM posts ORDER BY id';
[direct] PREPARE s FROM CONCAT('SELECT id, ', 'likes FROM posts ORDER BY id');
BEGIN;
[direct] EXECUTE s;
[direct] EXECUTE s;
COMMIT;

== a PREPARE that is refused drops the statement of its name
PREPARE s FROM 'UPDATE posts SET title = ''first'' WHERE id = ?';
SET autocommit = 0;
PREPARE s FROM 'PREPARE t FROM ''SELECT 1''';
SET @id = 1;
EXECUTE s USING @id;
SELECT @@warning_count;
PREPARE s FROM 'UPDATE posts SET views = views + ? WHERE id = 1';
PREPARE s FROM 'SELECT nothing FROM posts';
EXECUTE s USING @id;
SELECT views FROM posts WHERE id = 1;

== a name that nobody knows, where a procedure may have prepared it
CREATE PROCEDURE nothing() BEGIN END;
CALL nothing();
SET autocommit = 0;
EXECUTE never_prepared;
SELECT @@warning_count;
SELECT views FROM posts WHERE id = 1;
DROP PROCEDURE nothing;
