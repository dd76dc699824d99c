#!/usr/bin/env bash
# Runs golangci-lint on the modules, one at a time, then checks import rules and size limits, the workflows, and the wording
# of pages and of the subjects of commits since BASE (default: where the branch left origin/main, or the last commit).
# It skips checks that have passed on this machine with the same content; FRESH=1 runs all.
# Usage: hack/lint.sh [MODULE...]   only these modules, even if they have passed
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
cache=${FLOTILLA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/flotilla}/lint

# copy copies the checkout to the path at which golangci-lint reads all checkouts. Its cached results contain absolute
# paths, so those of one checkout are of no use in another.
copy() {
  mkdir -p "$cache"
  exec 8> "$cache/lock"
  flock --nonblock 8 || { echo "hack/lint.sh: waiting for another run" >&2 && flock 8; }
  rm -rf "$cache/checkout"
  mkdir "$cache/checkout"
  # shellcheck disable=SC2016 # the inner shell expands
  git ls-files -z --cached --others --exclude-standard |
    xargs -0 bash -c 'for file; do if [ -e "$file" ] || [ -L "$file" ]; then printf "%s\0" "$file"; fi; done' bash | # without deleted files
    tar -c --null --no-recursion --files-from=- | tar -x -C "$cache/checkout"
}

# golangci runs golangci-lint on packages of the copy. Without GOWORK it checks nothing and reports no issue.
golangci() { # PACKAGES...
  (cd "$cache/checkout" && GOWORK=$cache/checkout/go.work GOLANGCI_LINT_CACHE=$cache/results "$top/hack/tool" golangci-lint run "$@" 8>&-)
}

if [ $# -gt 0 ]; then
  packages=("${@/#/./}")
  copy
  golangci "${packages[@]/%//...}"
  exit
fi
head=$(git rev-parse HEAD)
base=${BASE:-$(git merge-base origin/main HEAD 2> /dev/null || true)}
base=$(git rev-parse -q --verify "$base^{commit}" 2> /dev/null || true)
shallow=$(git rev-parse --is-shallow-repository)
if [ -z "$base" ] && [ -n "${BASE:-}" ] && [ "$shallow" = true ]; then # without it no subject would be checked
  echo "hack/lint.sh: this shallow clone lacks BASE=$BASE, from which the subjects of commits are checked: run git fetch --unshallow" >&2
  exit 1
fi
if [ -z "$base" ] || [ "$base" = "$head" ]; then
  base=$(git rev-parse -q --verify HEAD~1 || echo "$head") # the first commit has no HEAD~1
  [ "$base" != "$head" ] || [ "$shallow" = false ] ||
    echo "hack/lint.sh: the subject of the last commit is not checked in a shallow clone: run git fetch --unshallow" >&2
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
  golangci "$1" || return
  # golangci-lint skips files with build tags, and no other check of CI compiles them.
  [ "$1" != ./services/superset-operator/... ] ||
    (cd services/superset-operator && GOWORK=off go vet -tags products ./internal/products)
}
[ ${#packages[@]} -eq 0 ] || copy
for i in "${!packages[@]}"; do # linting all modules at once requires more memory than many machines have
  if lint "${packages[i]}"; then hack/pending --passed "${keys[i]}"; else failed=yes; fi
done
[ -z "$failed" ] || exit 1
if [ -n "${rules:-}" ]; then
  (cd test/architecture && GOWORK=off go test -vet=off -count=1 ./...)
  hack/pending --passed "$rules"
fi
hack/tool actionlint

# Subjects of commits before this date were checked against another list.
earlier=$(git rev-list -1 --before=2026-11-27T19:12:00Z HEAD)
if [ -n "$earlier" ] && git merge-base --is-ancestor "$base" "$earlier"; then base=$earlier; fi
(cd tools && GOWORK=off go run ./wording -root .. -commits "$base..HEAD")
