#!/usr/bin/env bash
# Tests the output of the Superset operator in real Superset, for each release with a lock file in test/e2e/images/superset.
# Downloads the products from PyPI once. Usage: hack/test-products.sh [go test's ARGS...]
set -euo pipefail
cd "$(dirname "$0")/.."
for lock in test/e2e/images/superset/[0-9]*.txt; do
  test/e2e/images/superset/venv.sh "$(basename "$lock" .txt)"
done
cd services/superset-operator
GOWORK=off go test -tags products -count=1 -timeout 180m "$@" ./internal/products
