#!/usr/bin/env bash
# Makes what a package has beside the program: docker/packages/generate.sh PROGRAM FOLDER
#
# Manual pages and completions, which the program prints, and the licences of the libraries in it.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder/man" "$folder/completions"
"$program" man --directory "$folder/man"
gzip --no-name --best "$folder"/man/*
"$program" completions bash > "$folder/completions/countersink.bash"
"$program" completions zsh > "$folder/completions/_countersink"
"$program" completions fish > "$folder/completions/countersink.fish"
docker/packages/licences.py > "$folder/THIRD-PARTY-LICENSES"
