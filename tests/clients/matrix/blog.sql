CREATE TABLE posts (
    id INT PRIMARY KEY,
    title VARCHAR(100),
    body LONGTEXT,
    picture LONGBLOB,
    views INT NOT NULL DEFAULT 0,
    likes BIGINT NOT NULL DEFAULT 0,
    stock INT UNSIGNED NOT NULL DEFAULT 0,
    price DECIMAL(10, 2) NOT NULL DEFAULT 9.90,
    created DATETIME NOT NULL DEFAULT '2026-11-22 10:00:00',
    KEY (title)
) CHARACTER SET utf8mb4;
CREATE TABLE sign_ups (day DATE PRIMARY KEY, hits INT NOT NULL DEFAULT 0);
CREATE TABLE seq (id INT NOT NULL);
INSERT INTO seq VALUES (1000);
INSERT INTO posts (id, title, stock) VALUES (1, 'Grüße, 漢字 😀', 5), (2, 'large', 0), (3, 'crowd', 12);
INSERT INTO posts (id, title, views)
WITH RECURSIVE numbers AS (SELECT 4 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
SELECT n, CONCAT('post ', n), n * 7 FROM numbers;
INSERT INTO posts (id, title, views) SELECT id + 1000, CONCAT('post ', id + 1000), views FROM posts;
INSERT INTO posts (id, title, views) SELECT id + 2000, CONCAT('post ', id + 2000), views FROM posts;
INSERT INTO posts (id, title, views) SELECT id + 4000, CONCAT('post ', id + 4000), views FROM posts;
INSERT INTO posts (id, title, views) SELECT id + 8000, CONCAT('post ', id + 8000), views FROM posts WHERE id <= 2000
