#!/usr/bin/env bash
# Makes what a release consists of: docker/packages/release.sh FOLDER
#
# The Debian package, an archive with the static program, the chart, what the static image is made of, a list of the
# libraries in the program (SBOM, CycloneDX), and the checksums of all. The same commit gives the same bytes. Needs what
# build.sh and deb.sh need, cargo-deny and cargo-cyclonedx.
set -euo pipefail
mkdir -p "$1"
out=$(realpath "$1")
cd "$(dirname "$0")/../.."

[ -z "$(ls -A "$out")" ] || { echo "$out is not empty" >&2; exit 2; }
[ -z "$(git status --porcelain)" ] || echo "warning: there are changes that are not committed" >&2

version=$(sed -n '/^\[workspace\.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
machine=$(uname -m)
target=$machine-unknown-linux-musl
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log --max-count=1 --format=%ct)}

# An archive that says nothing of who made it, and when.
pack() {
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u+rwX,go+rX,go-w "$@" | gzip --no-name --best
}

echo "== what it is made of ($SECONDS s)" >&2
# The database of weaknesses is elsewhere, and may be out of reach.
cargo deny check licenses bans sources
cargo deny check advisories || echo "warning: the advisories could not be checked, or name a crate; see above" >&2

echo "== the Debian package ($SECONDS s)" >&2
docker/packages/deb.sh
cp "${CARGO_TARGET_DIR:-target}/$machine-unknown-linux-gnu/debian/countersink_$version"-*.deb "$out/"

echo "== the static program ($SECONDS s)" >&2
docker/packages/build.sh "$target"
built=${CARGO_TARGET_DIR:-target}/$target/dist
docker/packages/generate.sh "$built/countersink" "$built/packages"
name=countersink-$version-$machine-linux-static
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/$name"
strip --strip-unneeded -o "$stage/$name/countersink" "$built/countersink"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT rules.yaml "$built/packages/THIRD-PARTY-LICENSES" "$stage/$name/"
cp -r docs "$built/packages/man" "$built/packages/completions" docker/systemd "$stage/$name/"
pack --directory="$stage" "$name" > "$out/$name.tar.gz"

echo "== what the image is made of ($SECONDS s)" >&2
mkdir -p "$out/image/usr/local/bin" "$out/image/usr/share/doc/countersink" "$out/image/tmp"
chmod 1777 "$out/image/tmp"
cp "$stage/$name/countersink" "$out/image/usr/local/bin/"
cp LICENSE-APACHE LICENSE-MIT "$built/packages/THIRD-PARTY-LICENSES" "$out/image/usr/share/doc/countersink/"

echo "== the chart ($SECONDS s)" >&2
pack --directory=docker/kubernetes --transform='s,^chart,countersink,' chart > "$out/countersink-chart-$version.tgz"

echo "== the list of libraries ($SECONDS s)" >&2
# One for each crate of the workspace, beside its manifest; that of the program names all.
trap 'rm -rf "$stage"; rm -f countersink-sbom.json crates/*/countersink-sbom.json' EXIT
cargo cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps --target "$machine-unknown-linux-gnu" \
    --override-filename countersink-sbom
sed "s,file://$PWD,file:///countersink,g" countersink-sbom.json > "$out/countersink-$version.cdx.json"

cd "$out"
sha256sum ./*.deb ./*.tar.gz ./*.tgz ./*.cdx.json | sed 's, \./, ,' > SHA256SUMS
echo "== $out ($SECONDS s)" >&2
cat SHA256SUMS
