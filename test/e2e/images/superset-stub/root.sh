#!/usr/bin/env bash
# Makes the file system of the Superset stub's image, for its build.sh and for the stub's own tests.
# Usage: test/e2e/images/superset-stub/root.sh DIR VERSION      (DIR must not be there; as root on Debian)
set -euo pipefail
root=$(realpath --canonicalize-missing "$1") version=$2
cd "$(dirname "$0")/../../../.."
# shellcheck source=hack/images/pack.sh
. hack/images/pack.sh
debian bookworm python3 python3-sqlalchemy python3-sqlalchemy-utils python3-cryptography python3-psycopg2 python3-mysqldb \
  alembic celery python3-redis python3-cachelib gunicorn tzdata busybox-static

# The compiled form depends on nothing but the text, so that the image does not change by itself.
bytecode() { # ROOT DIR...
  chroot "$1" /usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash "${@:2}" ||
    fail "Python of $1 does not compile ${*:2}; chroot needs root"
}

# What comes from Debian is made once and then copied. It is not linked: tar, which packs an image, fails when the number of
# links of a file changes, as when a test runs this script at the same time.
base=$packages.superset
if [ ! -e "$base" ]; then
  rm -rf "$base.part" && mkdir "$base.part"
  (cd "$packages" && ls -d usr/bin/python3* usr/bin/celery usr/bin/gunicorn usr/lib/python3* usr/lib/*-linux-gnu \
    lib/*-linux-gnu lib64 usr/share/zoneinfo) > "$base.list"
  take "$base.part" --exclude='*/python3.11/test' --exclude='*/config-3.*' --exclude='*/gconv' --exclude='*/__pycache__' \
    --files-from="$base.list"
  rm "$base.list"
  busybox "$base.part" sh sleep cat tr ls rm env hostname wget
  users "$base.part" superset:1000
  bytecode "$base.part" /usr/lib/python3 /usr/lib/python3.11
  mv "$base.part" "$base"
fi
mkdir -p "$(dirname "$root")"
cp --archive "$base" "$root"
source=test/e2e/stub/superset
install -d "$root/app/pythonpath" "$root/home/superset-websocket"
(cd "$source/app" && find superset flask_appbuilder stub_superset.dist-info -name __pycache__ -prune -o -type f -print0 |
  tar --create --null --files-from=-) | tar --extract --no-same-permissions --directory "$root/app"
chmod -R u=rwX,go=rX "$root/app"
echo "$version" > "$root/app/superset/VERSION"
install "$source"/bin/* "$root/usr/bin"
bytecode "$root" /app/superset /app/flask_appbuilder
