#!/usr/bin/env bash
# Checks the whole state machine of the engine: all states of the models in
# services/engine-operator/internal/engine with the large budgets, and all mutants of
# testdata/mutants.txt; the same for the rollout limiter. Prints the states and edges of each
# search and the check that detected each mutant.
set -euo pipefail
cd "$(dirname "$0")/../services/engine-operator"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
code=0
FLOTILLA_ENGINE_SEARCH=full GOWORK=off go test -count=1 -timeout 60m -parallel 2 -v \
  -run '^(TestSearch|TestMutants|TestEventMutants|TestLimiter(Search|Mutants))$' ./internal/engine ./internal/controller/engine/... > "$out" 2>&1 || code=$?
grep -oE '(SEARCH|MUTANT) .*' "$out" || true
if [ $code -ne 0 ]; then
  grep -vE '^=== |SEARCH |MUTANT ' "$out" >&2
  exit $code
fi
