-- An ordinary file of SQL, as tests/transparency plays any: one session, statement by statement.
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT id, views
  FROM posts
 ORDER BY views DESC, id;
BEGIN;
UPDATE hits SET n = n + 5 WHERE path = '/';
SELECT n FROM hits WHERE path = '/';
UPDATE hits SET n = 0 WHERE path = '/about';
COMMIT;
DELETE FROM posts WHERE views < 100;
SELECT COUNT(*), SUM(views), SUM(likes) FROM posts;
