# Procedures: their result sets, output parameters and cursors.

== output parameters [fresh]
CREATE PROCEDURE out_parameter (OUT n INT) SET n = 7;
CREATE PROCEDURE both (INOUT n INT, OUT text VARCHAR(20)) BEGIN SELECT n; SELECT n UNION SELECT 5; SET n = n + 1, text = 'set'; END;
CREATE PROCEDURE counts (IN k INT, OUT n INT) BEGIN UPDATE posts SET views = views + 1 WHERE id = k; SELECT views INTO n FROM posts WHERE id = k; END;
CREATE PROCEDURE fails (OUT n INT) BEGIN SET n = 1; SELECT 1; SELECT nothing; END;
CALL out_parameter(@n);
SELECT @n;
CALL out_parameter(?); <- NULL
CALL both(?, ?); <- 1, NULL
SET @n = 1;
CALL both(@n, @text);
SELECT @n, @text;
[direct] PREPARE s FROM 'CALL both(?, ?)';
[direct] EXECUTE s USING @n, @text;
SELECT @n, @text;
CALL fails(?); <- NULL
CALL counts(1, ?); <- NULL
SELECT views FROM posts WHERE id = 1;
SELECT 1;

== result sets [fresh]
CREATE PROCEDURE one () SELECT 1 AS a UNION SELECT 2;
CREATE PROCEDURE several () BEGIN SELECT 1; SELECT 'x' AS b UNION SELECT 'y'; SELECT 1 LIMIT 0; SHOW COLUMNS FROM hits; UPDATE authors SET followers = followers + 1; END;
CREATE PROCEDURE several_then_fails () BEGIN SELECT id FROM posts ORDER BY id; SELECT 2; SELECT nothing; END;
CALL one();
CALL several();
CALL several_then_fails();
SELECT 1 UNION SELECT 2;
SHOW COLUMNS FROM hits;

# MySQL lets the flag of the routine's cursor stand in the EOF packets of the client's result sets.
== cursors of a routine's own [fresh]
CREATE PROCEDURE fetches () BEGIN DECLARE a INT; DECLARE c CURSOR FOR SELECT 5; OPEN c; FETCH c INTO a; CLOSE c; SELECT 1 UNION SELECT 2; END;
CREATE PROCEDURE fetches_out (OUT a INT) BEGIN DECLARE c CURSOR FOR SELECT 5; OPEN c; FETCH c INTO a; CLOSE c; END;
CREATE FUNCTION fetched () RETURNS INT DETERMINISTIC READS SQL DATA BEGIN DECLARE a INT; DECLARE c CURSOR FOR SELECT 1; OPEN c; FETCH c INTO a; CLOSE c; RETURN a; END;
CALL fetches();
CALL fetches_out(?); <- NULL
CALL fetches_out(@n);
SELECT name FROM authors WHERE id = fetched();
SELECT name FROM authors WHERE id >= fetched() ORDER BY id;
SELECT fetched();
SELECT id, title FROM posts WHERE id = fetched();
SELECT views FROM posts WHERE id = fetched();
SELECT 1;

== a call with a query among its arguments that fails behind its first write
CREATE PROCEDURE two(IN n INT) BEGIN UPDATE posts SET title = 'by two' WHERE id = 2; UPDATE nothing SET x = 1; END;
BEGIN;
SELECT views FROM posts WHERE id = 3;
\connection b
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
\connection a
CALL two((SELECT SUM(views) FROM posts));
SELECT id, title FROM posts ORDER BY id;
[direct] COMMIT;
SELECT id, title, views FROM posts ORDER BY id;
DROP PROCEDURE two;

== a procedure that rolls back, called with a query among its arguments
CREATE PROCEDURE two(IN n INT) BEGIN UPDATE posts SET title = 'by two' WHERE id = 2; ROLLBACK; UPDATE posts SET title = 'by two' WHERE id = 3; BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK; UPDATE nothing SET x = n; END; END;
CALL two((SELECT SUM(views) FROM posts));
SELECT id, title FROM posts ORDER BY id;
DROP PROCEDURE two;

== a routine that writes in a query of a READ ONLY transaction
CREATE TABLE log (n INT);
CREATE FUNCTION logged(x INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (x); RETURN x; END;
START TRANSACTION READ ONLY;
SELECT logged(61), views FROM posts ORDER BY id LIMIT 1;
SELECT views FROM posts ORDER BY id LIMIT 1;
COMMIT;
DROP FUNCTION logged;
DROP TABLE log;
