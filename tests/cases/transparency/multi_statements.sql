# Several statements in one packet. Without the capability they are syntax errors, which must be equal too.

== reads and writes in turn
UPDATE posts SET views = views + 1 WHERE id = 1; SELECT views FROM posts WHERE id = 1;
SELECT 1; UPDATE posts SET views = views + 1 WHERE id = 2; SELECT views FROM posts WHERE id = 2; SELECT 2;
UPDATE posts SET views = 0 WHERE id = 3; UPDATE posts SET views = views + 1 WHERE id = 3; SELECT * FROM posts ORDER BY id;
SELECT name FROM authors ORDER BY id; SELECT title FROM posts WHERE id = 1;
SELECT views FROM posts WHERE id = 1; SELECT likes FROM posts WHERE id = 1; SELECT score FROM posts WHERE id = 1;

== transactions inside
BEGIN; UPDATE posts SET views = views + 1 WHERE id = 1; COMMIT;
BEGIN; UPDATE posts SET views = views + 1 WHERE id = 1; ROLLBACK; SELECT views FROM posts WHERE id = 1;
SET autocommit = 0; UPDATE posts SET views = views + 1 WHERE id = 1; COMMIT; SET autocommit = 1;
SELECT views FROM posts WHERE id = 1;

== an error ends them
UPDATE posts SET views = views + 1 WHERE id = 1; SELECT nothing FROM posts; UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1; UPDATE posts SET views = 'x' WHERE id = 1; SELECT 2;
SELECT views FROM posts WHERE id = 1;
SELECT 1; SELEC 2; SELECT 3;
UPDATE posts SET views = views + 1 WHERE id = 2; SELEC 2;
SELECT views FROM posts WHERE id IN (1, 2) ORDER BY id;

== semicolons that end nothing
SELECT views, ';' FROM posts WHERE title <> 'a;b' AND id = 1; SELECT ";", views FROM posts WHERE id = 1 -- ; SELECT 3;
UPDATE posts SET views = views + 1 WHERE id = 1; /* ; */ SELECT views /* ; */ FROM posts WHERE id = 1;
SELECT `views` FROM posts WHERE id = 1; # ; more;

== a statement may end in one
UPDATE posts SET views = views + 1 WHERE id = 1;;
SELECT views FROM posts WHERE id = 1;;
SELECT views FROM posts WHERE id = 1; ;;
;
SELECT 1;;;

== switched on and off by command
\set_option 0
UPDATE posts SET views = views + 1 WHERE id = 1; SELECT views FROM posts WHERE id = 1;
\set_option 1
UPDATE posts SET views = views + 1 WHERE id = 1; SELECT views FROM posts WHERE id = 1;
\set_option 7
SELECT views FROM posts WHERE id = 1;

== a transaction that ends among them
\set_option 0
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
[direct] SELECT 1; COMMIT; BEGIN;
\connection b
UPDATE posts SET views = views + 5 WHERE id = 1;
\connection a
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = 100 WHERE id = 1;
COMMIT;
SELECT views FROM posts WHERE id = 1;
SET autocommit = 0;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
[direct] INSERT INTO comments (post_id, body) VALUES (1, 'x'); ROLLBACK; SELECT COUNT(*) FROM comments;
SELECT views FROM posts WHERE id = 1;

== comments and nothing among them
SELECT views FROM posts WHERE id = 1; /* c */;
SELECT views FROM posts WHERE id = 1; /* c */
SELECT views FROM posts WHERE id = 1; -- x
;
SELECT views FROM posts WHERE id = 1; # x
;
SELECT 1; SELECT views FROM posts WHERE id = 1; /* c */;
UPDATE posts SET views = views + 1 WHERE id = 1; /* c */;
UPDATE posts SET views = 5 WHERE id = 1; /* c */;
UPDATE posts SET views = 5 WHERE id = 1; /* c */ ; SELECT 1;
UPDATE posts SET views = 5 WHERE id = 1; ; SELECT 1;
SELECT views FROM posts WHERE id = 1;; SELECT 1;
/* c */; SELECT views FROM posts WHERE id = 1;
; SELECT views FROM posts WHERE id = 1;
SELECT views FROM posts WHERE id = 1; SELECT 2; /* c */;
SELECT views FROM posts WHERE id = 1; SELECT 2; -- c
;
SELECT views FROM posts WHERE id = 1; SELECT 2 /* c */;
BEGIN; UPDATE posts SET views = views + 1 WHERE id = 1; COMMIT; /* c */;
SELECT 1; /* c */;
SELECT views FROM posts WHERE id = 1;

== an error among several
SELECT views FROM posts WHERE id = 1; SELEC 2; SELECT 3;
SELEC 2; SELECT views FROM posts WHERE id = 1;
SELECT views FROM posts WHERE; SELECT 2;
SELECT views FROM posts WHERE id = = 1; SELECT 2;
SELECT views FROM posts WHERE id = 1 LIMIT LIMIT; SELECT 2;
UPDATE posts SET views = views + 1 WHERE; SELECT 2;
UPDATE posts SET views = views + 1 WHEREE id = 1; SELECT 2;
UPDATE posts SET views = views + ; SELECT 2; SELECT 'a rather long string that goes on and on and on, longer than eighty characters';
UPDATE posts SET views = 5 WHERE id = = 1; SELECT 2;
SELECT views FROM posts WHERE id = 1 ORDER ORDER; /* c */ SELECT 2;
SELECT 1; UPDATE posts SET views = views + 1 WHERE id = 1 nonsense; SELECT 'äöü', 'äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü';
SELECT 1;
SELECT views FROM posts WHERE id = 1;
 SELECT
 2 3 4; SELECT 5;
SELECT views FROM posts WHERE id = 1; PREPARE s FROM 'SELEC 1'; SELECT 2;
SELECT views FROM posts WHERE id = 1; SELECT 'it''s' 'x' y z; SELECT 2;

== SHOW WARNINGS quotes a syntax error as the error did
SELECT views FROM posts WHERE id = 1; SELECT views FRM posts; SELECT 2; -- done
[direct] SHOW WARNINGS;
[direct] SHOW COUNT(*) ERRORS;
UPDATE posts SET views = views + WHERE id = 1; SELECT 1;
[direct] SHOW ERRORS;

== an executable comment before a comment at the end
BEGIN;
SELECT id, views FROM posts WHERE id = 1 /*! FOR UPDATE */; /* done */;
SELECT id FROM posts WHERE id = 1 /*! FOR UPDATE */; /* done */;
/*! UPDATE posts SET views = views + 1 */ WHERE id = 1; /* done */ ;
/*! SELECT 1; */ /* done */;
SELECT views FROM posts WHERE id = 1 /*!99999 ; */; # done
COMMIT;
