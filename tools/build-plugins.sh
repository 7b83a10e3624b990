#!/usr/bin/env bash
# Builds the Rust plugins and the tests' guests as WebAssembly components.
#
#   tools/build-plugins.sh [OUTDIR]
#
# Puts files.wasm, fetch.wasm and survey.wasm into OUTDIR (target/plugins unless given), the tests' guests into guests/
# beside it, and the conformance plugin, as rust.wasm, into conformance/. A file is replaced in one step and only when it
# changed, so a host that watches the folder never sees half a file, and digests written by `pausegate trust` stay valid.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/target/plugins}
mkdir -p "$out" "$out"/../{guests,conformance}
out=$(cd "$out" && pwd) guests=$(cd "$out/../guests" && pwd) conformance=$(cd "$out/../conformance" && pwd)
cd "$root"

"$root/tools/wasm-target.sh"

packages=(-p files-plugin -p fetch-plugin -p survey-plugin -p courier-plugin -p probe-plugin -p conform-plugin)
cargo build "${packages[@]}" --profile plugin --target wasm32-wasip2

built=${CARGO_TARGET_DIR:-$root/target}/wasm32-wasip2/plugin
place() { # place NAME FOLDER [NEW-NAME]
  local name=${3:-$1}
  cmp -s "$built/$1.wasm" "$2/$name.wasm" && return
  cp "$built/$1.wasm" "$2/.$name.wasm.new"
  mv "$2/.$name.wasm.new" "$2/$name.wasm"
}
for plugin in files fetch survey; do place "$plugin" "$out"; done
for guest in courier probe; do place "$guest" "$guests"; done
place conform "$conformance" rust
echo "$out: $(cd "$out" && ls -- *.wasm | tr '\n' ' ')"
