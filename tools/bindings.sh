#!/usr/bin/env bash
# Makes the bindings that the SDKs for C and Go ship, from wit/. For those who change the contract; authors need it not.
#
#   tools/bindings.sh
#
# Installs wit-bindgen into target/wit-bindgen once, which takes minutes.
set -euo pipefail

version=0.63.0
root=$(cd "$(dirname "$0")/.." && pwd)
home=$root/target/wit-bindgen
wit_bindgen=${WIT_BINDGEN:-$home/bin/wit-bindgen}
if [ ! -x "$wit_bindgen" ]; then
  cargo install wit-bindgen-cli --version "$version" --locked --no-default-features --features c,go,async --root "$home" --target-dir "$home/target"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# plugin-sdk costs nothing: what a plugin does not call is not imported. The optional export `reconcile` is made too, as a
# function like any other; what exports it is the macro or the package that a plugin uses.
export=pausegate:plugin/reconcile@0.1.0#reconcile
c=$root/sdk/c/bindings
"$wit_bindgen" c "$root/wit" --world plugin-sdk --out-dir "$c"
"$wit_bindgen" c "$root/wit" --world plugin-sdk-reconciling --out-dir "$work/c"
for ending in c h; do
  sed -e 's/plugin_sdk_reconciling/plugin_sdk/g' -e 's/PLUGIN_SDK_RECONCILING/PLUGIN_SDK/g' -e "\|__export_name__(\"\(cabi_post_\)\?$export\")|d" \
    "$work/c/plugin_sdk_reconciling.$ending" > "$c/plugin_sdk.$ending"
done

go=$root/sdk/go/internal
"$wit_bindgen" go "$root/wit" --world plugin-sdk-reconciling --out-dir "$work/go"
sed -i -e "\|^//go:wasmexport \(cabi_post_\)\?$export\$|d" -e 's/wasm_export_pausegate_plugin_reconcile_reconcile/Reconcile/' "$work/go/wit_exports.go"
rm -f "$work/go/go.mod"
# The generator's own support package; what it has for asynchronous calls is not used.
support=$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/wit-bindgen-go-"$version"/src/pkg | head -n 1)
mkdir -p "$work/wit/types" "$work/wit/runtime"
cp "$support"/wit/types/{option,result,tuple,unit}.go "$work/wit/types"
cp "$support"/wit/runtime/* "$work/wit/runtime"
cp "$support/LICENSE" "$work/wit"
# A package of a library, not a program; only for WebAssembly; and imports by their place in the SDK.
sed -i -e 's/^package main$/package bindings/' -e '/^func main() {}$/d' "$work/go/wit_exports.go"
find "$work/go" "$work/wit" -name '*.go' | while read -r file; do
  sed -i -e 's#"wit_component/#"pausegate.example/sdk/internal/bindings/#' -e 's#"go.bytecodealliance.org/pkg/wit/#"pausegate.example/sdk/internal/wit/#' "$file"
  sed -i '1i //go:build wasip1\n' "$file"
done
find "$work" -name 'empty.s' | while read -r file; do sed -i '1i //go:build wasip1\n' "$file"; done
mkdir -p "$go"
# Kept: what the generator leaves to the author, and is the SDK's.
cp -r "$work/go/." "$go/bindings"
rm -rf "$go/wit"
cp -r "$work/wit" "$go/wit"
if command -v gofmt >/dev/null; then gofmt -w "$go"; fi
