# Rows of a hot table that a statement changes without naming them: by a foreign key's action, a trigger, a routine. What a
# transaction then sees of them is its own.

== rows that a foreign key's action and a trigger change
BEGIN;
SELECT id, replies FROM threads ORDER BY id;
\connection b
UPDATE threads SET replies = replies + 7 WHERE id IN (1, 2, 3);
\connection a
UPDATE boards SET name = 'renamed' WHERE id = 1;
SELECT id, replies, name FROM threads ORDER BY id;
DELETE FROM boards WHERE id = 2;
SELECT id, replies, board FROM threads ORDER BY id;
\connection b
UPDATE threads SET replies = replies + 7 WHERE id = 3;
\connection a
SELECT id, replies FROM threads ORDER BY id;
COMMIT;
SELECT id, replies, name FROM threads ORDER BY id;

== the same behind a roll-up
UPDATE threads SET replies = replies + 7 WHERE id IN (1, 2, 3);
BEGIN;
SELECT id, replies FROM threads ORDER BY id;
\roll_up
UPDATE boards SET id = id + 10 WHERE id = 1;
SELECT id, replies, board FROM threads ORDER BY id;
DELETE FROM boards WHERE id = 2;
SELECT id, replies, board FROM threads WHERE id > 1 ORDER BY id;
SAVEPOINT s;
UPDATE boards SET name = 'undone' WHERE id = 11;
SELECT id, replies, name FROM threads ORDER BY id;
ROLLBACK TO s;
SELECT id, replies, name FROM threads ORDER BY id;
ROLLBACK;
SELECT id, replies, name FROM threads ORDER BY id;

== rows that routines change
UPDATE posts SET views = views + 7 WHERE id IN (1, 2, 3);
BEGIN;
SELECT name FROM authors WHERE id = 1;
\roll_up
CALL retitle(1, 'called');
SELECT id, views, title FROM posts ORDER BY id;
SELECT retitled(2, 'selected');
SELECT id, views, title FROM posts ORDER BY id;
DO retitled(3, 'done');
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (4, 5);
\connection a
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;
SELECT id, views, title FROM posts ORDER BY id;

== rows that routines leave as they are
UPDATE posts SET views = views + 7 WHERE id IN (1, 2);
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\connection b
UPDATE posts SET views = views + 5 WHERE id IN (1, 2);
\roll_up
\connection a
CALL retitle(999, 'nobody');
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;

== programs that are made meanwhile [fresh]
CREATE TRIGGER followed AFTER UPDATE ON authors FOR EACH ROW UPDATE posts SET title = CONCAT(title, NEW.followers) WHERE author_id = NEW.id;
CREATE PROCEDURE follow (k INT) UPDATE authors SET followers = followers + 1 WHERE id = k;
UPDATE posts SET views = views + 7 WHERE id IN (1, 2, 3);
BEGIN;
SELECT id, views FROM posts ORDER BY id;
\roll_up
UPDATE authors SET followers = followers + 1 WHERE id = 1;
SELECT id, views, title FROM posts ORDER BY id;
CALL follow(2);
SELECT id, views, title FROM posts ORDER BY id;
COMMIT;
SELECT id, views, title FROM posts ORDER BY id;

== an error is told of behind statements that begin and end transactions
UPDATE threads SET replies = replies + 1 WHERE id = 1;
SET TRANSACTION READ ONLY;
BEGIN;
UPDATE tallies SET views = (SELECT MAX(views) FROM posts) WHERE id = 1;
SELECT views FROM posts WHERE id = 3;
UPDATE posts SET views = views * 2 WHERE id = 1;
ROLLBACK;
BEGIN;
[direct] SHOW ERRORS;
SELECT name FROM boards WHERE id = 1;
UPDATE tallies SET nothing = 1;
COMMIT;
[direct] SHOW ERRORS;

== a CALL that leaves hot tables alone keeps the messages before it
BEGIN;
SELECT likes FROM posts ORDER BY likes DESC, id LIMIT 2 OFFSET 1;
(UPDATE posts SET likes = IF(likes > 10, likes + 1, 0), author_id = 3 WHERE ? = id); <- 2
CALL in_and_out(?, ?); <- 3, 3
[direct] SHOW WARNINGS;
ROLLBACK;

== what routines write in a transaction stays where a fold behind its snapshot is undone
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
SELECT logged(101), views FROM posts WHERE id = 1 /*! FOR UPDATE */;
COMMIT;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
SELECT id, logged(102) FROM posts WHERE id = 1 FOR UPDATE;
COMMIT;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
DO (SELECT logged(103) + views FROM posts WHERE id = 1);
COMMIT;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
SET @a = (SELECT logged(104) + views FROM posts WHERE id = 1);
COMMIT;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
UPDATE posts SET views = views * 1 WHERE id = 1 AND logged(105) > 0;
COMMIT;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
CALL logs(106, (SELECT views FROM posts WHERE id = 1));
COMMIT;
SELECT id FROM tallies ORDER BY id;

== what RETURNING answers is written [mariadb]
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
[direct] INSERT INTO tallies (id, views) VALUES (90, 1) RETURNING id, (SELECT views FROM posts WHERE id = 1);
COMMIT;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
[direct] REPLACE INTO tallies (id, views) VALUES (91, 1) RETURNING id, (SELECT views FROM posts WHERE id = 1);
COMMIT;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
SELECT COUNT(*) FROM authors;
[direct] DELETE FROM tallies WHERE id = 1 RETURNING id, (SELECT views FROM posts WHERE id = 1);
COMMIT;
SELECT id FROM tallies ORDER BY id;

== what a routine writes is refused in READ ONLY sessions
UPDATE posts SET views = views + 1 WHERE id = 1;
SET SESSION TRANSACTION READ ONLY;
SELECT logged(111), views FROM posts ORDER BY id LIMIT 1;
SET @v = (SELECT logged(112) + views FROM posts WHERE id = 1);
DO (SELECT logged(113) + views FROM posts WHERE id = 1);
SHOW WARNINGS;
SET SESSION TRANSACTION READ WRITE;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
SET TRANSACTION READ ONLY;
SELECT logged(114), views FROM posts ORDER BY id LIMIT 1;
SELECT id FROM tallies ORDER BY id;
SELECT logged(115), views FROM posts ORDER BY id LIMIT 1;
SELECT id FROM tallies ORDER BY id;
UPDATE posts SET views = views + 1 WHERE id = 1;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET @v = (SELECT logged(116) + views FROM posts WHERE id = 1);
SELECT id FROM tallies ORDER BY id;

== rows that a foreign key's action deletes, or gives another key
UPDATE medals SET won = won + 7 WHERE board = 1 AND grade = 'gold';
UPDATE medals SET won = won + 7 WHERE board = 2 AND grade = 'gold';
SELECT board, grade, won FROM medals ORDER BY board, grade;
UPDATE boards SET id = id + 10 WHERE id = 1;
SELECT board, grade, won FROM medals ORDER BY board, grade;
UPDATE boards SET id = ? WHERE name = ?; <- 1, 'news'
SELECT board, grade, won FROM medals ORDER BY board, grade;
DELETE FROM boards WHERE id = 2;
SELECT board, grade, won FROM medals ORDER BY board, grade;
INSERT INTO boards VALUES (2, 'again');
INSERT INTO medals VALUES (2, 'gold', 1);
SELECT board, grade, won FROM medals ORDER BY board, grade;
UPDATE medals SET won = won + 7 WHERE board = 2 AND grade = 'gold';
BEGIN;
DELETE b FROM boards b JOIN authors a ON a.id = b.id WHERE b.id = 2;
INSERT INTO boards VALUES (2, 'once more');
INSERT INTO medals VALUES (2, 'gold', 1);
SELECT board, grade, won FROM medals ORDER BY board, grade;
ROLLBACK;
SELECT board, grade, won FROM medals ORDER BY board, grade;
[direct] PREPARE p FROM 'DELETE FROM boards WHERE id = ?';
[direct] SET @id = 2;
[direct] EXECUTE p USING @id;
[direct] DEALLOCATE PREPARE p;
INSERT INTO boards VALUES (2, 'and more');
INSERT INTO medals VALUES (2, 'gold', 1);
SELECT board, grade, won FROM medals ORDER BY board, grade;
UPDATE medals SET won = won + 7 WHERE board = 1 AND grade = 'gold';
REPLACE INTO boards VALUES (1, 'replaced');
INSERT INTO medals VALUES (1, 'gold', 1);
SELECT board, grade, won FROM medals ORDER BY board, grade;
UPDATE medals SET won = won + 7 WHERE board = 1 AND grade = 'gold';
BEGIN;
SELECT board, grade, won FROM medals ORDER BY board, grade;
\connection b
UPDATE medals SET won = won + 5 WHERE board = 1 AND grade = 'gold';
UPDATE medals SET won = won + 5 WHERE board = 2 AND grade = 'gold';
\connection a
UPDATE boards SET id = 12 WHERE id = 2;
SELECT board, grade, won FROM medals ORDER BY board, grade;
DELETE FROM boards WHERE id = 12 OR id = 1;
SELECT board, grade, won FROM medals ORDER BY board, grade;
COMMIT;
SELECT board, grade, won FROM medals ORDER BY board, grade;

== what is not reached by a foreign key's action stays as the snapshot has it
BEGIN;
SELECT board, grade, won FROM medals ORDER BY board, grade;
\connection b
UPDATE medals SET won = won + 5 WHERE board = 1 AND grade = 'gold';
UPDATE medals SET won = won + 5 WHERE board = 1 AND grade = 'silver';
\connection a
DELETE FROM boards WHERE id = 2 ORDER BY name LIMIT 1;
SELECT board, grade, won FROM medals ORDER BY board, grade;
COMMIT;
SELECT board, grade, won FROM medals ORDER BY board, grade;
\roll_up

== what is set for one transaction is found again where it was in doubt
SET TRANSACTION READ ONLY;
CALL in_and_out(?, ?); <- 3, 3
UPDATE prices SET sold = sold + 1, sold = sold + 2 WHERE price = 1.00;
UPDATE posts SET title = 'a' WHERE id = 10;
BEGIN;
UPDATE posts SET title = 'b' WHERE id = 10;
COMMIT;
UPDATE posts SET title = 'c' WHERE id = 10;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
WITH articles AS (SELECT 1 AS opens) SELECT opens FROM articles;
UPDATE posts SET views = 5 WHERE id = 10;
UPDATE posts SET title = 'd' WHERE id = 10;
SELECT views FROM posts WHERE id = 10;
UPDATE posts SET title = 'e' WHERE id = 10;
SET SESSION TRANSACTION READ ONLY;
SET TRANSACTION READ ONLY;
SELECT name FROM authors WHERE id = 1;
UPDATE posts SET views = 5 WHERE id = 10;
SET SESSION TRANSACTION READ WRITE;
UPDATE posts SET views = 6 WHERE id = 10;
