#!/usr/bin/env bash
# The whole-stack test: make up, samples, faults, convergence, rights, make down.
# RIGHTS lines say what the charts grant and the scenarios do not use.
set -euo pipefail
cd "$(dirname "$0")/../test/stack"
GOWORK=off go test -v -count=1 -timeout 30m ./...
