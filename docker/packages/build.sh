#!/usr/bin/env bash
# Builds the program for packages: docker/packages/build.sh [TARGET ..]
#
# Without a target it builds for this machine's C library and, statically, for musl. What it builds does not depend on the
# folders of the machine: the same commit and toolchain give the same bytes anywhere.
#
# For musl it needs `rustup target add x86_64-unknown-linux-musl` and a C compiler (on Debian: musl-tools).
set -euo pipefail
cd "$(dirname "$0")/../.."

machine=$(uname -m)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("$machine-unknown-linux-gnu" "$machine-unknown-linux-musl")

# Messages of panics name source files. These folders are those of whoever builds.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="--remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$PWD=/countersink"
export CFLAGS="-ffile-prefix-map=$cargo_home=/cargo"

for target in "${targets[@]}"; do
    case $target in
    # A program for musl is static as it is; its C libraries must be made for musl as well.
    *-musl) export "CC_${target//-/_}=${CC_MUSL:-musl-gcc}" ;;
    esac
    cargo build --profile dist --locked --bin countersink --target "$target"
done
