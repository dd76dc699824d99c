#!/usr/bin/env bash
# Builds images and prints one line each: IMAGE <name> <bytes> <seconds>.
# Usage: hack/images.sh registry [SERVICE...]   the services by their Dockerfiles; a registry and BuildKit are needed
#        hack/images.sh offline [NAME...]       services, nats and mysql, with no registry, under the names that
#                                               docker-compose.yaml gives them
# FLOTILLA_IMAGE_PREFIX (flotilla) and FLOTILLA_VERSION (dev) make the services' names: <prefix>/<service>:<version>.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${FLOTILLA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/flotilla}
prefix=${FLOTILLA_IMAGE_PREFIX:-flotilla}
version=${FLOTILLA_VERSION:-dev}
dirty=$(git status --porcelain -- libs services go.work 2> /dev/null | head -c 1)
revision=$(git rev-parse HEAD 2> /dev/null || echo unknown)${dirty:+-dirty}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "hack/images.sh: $*" >&2; exit 1; }
services() { awk '$2 == "service" { sub(".*/", "", $1); print $1 }' modules.txt; }
composed() { sed -n "s|^    image: .*:-\($1:[^}]*\)}\$|\1|p" docker-compose.yaml; }

report() { # NAME START
  echo "IMAGE $1 $(docker image inspect --format '{{.Size}}' "$1") $((SECONDS - $2))"
}

registry() {
  local service name start
  for service in "$@"; do
    name=$prefix/$service:$version start=$SECONDS
    DOCKER_BUILDKIT=1 docker build --quiet --file "deploy/images/$service/Dockerfile" --tag "$name" \
      --build-arg "VERSION=$version" --build-arg "REVISION=$revision" . > /dev/null ||
      fail "$name cannot be built; where no registry answers, make offline-images builds it without one"
    report "$name" "$start"
  done
}

# pack makes an image of one layer from a folder. The layer depends on the files' contents and modes alone, and what is
# there already is not made again.
pack() { # NAME ROOT CHANGE...
  local name=$1 root=$2 changes=() key former
  shift 2
  local tar=(tar --create --directory "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner
    --format=gnu .)
  key=$( (printf '%s\n' "$@"; "${tar[@]}") | sha256sum | cut -d ' ' -f 1)
  for change in "$@" "LABEL dev.flotilla.image.key=$key"; do changes+=(--change "$change"); done
  [ "$(docker image inspect --format '{{index .Config.Labels "dev.flotilla.image.key"}}' "$name" 2> /dev/null)" != "$key" ] || return 0
  former=$(docker image inspect --format '{{.Id}}' "$name" 2> /dev/null) || :
  "${tar[@]}" | docker import "${changes[@]}" - "$name" > /dev/null
  # What the name stood for is of no use any more, unless it has another name or runs.
  [ "$(docker image inspect --format '{{len .RepoTags}}' "$former" 2> /dev/null)" != 0 ] ||
    docker image rm "$former" > /dev/null 2>&1 || :
}

labels() { # TITLE VERSION REVISION LICENCE
  echo "LABEL org.opencontainers.image.title=$1 org.opencontainers.image.version=$2 org.opencontainers.image.revision=$3 \
org.opencontainers.image.source=https://github.com/flotilla-dev/flotilla org.opencontainers.image.licenses=$4"
}

service() { # the same program as its Dockerfile builds
  local telemetry=github.com/flotilla-dev/flotilla/libs/telemetry out=$cache/images/$1 root=$work/$1
  (cd "services/$1" && CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X $telemetry.version=$version -X $telemetry.revision=$revision" -o "$out" "./cmd/$1")
  install -D "$out" "$root/service"
  (cd deploy/images/sbom && GOWORK=off go run . "$1" "$version" "$out" > "$root/sbom.cdx.json")
  [ -e /etc/ssl/certs/ca-certificates.crt ] || fail "no /etc/ssl/certs/ca-certificates.crt: install ca-certificates"
  install -D --mode=644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  pack "$prefix/$1:$version" "$root" "$(labels "$1" "$version" "$revision" Apache-2.0)" \
    "LABEL dev.flotilla.image.sbom=/sbom.cdx.json" "USER 65532:65532" 'ENTRYPOINT ["/service"]'
}

# packages are those of Debian sid, which alone has MySQL.
packages=$cache/docker-mysql-sid
fetch() { hack/docker-packages sid "$packages" mysql-server-core mysql-client-core busybox-static; }

# busybox brings what health checks and scripts call.
busybox() { # ROOT APPLET...
  install -D "$packages/usr/bin/busybox" "$1/usr/bin/busybox"
  for applet in "${@:2}"; do ln -s busybox "$1/usr/bin/$applet"; done
  install -d --mode=1777 "$1/tmp"
}

nats() { # NAME
  local root=$work/nats has
  fetch
  has=$(cd tools && GOWORK=off go list -m -f '{{.Version}}' github.com/nats-io/nats-server/v2)
  [[ $1 == nats:$(cut -d . -f 1,2 <<< "${has#v}")-* ]] || fail "docker-compose.yaml wants $1, tools/go.mod has nats-server $has"
  busybox "$root" sh wget
  ln -s usr/bin "$root/bin"
  (cd tools && CGO_ENABLED=0 GOWORK=off go build -trimpath -ldflags "-s -w" -o "$root/usr/bin/nats-server" github.com/nats-io/nats-server/v2)
  pack "$1" "$root" "$(labels nats "${has#v}" "$has" Apache-2.0)" 'ENTRYPOINT ["nats-server"]' \
    "ENV PATH=/usr/bin" "EXPOSE 4222 8222"
}

mysql() { # NAME
  local root=$work/mysql loader has
  fetch
  loader=$(find "$packages" -path '*-linux-gnu/ld-linux*.so.*' | head -n 1)
  has=$("$loader" --library-path "$(dirname "$loader"):$packages/usr/lib/mysql/private" "$packages/usr/sbin/mysqld" --version |
    sed 's/.* Ver \([0-9.]*\).*/\1/')
  [[ $1 == mysql:${has%.*} ]] || fail "docker-compose.yaml wants $1, Debian sid has MySQL $has"
  busybox "$root" sh sed rm
  install -d "$root/etc" "$root/usr/lib" "$root/usr/share"
  for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
  (cd "$packages" && find usr/lib/*-linux-gnu -maxdepth 1 -name '*.so*' -print0 |
    tar --create --null --files-from=- usr/lib64 usr/lib/mysql usr/share/mysql usr/sbin/mysqld usr/bin/mysql usr/bin/mysqladmin) |
    tar --extract --directory "$root"
  printf 'root:x:0:0::/:/bin/sh\nmysql:x:999:999::/:/bin/sh\n' > "$root/etc/passwd"
  # Any user may write there, since a new volume takes over owner and mode.
  install -d --mode=1777 "$root/var/lib/mysql" "$root/var/lib/mysql-files" "$root/run" "$root/run/mysqld"
  install deploy/images/mysql/entrypoint.sh "$root/entrypoint.sh"
  pack "$1" "$root" "$(labels mysql "$has" "debian-sid" GPL-2.0-only)" 'ENTRYPOINT ["/entrypoint.sh"]' 'CMD ["mysqld"]' \
    "ENV PATH=/usr/sbin:/usr/bin" "EXPOSE 3306" "USER 999:999" "VOLUME /var/lib/mysql"
}

offline() {
  local name start image
  for name in "$@"; do
    start=$SECONDS image=$(composed "$name")
    case $name in
      nats | mysql) "$name" "$image" ;;
      *) image=$prefix/$name:$version && service "$name" ;;
    esac
    report "$image" "$start"
  done
}

command -v docker > /dev/null || fail "docker is not on PATH"
docker version > /dev/null 2>&1 || fail "no Docker daemon answers; hack/docker run $0 starts one as root on Debian"
mapfile -t all < <(services)
case "${1:-}:$#" in
  registry:1) registry "${all[@]}" ;;
  offline:1) offline "${all[@]}" nats mysql ;;
  registry:* | offline:*) "$@" ;;
  *) fail "want registry or offline" ;;
esac
