#!/usr/bin/env bash
# Runs a command that makes a file, unless it made the file of the same inputs before.
#
#   tools/cached.sh FILE INPUT… -- COMMAND…
#
# An input is a file or a folder. What counts is content, so a fresh clone with a kept target/ builds nothing.
set -euo pipefail

file=$1
shift
inputs=()
while [ "$1" != -- ]; do inputs+=("$1"); shift; done
shift
mkdir -p "$(dirname "$file")"
now=$({
  find -L "${inputs[@]}" -type f -not -path '*/node_modules/*' -not -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum
  printf '%s\n' "$@"
} | sha256sum)
stamp=$(dirname "$file")/.$(basename "$file").inputs
if [ -e "$file" ] && [ "$now" = "$(cat "$stamp" 2>/dev/null)" ]; then exit 0; fi
start=$(date +%s)
"$@"
echo "$now" > "$stamp"
echo "$file: $(stat -c %s "$file") bytes in $(($(date +%s) - start)) s"
