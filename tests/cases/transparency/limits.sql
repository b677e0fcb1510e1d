# Near and beyond the limits of the types.

== over the top
UPDATE widths SET c8 = c8 + 1 WHERE id = 2;
UPDATE widths SET c8 = c8 + 1 WHERE id = 2;
UPDATE widths SET u8 = u8 + 1 WHERE id = 2;
UPDATE widths SET u8 = u8 + 1 WHERE id = 2;
UPDATE widths SET c16 = c16 + 1 WHERE id = 2;
UPDATE widths SET c16 = c16 + 1 WHERE id = 2;
UPDATE widths SET u16 = u16 + 1 WHERE id = 2;
UPDATE widths SET u16 = u16 + 1 WHERE id = 2;
UPDATE widths SET c24 = c24 + 1 WHERE id = 2;
UPDATE widths SET c24 = c24 + 1 WHERE id = 2;
UPDATE widths SET u24 = u24 + 1 WHERE id = 2;
UPDATE widths SET u24 = u24 + 1 WHERE id = 2;
UPDATE widths SET c32 = c32 + 1 WHERE id = 2;
UPDATE widths SET c32 = c32 + 1 WHERE id = 2;
UPDATE widths SET u32 = u32 + 1 WHERE id = 2;
UPDATE widths SET u32 = u32 + 1 WHERE id = 2;
UPDATE widths SET c64 = c64 + 1 WHERE id = 2;
UPDATE widths SET c64 = c64 + 1 WHERE id = 2;
UPDATE widths SET u64 = u64 + 1 WHERE id = 2;
UPDATE widths SET u64 = u64 + 1 WHERE id = 2;
SELECT * FROM widths ORDER BY id;

== under the bottom
UPDATE widths SET c8 = c8 - 1 WHERE id = 3;
UPDATE widths SET u8 = u8 - 1 WHERE id = 3;
UPDATE widths SET c16 = c16 - 1 WHERE id = 3;
UPDATE widths SET u16 = u16 - 1 WHERE id = 3;
UPDATE widths SET c24 = c24 - 1 WHERE id = 3;
UPDATE widths SET u24 = u24 - 1 WHERE id = 3;
UPDATE widths SET c32 = c32 - 1 WHERE id = 3;
UPDATE widths SET u32 = u32 - 1 WHERE id = 3;
UPDATE widths SET c64 = c64 - 1 WHERE id = 3;
UPDATE widths SET u64 = u64 - 1 WHERE id = 3;
UPDATE widths SET u16 = u16 - 20 WHERE id = 1;
UPDATE widths SET u16 = u16 - 1 WHERE id = 1;
UPDATE widths SET u32 = u32 + 5 WHERE id = 3;
UPDATE widths SET u32 = u32 - 5 WHERE id = 3;
UPDATE widths SET u32 = u32 - 1 WHERE id = 3;
SELECT * FROM widths ORDER BY id;

== several rows, one of which overflows
UPDATE widths SET c16 = c16 + 5;
SELECT id, c16 FROM widths ORDER BY id;
UPDATE widths SET c16 = c16 + 5 WHERE id IN (1, 2);
SELECT id, c16 FROM widths ORDER BY id;
BEGIN;
UPDATE widths SET u16 = u16 + 1 WHERE id = 1;
UPDATE widths SET u16 = u16 + 1 WHERE id IN (1, 2);
UPDATE widths SET u16 = u16 + 1 WHERE id IN (1, 2);
SELECT id, u16 FROM widths ORDER BY id;
COMMIT;
SELECT id, u16 FROM widths ORDER BY id;

== steps up to the limit
UPDATE widths SET c16 = c16 + 10000 WHERE id = 4;
UPDATE widths SET c16 = c16 + 10000 WHERE id = 4;
UPDATE widths SET c16 = c16 + 10000 WHERE id = 4;
UPDATE widths SET c16 = c16 + 2767 WHERE id = 4;
UPDATE widths SET c16 = c16 + 1 WHERE id = 4;
UPDATE widths SET c16 = c16 - 32767 WHERE id = 4;
UPDATE widths SET c16 = c16 + 60 WHERE id = 4;
UPDATE widths SET c16 = c16 + 60 WHERE id = 4;
UPDATE widths SET c16 = c16 + 60 WHERE id = 4;
SELECT c16 FROM widths WHERE id = 4;

== decimals
UPDATE balances SET amount = amount + 9999900000 WHERE account = 'bob' AND currency = 'USD';
UPDATE balances SET amount = amount + 9999900000.01 WHERE account = 'bob' AND currency = 'USD';
UPDATE balances SET amount = amount + 0.01 WHERE account = 'bob' AND currency = 'USD';
UPDATE balances SET amount = amount + 0.001 WHERE account = 'bob' AND currency = 'USD';
[direct] SHOW WARNINGS;
UPDATE balances SET spent = spent - 2 WHERE account = 'bob' AND currency = 'USD';
UPDATE balances SET spent = spent + 0.0005 WHERE account = 'bob' AND currency = 'USD';
SELECT * FROM balances ORDER BY account, currency;

== unsigned subtraction in expressions
SELECT likes - 60 FROM posts WHERE id = 1;
SELECT likes - views FROM posts ORDER BY id;
SELECT views - likes FROM posts ORDER BY id;
SELECT u64 + 1 FROM widths WHERE id = 2;
SELECT c64 + 5 FROM widths WHERE id = 2;
SELECT u32 - u16 FROM widths WHERE id = 3;
SET sql_mode = CONCAT(@@sql_mode, ',NO_UNSIGNED_SUBTRACTION');
SELECT likes - 60 FROM posts WHERE id = 1;
UPDATE posts SET likes = likes - 11 WHERE id = 1;
UPDATE posts SET likes = likes - 1 WHERE id = 1;
SELECT likes FROM posts WHERE id = 1;

== without strict mode
SET sql_mode = '';
UPDATE widths SET c16 = c16 + 100, u16 = u16 + 100, c32 = c32 + 100 WHERE id = 2;
UPDATE widths SET c16 = c16 - 100, c32 = c32 - 100 WHERE id = 3;
UPDATE widths SET u16 = u16 - 100 WHERE id = 3;
UPDATE widths SET c16 = c16 + 100000 WHERE id = 4;
UPDATE widths SET u64 = u64 + 1 WHERE id = 2;
SELECT * FROM widths ORDER BY id;
UPDATE IGNORE widths SET u16 = u16 - 100 WHERE id = 3;
[direct] SHOW WARNINGS;
