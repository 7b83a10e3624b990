#!/usr/bin/env bash
# Makes a Python environment in target/tools/NAME that holds packages of exactly these versions: tools/venv.sh NAME PACKAGE==VERSION…
set -euo pipefail

home=$(cd "$(dirname "$0")/.." && pwd)/target/tools/$1
shift
# An environment holds its own path: one whose checkout was moved is made anew.
if [ "$home $*" = "$(cat "$home/packages" 2>/dev/null)" ]; then exit 0; fi
rm -rf "$home"
python3 -m venv "$home"
"$home/bin/pip" install --quiet --disable-pip-version-check "$@"
echo "$home $*" > "$home/packages"
