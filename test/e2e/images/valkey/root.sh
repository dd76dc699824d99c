#!/usr/bin/env bash
# Makes the file system of the Valkey image, for its build.sh and for the tests of the Superset stub.
# Usage: test/e2e/images/valkey/root.sh DIR      (DIR must not be there; as root on Debian)
set -euo pipefail
root=$(realpath --canonicalize-missing "$1")
cd "$(dirname "$0")/../../../.."
# shellcheck source=hack/images/pack.sh
. hack/images/pack.sh
debian trixie valkey-server valkey-tools busybox-static
mkdir -p "$root"
(cd "$packages" && ls -d usr/bin/valkey-* usr/lib/*-linux-gnu usr/lib64) > "$root.list"
take "$root" --exclude='*/gconv' --exclude='*/perl*' --files-from="$root.list"
rm "$root.list"
busybox "$root" sh sleep
users "$root" valkey:999
