#!/usr/bin/env bash
# Runs the tests of the SDKs and of the example plugins in their own languages, without a host.
#
#   tools/test-sdks.sh [python|javascript|c|go]…      all of them unless told
#
# After tools/build-LANGUAGE.sh, which fetches what it needs.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)

python() {
  for folder in sdk/python/tests plugins/notes-py; do
    (cd "$root/$folder" && PYTHONPATH=$root/sdk/python PYTHONDONTWRITEBYTECODE=1 python3 -m unittest -q)
  done
}

javascript() {
  local sdk=$root/sdk/javascript
  for folder in "$sdk" "$root/plugins/github-ts"; do "$sdk/node_modules/.bin/tsc" -p "$folder"; done
  node "$sdk/bin/pausegate-js.mjs" test "$sdk"/tests/*.test.ts "$root/plugins/github-ts/github.test.ts"
}

c() {
  "$root/sdk/c/build" --test "$root/sdk/c/tests/tools.c"
  "$root/sdk/c/build" --test "$root"/plugins/grep-c/{grep,grep_test}.c
}

go() {
  export GOPROXY=off GOFLAGS=-mod=mod GOCACHE=$root/target/tools/go-cache
  for folder in sdk/go plugins/archive-go; do (cd "$root/$folder" && "${GO:-$root/target/tools/go/bin/go}" test ./...); done
}

for language in "${@:-python javascript c go}"; do
  for each in $language; do
    echo "=== $each"
    "$each"
  done
done
