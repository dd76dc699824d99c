#!/usr/bin/env bash
# The whole-stack test: make up, samples, faults, convergence, rights, make down.
# RIGHTS lines say what the charts grant and the scenarios do not use.
# It is left out when it passed on this machine with the same content of all that it reads; FRESH=1 runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
pending=$(hack/pending stack=test/stack)
[ -n "$pending" ] || exit 0
(cd test/stack && GOWORK=off go test -v -vet=off -count=1 -timeout 30m ./...)
hack/pending --passed "${pending#* }"
