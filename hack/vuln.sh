#!/usr/bin/env bash
# Checks all modules for known vulnerabilities in reachable code. Fails on findings.
# If the database is unreachable, it prints one line and passes: a missing network is not a finding.
# GOVULNDB sets another database, for example file:///directory.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
database=${GOVULNDB:-https://vuln.go.dev}
if ! reason=$(curl -sSf --max-time 20 --retry 2 -o /dev/null "$database/index/db.json" 2>&1); then
  # Also added to the stages at the end of a run, where "ok" alone would be misleading.
  echo "vuln: NOT RUN, database unreachable ($database: ${reason##*) })" | tee -a "${FLOTILLA_STAGES:-/dev/null}"
  exit 0
fi
modules=("$@")
if [ ${#modules[@]} -eq 0 ]; then
  mapfile -t modules < <(hack/modules)
fi
affected=()
for module in "${modules[@]}"; do
  echo "vuln: $module"
  code=0
  (cd "$module" && GOWORK=off "$top/hack/tool" govulncheck -db "$database" ./...) || code=$?
  [ $code -eq 0 ] || affected+=("$module")
done
[ ${#affected[@]} -eq 0 ] || { echo "vuln: findings, or a failed search, in: ${affected[*]}" >&2; exit 1; }
echo "vuln: no known vulnerability is reached in ${#modules[@]} modules"
