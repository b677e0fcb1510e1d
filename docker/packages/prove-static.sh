#!/usr/bin/env bash
# The static program in a root with nothing else in it, as a container has it:
#
#   docker/packages/prove-static.sh IMAGE_FOLDER
#
# The folder is `image` of a release. Needs root and a `mysql` client; the server is that of `countersink demo`. The file
# system is read-only but for /tmp, the user is 10001, and the rules are mounted as Kubernetes mounts a ConfigMap. Where
# buildah is installed, the image is built as well, and read back.
set -euo pipefail

image=$(realpath "$1")
cd "$(dirname "$0")/../.."

# Mounts and processes of this script end with it.
if [ "${2:-}" != --inside ]; then
    exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$0" "$image" --inside
fi

. docker/packages/proving.sh
work=$(mktemp -d)
root=$work/root
cleared() {
    stopped
    umount --recursive --lazy "$root" 2> /dev/null || true
    rm -rf --one-file-system "$work"
}
trap cleared EXIT
program=usr/local/bin/countersink

step 'static'
file --brief "$image/$program" | shown
[ -z "$(readelf --program-headers "$image/$program" | grep INTERP || true)" ] || failed 'it asks for a loader'
[ -z "$(readelf --dynamic "$image/$program" | grep NEEDED || true)" ] || failed 'it needs libraries'

step 'a server, by the same program'
a_server "$image/$program"
direct <<'SQL'
CREATE USER countersink@localhost IDENTIFIED BY 'secret';
GRANT SELECT, UPDATE, TRIGGER ON shop_news.articles TO countersink@localhost;
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON shop_news.articles_slots TO countersink@localhost;
GRANT LOCK TABLES ON shop_news.* TO countersink@localhost;
SQL

step 'an empty root, read-only'
# A ConfigMap is a link to a folder that is exchanged as a whole.
mkdir -p "$work/rules/..1" "$work/rules/..2" "$root"
cat > "$work/rules/..1/rules.yaml" <<RULES
listen: 127.0.0.1:0
upstream: mysql:$server
http: 127.0.0.1:0
control:
  user: countersink
  password: \${COUNTERSINK_PASSWORD}
counters:
  - table: shop_news.articles
    columns: [views]
    mode: observe
RULES
sed '/mode: observe/d' "$work/rules/..1/rules.yaml" > "$work/rules/..2/rules.yaml"
ln -s ..1 "$work/rules/..data"
ln -s ..data/rules.yaml "$work/rules/rules.yaml"
cp --archive "$image/." "$root/"
mkdir -p "$root/etc/countersink"
# Engines bring these along.
echo '127.0.0.1 mysql' > "$root/etc/hosts"
mount --bind "$root" "$root"
mount --bind "$work/rules" "$root/etc/countersink"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
inside() { chroot --userspec=10001:10001 "$root" "/$program" "$@"; }
inside --version | shown
inside check --rules /etc/countersink/rules.yaml > "$work/check.txt" 2>&1 && failed 'it has no password'

step 'serve, as the image starts it'
entrypoint=$(sed -n 's/^ENTRYPOINT \["\(.*\)"\]$/\1/p' docker/static.Dockerfile)
command=$(sed -n 's/^CMD \[\(.*\)\]$/\1/p' docker/static.Dockerfile | tr -d '",')
equal 'the program' "$entrypoint" "$(basename "$program")"
COUNTERSINK_PASSWORD=secret chroot --userspec=10001:10001 "$root" "/$program" $command 2> "$work/serve.err" &
serving=$!
serves
equal 'who serves' "$(ps -o uid= -p $serving | tr -d ' ')" 10001

step 'observed: 4 clients, 250 increments each'
clients 4 250 'UPDATE articles SET views = views + 1 WHERE id = 42;'
equal 'views on the server' "$(direct --execute='SELECT views FROM shop_news.articles WHERE id = 42')" 1000
observed=$(metric 'countersink_observed_statements_total{reason="combined"}')
equal 'observed increments' "$observed" 1000

step 'the ConfigMap changes: enforce'
ln -s ..2 "$work/rules/..new"
mv --no-target-directory "$work/rules/..new" "$work/rules/..data"
await grep -q 'rules.yaml read, and in force' "$work/serve.err"
is_at_rest() { [ "$(metric 'countersink_at_rest{table="shop_news.articles"}')" = 1 ]; }
await is_at_rest
clients 4 250 'UPDATE articles SET views = views + 1 WHERE id = 42;'
equal 'views through the proxy' "$(through --execute='SELECT views FROM articles WHERE id = 42')" 2000
combined=$(metric 'countersink_combined_increments_total{table="shop_news.articles"}')
[ "${combined%%.*}" -gt 0 ] || failed 'no increments were combined'
echo "$combined of 1000 increments were combined" | shown

step 'the health check of the image'
# It goes by the rules, so the ports that the system has chosen are written there, where the proxy takes no notice of them.
sed -i "s/^http: .*/http: 127.0.0.1:$http/" "$work/rules/..2/rules.yaml"
inside health --rules /etc/countersink/rules.yaml | shown
inside health --ready --rules /etc/countersink/rules.yaml | shown

step 'stop'
kill -TERM $serving
code=0
wait $serving || code=$?
equal 'exit code of serve' $code 0
if inside health --rules /etc/countersink/rules.yaml > /dev/null 2>&1; then failed 'it is healthy, and gone'; fi
equal 'views on the server' "$(direct --execute='SELECT views FROM shop_news.articles WHERE id = 42')" 2000

if command -v buildah > /dev/null; then
    step 'the image, by buildah'
    export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
    store=(--root "$work/store" --runroot "$work/run")
    buildah "${store[@]}" build --quiet --format docker --file docker/static.Dockerfile --tag countersink:proved "$image" \
        > "$work/buildah.log" 2>&1 || failed "$(cat "$work/buildah.log")"
    buildah "${store[@]}" inspect --type image --format \
        '{{.Docker.Config.User}} {{.Docker.Config.Entrypoint}} {{.Docker.Config.Cmd}}
{{.Docker.Config.Healthcheck.Test}}
' countersink:proved | shown
    container=$(buildah "${store[@]}" from countersink:proved)
    buildah "${store[@]}" run "$container" -- countersink --version | shown
    buildah "${store[@]}" rm "$container" > /dev/null
fi
proved
