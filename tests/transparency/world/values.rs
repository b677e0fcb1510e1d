//! What the tables hold when a session begins, and the part of it that lies in slots.

pub(super) const FILL: &str = "\
INSERT INTO authors VALUES (1, 'Ada', 10), (2, 'Brian', 20), (3, 'Cleo', 0);
INSERT INTO posts VALUES
  (1, 1, 'first', 100, 10, 5), (2, 1, 'second', 200, 20, NULL), (3, 2, 'third', 300, 30, -3),
  (4, 2, 'fourth', 50, 0, 0), (5, 3, 'fifth', 100, 50, NULL), (10, 3, 'tenth', 0, 0, 12);
INSERT INTO hits VALUES ('/', '2024-01-01', 1000), ('/about', NULL, 20), ('/Äpfel', '2024-02-29', 8), ('5', NULL, 12);
INSERT INTO balances VALUES
  ('alice', 'EUR', 100.00, 12.500, NULL), ('alice', 'USD', -20.50, 0.000, 'debt'),
  ('bob', 'EUR', 0.00, 7.125, 'it''s'), ('bob', 'USD', 99999.99, 1.000, NULL);
INSERT INTO widths VALUES
  (1, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20),
  (2, 126, 254, 32766, 65534, 8388606, 16777214, 2147483646, 4294967294, 9223372036854775806, 18446744073709551614),
  (3, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0),
  (4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO articles VALUES (1, 'one', 11, '2020-01-01 00:00:01'), (2, 'two', 22, '2020-01-01 00:00:02'), (3, 'three', 0, '2020-01-01 00:00:03');
INSERT INTO topics VALUES (1, 'tea', 5, '2020-01-01 00:00:01.500'), (2, 'coffee', 0, NULL), (3, 'milk', 7, '2020-01-01 00:00:03.000');
INSERT INTO daily VALUES ('2024-01-01', 'abcd', 10), ('2024-01-01', X'00FF2027', 8388600), ('2024-02-29', 'abcd', -3);
INSERT INTO prices VALUES (1.00, 65530), (9.99, 12), (-5.50, 0), (100.00, 7);
INSERT INTO stock VALUES ('A-1', 5, 2), ('a-1', 0, NULL), ('été', 1, -4);
INSERT INTO comments VALUES (1, 1, 'good', 3), (2, 1, 'better', 0), (3, 2, 'best', 1), (4, 9, 'lost', 0);
INSERT INTO tallies VALUES (1, 100, 1.50, NULL), (2, 200, NULL, 'x');
";

pub(super) const FILL_RELATED: &str = "\
INSERT INTO boards VALUES (1, 'news'), (2, 'talk');
INSERT INTO threads VALUES (1, 1, 'first', 10), (2, 2, 'second', 20), (3, NULL, 'third', 0);
INSERT INTO medals VALUES (1, 'gold', 10), (1, 'silver', 5), (2, 'gold', 20), (2, 'silver', 0);
";

/// Costs more than all the rest, so it is done for sessions that see it only.
pub(super) const REWIND: &str = "\
ALTER TABLE articles AUTO_INCREMENT = 100;
ALTER TABLE comments AUTO_INCREMENT = 100;
";

/// Moves a part of some values from base into slots; the sums stay. Two slots, and one that is zero: it is closed, as
/// it would be where the proxy itself had set the score of its row to NULL. By their base alone the posts would stand
/// in another order.
pub(super) const INTO_SLOTS: &str = "\
UPDATE posts SET views = views - 97 WHERE id IN (1, 3);
UPDATE posts SET views = views - 7 WHERE id = 10;
UPDATE posts SET likes = likes - 4 WHERE id IN (1, 3);
INSERT INTO posts_slots (id, slot, views, likes) VALUES (1, 0, 94, 4), (1, 5, 3, 0), (3, 0, 99, 1), (3, 2, -2, 3), (10, 1, 7, 0), (2, 0, 0, 0);
UPDATE posts SET score = score - 2 WHERE id IN (1, 3);
UPDATE posts_slots SET score = 2 WHERE (id, slot) IN ((1, 5), (3, 0));
UPDATE posts_slots SET open = 0 WHERE id = 2;
UPDATE hits SET n = n - 6 WHERE path IN ('/', '/Äpfel', '5');
INSERT INTO hits_slots (path, slot, n) VALUES ('/', 0, 6), ('/Äpfel', 3, 6), ('5', 0, 5), ('5', 1, 1);
UPDATE balances SET amount = amount - 0.25, spent = spent - 1.125 WHERE account = 'alice' AND currency = 'EUR' OR account = 'bob' AND currency = 'EUR';
INSERT INTO balances_slots (account, currency, slot, amount, spent) VALUES ('alice', 'EUR', 0, 0.25, 1.125), ('bob', 'EUR', 7, 0.50, 0.125), ('bob', 'EUR', 8, -0.25, 1.000);
UPDATE widths SET c16 = c16 - 5, u16 = u16 - 5, c24 = c24 - 5, u24 = u24 - 5, c32 = c32 - 5, u32 = u32 - 5, c64 = c64 - 5, u64 = u64 - 5 WHERE id = 1;
INSERT INTO widths_slots (id, slot, c16, u16, c24, u24, c32, u32, c64, u64) VALUES (1, 0, 5, 5, 5, 5, 5, 5, 5, 5);
UPDATE articles SET opens = opens - 3, updated_at = updated_at WHERE id < 3;
INSERT INTO articles_slots (id, slot, opens) VALUES (1, 0, 3), (2, 4, 3);
UPDATE topics SET replies = replies - 2, changed_at = '2019-12-31 23:59:59.999' WHERE id = 1;
UPDATE daily SET n = n - 4 WHERE token = 'abcd';
INSERT INTO daily_slots (day, token, slot, n) VALUES ('2024-01-01', 'abcd', 0, 5), ('2024-01-01', 'abcd', 2, -1), ('2024-02-29', 'abcd', 0, 4);
UPDATE prices SET sold = sold - 3 WHERE price IN (1.00, 9.99);
INSERT INTO prices_slots (price, slot, sold) VALUES (1.00, 0, 3), (9.99, 0, 1), (9.99, 1, 2);
UPDATE stock SET reserved = reserved - 2 WHERE sku = 'A-1';
INSERT INTO stock_slots (sku, slot, reserved) VALUES ('A-1', 0, 2);
INSERT INTO topics_slots (id, slot, replies, changed_at) VALUES (1, 0, 1, '2020-01-01 00:00:01.500'), (1, 1, 1, '2020-01-01 00:00:00'), (3, 0, 0, NULL);
";

pub(super) const RELATED_INTO_SLOTS: &str = "\
UPDATE threads SET replies = replies - 3 WHERE id IN (1, 2);
INSERT INTO threads_slots (id, slot, replies) VALUES (1, 0, 3), (2, 0, 2), (2, 1, 1);
UPDATE medals SET won = won - 2 WHERE grade = 'gold';
INSERT INTO medals_slots (board, grade, slot, won) VALUES (1, 'gold', 0, 2), (2, 'gold', 0, 1), (2, 'gold', 2, 1);
";
