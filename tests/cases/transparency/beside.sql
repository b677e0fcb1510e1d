# Commands that are no statements, behind a statement that has left messages: more than one, or one too long for SIGNAL.

== ping behind error [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\ping
SHOW WARNINGS;

== ping behind error, counted [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\ping
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== ping behind error, set_option [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\ping
\set_option 0

== statistics behind error [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\statistics
SHOW WARNINGS;

== statistics behind error, counted [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\statistics
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== statistics behind error, set_option [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\statistics
\set_option 0

== init_db behind error [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\init_db {schema}
SHOW WARNINGS;

== init_db behind error, counted [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\init_db {schema}
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== init_db behind error, set_option [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\init_db {schema}
\set_option 0

== init_db_bad behind error [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\init_db nope
SHOW WARNINGS;

== init_db_bad behind error, counted [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\init_db nope
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== init_db_bad behind error, set_option [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\init_db nope
\set_option 0

== set_option behind error [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\set_option 0
SHOW WARNINGS;

== set_option behind error, counted [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\set_option 0
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== set_option behind error, set_option [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\set_option 0
\set_option 0

== kill behind error [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\process_kill 4294967290
SHOW WARNINGS;

== kill behind error, counted [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\process_kill 4294967290
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== kill behind error, set_option [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\process_kill 4294967290
\set_option 0

== unknown behind error [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\raw 05
SHOW WARNINGS;

== unknown behind error, counted [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\raw 05
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== unknown behind error, set_option [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\raw 05
\set_option 0

== empty behind error [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\empty
SHOW WARNINGS;

== empty behind error, counted [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\empty
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== empty behind error, set_option [text]
UPDATE posts SET views = 7 WHERE id = 1 nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense nonsense;
\empty
\set_option 0

== ping behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\ping
SHOW WARNINGS;

== ping behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\ping
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== ping behind warnings, set_option [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\ping
\set_option 0

== statistics behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\statistics
SHOW WARNINGS;

== statistics behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\statistics
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== statistics behind warnings, set_option [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\statistics
\set_option 0

== init_db behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\init_db {schema}
SHOW WARNINGS;

== init_db behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\init_db {schema}
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== init_db behind warnings, set_option [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\init_db {schema}
\set_option 0

== init_db_bad behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\init_db nope
SHOW WARNINGS;

== init_db_bad behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\init_db nope
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== init_db_bad behind warnings, set_option [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\init_db nope
\set_option 0

== set_option behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\set_option 0
SHOW WARNINGS;

== set_option behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\set_option 0
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== set_option behind warnings, set_option [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\set_option 0
\set_option 0

== kill behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\process_kill 4294967290
SHOW WARNINGS;

== kill behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\process_kill 4294967290
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== kill behind warnings, set_option [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\process_kill 4294967290
\set_option 0

== unknown behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\raw 05
SHOW WARNINGS;

== unknown behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\raw 05
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== unknown behind warnings, set_option [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\raw 05
\set_option 0

== empty behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\empty
SHOW WARNINGS;

== empty behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\empty
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== empty behind warnings, set_option [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\empty
\set_option 0

== several statements at once where only one is allowed [text]
\set_option 1
BEGIN; UPDATE posts SET views = views + 1 WHERE id = 0; ROLLBACK; SELECT views FROM posts WHERE id = 0;
\set_option 1
SHOW WARNINGS;

== no rows are to be selected [text]
UPDATE posts SET views = views + 3 WHERE id = 1;
SET sql_select_limit = 0;
SELECT views FROM posts WHERE id = 1;
SELECT views FROM posts WHERE id = 1 LIMIT 1;
UPDATE posts SET views = 0 WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SET sql_select_limit = DEFAULT;
SELECT id, views FROM posts ORDER BY id;

== what LOCK TABLES folds, where updates need a key [text]
UPDATE posts SET views = views + 1 WHERE id = 1;
UPDATE posts SET views = views + 2 WHERE id = 2;
SET sql_safe_updates = 1, sql_big_selects = 0, max_join_size = 1;
LOCK TABLES posts WRITE;
SET sql_safe_updates = 0, sql_big_selects = 1, max_join_size = DEFAULT;
SELECT id, views FROM posts ORDER BY id;
UPDATE posts SET views = 0 WHERE id = 1;
UNLOCK TABLES;
SELECT id, views FROM posts ORDER BY id;

== rows behind LOCK TABLES [text]
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 2;
COMMIT;
LOCK TABLES posts WRITE;
SELECT ROW_COUNT(), LAST_INSERT_ID();
UNLOCK TABLES;

== a statement of no hot table is reset behind warnings [text]
\prepare c: SELECT 1
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\reset_statement c
SHOW WARNINGS;

== a statement that is not there is reset behind warnings [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\reset_statement nothing
SHOW WARNINGS;

== a statement that is not there is reset behind warnings, counted [text]
UPDATE IGNORE posts SET views = 7 WHERE title = 1;
\reset_statement nothing
SELECT ROW_COUNT(), @@warning_count, @@error_count;

== long data behind rows [text]
\prepare c: SELECT ?
UPDATE posts SET views = 7, title = 'x' WHERE id < 3;
\long_data c 0 abc
SELECT ROW_COUNT(), @@warning_count, @@error_count;
