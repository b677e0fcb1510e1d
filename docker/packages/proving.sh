# What the proofs of packages have in common; they source it from the project's folder. $work is a folder for what they write.

began=$EPOCHREALTIME
step_began=$began
title=
seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }
# Ends a step, saying how long it took, and begins another.
step() {
    [ -z "$title" ] || printf '   %6s s  %s\n' "$(seconds_since "$step_began")" "$title"
    step_began=$EPOCHREALTIME
    title=${1:-}
}
proved() {
    step ''
    echo "proved in $(seconds_since "$began") s"
}
failed() {
    printf 'FAILED: %s: %s\n' "$title" "$*" >&2
    tail -n 20 "$work"/*.err >&2
    exit 1
}
trap 'failed "line $LINENO: $BASH_COMMAND"' ERR
shown() { sed 's/^/             /'; }
equal() { [ "$2" = "$3" ] || failed "$1: $2, and not $3"; }
# Looks again until the command succeeds.
await() {
    local deadline=$((SECONDS + 120))
    until "$@"; do
        [ $SECONDS -lt $deadline ] || failed "in vain: $*"
        sleep 0.1
    done
}

# A server, by this program, with a table of an application and its account.
demo=
a_server() {
    : > "$work/demo.txt"
    "$1" demo --keep --seconds 1 --clients 4 < /dev/null > "$work/demo.txt" 2> "$work/demo.err" &
    demo=$!
    await grep -q 'Running until' "$work/demo.txt"
    server=$(sed -n 's/^ *direct  .* -P \([0-9]*\) .*/\1/p' "$work/demo.txt")
    direct --execute="SELECT VERSION()" | shown
    direct <<'SQL'
CREATE DATABASE shop_news;
CREATE TABLE shop_news.articles (id INT PRIMARY KEY, title VARCHAR(80) NOT NULL, views BIGINT NOT NULL DEFAULT 0);
INSERT INTO shop_news.articles (id, title) VALUES (1, 'Quiet'), (42, 'Everybody looks at it');
CREATE USER app@localhost IDENTIFIED BY 'app';
GRANT ALL ON shop_news.* TO app@localhost;
SQL
}
# The demo takes its server away, with the server's files.
stopped() { [ -z "$demo" ] || { kill -INT "$demo" && wait "$demo"; } 2> /dev/null || true; }
direct() { mysql --protocol=tcp --host=127.0.0.1 --port="$server" --user=root --skip-column-names --batch "$@"; }

# Waits until the proxy whose log is serve.err serves, at ports that the system has chosen.
serves() {
    await grep -q 'dashboard at' "$work/serve.err"
    proxy=$(sed -n 's/.*listening on [0-9.]*:\([0-9]*\).*/\1/p' "$work/serve.err")
    http=$(sed -n 's/.*metrics at http:\/\/[0-9.]*:\([0-9]*\).*/\1/p' "$work/serve.err")
}
through() {
    MYSQL_PWD=app mysql --protocol=tcp --host=127.0.0.1 --port="$proxy" --user=app --skip-column-names --batch "$@" shop_news
}
# So many clients that each send the statement so many times through the proxy.
clients() {
    local ids=() id
    for _ in $(seq "$1"); do
        for _ in $(seq "$2"); do echo "$3"; done | through > /dev/null &
        ids+=($!)
    done
    for id in "${ids[@]}"; do wait "$id" || failed 'a client'; done
}
# The value of a metric of the proxy, with its labels.
metric() {
    exec 3<> "/dev/tcp/127.0.0.1/$http"
    printf 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$http" >&3
    sed -n "s/^$1 \([0-9.]*\)\r*$/\1/p" <&3
    exec 3>&-
}
