#!/usr/bin/env bash
# Prints what the ingester costs, one line a figure: BENCH <name> <value> <unit>.
# Arguments, or the words in SCENARIOS, name scenarios and sizes: see test/stack/benchingester.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
bin=$(realpath -m "${FLOTILLA_LOCAL:-$top/.local}")/bin
mkdir -p "$bin"
cd "$top/test/stack"
GOWORK=off go build -o "$bin/benchingester" ./benchingester
[ $# -gt 0 ] || { read -ra chosen <<< "${SCENARIOS:-}"; set -- ${chosen[@]+"${chosen[@]}"}; }
# The program takes the shell's place, so that Ctrl-C and SIGTERM reach it.
exec "$bin/benchingester" "$@"
