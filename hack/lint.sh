#!/usr/bin/env bash
# golangci-lint over all modules in one run, then the import rules and size caps.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
packages=()
while read -r module _; do packages+=("./$module/..."); done < <(grep -v '^#' modules.txt)
hack/tool golangci-lint run "${packages[@]}"
(cd test/architecture && GOWORK=off go test -count=1 ./...)
