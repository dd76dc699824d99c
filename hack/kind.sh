#!/usr/bin/env bash
# A kind cluster with Flotilla's CRDs, and docker-compose.yaml next to it.
# Usage: hack/kind.sh up|down
# KIND and KUBECTL set other programs; with a FLOTILLA_VERSION other than dev, published images are used instead of built ones.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${FLOTILLA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/flotilla}
name=flotilla
dir=${FLOTILLA_LOCAL:-$PWD/.local}/kind
export FLOTILLA_KUBECONFIG=${FLOTILLA_KUBECONFIG:-$dir/compose.kubeconfig}

fail() { echo "make kind-$command: $*" >&2; exit 1; }
step() { echo "$*" >&2; }

docker_ready() {
  command -v docker > /dev/null || fail "docker is not on PATH: install Docker"
  docker version > /dev/null 2>&1 || fail "no Docker daemon answers: start it and see that you may use it (docker version)"
  docker compose version > /dev/null 2>&1 || fail "docker has no compose: install Docker Compose 2.26 or later"
}

kind_ready() {
  kind=${KIND:-kind}
  command -v "$kind" > /dev/null ||
    fail "kind is not on PATH: go install sigs.k8s.io/kind@v0.33.0, or set KIND to the program"
}

kubectl_ready() {
  kubectl=${KUBECTL:-$(command -v kubectl || find "$cache" -path '*/controlplane-*/kubectl' 2> /dev/null | head -n 1 || :)}
  [ -n "$kubectl" ] || fail "kubectl is not on PATH: install it, or have \`make tools\` build it"
}

# images builds the services of this checkout, as the existing images were built. Unchanged ones take seconds, by the caches
# of Docker and Go.
images() {
  local image names=() how=registry
  for image in $(docker compose config --images | awk '!seen[$0]++'); do
    [[ $image == "${FLOTILLA_IMAGE_PREFIX:-flotilla}"/*:dev ]] || continue
    [ -z "$(docker image inspect --format '{{index .Config.Labels "dev.flotilla.image.key"}}' "$image" 2> /dev/null)" ] || how=offline
    image=${image##*/}
    names+=("${image%:dev}")
  done
  [ ${#names[@]} -gt 0 ] || return 0
  step "building images: ${names[*]}"
  hack/images.sh "$how" "${names[@]}" || fail "failed to build images: without a registry, run make offline-images first"
}

cluster() {
  if ! "$kind" get clusters 2> /dev/null | grep -qx "$name"; then
    step "creating the kind cluster $name"
    "$kind" create cluster --name "$name" --config deploy/kind/cluster.yaml ${KIND_IMAGE:+--image "$KIND_IMAGE"} --wait 3m ||
      fail "failed to create the cluster: its node image comes from a registry (docker pull), and its node requires a machine that kind supports"
  fi
  # Containers read one of these files as an arbitrary user, so the directory protects the files from other users.
  mkdir -p "$dir" && chmod 700 "$dir"
  "$kind" get kubeconfig --name "$name" > "$dir/kubeconfig"
  "$kind" get kubeconfig --name "$name" --internal > "$FLOTILLA_KUBECONFIG"
  chmod 644 "$FLOTILLA_KUBECONFIG"
}

crds() {
  local crd=(services/*/config/crd) admission=services/ingester/config/admission
  step "applying CRDs and the namespace flotilla-system"
  kube() { "$kubectl" --kubeconfig "$dir/kubeconfig" "$@"; }
  kube apply --server-side "${crd[@]/#/--filename=}" > /dev/null
  # kubectl wait fails immediately for a new CRD that has no conditions yet.
  for _ in $(seq 30); do
    kube wait --for=condition=Established "${crd[@]/#/--filename=}" > /dev/null 2>&1 && break
    sleep 1
  done
  kube wait --for=condition=Established "${crd[@]/#/--filename=}" > /dev/null
  kube create namespace flotilla-system --dry-run=client --output=yaml | kube apply --server-side --filename=- > /dev/null
  # A cluster that does not serve policies in v1 may serve their beta; otherwise the ingester adopts objects after creation.
  kube apply --server-side --filename="$admission/manifests.yaml" > /dev/null 2>&1 ||
    kube apply --server-side --filename="$admission/manifests_v1beta1.yaml" > /dev/null 2>&1 ||
    step "the cluster serves no MutatingAdmissionPolicy: finalizers are added after creation"
}

up() {
  docker_ready && kind_ready && kubectl_ready
  images
  cluster
  crds
  step "starting NATS, MySQL and the services"
  docker compose up --detach --no-build --wait --wait-timeout 300 || {
    docker compose ps --all >&2
    fail "not all services are healthy: docker compose logs SERVICE"
  }
  cat << END
Flotilla runs next to the kind cluster $name:
  export KUBECONFIG=$dir/kubeconfig NATS_URL=nats://127.0.0.1:${FLOTILLA_NATS_PORT:-4222}
  docker compose logs -f superset-operator
The samples need a database and an image with its driver: docs/installing.md#run-a-first-superset.
The engine operator is not in the network of the pods: set spec.metricScrapeMode: ApiserverProxy on each FireboltInstance.
END
}

down() {
  docker_ready && kind_ready
  docker compose down --volumes --remove-orphans
  "$kind" delete cluster --name "$name"
  rm -rf "$dir"
}

command=${1:-}
case "$command" in
  up | down) "$command" ;;
  *) sed -n '3s/^# //p' "$0" >&2; exit 2 ;;
esac
