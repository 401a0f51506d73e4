#!/usr/bin/env bash
# Prints the folder of schemathesis and Prometheus' parser. Makes a virtual environment of its own below node_modules when it is missing (needs Python
# 3.11 with venv, and PyPI once). What can't be had fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

wanted=test/api/packages.txt
venv=node_modules/.cache/schemathesis
if ! cmp -s "$wanted" "$venv/installed.txt"; then
  rm -rf "$venv"
  mkdir -p "$venv"
  python3 -m venv "$venv" >&2 || { echo "tools.sh: no schemathesis: Python 3.11 or newer with venv is needed (Debian: apt-get install python3-venv)" >&2; exit 1; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$wanted" >&2 ||
    { echo "tools.sh: no schemathesis: the packages of $wanted can't be had from PyPI (Python 3.11 or newer?)" >&2; exit 1; }
  cp "$wanted" "$venv/installed.txt"
fi
echo "$PWD/$venv/bin"
