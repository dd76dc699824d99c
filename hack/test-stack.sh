#!/usr/bin/env bash
# The whole-stack test: make up, samples, faults, convergence, make down.
set -euo pipefail
cd "$(dirname "$0")/../test/stack"
GOWORK=off go test -count=1 -timeout 30m ./...
