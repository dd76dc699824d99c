#!/usr/bin/env bash
# Compares the results of a subject with the last recorded run, or records a new run.
# Usage: hack/bench-compare.sh compare|record superset|engine|ingester|status [SCENARIO...]
# RUNS=4 repeats the run: benchstat needs four to detect a change. The machine must be idle otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
mode=$1 subject=$2
shift 2
record=test/stack/bench/recorded/$subject.txt
case $mode in
  record) ;;
  compare) [ -f "$record" ] || { echo "no recorded run of $subject: make bench-record SUBJECT=$subject" >&2; exit 2; } ;;
  *) usage ;;
esac

# Writes the results in the format of Go benchmarks, which benchstat reads.
benchmarks() { sed -nE 's/^BENCH (.)([^ ]*) ([^ ]+) (.+)$/Benchmark\U\1\E\2 1 \3 \4/p'; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for run in $(seq "${RUNS:-1}"); do
  echo "--- run $run of ${RUNS:-1}" >&2
  make --no-print-directory "bench-$subject" SCENARIOS="$*" | tee "$work/run" >&2
  benchmarks < "$work/run" >> "$work/now"
done
if [ "$mode" = record ]; then
  mkdir -p "$(dirname "$record")"
  { echo "# $(date -u +%F), $(nproc) processors, ${RUNS:-1} runs of: make bench-$subject SCENARIOS=\"$*\""; cat "$work/now"; } > "$record"
  echo "recorded in $record" >&2
  exit
fi
head -n 1 "$record"
hack/tool benchstat recorded="$record" now="$work/now"
