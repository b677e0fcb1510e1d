#!/usr/bin/env bash
# The proxy's own account; the image's entrypoint runs this once, when it makes the data folder.
# `countersink provision --print` shows such GRANTs for any rules; LOCK TABLES is for `countersink drain`.

# Quotes and backslashes of a password mean something within an SQL string.
password=${COUNTERSINK_PASSWORD//\\/\\\\}
password=${password//\'/\'\'}

mysql --user=root --password="$MYSQL_ROOT_PASSWORD" <<SQL
CREATE USER 'countersink'@'%' IDENTIFIED BY '$password';
GRANT SELECT, UPDATE, TRIGGER ON shop.posts TO 'countersink'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON shop.posts_slots TO 'countersink'@'%';
GRANT LOCK TABLES ON shop.* TO 'countersink'@'%';
SQL
