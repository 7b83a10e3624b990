#!/usr/bin/env bash
# Builds the plugins in Python: the example into OUTDIR (target/examples unless given), the conformance plugin into
# target/conformance. Needs python3 with venv, and PyPI once.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/target/examples}
"$root/tools/venv.sh" python componentize-py==0.25.1
export PYTHONPATH=$root/sdk/python
build=("$root/target/tools/python/bin/python" -m pausegate.build)
common=("$root/sdk/python/pausegate" "$root/tools/build-python.sh")

plugin=$root/plugins/notes-py/notes_py.py
"$root/tools/cached.sh" "$out/notes-py.wasm" "$plugin" "${common[@]}" -- "${build[@]}" "$plugin" -o "$out/notes-py.wasm"
plugin=$root/tests/conformance/python/conform.py to=$root/target/conformance/python.wasm
"$root/tools/cached.sh" "$to" "$plugin" "${common[@]}" -- "${build[@]}" "$plugin" -o "$to"
