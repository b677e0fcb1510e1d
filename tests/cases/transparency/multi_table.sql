# UPDATE and DELETE over several tables, and with subqueries.

== updates
UPDATE posts p JOIN authors a ON a.id = p.author_id SET p.views = p.views + 1 WHERE a.name = 'Ada';
UPDATE posts p, authors a SET p.views = p.views + a.followers WHERE a.id = p.author_id AND a.id = 2;
UPDATE posts p JOIN authors a ON a.id = p.author_id SET a.followers = a.followers + p.views WHERE p.id = 1;
UPDATE authors a JOIN posts p ON p.author_id = a.id SET a.name = CONCAT(a.name, p.views) WHERE p.id = 5;
UPDATE authors a LEFT JOIN posts p ON p.author_id = a.id AND p.views > 10000 SET a.followers = 0 WHERE p.id IS NULL;
UPDATE posts p JOIN tallies t ON t.id = p.id SET p.views = t.views + 1, t.views = 0;
UPDATE posts p JOIN posts q ON q.id = p.id + 1 SET p.views = p.views + 1 WHERE q.views > 100;
UPDATE authors a JOIN comments c ON c.post_id = a.id SET a.followers = a.followers + 1, c.votes = c.votes + 1;
SELECT * FROM posts ORDER BY id;
SELECT * FROM authors ORDER BY id;
SELECT id, views FROM tallies ORDER BY id;

== updates with subqueries
UPDATE posts SET views = views + 1 WHERE author_id IN (SELECT id FROM authors WHERE followers > 5);
UPDATE posts SET views = views + 1 WHERE EXISTS (SELECT 1 FROM comments c WHERE c.post_id = posts.id);
UPDATE posts SET views = (SELECT COUNT(*) FROM comments c WHERE c.post_id = posts.id);
UPDATE authors SET followers = (SELECT COALESCE(SUM(p.likes), 0) FROM posts p WHERE p.author_id = authors.id);
UPDATE authors SET followers = followers + 1 WHERE id IN (SELECT author_id FROM posts WHERE likes > 25);
SELECT * FROM posts ORDER BY id;
SELECT * FROM authors ORDER BY id;

== deletes
DELETE p FROM posts p JOIN authors a ON a.id = p.author_id WHERE a.name = 'Cleo';
DELETE FROM c USING comments c JOIN posts p ON p.id = c.post_id WHERE p.views > 150;
DELETE posts, comments FROM posts JOIN comments ON comments.post_id = posts.id WHERE posts.id = 1;
DELETE FROM authors WHERE id IN (SELECT author_id FROM posts WHERE views > 250);
DELETE a FROM authors a LEFT JOIN posts p ON p.author_id = a.id WHERE p.id IS NULL;
SELECT * FROM posts ORDER BY id;
SELECT * FROM comments ORDER BY id;
SELECT * FROM authors ORDER BY id;

== a table expression in front
[mysql] WITH best AS (SELECT id FROM posts ORDER BY views DESC, id LIMIT 2) UPDATE posts SET views = views + 1 WHERE id IN (SELECT id FROM best);
[mysql] WITH worst AS (SELECT id FROM authors WHERE followers = 0) DELETE FROM posts WHERE author_id IN (SELECT id FROM worst);
SELECT * FROM posts ORDER BY id;
