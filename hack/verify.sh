#!/usr/bin/env bash
# Checks that nothing generated is out of date and that every module stands alone.
# Changes nothing in the checkout: generation runs in a copy.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
failed=0
fail() { echo "verify: $*" >&2; failed=1; }

echo "verify: go.work against modules.txt"
diff <(hack/workspace) go.work || fail "go.work differs from modules.txt: run make tidy"

echo "verify: formatting"
# gofumpt aligns some literals otherwise than gofmt; what lands satisfies both.
sources() { git ls-files -co --exclude-standard '*.go' | grep -v zz_generated; }
unformatted=$(sources | xargs hack/tool gofumpt -l; sources | xargs gofmt -l)
[ -z "$unformatted" ] || fail "not formatted, run make fmt:"$'\n'"$unformatted"

echo "verify: go.mod, build and vet of every module on its own"
hack/each-module "tidy" go mod tidy -diff || fail "go.mod is not tidy: run make tidy"
hack/each-module "build and vet" sh -c 'go build -o /dev/null ./... && go vet ./...' || fail "a module does not build alone"

echo "verify: licences of dependencies"
(cd tools/licences && GOWORK=off go run . -check) || fail "licences: see above"

echo "verify: commands in the documentation that nothing executes or checks"
grep '^|' docs/unverified.md | grep -v '^|---' || fail "docs/unverified.md lists nothing"

echo "verify: generated files"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -co --exclude-standard -z | while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done | tar --null -T - -cf - | tar -xf - -C "$copy"
(cd "$copy" && hack/generate.sh > /dev/null) || fail "generation fails"
while IFS= read -r f; do
  cmp -s "$f" "$copy/$f" || fail "$f is out of date: run make generate"
done < <(cd "$copy" && find . -type f \( -name 'zz_generated*' -o -path '*/config/crd/*' -o -path '*/docs/api.md' -o -path './deploy/samples/*.yaml' -o -path './deploy/charts/*' -o -name '*.binpb' \) | sed 's#^\./##')

exit $failed
