#!/usr/bin/env bash
# What a newcomer does with the Debian package, in a Debian of its own, with the seconds of each step:
#
#   docker/packages/prove-deb.sh PACKAGE.deb [FOLDER]
#
# Needs root, debootstrap and a `mysql` client. Nothing is installed on the machine: the package goes into a small Debian
# in FOLDER, which is kept for the next run if it is named. The server is that of `countersink demo`. Afterwards the
# package is purged, and nothing of it may be left.
set -euo pipefail

package=$(realpath "$1")
cd "$(dirname "$0")/../.."

# Mounts and processes of this script end with it.
if [ "${2:-}" != --inside ]; then
    exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$0" "$package" --inside "${2:-}"
fi

. docker/packages/proving.sh
kept=${3:-}
folder=${kept:-$(mktemp -d)}
mkdir -p "$folder"
work=$(mktemp --directory --tmpdir="$folder")
root=$work/root
cleared() {
    stopped
    umount --lazy "$root/proc" 2> /dev/null || true
    rm -rf --one-file-system "$work"
    [ -n "$kept" ] || rm -rf --one-file-system "$folder"
}
trap cleared EXIT

inside() { chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }
# As an administrator calls it, who sees the password that the service gets.
administer() {
    inside sh -c 'set -a && . /etc/countersink/environment && exec "$@"' sh countersink "$@" \
        --rules /etc/countersink/rules.yaml
}
files() { (cd "$root" && find . -path ./proc -prune -o -print | sort); }

step 'a small Debian'
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [ ! -d "$folder/base" ]; then
    debootstrap --variant=minbase --include=systemd "$codename" "$folder/base.part" > "$work/debootstrap.log" 2>&1 \
        || failed "$(tail "$work/debootstrap.log")"
    mv "$folder/base.part" "$folder/base"
fi
cp --archive "$folder/base" "$root"
mount -t proc proc "$root/proc"
before=$(files)

step 'a server'
dpkg-deb --fsys-tarfile "$package" | tar --extract --directory="$work" --strip-components=3 ./usr/bin/countersink
a_server "$work/countersink"

newcomer=$EPOCHREALTIME
step 'install: dpkg --install'
cp "$package" "$root/tmp/countersink.deb"
inside dpkg --install /tmp/countersink.deb > "$work/dpkg.log" 2>&1 || failed "$(cat "$work/dpkg.log")"
rm "$root/tmp/countersink.deb"
inside countersink --version | shown
equal 'rights of the environment' "$(inside stat -c '%a %U' /etc/countersink/environment)" '600 root'
[ "$(inside id -u countersink)" != 0 ] || failed 'the account is root'
inside countersink man > /dev/null
[ -e "$root/usr/share/man/man1/countersink-serve.1.gz" ] || failed 'no manual page'

step 'rules: three lines'
unit=$root/usr/lib/systemd/system/countersink.service
sed -i -e 's/^listen: .*/listen: 127.0.0.1:0/' -e 's/^http: .*/http: 127.0.0.1:0/' \
    -e "s/^upstream: .*/upstream: 127.0.0.1:$server/" \
    -e 's/table: .*/table: shop_news.articles/' -e 's/columns: .*/columns: [views]/' -e '/mode: observe/d' \
    "$root/etc/countersink/rules.yaml"
sed -i 's/^COUNTERSINK_PASSWORD=.*/COUNTERSINK_PASSWORD=secret/' "$root/etc/countersink/environment"

step 'account: what `countersink check` and `provision --print` say'
direct --execute="CREATE USER countersink@localhost IDENTIFIED BY 'secret'"
administer check > "$work/check.txt" 2>&1 || true
# The first lets the account see the table; then it can say what else the rules need.
grep --only-matching 'GRANT .*' "$work/check.txt" | head -n 1 | tee "$work/first.sql" | shown
direct < "$work/first.sql"
administer provision --print > "$work/provision.sql"
sed -n "/control account/,/^-- Accounts/s/^-- \(GRANT .*\) TO .*/\1 TO countersink@localhost;/p" "$work/provision.sql" \
    | tee "$work/grants.sql" | shown
direct < "$work/grants.sql"

step 'slot table: `countersink provision`'
administer provision 2>&1 | shown
administer check | tail -n 1 | shown

step "serve: the unit's ExecStart, as its user"
# systemd reads the password, and drops all rights.
start=$(sed -n 's/^ExecStart=//p' "$unit")
user=$(sed -n 's/^User=//p' "$unit")
echo "$start" | shown
chroot "$root" sh -c "set -a && . /etc/countersink/environment && exec setpriv --reuid=$user --regid=$user \
    --clear-groups --no-new-privs --bounding-set=-all -- $start" 2> "$work/serve.err" &
serving=$!
serves
equal 'who serves' "$(ps -o uid= -p $serving | tr -d ' ')" "$(inside id -u countersink)"
table='{table="shop_news.articles"}'

step 'increments: 8 clients, 500 each, in autocommit'
clients 8 500 'UPDATE articles SET views = views + 1 WHERE id = 42;'
equal 'views through the proxy' "$(through --execute='SELECT views FROM articles WHERE id = 42')" 4000
administer explain 'UPDATE shop_news.articles SET views = views + 1 WHERE id = 42' | head -n 2 | shown
combined=$(metric "countersink_combined_increments_total$table")
statements=$(metric "countersink_batches_total$table")
[ "${combined%%.*}" -gt 0 ] || failed 'no increments were combined'
echo "$combined of 4000 increments were combined into $statements writes" | shown

step 'slots: 4 clients whose transactions hold the row'
clients 4 40 'BEGIN; UPDATE articles SET views = views + 1 WHERE id = 42; SELECT SLEEP(0.02); COMMIT;'
slotted=$(metric 'countersink_statements_total{reason="slotted"}')
[ "${slotted%%.*}" -gt 0 ] || failed 'no increment went to a slot'
equal 'views through the proxy' "$(through --execute='SELECT views FROM articles WHERE id = 42')" 4160
echo "$slotted of 160 increments went to slots" | shown
administer explain --in-motion 'UPDATE shop_news.articles SET views = views + 1 WHERE id = 42' | head -n 1 | shown
administer rollup | shown

step 'out: `countersink drain`'
administer drain | shown
equal 'views on the server' "$(direct --execute='SELECT views FROM shop_news.articles WHERE id = 42')" 4160
equal 'tables' "$(direct --execute="SHOW TABLES IN shop_news")" articles
kill -TERM $serving
code=0
wait $serving || code=$?
equal 'exit code of serve' $code 0
step ''
printf '   %6s s  from the package to a slotted counter, and out again\n' "$(seconds_since "$newcomer")"

step 'units: systemd-analyze verify, and security'
inside systemd-analyze --man=no verify countersink.service countersink@1.0.service 2> "$work/verify.log" || true
# The second unit starts a program in /opt, which is not there.
equal 'faults of the units' "$(grep countersink "$work/verify.log" | grep --invert-match /opt/countersink/1.0/ || true)" ''
inside systemd-analyze --offline=true security countersink.service > "$work/security.txt"
tail -n 1 "$work/security.txt" | sed 's/[^ -~]//g; s/^ *//' | shown

step 'upgrade: changed rules stay'
cp "$package" "$root/tmp/countersink.deb"
inside dpkg --install /tmp/countersink.deb > "$work/dpkg.log" 2>&1 || failed "$(cat "$work/dpkg.log")"
rm "$root/tmp/countersink.deb"
grep -q shop_news.articles "$root/etc/countersink/rules.yaml" || failed 'the rules are gone'
grep -q =secret "$root/etc/countersink/environment" || failed 'the password is gone'

step 'remove: rules stay; purge: nothing is left'
inside dpkg --remove countersink > "$work/dpkg.log" 2>&1 || failed "$(cat "$work/dpkg.log")"
[ -e "$root/etc/countersink/rules.yaml" ] || failed 'the rules are gone'
[ ! -e "$root/usr/bin/countersink" ] || failed 'the program is left'
inside dpkg --purge countersink >> "$work/dpkg.log" 2>&1 || failed "$(cat "$work/dpkg.log")"
# What dpkg and the tools for accounts keep for themselves.
left=$(diff <(echo "$before") <(files) | grep '^>' | grep --extended-regexp --invert-match \
    ' \./(var/lib/dpkg/|var/log/dpkg\.log|run/|etc/(passwd|group|shadow|gshadow|subuid|subgid)-$)' || true)
equal 'files that are left' "$left" ''
equal 'the account' "$(grep countersink "$root/etc/passwd" "$root/etc/group" "$root/etc/shadow" || true)" ''
equal 'warnings of dpkg' "$(grep -i warning "$work/dpkg.log" || true)" ''
proved
