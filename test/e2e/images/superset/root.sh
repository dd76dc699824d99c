#!/usr/bin/env bash
# Makes the file system of a release of Superset: Debian's Python and the virtual environment of venv.sh, without what
# Superset never loads, since an image is packed, copied and imported as a whole.
# Usage: test/e2e/images/superset/root.sh DIR RELEASE      (as root on Debian)
set -euo pipefail
root=$(realpath --canonicalize-missing "$1") release=$2
here=test/e2e/images/superset
cd "$(dirname "$0")/../../../.."
# shellcheck source=hack/images/pack.sh
. hack/images/pack.sh

# unneeded lists tests, sources of compiled modules, and catalogs that are there in compiled form as well.
unneeded() { # SITE_PACKAGES
  find "$1" \( -type d \( -name tests -o -name test -o -name __pycache__ \) \
    -o -path '*/pyarrow/include' -o -path '*/pyarrow/src' -o -path '*/numpy/core/include' \
    -o -path '*/selenium/webdriver/common/macos' -o -path '*/selenium/webdriver/common/windows' \) -prune -print
  find "$1" -type f \( -name '*.pyi' -o -name '*.po' -o -name '*.pot' -o -name '*.pxd' -o -name '*.pyx' -o -name '*.c' \
    -o -name '*.h' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.map' \) -print
  find "$1/pyarrow" -type f -name '*flight*' -print
}

debian bookworm python3 libpython3.11-stdlib libmariadb3 libstdc++6 libgomp1 ca-certificates tzdata busybox-static
mkdir -p "$root"
(cd "$packages" && ls -d usr/bin/python3* usr/lib/python3* usr/lib/*-linux-gnu lib/*-linux-gnu lib64 \
  usr/share/zoneinfo) > "$root.list"
take "$root" --exclude='*/python3.11/test' --exclude='*/config-3.*' --exclude='*/gconv' --exclude='*/__pycache__' \
  --exclude='*/perl*' --exclude='usr/share/zoneinfo/right' --files-from="$root.list"
rm "$root.list"
# Debian makes this file when the package is installed.
install -d "$root/etc/ssl/certs"
cat "$packages"/usr/share/ca-certificates/mozilla/*.crt > "$root/etc/ssl/certs/ca-certificates.crt"
busybox "$root" sh sleep cat tr ls rm env hostname wget id ps kill
users "$root" superset:1000
install -d "$root/app/pythonpath"
install -d --owner=1000 --group=1000 "$root/app/superset_home"

cp --archive "$("$here/venv.sh" "$release")" "$root/app/venv"
site=$root/app/venv/lib/python3.11/site-packages
# The list is complete before anything is removed: find fails in a directory that goes meanwhile.
unneeded "$site" > "$root.list"
tr '\n' '\0' < "$root.list" | xargs -0 rm -rf
rm "$root.list"
find "$site" -name '*.so*' -type f -exec strip --strip-unneeded {} + 2> "$root.strip" || : # some have nothing to strip
rm "$root.strip"
# The interpreter of the image, whichever made the environment.
ln -sf /usr/bin/python3.11 "$root/app/venv/bin/python"
sed -i 's|^home = .*|home = /usr/bin|' "$root/app/venv/pyvenv.cfg"
# Programs find their interpreter by a shell and realpath, until they have a place to stay.
grep --files-with-matches "^'''exec'" "$root"/app/venv/bin/* | xargs sed -i '1,3c #!/app/venv/bin/python'
# Compiled here, since the processes of a read-only image cannot, and within the root, since tracebacks contain the paths.
chroot "$root" /usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.11 /app/venv/lib
