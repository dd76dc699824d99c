#!/usr/bin/env bash
# Formats Go files and lets golangci-lint mend what it can, in all modules or in those named.
# What is left is printed; make lint prints it again.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=("$@")
if [ ${#modules[@]} -eq 0 ]; then
  mapfile -t modules < <(hack/modules)
fi
git ls-files -co --exclude-standard -- "${modules[@]/%//*.go}" | grep -v zz_generated | xargs --no-run-if-empty hack/tool gofumpt -w
hack/tool golangci-lint run --fix "${modules[@]/%//...}"
