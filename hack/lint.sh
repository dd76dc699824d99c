#!/usr/bin/env bash
# golangci-lint over the modules, one at a time, then the import rules and size caps, the workflows, and the wording of pages
# and of the subjects of commits since BASE (the last one unless set).
# What passed on this machine with the same content is left out; FRESH=1 checks all.
# Usage: hack/lint.sh [MODULE...]   these modules only, whatever passed before
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export GOWORK=$top/go.work # without it golangci-lint checks nothing and reports no issue
# A cache for each checkout: what golangci-lint remembers of another one names files that are not here.
export GOLANGCI_LINT_CACHE=$top/.local/golangci-lint
if [ $# -gt 0 ]; then
  packages=("${@/#/./}")
  exec hack/tool golangci-lint run "${packages[@]/%//...}"
fi
mapfile -t modules < <(hack/modules)
packages=() keys=()
pending=$(hack/pending "${modules[@]/#/lint:}" rules=test/architecture)
while read -r check key; do
  case $check in
    lint:*) packages+=("./${check#lint:}/...") keys+=("$key") ;;
    rules) rules=$key ;;
  esac
done <<< "$pending"
failed=
lint() { # PACKAGES
  hack/tool golangci-lint run "$1" || return
  # It leaves out files with a build tag, and no other check of CI compiles these.
  [ "$1" != ./services/superset-operator/... ] ||
    (cd services/superset-operator && GOWORK=off go vet -tags products ./internal/products)
}
for i in "${!packages[@]}"; do # the types of all modules at once take more memory than many machines have
  if lint "${packages[i]}"; then hack/pending --passed "${keys[i]}"; else failed=yes; fi
done
[ -z "$failed" ] || exit 1
if [ -n "${rules:-}" ]; then
  (cd test/architecture && GOWORK=off go test -vet=off -count=1 ./...)
  hack/pending --passed "$rules"
fi
hack/tool actionlint

base=${BASE:-HEAD~1}
git rev-parse -q --verify "$base^{commit}" > /dev/null || base=HEAD # a clone without history
(cd tools && GOWORK=off go run ./wording -root .. -commits "$base..HEAD")
