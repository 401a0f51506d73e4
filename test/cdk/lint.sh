#!/usr/bin/env bash
# cfn-lint over the template of every kind of installation: what CloudFormation would refuse, or would take for something else. Makes a virtual environment
# of its own below node_modules when it is missing (needs Python 3.11 with venv, and PyPI once). A check that can't be made fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PATH="$PWD/node_modules/.bin:$PATH"

wanted=test/cdk/cfn-lint.txt
venv=node_modules/.cache/cfn-lint
if ! cmp -s "$wanted" "$venv/installed.txt"; then
  rm -rf "$venv"
  mkdir -p "$venv"
  python3 -m venv "$venv" || { echo "lint.sh: no cfn-lint: Python 3.11 or newer with venv is needed (Debian: apt-get install python3-venv)" >&2; exit 1; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$wanted" ||
    { echo "lint.sh: no cfn-lint: the packages of $wanted can't be had from PyPI (Python 3.11 or newer?)" >&2; exit 1; }
  cp "$wanted" "$venv/installed.txt"
fi

templates=$(mktemp -d)
trap 'rm -rf "$templates"' EXIT
node test/cdk/lint-templates.ts "$templates"

# Left out, each for its reason; what is left out at one resource says so in its metadata (cdk/database.ts).
# W3005: CDK has a function wait for its role's policy and names the role beside it; saying it twice changes nothing.
"$venv/bin/cfn-lint" --regions us-east-1 eu-central-1 --ignore-checks W3005 --template "$templates"/*.json
echo "cfn-lint $("$venv/bin/cfn-lint" --version | cut -d' ' -f2): nothing to say"
