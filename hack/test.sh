#!/usr/bin/env bash
# Tests of all modules, or of those named, each on its own (GOWORK=off) with the race detector.
# Nothing is taken from the cache of results: it does not see files of other modules.
# The whole-stack test is not among them: hack/test-stack.sh runs it.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
modules=("$@")
if [ ${#modules[@]} -eq 0 ]; then
  mapfile -t modules < <(grep -v '^#' modules.txt | awk '$1 != "test/stack" {print $1}')
fi
failed=()
for module in "${modules[@]}"; do
  start=$SECONDS
  (cd "$module" && GOWORK=off go test -race -count=1 -timeout 15m ./...) || failed+=("$module")
  echo "TEST $module $((SECONDS - start))s"
done
[ ${#failed[@]} -eq 0 ] || { echo "tests failed in: ${failed[*]}" >&2; exit 1; }
