#!/usr/bin/env bash
# Makes `cargo build --target wasm32-wasip2` work.
set -euo pipefail
compgen -G "$(rustc --print sysroot)/lib/rustlib/wasm32-wasip2/lib/libstd-*.rlib" >/dev/null || rustup target add wasm32-wasip2
