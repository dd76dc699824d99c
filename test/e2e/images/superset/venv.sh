#!/usr/bin/env bash
# Prints the directory of a virtual environment with the real Superset, and makes it first unless it is there: once per
# content of the lock file, below ~/.cache/flotilla. "uv" instead of a version prints the path of uv itself.
# Usage: test/e2e/images/superset/venv.sh 6.0.0|6.1.0|uv
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${FLOTILLA_CACHE:-$HOME/.cache/flotilla}
uv_version=0.9.30
mkdir -p "$cache"

fail() { echo "${0##*/}: $*" >&2; exit 1; }

# Superset 6 runs on Python 3.10 to 3.12; the lock files are for Debian bookworm's.
python=
for candidate in /usr/bin/python3.11 python3.11 "$HOME"/.pyenv/versions/3.11.*/bin/python3.11; do
  if "$candidate" -c 'import venv, ensurepip' 2> /dev/null; then python=$candidate && break; fi
done
[ -n "$python" ] || fail "Python 3.11 with venv is not here: apt-get install python3.11-venv"

uv=$cache/uv-$uv_version
make_uv() {
  rm -rf "$uv.part"
  "$python" -m venv "$uv.part"
  "$uv.part/bin/pip" install --quiet "uv==$uv_version" >&2
  mv "$uv.part" "$uv"
}

make_superset() { # DIR LOCK
  # mysqlclient is compiled: there is no wheel of it.
  pkg-config --exists libmariadb 2> /dev/null || fail "libmariadb is not here: apt-get install libmariadb-dev pkg-config gcc"
  rm -rf "$1.part"
  "$uv/bin/uv" venv --quiet --no-config --python "$python" --relocatable "$1.part"
  "$uv/bin/uv" pip install --quiet --no-config --python "$1.part/bin/python" --require-hashes --requirement "$2" >&2
  mv "$1.part" "$1"
}

# Two that need the same make it once.
exec 9> "$cache/superset-venv.lock"
flock 9
[ -x "$uv/bin/uv" ] || make_uv
if [ "${1:-}" = uv ]; then echo "$uv/bin/uv" && exit; fi

lock=$here/${1:-}.txt
[[ -n "${1:-}" && -e $lock ]] || fail "usage: ${0##*/} VERSION, one of $(cd "$here" && echo [0-9]*.txt)"
venv=$cache/superset-$1-$(sha256sum < "$lock" | cut -c 1-12)
[ -x "$venv/bin/superset" ] || make_superset "$venv" "$lock"
echo "$venv"
