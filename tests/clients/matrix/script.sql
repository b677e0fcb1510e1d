UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
PREPARE increment FROM 'UPDATE posts SET views = views + ? WHERE id = ?';
SET @n = 2, @id = 1;
EXECUTE increment USING @n, @id;
BEGIN;
UPDATE posts SET likes = likes + 10 WHERE id = 1;
COMMIT;
BEGIN;
UPDATE posts SET likes = likes + 100 WHERE id = 1;
ROLLBACK;
UPDATE posts SET stock = stock - 1 WHERE id = 3 AND stock >= 12;
UPDATE posts SET stock = stock - 1 WHERE id = 3 AND stock >= 12;
INSERT INTO sign_ups (day, hits) VALUES ('2026-11-22', 1) ON DUPLICATE KEY UPDATE hits = hits + 1;
INSERT INTO sign_ups (day, hits) VALUES ('2026-11-22', 1) ON DUPLICATE KEY UPDATE hits = hits + 1;
UPDATE seq SET id = LAST_INSERT_ID(id + 1);
SELECT LAST_INSERT_ID();
SELECT id, title, body, views, likes, stock, price, created FROM posts WHERE id <= 5 ORDER BY views DESC, id;
SELECT * FROM posts WHERE id = 1\G
SELECT COUNT(*), SUM(views), MAX(likes) FROM posts;
UPDATE posts SET price = '1.239' WHERE id = 7;
SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1;
INSERT INTO posts (id, title) VALUES (1, 'again');
UPDATE posts SET views = views + WHERE id = 1;
SELECT views, nothing FROM posts;
UPDATE posts SET stock = stock - 1 WHERE id = 2;
DELIMITER //
CREATE PROCEDURE visit(post INT) BEGIN UPDATE posts SET views = views + 1 WHERE id = post; SELECT views FROM posts WHERE id = post; END //
DELIMITER ;
CALL visit(1);
CALL visit(9);
SHOW WARNINGS;
DESCRIBE posts;
SHOW CREATE TABLE posts;
SELECT id, title, views FROM posts ORDER BY id;
LOAD DATA LOCAL INFILE '@FILE@' INTO TABLE posts (id, title, views);
SELECT id, title, views FROM posts WHERE id > 30000;
DROP PROCEDURE visit;
SHOW STATUS LIKE 'Compression%';
