#!/usr/bin/env bash
# Checks that generated files are up to date. It does not change the checkout: generation runs in a copy.
# It skips checks that have passed on this machine with the same content; FRESH=1 runs all.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "verify: $*" >&2; failed=1; }

mapfile -t modules < <(hack/modules)
hack/pending "${modules[@]/#/tidy:}" licenses=tools/licenses \
  generate=tools,services/superset-operator/api,services/engine-operator/api,services/ingester,libs/conditions,test/charts > "$work/pending"

# check NAME COMMAND... runs the command if the check is pending.
passed=()
check() {
  local key
  key=$(awk -v name="$1" '$1 == name {print $2}' "$work/pending")
  [ -n "$key" ] || return 0
  "${@:2}" && passed+=("$key")
}

echo "verify: go.work against modules.txt"
diff <(hack/workspace) go.work || fail "go.work differs from modules.txt: run make tidy"

echo "verify: formatting"
# gofumpt and gofmt align some literals differently; files must satisfy both.
sources() { git ls-files -co --exclude-standard '*.go' | grep -v zz_generated; }
unformatted=$(sources | xargs hack/tool gofumpt -l; sources | xargs gofmt -l)
[ -z "$unformatted" ] || fail "not formatted, run make fmt:"$'\n'"$unformatted"

echo "verify: go.mod of every module"
for module in "${modules[@]}"; do
  check "tidy:$module" env GOWORK=off go -C "$module" mod tidy -diff || fail "$module/go.mod is not tidy: run make tidy"
done

echo "verify: licenses of dependencies"
# shellcheck disable=SC2317 # called by check
licenses() { diff <(GOWORK=off go -C tools run ./licenses) docs/licenses.md; }
check licenses licenses || fail "docs/licenses.md is out of date: run make licenses"

echo "verify: commands in the documentation that no test executes or checks"
grep '^|' docs/unverified.md | grep -v '^|---' || fail "docs/unverified.md has no rows"

# shellcheck disable=SC2317 # called by check
generated() {
  local copy=$work/copy f outdated=0
  mkdir "$copy"
  git ls-files -co --exclude-standard -z | while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done | tar --null -T - -cf - | tar -xf - -C "$copy"
  (cd "$copy" && hack/generate.sh > /dev/null) || { echo "verify: generation failed" >&2; return 1; }
  while IFS= read -r f; do
    cmp -s "$f" "$copy/$f" || { echo "verify: $f is out of date: run make generate" >&2; outdated=1; }
  done < <(cd "$copy" && find . -type f \( -name 'zz_generated*' -o -path '*/config/crd/*' -o -path '*/docs/api.md' -o -path './deploy/samples/*.yaml' -o -path './deploy/charts/*' -o -name '*.binpb' \) | sed 's#^\./##')
  return "$outdated"
}
echo "verify: generated files"
check generate generated || fail "generated files: see above"

[ ${#passed[@]} -eq 0 ] || hack/pending --passed "${passed[@]}"
exit $failed
