#!/usr/bin/env bash
# Lets schemathesis try the HTTP API by its own document: tools/test-api.sh PAUSEGATE, with a home, journal and token made
# for it. Every answer must be one that the document promises, and none a fault of the server.
set -euo pipefail
pausegate=$(realpath "$1")
cd "$(dirname "$0")/.."
tools/venv.sh schemathesis schemathesis==4.32.5
schemathesis=$PWD/target/tools/schemathesis/bin/schemathesis
tools=$PWD/tools

home=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$home"' EXIT
mkdir -p "$home/.local/share/pausegate/plugins" "$home/build"
cp target/plugins/*.wasm "$home/.local/share/pausegate/plugins/"
cache=$PWD/target/test-cache
cd "$home"
echo '{"turns":[{"tool_calls":[{"id":"a","name":"files__delete","arguments":{"path":"/build/a.tmp"}}]},{"text":"Done."}]}' > turns.json
export HOME=$home PAUSEGATE_CACHE=$cache
# A chain that waits, so that lists are not empty; 75 says so.
"$pausegate" run "clean up" --model script:turns.json >/dev/null 2>&1 || [ $? -eq 75 ]
token=$("$pausegate" token create tester --can admin 2>/dev/null)
"$pausegate" serve --listen 127.0.0.1:0 --model script:turns.json >/dev/null 2>serve.log &
server=$!
# It says where once it listens; a server that ended says nothing more.
url=$(timeout 60 tail -n +1 -f --pid="$server" serve.log | grep -m 1 -o 'http://127.0.0.1:[0-9]*' || true)
[ -n "$url" ] || { cat serve.log >&2; exit 1; }

# A digest that differs is a refusal too.
cat > schemathesis.toml <<'END'
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, 428, 429]
END
export PAUSEGATE_URL=$url PAUSEGATE_TOKEN=$token PAUSEGATE_COUNTS=$home/counts.json
export SCHEMATHESIS_HOOKS=api_hooks PYTHONPATH=$tools PYTHONDONTWRITEBYTECODE=1
# Streams have no end to wait for; what a chain does is not this document's to promise.
"$schemathesis" run "$url/api/v1/openapi.json" --url "$url" --header "Authorization: Bearer $token" \
  --exclude-path /api/v1/changes --max-examples "${EXAMPLES:-25}" --seed 1 --request-timeout 30 --workers 1 --no-color \
  --phases examples,coverage,fuzzing --exclude-checks positive_data_acceptance,unsupported_method,ignored_auth

# What was tried: of each operation on an id most must have met what is there, and some have been done.
python3 - "$PAUSEGATE_COUNTS" <<'END'
import json, sys
poor = []
for operation, counts in sorted(json.load(open(sys.argv[1])).items()):
    everything = sum(counts.values())
    print(f"{operation}: " + ", ".join(f"{count} × {status}" for status, count in sorted(counts.items())))
    done = sum(count for status, count in counts.items() if status.startswith("2"))
    if "{id}" in operation and (counts.get("404", 0) * 2 > everything or not done):
        poor.append(operation)
sys.exit(f"these met too little: {poor}" if poor else 0)
END
