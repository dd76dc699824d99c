#!/usr/bin/env bash
# Runs what the Superset operator renders in the real Superset, of each release that test/e2e/images/superset has a lock
# file of. The products come from PyPI, once. Usage: hack/test-products.sh [go test's ARGS...]
set -euo pipefail
cd "$(dirname "$0")/.."
for lock in test/e2e/images/superset/[0-9]*.txt; do
  test/e2e/images/superset/venv.sh "$(basename "$lock" .txt)"
done
cd services/superset-operator
GOWORK=off go test -tags products -count=1 -timeout 60m "$@" ./internal/products
