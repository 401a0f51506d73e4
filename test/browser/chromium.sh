#!/usr/bin/env bash
# Sees to it that there is a Chromium for the browser tests, by Debian's or Ubuntu's package. Fails where it can't: tests that didn't run haven't passed.
set -euo pipefail
chromium=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$chromium" ]; then
  [ -z "${CHROMIUM:-}" ] || { echo "CHROMIUM is $CHROMIUM, and that is no program"; exit 1; }
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends chromium
fi
"$chromium" --version
