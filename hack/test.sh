#!/usr/bin/env bash
# Tests all modules, or the named ones, each outside the workspace (GOWORK=off) with the race detector.
# Without names, it skips modules whose tests have passed on this machine with the same content of their inputs (FRESH=1
# runs all), and tests each module in a copy that contains only its inputs: files that modules.txt does not list are missing.
# TEST_JOBS modules run in parallel (default 2; most tests wait). The output of a module appears when its tests end or are
# interrupted; when they end, with the wall and CPU seconds of the module, compilation included. FLOTILLA_FAILURES names a
# file to which the failed tests are appended. The last lines are the slowest tests, SLOWEST of them (default 20), and the
# failed modules. test/stack runs the whole platform; its PERMISSION lines list granted permissions that the scenarios do
# not use. Tests of the real node are not included (make e2e-node).
set -euo pipefail
set -m # each module has its own process group, so that an interrupt ends its test binaries too
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
jobs=${TEST_JOBS:-2}
[[ $jobs =~ ^[1-9][0-9]*$ ]] || { echo "TEST_JOBS must be a number of at least 1, got $jobs" >&2; exit 1; }

# The longest modules start first, so that they do not prolong the run at the end.
longest=(
  test/charts services/superset-operator test/stack services/ingester services/engine-operator
  services/status-aggregator test/e2e libs/kube libs/testkit test/compose
)
out=$(mktemp -d)
declare -A running=() started=() key=()
failed=()
clean() {
  local pid
  for pid in "${!running[@]}"; do
    cat "$out/${running[$pid]//\//-}" 2> /dev/null || true # a test may have failed
    kill -- "-$pid" 2> /dev/null || true
  done
  rm -rf "$out"
}
trap clean EXIT
trap 'exit 130' INT TERM

modules=("$@")
if [ ${#modules[@]} -eq 0 ]; then
  mapfile -t all < <(hack/modules --tested | grep -vx test/node | awk -v first="${longest[*]}" '
    { listed[$1] = 1; row[NR] = $1 }
    END {
      n = split(first, long, " ")
      for (i = 1; i <= n; i++) if (long[i] in listed) { print long[i]; delete listed[long[i]] }
      for (i = 1; i <= NR; i++) if (row[i] in listed) print row[i]
    }')
  hack/pending "${all[@]/#/unit:}" > "$out/pending"
  while read -r check hash; do
    modules+=("${check#unit:}")
    key[${check#unit:}]=$hash
  done < "$out/pending"
  [ ${#modules[@]} -gt 0 ] || exit 0
fi

# Fewer garbage collections in compilers, tests and control planes: adding or removing a CRD costs the API server a third
# less. The memory limit allows ten of them on a small machine.
export GOGC=${GOGC:-400} GOMEMLIMIT=${GOMEMLIMIT:-1500MiB}

# reads_all reports whether a module reads the whole checkout, so that its tests cannot run in a copy of its inputs.
reads_all() { grep -q "^$1 .* \*$" modules.txt; }

# unchanged reports whether a module has the inputs that it had when its tests started.
unchanged() { ! reads_all "$1" || [ "$(FLOTILLA_UNCHANGED='' hack/pending "unit:$1")" = "unit:$1 ${key[$1]}" ]; }

# The linter runs vet. The race detector requires cgo; programs that tests build do not. The timeout only stops tests that
# hang: next to the scenarios of e2e the tests get little CPU time.
run() {
  local dir=$top module=$1 name=${1//\//-} format=pkgname-and-test-fails code=0
  touch "$out/$name.json" "$out/$name.times" # also if the export fails
  [ "$module" != test/stack ] || format=standard-verbose
  if [ -n "${key[$module]:-}" ] && ! reads_all "$module"; then
    dir=$(mktemp -d "$out/checkout.XXXXXX")
    (cd tools && GOWORK=off go run ./release export -module "$module" -dir "$dir" -key "${key[$module]}")
  fi
  cd "$dir/$module"
  unset FLOTILLA_FAILURES FLOTILLA_UNCHANGED FLOTILLA_STAGES # a test may run this script or .ci/run
  CGO_ENABLED=1 GOWORK=off "$top/hack/tool" gotestsum --format "$format" --hide-summary skipped \
    --jsonfile-timing-events "$out/$name.json" -- -race -exec 'env CGO_ENABLED=0' -vet=off -count=1 -timeout 60m ./... || code=$?
  times > "$out/$name.times"
  return $code
}

# cpu prints the CPU seconds of a module's tests: the second line of times has those of the children.
cpu() { awk 'NR == 2 { split($1, user, "[ms]"); split($2, sys, "[ms]"); printf "%d", 60 * (user[1] + sys[1]) + user[2] + sys[2] }' "$out/${1//\//-}.times"; }

slowest() {
  echo "Slowest tests:"
  cat "$out"/*.json | "$top/hack/tool" gotestsum tool slowest --num "${SLOWEST:-20}"
}

# collect waits for the next module to finish and prints its output.
collect() {
  local pid code=0 module
  wait -n -p pid "${!running[@]}" || code=$?
  module=${running[$pid]}
  unset "running[$pid]"
  [ ! -e "$out/${module//\//-}" ] || cat "$out/${module//\//-}"
  echo "TEST $module $((SECONDS - started[$pid]))s, CPU $(cpu "$module")s"
  if [ $code -ne 0 ]; then
    failed+=("$module")
    grep -A 5 "^=== FAIL: " "$out/${module//\//-}" | head -n 50 >> "${FLOTILLA_FAILURES:-/dev/null}" || true
  elif [ -z "${key[$module]:-}" ]; then
    :
  elif ! unchanged "$module"; then
    echo "hack/test.sh: $module is tested again next time: its inputs changed during its tests" >&2
  else
    hack/pending --passed "${key[$module]}"
  fi
}

for module in "${modules[@]}"; do
  while [ ${#running[@]} -ge "$jobs" ]; do collect; done
  if [ ${#modules[@]} -eq 1 ] && [ -z "${FLOTILLA_FAILURES:-}" ]; then # no need to buffer the output
    run "$module" &
  else
    run "$module" > "$out/${module//\//-}" 2>&1 &
  fi
  running[$!]=$module
  started[$!]=$SECONDS
done
while [ ${#running[@]} -gt 0 ]; do collect; done
slowest
[ ${#failed[@]} -eq 0 ] || { echo "tests failed in: ${failed[*]}" >&2; exit 1; }
