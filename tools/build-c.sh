#!/usr/bin/env bash
# Builds the plugins in C: the example into OUTDIR (target/examples unless given), the conformance plugin into
# target/conformance. Needs python3 with venv, PyPI once (for zig, whose C compiler it is), and cargo.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/target/examples}
"$root/tools/venv.sh" zig ziglang==0.16.0
cargo build --quiet --locked --release --manifest-path "$root/tools/componentize/Cargo.toml" --target-dir "$root/target/componentize"
export ZIG="$root/target/tools/zig/bin/python -m ziglang" COMPONENTIZE=$root/target/componentize/release/componentize
export ZIG_GLOBAL_CACHE_DIR=$root/target/tools/zig-cache
build=$root/sdk/c/build
common=("$root/sdk/c" "$root/tools/componentize" "$root/tools/build-c.sh")

plugin=$root/plugins/grep-c/grep.c
"$root/tools/cached.sh" "$out/grep-c.wasm" "$plugin" "${common[@]}" -- "$build" "$plugin" -o "$out/grep-c.wasm"
plugin=$root/tests/conformance/c/conform.c to=$root/target/conformance/c.wasm
"$root/tools/cached.sh" "$to" "$plugin" "${common[@]}" -- "$build" "$plugin" -o "$to"
