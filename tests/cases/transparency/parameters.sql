# Statements with parameters: bound in the binary protocol, literals in the text protocol.

== integers
UPDATE posts SET views = views + ? WHERE id = ?; <- 1, 1
UPDATE posts SET views = views + ? WHERE id = ?; <- 5t, 1l
UPDATE posts SET views = views - ? WHERE id = ?; <- 2l, 1t
UPDATE posts SET views = views + ? WHERE id = ?; <- 3u, 2u
UPDATE posts SET views = views + ? WHERE id = ?; <- -4, 3
UPDATE posts SET views = views + ? WHERE id = ?; <- 0, 3
UPDATE posts SET likes = likes + ? WHERE id = ?; <- -2, 3
UPDATE posts SET likes = likes - ? WHERE id = ?; <- 2, 3
UPDATE posts SET views = ? + views, likes = likes + ? WHERE id = ?; <- 1, 2, 3
UPDATE posts SET views = views + ? WHERE id IN (?, ?, ?); <- 1, 1, 2, 999
UPDATE posts SET views = views + ? WHERE author_id = ? AND title LIKE ?; <- 1, 1, 'f%'
UPDATE posts SET views = views + 1 WHERE id = ?; <- 10
UPDATE posts SET views = views + ?; <- 1
SELECT views, likes FROM posts WHERE id = ?; <- 3
SELECT id, views + ? FROM posts WHERE views > ? ORDER BY id LIMIT 10; <- 5, 100

== other types
UPDATE posts SET views = views + ? WHERE id = ?; <- '1', '1'
UPDATE posts SET views = views + ? WHERE id = ?; <- '1.5', 1
UPDATE posts SET views = views + ? WHERE id = ?; <- ' 2', 1
UPDATE posts SET views = views + ? WHERE id = ?; <- 1.5, 1
UPDATE posts SET views = views + ? WHERE id = ?; <- 2.0, 1
UPDATE posts SET views = views + ? WHERE id = ?; <- 1.5e0, 1
UPDATE posts SET views = views + ? WHERE id = ?; <- 2e0, 1e0
UPDATE posts SET score = score + ? WHERE id = ?; <- NULL, 1
UPDATE posts SET views = views + ? WHERE id = ?; <- 1, NULL
UPDATE posts SET views = views + ? WHERE id = ?; <- 1, '3'
UPDATE posts SET views = views + ? WHERE id = ?; <- 1, 3.0
UPDATE balances SET amount = amount + ? WHERE account = ? AND currency = ?; <- 1.25, 'alice', 'EUR'
UPDATE balances SET amount = amount - ? WHERE account = ? AND currency = ?; <- '0.75', 'ALICE', 'eur'
UPDATE balances SET amount = amount + ? WHERE account = ? AND currency = ?; <- 3, 'bob', 'USD'
UPDATE balances SET amount = amount + ? WHERE account = ? AND currency = ?; <- 0.005, 'bob', 'EUR'
UPDATE hits SET n = n + ? WHERE path = ?; <- 1, '/'
UPDATE hits SET n = n + ? WHERE path = ?; <- 1, 5
UPDATE hits SET n = n + ? WHERE path = ?; <- 1, 5.0
SELECT id, views, score FROM posts ORDER BY id;
SELECT * FROM balances WHERE account = ? ORDER BY currency; <- 'alice'

== doubles and strings as deltas and keys
UPDATE posts SET views = views + ? WHERE id = ?; <- '-2', 1
UPDATE posts SET views = views - ? WHERE id = ?; <- -3e0, 2e0
UPDATE posts SET views = views + ? WHERE id = ?; <- 0e0, 2e0
UPDATE posts SET views = views + ? WHERE id IN (?, ?); <- 1e0, 1e0, 1.5e0
UPDATE posts SET views = views + ? WHERE id = ?; <- 1, 9007199254740993e0
UPDATE posts SET views = views + ? WHERE author_id > ?; <- 1, 0.5e0
UPDATE posts SET likes = likes + ? WHERE id = ?; <- 1e0, 1e0
UPDATE posts SET likes = likes + ? WHERE id = ?; <- '1', '1'
UPDATE widths SET c64 = c64 + ? WHERE id = ?; <- 1e0, 4
UPDATE widths SET u64 = u64 + ? WHERE id = ?; <- '1', 4
UPDATE hits SET n = n + ? WHERE path = ?; <- 1, 5e0
SELECT id, views, likes FROM posts ORDER BY id;
SELECT * FROM widths ORDER BY id;
SELECT * FROM hits ORDER BY path;

== LIMIT with one key and with several
UPDATE posts SET views = views + ? WHERE id = ? LIMIT 1; <- 1, 1
UPDATE posts SET views = views + ? WHERE id = ? LIMIT 1; <- 1, '2'
UPDATE posts SET views = views + ? WHERE id = ? LIMIT 1; <- 1, 999
UPDATE posts SET views = views + ? WHERE id = ? LIMIT 0; <- 1, 1
UPDATE hits SET n = n + ? WHERE path = ? LIMIT 1; <- 1, '/'
UPDATE hits SET n = n + ? WHERE path = ? LIMIT 1; <- 1, 5
UPDATE hits SET n = n + ? WHERE path = ? LIMIT 1; <- 1, 5e0
SELECT id, views FROM posts ORDER BY id;
SELECT * FROM hits ORDER BY path;

== beyond the limits
UPDATE widths SET c16 = c16 + ? WHERE id = ?; <- 32767, 4
UPDATE widths SET c16 = c16 + ? WHERE id = ?; <- 1, 4
UPDATE widths SET u64 = u64 + ? WHERE id = ?; <- 18446744073709551615u, 4
UPDATE widths SET u64 = u64 + ? WHERE id = ?; <- 1, 4
UPDATE widths SET c32 = c32 + ? WHERE id = ?; <- 9223372036854775807, 4
UPDATE posts SET views = views + ? WHERE id = ?; <- 'many', 1
SELECT * FROM widths ORDER BY id;

== one statement, many executions [prepared]
\prepare inc: UPDATE posts SET views = views + ? WHERE id = ?
\execute inc <- 1, 1
\execute inc again <- 2, 2
\execute inc <- '3', 1
\execute inc again <- '4', '2'
\execute inc <- NULL, 1
\execute inc <- 1.5, 999
\execute inc
\prepare get: SELECT id, views, likes FROM posts WHERE id >= ? ORDER BY id
\execute get <- 1
\execute get again <- 3
\execute get cursor again <- 1
\fetch get 2
\fetch get 1
\execute inc <- 10, 3
\fetch get 100
\fetch get 1
\execute get <- 3
\reset_statement get
\fetch get 1
\close inc
\execute inc <- 1, 1
\execute get again <- 1
\close get
\close get
\ping

== long data [prepared]
\prepare ins: INSERT INTO comments (post_id, body) VALUES (?, ?)
\long_data ins 1 some long
\long_data ins 1  text in pieces
\execute ins <- 1, LONG_DATA
\execute ins <- 1, 'short'
\prepare up: UPDATE hits SET n = n + 1 WHERE path = ?
\long_data up 0 /ab
\long_data up 0 out
\execute up <- LONG_DATA
\long_data up 0 /
\reset_statement up
\execute up <- '/about'
\prepare get: SELECT path, n FROM hits WHERE path = ?
\long_data get 0 /abo
\long_data get 0 ut
\execute get <- LONG_DATA
\execute get cursor <- '/'
\fetch get 5
\prepare title: UPDATE posts SET views = views + ?, title = ? WHERE id = 1
\long_data title 1 a title
\execute title <- 1, LONG_DATA
SELECT title, views FROM posts WHERE id = 1;

== long data for reads that are folded for, and whose text changes [prepared]
UPDATE posts SET views = views + 1 WHERE id = 1;
\prepare locked: SELECT id, views FROM posts WHERE id = ? FOR UPDATE
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
\long_data locked 0 1
\execute locked <- LONG_DATA
COMMIT;
\prepare get: SELECT path, n FROM hits WHERE path = ?
\execute get <- '/'
BEGIN;
\long_data get 0 /abo
UPDATE hits SET n = n + 1 WHERE path = '/about';
\long_data get 0 ut
\execute get <- LONG_DATA
\execute get cursor <- '/about'
\fetch get 5
\long_data get 0 /
\execute get cursor <- LONG_DATA
\fetch get 5
COMMIT;
\execute get again <- '/'

== types that are told once [prepared]
\prepare all: UPDATE posts SET title = ?, views = ? WHERE id = ?
\execute all <- '{x:1100000}', 7, 2
\execute all again <- 'short', 8, 2
SELECT id, title, views FROM posts ORDER BY id;
CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT NOT NULL);
\prepare inc: UPDATE posts SET views = views + ? WHERE id = ?
\execute inc <- 3, 1
DROP TEMPORARY TABLE posts;
\execute inc again <- 3, 1
\prepare get: SELECT views FROM posts WHERE id = ?
\execute get <- 1

== prepared before the table changed hands [prepared]
\prepare inc: UPDATE posts SET views = views + 1 WHERE id = ?
\prepare get: SELECT views FROM posts WHERE id = ?
BEGIN;
\execute inc <- 1
\execute get <- 1
\execute inc <- 1
ROLLBACK;
\execute get <- 1
SET autocommit = 0;
\execute inc <- 2
\execute get <- 2
ROLLBACK;
\execute get <- 2
\reset
\execute get <- 2

== two statements interleaved, cursors open [prepared]
\prepare a: SELECT id, views FROM posts ORDER BY id
\prepare b: SELECT path, n FROM hits ORDER BY path
\execute a cursor
\execute b cursor
\fetch a 1
\fetch b 1
\fetch a 2
\fetch b 10
\fetch a 10
\close a
\fetch b 1
\close b

== SQL-level PREPARE
PREPARE inc FROM 'UPDATE posts SET views = views + ? WHERE id = ?';
SET @n = 2, @id = 1;
EXECUTE inc USING @n, @id;
EXECUTE inc USING @n, @id;
PREPARE get FROM 'SELECT id, views, likes FROM posts WHERE id = ?';
EXECUTE get USING @id;
SET @sql = 'SELECT SUM(views) FROM posts';
PREPARE total FROM @sql;
EXECUTE total;
DEALLOCATE PREPARE total;
EXECUTE total;
BEGIN;
EXECUTE inc USING @n, @id;
EXECUTE get USING @id;
ROLLBACK;
EXECUTE get USING @id;
DROP PREPARE inc;
EXECUTE IMMEDIATE 'SELECT views FROM posts WHERE id = 1';

== a number where text is expected, then text again [prepared]
\prepare up: UPDATE hits SET n = n + 1 WHERE path = ?
\execute up <- '/'
\execute up <- 5
\execute up <- '5'
\execute up <- '/about'
\prepare set: UPDATE IGNORE hits SET n = 3 WHERE path = ?
\execute set <- 5
\execute set <- '/about'
\prepare get: SELECT path, n FROM hits WHERE path = ? ORDER BY path
\execute get <- 5
\execute get <- '/'
\prepare day: UPDATE daily SET n = n + 1 WHERE day = ?
\execute day <- '2024-02-29'
\execute day <- 20240229
\execute day <- '2024-02-29'
SELECT * FROM hits ORDER BY path;
SELECT * FROM daily ORDER BY day, token;

== dates
INSERT INTO hits VALUES ('2024-02-29', NULL, 7), ('2024-2-29', NULL, 8), ('2024-02-29 00:00:00', NULL, 9), ('20240229', NULL, 10);
UPDATE daily SET n = n + ? WHERE day = ?; <- 1, DATE'2024-02-29'
UPDATE daily SET n = n + ? WHERE day = ?; <- 2, TIMESTAMP'2024-02-29 00:00:00'
UPDATE daily SET n = n + ? WHERE day = ?; <- 4, TIMESTAMP'2024-02-29 10:00:00'
UPDATE daily SET n = n + ? WHERE day = ?; <- 8, DATE'1999-01-01'
UPDATE daily SET n = n + ? WHERE day = ? AND token = ?; <- 16, DATE'2024-02-29', 'abcd'
SELECT day, n FROM daily WHERE day = ?; <- DATE'2024-02-29'
SELECT n FROM daily WHERE n > 0 AND day < ? ORDER BY n; <- DATE'2024-03-01'
UPDATE daily SET n = 5 WHERE day = ?; <- DATE'2024-02-29'
SELECT * FROM daily ORDER BY day, token;
UPDATE hits SET n = n + ? WHERE path = ?; <- 1, DATE'2024-02-29'
SELECT path, n FROM hits WHERE path = ? ORDER BY path; <- DATE'2024-02-29'
UPDATE hits SET n = n * 2 WHERE path = ?; <- DATE'2024-02-29'
UPDATE hits SET n = n + ? WHERE path = ?; <- 1, TIMESTAMP'2024-02-29 00:00:00'
SELECT path, n FROM hits WHERE path = ? ORDER BY path; <- TIMESTAMP'2024-02-29 00:00:00'
UPDATE hits SET n = n * 2 WHERE path = ?; <- TIMESTAMP'2024-02-29 00:00:00'
SELECT * FROM hits ORDER BY path;
UPDATE posts SET views = views + ? WHERE id = ?; <- DATE'2024-02-29', 3
UPDATE posts SET views = views + 1 WHERE id = ?; <- DATE'0003-01-01'
DELETE FROM daily WHERE day = ?; <- DATE'2024-02-29'

