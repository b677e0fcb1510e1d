#!/usr/bin/env bash
# Increments one row with sixteen clients and reads it with one, until it is stopped. Arguments are those of mysql(1).
set -euo pipefail

trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

increments() {
    while echo 'UPDATE posts SET views = views + 1 WHERE id = 42;'; do :; done
}

for _ in {1..16}; do
    increments 2>/dev/null | mysql "$@" &
done
while sleep 1; do
    mysql --skip-column-names --execute='SELECT views FROM posts WHERE id = 42' "$@"
done
