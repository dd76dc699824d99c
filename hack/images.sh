#!/usr/bin/env bash
# Builds images and prints one line each: IMAGE <name> <bytes> <seconds>.
# Usage: hack/images.sh registry [SERVICE...]   the services by their Dockerfile; requires a registry and BuildKit
#        hack/images.sh offline [NAME...]       services, nats and mysql, without a registry, with the names in
#                                               docker-compose.yaml
#        hack/images.sh e2e [NAME...]           the other images of a real node: each directory of test/e2e/images as
#                                               flotilla-e2e/<directory>:dev and :dev-1, by its build.sh
#        hack/images.sh save DIR [IMAGE...]     images as tars with all their names, for containerd, by default all that
#                                               were built here; unchanged images are not saved again
#        hack/images.sh exclusive COMMAND...    runs a command that calls the others, while no other process builds images
# FLOTILLA_IMAGE_PREFIX (flotilla) and FLOTILLA_VERSION (dev) set the names of services: <prefix>/<service>:<version>.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/images/pack.sh
. hack/images/pack.sh
prefix=${FLOTILLA_IMAGE_PREFIX:-flotilla}
version=${FLOTILLA_VERSION:-dev}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

services() { awk '$2 == "service" { sub(".*/", "", $1); print $1 }' modules.txt; }
composed() { sed -n "s|^    image: .*:-\($1:[^}]*\)}\$|\1|p" docker-compose.yaml; }

registry() {
  local service name
  for service in "$@"; do
    name=$prefix/$service:$version start=$SECONDS
    DOCKER_BUILDKIT=1 docker build --quiet --file deploy/images/Dockerfile --tag "$name" \
      --build-arg "SERVICE=$service" --build-arg "DESCRIPTION=$(sed -n 's/^description: //p' "deploy/charts/$service/Chart.yaml")" \
      --build-arg "VERSION=$version" --build-arg "REVISION=$revision" . > /dev/null ||
      fail "$name cannot be built; make offline-images builds it without a registry"
    report "$name"
  done
}

service() { # builds the same program as the Dockerfile
  local telemetry=github.com/flotilla-dev/flotilla/libs/telemetry out=$cache/images/$1 root=$work/$1
  (cd "services/$1" && CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X $telemetry.version=$version -X $telemetry.revision=$revision" -o "$out" "./cmd/$1")
  install -D "$out" "$root/service"
  hack/tool cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$version" -output "$root/sbom.cdx.json" "$out"
  (cd "services/$1" && cat ../../LICENSE && CGO_ENABLED=0 GOWORK=off ../../hack/images/licenses.sh "./cmd/$1") > "$root/licenses.txt"
  [ -e /etc/ssl/certs/ca-certificates.crt ] || fail "no /etc/ssl/certs/ca-certificates.crt: install ca-certificates"
  install -D --mode=644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  pack "$prefix/$1:$version" "$root" "$(labels "$1" "$version" "$revision" Apache-2.0)" \
    "LABEL dev.flotilla.image.sbom=/sbom.cdx.json" "USER 65532:65532" 'ENTRYPOINT ["/service"]'
}

# fetch unpacks packages of Debian sid, the only suite with MySQL.
fetch() {
  packages=$cache/docker-mysql-sid
  hack/docker-packages sid "$packages" mysql-server-core mysql-client-core busybox-static
}

nats() { # NAME
  local root=$work/nats has
  fetch
  has=$(cd tools && GOWORK=off go list -m -f '{{.Version}}' github.com/nats-io/nats-server/v2)
  [[ $1 == nats:$(cut -d . -f 1,2 <<< "${has#v}")-* ]] || fail "docker-compose.yaml has $1, tools/go.mod has nats-server $has"
  busybox "$root" sh wget
  ln -s usr/bin "$root/bin"
  compile "$root" tools github.com/nats-io/nats-server/v2 usr/bin/nats-server
  pack "$1" "$root" "$(labels nats "${has#v}" "$has" Apache-2.0)" 'ENTRYPOINT ["nats-server"]' \
    "ENV PATH=/usr/bin" "EXPOSE 4222 8222"
}

mysql() { # NAME
  local root=$work/mysql loader has
  fetch
  loader=$(find "$packages" -path '*-linux-gnu/ld-linux*.so.*' | head -n 1)
  has=$("$loader" --library-path "$(dirname "$loader"):$packages/usr/lib/mysql/private" "$packages/usr/sbin/mysqld" --version |
    sed 's/.* Ver \([0-9.]*\).*/\1/')
  [[ $1 == mysql:${has%.*} ]] || fail "docker-compose.yaml has $1, Debian sid has MySQL $has"
  busybox "$root" sh sed rm
  install -d "$root/etc" "$root/usr/lib" "$root/usr/share"
  for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
  (cd "$packages" && find usr/lib/*-linux-gnu -maxdepth 1 -name '*.so*' -print0 |
    tar --create --null --files-from=- usr/lib64 usr/lib/mysql usr/share/mysql usr/sbin/mysqld usr/bin/mysql usr/bin/mysqladmin) |
    tar --extract --directory "$root"
  printf 'root:x:0:0::/:/bin/sh\nmysql:x:999:999::/:/bin/sh\n' > "$root/etc/passwd"
  # World-writable, since a new volume inherits owner and mode.
  install -d --mode=1777 "$root/var/lib/mysql" "$root/var/lib/mysql-files" "$root/run" "$root/run/mysqld"
  install deploy/images/mysql/entrypoint.sh "$root/entrypoint.sh"
  pack "$1" "$root" "$(labels mysql "$has" "debian-sid" GPL-2.0-only)" 'ENTRYPOINT ["/entrypoint.sh"]' 'CMD ["mysqld"]' \
    "ENV PATH=/usr/sbin:/usr/bin" "EXPOSE 3306" "USER 999:999" "VOLUME /var/lib/mysql"
}

offline() {
  local name
  for name in "$@"; do
    start=$SECONDS
    case $name in
      nats | mysql) "$name" "$(composed "$name")" ;;
      *) service "$name" ;;
    esac
  done
}

# e2e sources the build.sh of a directory with the variables here (the directory), image (the name to build) and root (an
# empty directory). build.sh packs one or more images. The second name is for pods of the engine operator, which always
# pulls images with the tag dev.
e2e() {
  local name here image root
  for name in "$@"; do
    here=test/e2e/images/$name image=flotilla-e2e/$name:dev root=$work/e2e/$name start=$SECONDS
    [ -e "$here/build.sh" ] || fail "no $here/build.sh"
    mkdir -p "$root"
    # shellcheck source=/dev/null
    (. "$here/build.sh")
    docker tag "$image" "$image-1"
  done
}

save() { # DIR IMAGE...
  local dir=$1 image id file names
  mkdir -p "$dir"
  for image in "${@:2}"; do
    id=$(docker image inspect --format '{{.Id}}{{range .RepoTags}} {{.}}{{end}}' "$image") || fail "no image $image: build it first (hack/images.sh offline, hack/images.sh e2e)"
    file=$dir/${image//[\/:]/_}.tar
    if [ ! -e "$file" ] || [ "$(cat "$file.id" 2> /dev/null)" != "$id" ]; then
      read -ra names <<< "${id#* }"
      docker save --output "$file.part" "${names[@]}"
      mv "$file.part" "$file"
      echo "$id" > "$file.id"
    fi
    echo "SAVED $image $file"
  done
}

# lock waits until no other process builds: all checkouts share the names of images and the cache. The processes that
# this one starts have the lock too.
lock() {
  [ -z "${FLOTILLA_IMAGES_LOCK:-}" ] || return 0
  mkdir -p "$cache"
  exec {FLOTILLA_IMAGES_LOCK}> "$cache/images.lock"
  flock "$FLOTILLA_IMAGES_LOCK"
  export FLOTILLA_IMAGES_LOCK
}

command -v docker > /dev/null || fail "docker is not on PATH"
docker version > /dev/null 2>&1 || fail "no Docker daemon answers; hack/docker run $0 starts one as root on Debian"
lock
mapfile -t all < <(services)
case "${1:-}:$#" in
  registry:1) registry "${all[@]}" ;;
  offline:1) offline "${all[@]}" nats mysql ;;
  e2e:1)
    mapfile -t all < <(cd test/e2e/images && printf '%s\n' */build.sh | sed 's|/build.sh||')
    e2e "${all[@]}"
    ;;
  save:2)
    mapfile -t all < <(docker image ls --filter label=dev.flotilla.image.key --quiet | sort --unique |
      xargs --no-run-if-empty docker image inspect --format '{{with .RepoTags}}{{index . 0}}{{end}}' | grep .)
    save "$2" "${all[@]}"
    ;;
  registry:* | offline:* | e2e:*) "$@" ;;
  save:[3-9]* | save:1?*) "$@" ;;
  exclusive:[2-9]* | exclusive:1?*) "${@:2}" ;;
  *) fail "want registry, offline, e2e, save DIR or exclusive COMMAND" ;;
esac
