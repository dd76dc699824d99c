#!/usr/bin/env bash
# Prints one line a figure: BENCH <name> <value> <unit>. Brings the stack up where it is not.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
(cd test/stack && GOWORK=off go run ./bench "$@")
