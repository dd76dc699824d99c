#!/usr/bin/env bash
# Runs the scenarios of test/e2e on real pods: builds the images, creates a cluster, installs the services by their charts,
# runs the scenarios, writes the report, and removes the cluster; then it tests a bare node (test/node). Fails if a scenario
# fails. Without arguments, it skips scenarios that have passed on this machine with the same content of their services and
# of all other inputs (FRESH=1 runs all).
# Usage: hack/e2e.sh [ARG...]   arguments of test/e2e: --only NAME, --list, --seed N
#   CLUSTER=kind          on kind instead of a real node on this machine (Docker and kind)
#   FLOTILLA_LOCAL=DIR    directory of the images, the cluster's files and the report (default .local/e2e)
#   KEEP=yes              keep the cluster; the next run reuses it
#   PREVIOUS=REV          commit from which the services are upgraded (default: the last one with other services)
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(realpath --canonicalize-missing "${FLOTILLA_LOCAL:-.local/e2e}")
export FLOTILLA_LOCAL=$dir/cluster
cluster=${CLUSTER:-node}
images=$dir/images
report=$dir/report/index.html
previous= # the checkout from which upgrades start, if upgrade scenarios run
cache=${FLOTILLA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/flotilla}

fail() { echo "hack/e2e.sh: $*" >&2; exit 1; }

step() { # TEXT COMMAND...
  local start=$SECONDS
  echo "E2E $1 ..." >&2
  "${@:2}" # not followed by ||, which would disable errexit within
  echo "E2E $1: $((SECONDS - start)) s" >&2
}

# changed prints the commit before the last change of a service, so that an upgrade changes a service.
changed() { git rev-parse --verify --quiet "$(git log -1 --format=%H -- services libs deploy/charts)^"; }

# previous checks out the commit from which the services are upgraded. It creates a clone, so that the scripts of that
# commit work there and find its revision.
previous() {
  local commit
  if [ -n "${PREVIOUS:-}" ]; then
    commit=$(git rev-parse --verify --quiet "$PREVIOUS^{commit}") || fail "PREVIOUS is not a commit: $PREVIOUS"
  elif ! commit=$(changed); then
    git fetch --quiet --deepen 50 || echo "hack/e2e.sh: git fetch --deepen 50 failed" >&2
    commit=$(changed) || fail "no earlier commit to upgrade from: fetch more of the history (git fetch --deepen 50), or set PREVIOUS to a commit"
  fi
  previous=$dir/previous
  rm -rf "$previous"
  git clone --quiet --shared --no-checkout . "$previous"
  git -C "$previous" checkout --quiet --detach "$commit"
}

# build builds the services of the previous commit with its own script and the tag previous.
build() {
  hack/docker run hack/images.sh exclusive bash -euc '
    hack/images.sh e2e
    hack/images.sh offline
    if [ -n "$2" ]; then
      mapfile -t services < <(awk "\$2 == \"service\" { sub(\".*/\", \"\", \$1); print \$1 }" "$2/modules.txt")
      FLOTILLA_VERSION=previous "$2/hack/images.sh" offline "${services[@]}"
    fi
    hack/images.sh save "$1"' bash "$images" "$previous"
}

# Both clusters get NATS, MySQL and all services, by their charts.
up_node() {
  make up NODE=real NODE_FLAGS="--images $images"
  # shellcheck disable=SC1091 # the line above writes it
  . "$FLOTILLA_LOCAL/env"
  make mysql Q="SELECT 1" > /dev/null # in the server's pod, which only a real node has
}

up_kind() {
  "${KIND:-kind}" get clusters 2> /dev/null | grep -qx flotilla-e2e ||
    "${KIND:-kind}" create cluster --name flotilla-e2e ${KIND_IMAGE:+--image "$KIND_IMAGE"} --wait 3m
  for tar in "$images"/*.tar; do "${KIND:-kind}" load image-archive "$tar" --name flotilla-e2e; done
  "${KIND:-kind}" get kubeconfig --name flotilla-e2e > "$dir/kubeconfig"
  export KUBECONFIG=$dir/kubeconfig
  make stack ARGS="install --kubeconfig $KUBECONFIG"
}

down() {
  case $cluster in
    node) make down ;;
    kind) "${KIND:-kind}" delete cluster --name flotilla-e2e ;;
  esac
}

# program finds kubectl and helm on PATH, which the node's env sets, else in the directory of make tools.
program() { command -v "$1" || find "$cache" -path "*/controlplane-*/$1" | head -n 1; }

# settings configures the services for the scenarios, for example with the images of stubs.
settings() {
  local file service
  for file in test/e2e/values/*.yaml; do
    service=$(basename "$file" .yaml)
    "$helm" upgrade --install "$service" "deploy/charts/$service" --namespace flotilla-system --reset-then-reuse-values \
      --values "$file" --wait --timeout 5m > /dev/null
  done
}

# program_of_scenarios also lists the scenarios to run; an unknown name is an error here.
program_of_scenarios() {
  (cd test/e2e && GOWORK=off go build -o "$dir/e2e" .)
  "$dir/e2e" --list "$@" | sed -E 's/^([^ ]+) \(([^)]*)\).*/\1 \2/' > "$dir/list"
}

# leave_out removes scenarios from the list that have passed with the current content, and checks the same for the node test.
leave_out() {
  local tools=tools/go.mod,tools/go.sum,tools/stack/ name services
  local checks=("node=test/node/,test/node/node_test.go,$tools,libs/")
  while read -r name services; do
    checks+=("e2e:$name=test/e2e/,$tools,libs/,deploy/,services/${services//,/,services/}")
  done < "$dir/list"
  hack/pending "${checks[@]}" > "$dir/pending"
  sed -n 's/^e2e:\([^ ]*\) .*/\1/p' "$dir/pending" > "$dir/list"
}

# passed records passed checks.
passed() { # CHECK...
  local check key keys=()
  for check in "$@"; do
    key=$(awk -v name="$check" '$1 == name {print $2}' "$dir/pending")
    [ -z "$key" ] || keys+=("$key")
  done
  [ ${#keys[@]} -eq 0 ] || hack/pending --passed "${keys[@]}"
}

play() {
  local code=0 ok
  "$dir/e2e" --root "$PWD" --kubectl "$kubectl" --helm "$helm" --report "$report" \
    ${previous:+--previous "$previous/deploy/charts"} "$@" | (trap '' INT TERM; exec tee "$dir/lines") || code=$?
  mapfile -t ok < <(sed -n 's/^E2E \([^ ]*\) ok .*/e2e:\1/p' "$dir/lines")
  passed "${ok[@]}"
  awk '/^E2E .* FAILED /, /^  waited last for: /' "$dir/lines" >> "${FLOTILLA_FAILURES:-/dev/null}"
  return $code
}

# node tests a separate node without the platform and removes it.
node() {
  CGO_ENABLED=1 GOWORK=off go -C test/node test -race -exec 'env CGO_ENABLED=0' -count=1 -v -timeout 15m ./...
  passed node
}

case " $* " in *" --list "*) (cd test/e2e && GOWORK=off exec go run . --list); exit ;; esac
[[ $cluster == node || $cluster == kind ]] || fail "CLUSTER is $cluster, want kind, or nothing for a real node"
mkdir -p "$dir"
# Fail before any build if the machine lacks prerequisites.
case $cluster in
  node) step "what a real node needs" make tools NODE=real ;;
  kind)
    command -v "${KIND:-kind}" > /dev/null ||
      fail "kind is not on PATH: go install sigs.k8s.io/kind@v0.33.0, or set KIND to the program, or unset CLUSTER"
    step "kubectl and helm" make tools
    ;;
esac
step "program of the scenarios" program_of_scenarios "$@"
: > "$dir/pending"
if [ $# -eq 0 ]; then
  step "what is unchanged" leave_out
  set -- --only "$(paste -sd, "$dir/list")"
fi
if [ -s "$dir/list" ]; then
  if grep -q '^upgrades' "$dir/list"; then step "the previous commit" previous; fi
  if grep -q '^superset-product' "$dir/list"; then hack/ensure chromium; fi
  step images build
  trap 'exit 130' INT TERM # after the current program has ended: the scenarios clean up before the cluster is removed
  [ "${KEEP:-}" = yes ] || trap down EXIT
  step cluster "up_$cluster"
  helm=$(program helm) kubectl=$(program kubectl)
  [[ -n $helm && -n $kubectl ]] || fail "helm or kubectl is neither on PATH nor in $cache: make tools"
  step "settings of the services" settings
  step scenarios play "$@"
fi
if [ "$cluster" = node ] && [ "${KEEP:-}" != yes ] && grep -q '^node ' "$dir/pending"; then step "the node itself" node; fi
