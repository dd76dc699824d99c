#!/usr/bin/env bash
# Prints what a part of Flotilla costs, one line a figure: BENCH <name> <value> <unit>.
# Usage: hack/bench.sh SUBJECT [name=number...] [scenario...]   (see test/stack/bench)
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
bin=$(realpath -m "${FLOTILLA_LOCAL:-$top/.local}")/bin
mkdir -p "$bin"
cd "$top/test"
GOWORK=off go build -o "$bin/bench" ./stack/bench
# The program takes the shell's place, so that Ctrl-C and SIGTERM reach it.
exec "$bin/bench" "$@"
