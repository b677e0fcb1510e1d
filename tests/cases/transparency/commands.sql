# Commands other than statements.

== simple ones
\ping
\statistics
\init_db {schema}
\reset
\set_option 0
\set_option 1
\process_kill 4294967290
\ping

== unknown and retired ones
\raw 00
\raw 05
\raw 06
\raw 07 01
[mysql] \raw 08
\raw 0b
\raw 0d
\raw 0f
\raw 10
\raw 14
\raw 1d
\raw 21
\raw 22
\raw 63
\raw fe
\raw ff
\ping

== an empty packet
\empty
\ping

== commands cut short
\raw 17
\raw 17 01
\raw 1a 01
\raw 1c 01 00 00 00
\raw 1b 00
\raw 0c 01
\raw 03
\raw 16
\raw 02
\ping

== cut short where there is no response otherwise
-- MySQL answers it, and so the answer to what comes next is not the answer to that. The last one is not waited for.
\raw 18 01
\ping
\ping

== closed with half an id
\raw 19 01 00
\ping
\ping

== streams that are refused
\raw 13
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
UPDATE posts SET views = 7 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;

== statements that are not there
\execute nothing
\fetch nothing 1
\reset_statement nothing
\close nothing
\ping

== pipelined
\pipeline
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
SELECT 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
SELECT views FROM posts WHERE id = 1;
ROLLBACK;
SELECT nothing;
UPDATE posts SET views = 0 WHERE id = 2;
SELECT * FROM posts ORDER BY id;
DO 0;
\end
SELECT * FROM posts ORDER BY id;

== killed
\connection b
SELECT views FROM posts WHERE id = 1;
\connection a
SELECT 1;
\connection b
KILL QUERY CONNECTION_ID();
SELECT views FROM posts WHERE id = 1;
KILL CONNECTION_ID();
SELECT 1;

== farewell
UPDATE posts SET views = views + 1 WHERE id = 1;
BEGIN;
UPDATE posts SET views = views + 1 WHERE id = 1;
\quit
SELECT views FROM posts WHERE id = 1;
