# Keys of every type, written in every way that means them.

== date and binary
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE token = 'abcd' AND day = '2024-01-01';
UPDATE daily SET n = n + 1 WHERE day = DATE '2024-01-01' AND token = X'61626364';
UPDATE daily SET n = n + 1 WHERE day = '2024-1-1' AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE day = 20240101 AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01 00:00:00' AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01 10:00:00' AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE day = 'no day' AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = 'ABCD';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = 'ab';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = X'00FF2027';
UPDATE daily SET n = n - 5 WHERE day = ? AND token = ?; <- '2024-02-29', 'abcd'
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01';
UPDATE daily SET n = n + 1 WHERE token = 'abcd';
UPDATE daily SET n = n + 1 WHERE (day, token) = ('2024-02-29', 'abcd');
UPDATE daily SET n = n + 1 WHERE day BETWEEN '2024-01-01' AND '2024-12-31';
SELECT day, HEX(token), n FROM daily ORDER BY day, token;
SELECT n FROM daily WHERE day = ? AND token = ?; <- '2024-01-01', 'abcd'
UPDATE daily SET n = 0 WHERE day = '2024-01-01' AND token = 'abcd';
UPDATE daily SET day = '2025-01-01' WHERE day = '2024-02-29' AND token = 'abcd';
DELETE FROM daily WHERE day = '2024-01-01' AND token = X'00FF2027';
INSERT INTO daily VALUES ('2024-01-01', X'00FF2027', 3);
SELECT * FROM daily ORDER BY day, token;

== dates with something behind them, where no strict mode refuses them
SET sql_mode = '';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01x' AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01x' AND token = 'abcd';
SHOW WARNINGS;
SELECT day, HEX(token), n FROM daily ORDER BY day, token;
UPDATE daily SET n = n + 1 WHERE day = ? AND token = ?; <- '2024-01-01x', 'abcd'
SHOW WARNINGS;
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01 xx';
SHOW WARNINGS;
UPDATE daily SET n = n + 1 WHERE day IN ('2024-01-01x', '2024-02-29') AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE day BETWEEN '2024-01-01' AND '2024-02-29x';
SHOW WARNINGS;
UPDATE daily SET n = n + 1 WHERE day = '2024-02-31' AND token = 'abcd';
SHOW WARNINGS;
UPDATE daily SET n = n + 1 WHERE day = 20240101.5 AND token = 'abcd';
SHOW WARNINGS;
SELECT day, HEX(token), n FROM daily ORDER BY day, token;
SET sql_mode = DEFAULT;
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01x' AND token = 'abcd';
SHOW WARNINGS;
UPDATE daily SET n = n + 1 WHERE day = ? AND token = ?; <- '2024-01-01x', 'abcd'
SELECT day, HEX(token), n FROM daily ORDER BY day, token;

== overflow of a MEDIUMINT
UPDATE daily SET n = n + 7 WHERE token = X'00FF2027';
UPDATE daily SET n = n + 1 WHERE token = X'00FF2027' AND day = '2024-01-01';
SELECT n FROM daily WHERE token = X'00FF2027';

== decimal
UPDATE prices SET sold = sold + 1 WHERE price = 9.99;
UPDATE prices SET sold = sold + 1 WHERE price = 9.990;
UPDATE prices SET sold = sold + 1 WHERE price = '9.99';
UPDATE prices SET sold = sold + 1 WHERE price = 9.99e0;
UPDATE prices SET sold = sold + 1 WHERE price = 9.991;
UPDATE prices SET sold = sold + 1 WHERE price = 1;
UPDATE prices SET sold = sold + 2 WHERE price = -5.5;
UPDATE prices SET sold = sold + 2 WHERE price = - 5.50;
UPDATE prices SET sold = sold + 2 WHERE -5.50 = price;
UPDATE prices SET sold = sold + 1 WHERE price = ?; <- 9.99
UPDATE prices SET sold = sold + 1 WHERE price = ?; <- '9.99'
UPDATE prices SET sold = sold + 1 WHERE price = ?; <- 9.99e0
UPDATE prices SET sold = sold + 1 WHERE price = ?; <- 1
UPDATE prices SET sold = sold + 1 WHERE price IN (1, 9.99, 77);
SELECT * FROM prices ORDER BY price;
SELECT sold FROM prices WHERE price = 9.99;
UPDATE prices SET sold = sold + 10 WHERE price = 1;
UPDATE prices SET sold = sold - 13 WHERE price = 9.99;
UPDATE prices SET sold = sold - 100 WHERE price = 9.99;
UPDATE prices SET price = 9.98 WHERE price = 9.99;
SELECT * FROM prices ORDER BY price;

== binary collation in latin1
UPDATE stock SET reserved = reserved + 1 WHERE sku = 'A-1';
UPDATE stock SET reserved = reserved + 1 WHERE sku = 'a-1';
UPDATE stock SET reserved = COALESCE(reserved, 0) + 1 WHERE sku = 'a-1';
UPDATE stock SET reserved = reserved + 1 WHERE sku = 'été';
UPDATE stock SET reserved = reserved + 1 WHERE sku = 'ÉTÉ';
UPDATE stock SET reserved = reserved + 1 WHERE sku = 'ete';
UPDATE stock SET reserved = reserved + 1 WHERE sku = 'A-1 ';
UPDATE stock SET reserved = reserved + 1 WHERE sku = '日本';
UPDATE stock SET reserved = reserved + 1 WHERE sku = _latin1'A-1';
UPDATE stock SET reserved = reserved + 1 WHERE sku = 'A-1' COLLATE utf8mb4_bin;
UPDATE stock SET reserved = reserved + 1 WHERE sku LIKE 'a-%';
UPDATE stock SET reserved = reserved - 3 WHERE sku = ?; <- 'A-1'
UPDATE stock SET reserved = 9 WHERE sku = 'été';
SELECT sku, quantity, reserved FROM stock ORDER BY sku;

== a CHECK on the counter
UPDATE stock SET quantity = quantity + 1 WHERE sku = 'A-1';
UPDATE stock SET quantity = quantity - 6 WHERE sku = 'A-1';
UPDATE stock SET quantity = quantity - 1 WHERE sku = 'A-1';
UPDATE stock SET quantity = quantity - 1, reserved = reserved + 1 WHERE sku = 'été';
SELECT * FROM stock ORDER BY sku;

== letters of either case are one key
UPDATE hits SET n = n + 1 WHERE path = '/ABOUT';
UPDATE hits SET n = n + 1 WHERE path = '/about';
UPDATE hits SET n = n + 1 WHERE path = '/äpfel';
UPDATE hits SET n = n + 1 WHERE path = 5;
UPDATE hits SET n = n + 1 WHERE path = ?; <- 5
UPDATE balances SET amount = amount + 1 WHERE account = 'ALICE' AND currency = 'eur';
UPDATE balances SET amount = amount + 1 WHERE currency = 'EUR' AND account = 'alice';
SELECT * FROM hits ORDER BY path;
SELECT * FROM balances ORDER BY account, currency;

== a key that the sql_mode pads
INSERT INTO balances VALUES ('carl', 'E', 5, 1, NULL), ('carl', 'F', 6, 1, NULL);
UPDATE balances SET amount = amount + 1 WHERE account = 'carl' AND currency = 'E';
UPDATE balances SET amount = amount + 1 WHERE account = 'carl' AND currency = 'F';
[direct] SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH';
SELECT account, currency, amount FROM balances WHERE account = 'carl' ORDER BY currency;
UPDATE balances SET amount = amount * 2 WHERE account = 'carl' AND currency = 'E  ';
UPDATE balances SET amount = amount * 2 WHERE account = 'carl' AND currency = 'E';
UPDATE balances SET amount = amount * 2 WHERE account = 'carl';
SELECT account, currency, amount FROM balances WHERE account = 'carl' ORDER BY currency;
UPDATE balances SET amount = amount + 1 WHERE account = 'carl' AND currency = 'E  ';
BEGIN;
UPDATE balances SET amount = amount + 1 WHERE account = 'carl' AND currency = 'E  ';
SELECT currency, amount FROM balances WHERE account = 'carl' AND currency = 'E  ';
SELECT currency, amount FROM balances WHERE account = 'carl' AND currency = 'F  ' FOR UPDATE;
UPDATE balances SET amount = 3 WHERE account = 'carl' AND currency LIKE 'F%';
COMMIT;
DELETE FROM balances WHERE account = 'carl' AND amount > 10;
[direct] SET sql_mode = DEFAULT;
SELECT * FROM balances ORDER BY account, currency;

== keys as hexadecimal literals, of every type
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = X'61626364';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = 0x61626364;
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = x'6162';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = _binary X'61626364';
UPDATE daily SET n = n + 1 WHERE day = 0x323032342D30312D3031 AND token = 'abcd';
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token IN (X'61626364', 0x00FF2027);
UPDATE daily SET n = n + 1 WHERE day = '2024-01-01' AND token = X'616';
SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = 0x01;
UPDATE posts SET views = views + 1 WHERE id = X'31';
UPDATE hits SET n = n + 1 WHERE path = X'2F61626F7574';
UPDATE hits SET n = n + 1 WHERE path = X'2F41424F5554';
UPDATE prices SET sold = sold + 1 WHERE price = X'01';
UPDATE prices SET sold = sold + 1 WHERE price = 0x312E30;
SHOW WARNINGS;
UPDATE stock SET quantity = quantity + 1 WHERE sku = X'E974E9';
UPDATE balances SET amount = amount + 1 WHERE account = X'616C696365' AND currency = X'455552';
BEGIN;
UPDATE hits SET n = n + 1 WHERE path = X'2F61626F7574';
SELECT n FROM hits WHERE path = X'2F61626F7574';
SELECT n FROM hits WHERE path = X'2F61626F7574' FOR UPDATE;
UPDATE hits SET n = n * 2 WHERE path = X'2F61626F7574';
COMMIT;
SELECT day, HEX(token), n FROM daily ORDER BY day, token;
SELECT * FROM hits ORDER BY path;
SELECT * FROM prices ORDER BY price;
SELECT * FROM stock ORDER BY sku;
SELECT * FROM balances ORDER BY account, currency;

== integers in quotes
[direct] SET timestamp = 1700000000;
UPDATE posts SET views = views + 1 WHERE id = '1';
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE '1' = id;
UPDATE posts SET views = views + 1 WHERE id = "1";
UPDATE posts SET views = views + 1, likes = likes + 2 WHERE posts.id = '2' LIMIT 1;
UPDATE posts SET views = views + 1 WHERE id = '01';
UPDATE posts SET views = views + 1 WHERE id = ' 1';
UPDATE posts SET views = views + 1 WHERE id = '1 ';
UPDATE posts SET views = views + 1 WHERE id = '1.0';
UPDATE posts SET views = views + 1 WHERE id = '1e0';
UPDATE posts SET views = views + 1 WHERE id = '+1';
UPDATE posts SET views = views + 1 WHERE id = '-1';
UPDATE posts SET views = views + 1 WHERE id = '1x';
SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = '';
SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = '2147483648';
UPDATE posts SET views = views + 1 WHERE id = '99999999999999999999';
SHOW WARNINGS;
UPDATE widths SET c32 = c32 + 1 WHERE id = '1';
UPDATE widths SET c32 = c32 + 1 WHERE id = '65536';
UPDATE articles SET opens = opens + 1 WHERE id = '18446744073709551615';
UPDATE articles SET opens = opens + 1 WHERE id = '18446744073709551616';
UPDATE posts SET views = 2147483647 WHERE id = '3';
UPDATE posts SET views = views + 1 WHERE id = '3';
SHOW WARNINGS;
UPDATE posts SET views = views + 1 WHERE id = '77';
SELECT LAST_INSERT_ID(), ROW_COUNT();
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = '1';
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = '1';
ROLLBACK;
SET sql_safe_updates = 1;
UPDATE posts SET views = views + 1 WHERE id = '1';
SET sql_safe_updates = 0;
SET sql_mode = '';
UPDATE posts SET views = views + 1 WHERE id = '1x';
SHOW WARNINGS;
\at_once 4 3: UPDATE posts SET views = views + 1 WHERE id = '1' || UPDATE posts SET views = views + 2 WHERE id = 1 || UPDATE posts SET views = views + 4 WHERE id = '01'
SELECT id, views, likes FROM posts ORDER BY id;
SELECT id, c32 FROM widths ORDER BY id;
SELECT id, opens FROM articles ORDER BY id;
