#!/usr/bin/env bash
# Builds the plugins in TypeScript: the example into OUTDIR (target/examples unless given), the conformance plugin for each
# engine into target/conformance. Needs node 20 or newer, and npm's registry once, for some 400 MB.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/target/examples}
sdk=$root/sdk/javascript
[ -e "$sdk/node_modules/.package-lock.json" ] && [ "$sdk/node_modules/.package-lock.json" -nt "$sdk/package-lock.json" ] ||
  npm ci --prefix "$sdk" --no-audit --no-fund --silent
build=(node "$sdk/bin/pausegate-js.mjs" build)
common=("$sdk/src" "$sdk/bin" "$sdk/package-lock.json" "$root/wit" "$root/tools/build-javascript.sh")

plugin=$root/plugins/github-ts/github.ts
"$root/tools/cached.sh" "$out/github-ts.wasm" "$plugin" "${common[@]}" -- "${build[@]}" "$plugin" -o "$out/github-ts.wasm"
plugin=$root/tests/conformance/typescript/conform.ts to=$root/target/conformance/typescript.wasm
"$root/tools/cached.sh" "$to" "$plugin" "${common[@]}" -- "${build[@]}" "$plugin" -o "$to"

# The other engine; some 400 MB that no plugin for QuickJS needs, so it is no dependency of the SDK's.
engine=$root/target/tools/starlingmonkey version=0.23.0
if [ "$version" != "$(cat "$engine/version" 2>/dev/null)" ]; then
  rm -rf "$engine"
  mkdir -p "$engine"
  npm install --prefix "$engine" --no-audit --no-fund --silent --save-exact "@bytecodealliance/componentize-js@$version"
  echo "$version" > "$engine/version"
fi
export PAUSEGATE_COMPONENTIZE_JS=$engine/node_modules/@bytecodealliance/componentize-js/src/componentize.js
to=$root/target/conformance/starlingmonkey.wasm
"$root/tools/cached.sh" "$to" "$plugin" "${common[@]}" -- "${build[@]}" "$plugin" --engine starlingmonkey -o "$to"
