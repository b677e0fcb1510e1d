#!/usr/bin/env bash
# Makes the Debian package: docker/packages/deb.sh [TARGET]
#
# Needs cargo-deb (`cargo install cargo-deb`). The target is this machine's unless another one is named. The package's
# path, in the target's folder, is the last line of the output.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=${1:-$(uname -m)-unknown-linux-gnu}
docker/packages/build.sh "$target"

# cargo-deb finds what is made here where it finds the program.
built=${CARGO_TARGET_DIR:-target}/$target/dist
docker/packages/generate.sh "$built/countersink" "$built/packages"

# The date of the commit, so that the same commit makes the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log --max-count=1 --format=%ct)}
cargo deb --no-build --locked --target "$target" --output "${CARGO_TARGET_DIR:-target}/$target/debian"
