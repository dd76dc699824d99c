#!/usr/bin/env bash
# Runs the long suites in order: prints SUITE <name> <seconds>s ok|FAILED for each, and all of these lines at the end.
# Usage: hack/test-long.sh [suite...]. Suites are verify-engine and each package with tests with the build tag long,
# by its directory; in a faults directory each test is a suite: services/ingester/faults/TestTwoConcurrentIngesters.
set -uo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

summary=()
failed=0
suite() {
  local name=$1 start=$SECONDS outcome=ok
  shift
  "$@" || outcome=FAILED
  [ "$outcome" = ok ] || failed=1
  summary+=("SUITE $name $((SECONDS - start))s $outcome")
  echo "${summary[-1]}"
}

# A faults directory is compiled once.
program() { echo "$bin/$(tr / - <<< "$1")"; }
build() { [ -x "$(program "$1")" ] || (cd "$1" && CGO_ENABLED=1 GOWORK=off go test -race -tags long -c -o "$(program "$1")" .); }
tests() { (cd "$1" && "$(program "$1")" -test.list '^Test') | grep '^Test'; }
fault() {
  build "$1" && { tests "$1" | grep -qx "$2" || { echo "no such suite: $1/$2" >&2; return 1; }; } &&
    (cd "$1" && "$(program "$1")" -test.v -test.timeout 20m -test.run "^$2\$")
}
package() { (cd "$1" && CGO_ENABLED=1 GOWORK=off go test -race -tags long -timeout 60m .); }

dirs() { grep -rl --include='*_test.go' '^//go:build long' . | xargs -n 1 dirname | sort -u | sed 's#^\./##'; }
all() {
  echo verify-engine
  local dir
  for dir in $(dirs); do
    case $dir in
      */faults) build "$dir" >&2 && tests "$dir" | sed "s#^#$dir/#" || echo "$dir/does-not-build" ;;
      *) echo "$dir" ;;
    esac
  done
}

suites=("$@")
[ ${#suites[@]} -gt 0 ] || mapfile -t suites < <(all)
for name in "${suites[@]}"; do
  case $name in
    verify-engine) suite "$name" hack/verify-engine.sh ;;
    */Test* | */does-not-build) suite "$name" fault "$(dirname "$name")" "$(basename "$name")" ;;
    *) suite "$name" package "$name" ;;
  esac
done
echo
printf '%s\n' "${summary[@]}"
exit $failed
