#!/usr/bin/env bash
# Prints what conditions cost, one line a figure: BENCH <name> <value> <unit>. Arguments name scenarios.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
bin=$(realpath -m "${FLOTILLA_LOCAL:-$top/.local}")/bin
mkdir -p "$bin"
cd "$top/test/stack"
GOWORK=off go build -o "$bin/benchstatus" ./benchstatus
# The program takes the shell's place, so that Ctrl-C and SIGTERM reach it.
exec "$bin/benchstatus" "$@"
