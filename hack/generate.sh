#!/usr/bin/env bash
# Generates files from the API types: deepcopy functions, CustomResourceDefinitions
# and, if a service has it, docs/api.md. Copies the samples of each service to
# deploy/samples, and its roles and webhooks to deploy/charts.
# Usage: hack/generate.sh [service...]   only the API types of these
# The CRDs of the ingester are generated from its registry: go generate ./... there.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"

mapfile -t operators < <(awk '$2 == "service" { sub(".*/", "", $1); print $1 }' modules.txt)
[ $# -eq 0 ] || operators=("$@")

for name in "${operators[@]}"; do
  api=services/$name/api
  [ -d "$api/v1alpha1" ] || continue
  echo "generate: $name"
  out=$top/services/$name/config/crd
  mkdir -p "$out"
  (cd "$api" && GOWORK=off "$top/hack/tool" controller-gen object paths=./... crd:generateEmbeddedObjectMeta=true paths=./... "output:crd:dir=$out")
  (cd tools && GOWORK=off go run ./crdfix "$out"/*.yaml)
  page=$top/services/$name/docs/api.md
  [ ! -e "$page" ] || (cd "$api" && GOWORK=off "$top/hack/tool" crd-ref-docs --log-level ERROR \
    --source-path=./v1alpha1 --config="$top/tools/apidocs/config.yaml" --templates-dir="$top/tools/apidocs" \
    --renderer=markdown --output-path="$page")
done
if [ -d libs/conditions/transition ] && [ $# -eq 0 ] && grep -rqs 'kubebuilder:object' libs/conditions; then
  echo "generate: libs/conditions"
  (cd libs/conditions && GOWORK=off "$top/hack/tool" controller-gen object paths=./...)
fi
if [ $# -eq 0 ] && [ -d services/ingester ] && grep -rqs '^//go:generate' services/ingester; then
  echo "generate: ingester"
  (cd services/ingester && GOWORK=off go generate ./...)
fi
for samples in services/*/config/samples; do
  copies=deploy/samples/$(basename "${samples%/config/samples}")
  mkdir -p "$copies"
  rm -f "$copies"/*.yaml
  cp "$samples"/*.yaml "$copies/"
done
echo "generate: charts"
(cd test/charts && GOWORK=off go run ./compose)
