#!/usr/bin/env bash
# Writes the lock files of the real Superset from the .in files in its directory: the packages as of a date, so that they stay
# the same. Usage: test/e2e/images/superset/lock.sh
set -euo pipefail
cd "$(dirname "$0")"
uv=$(./venv.sh uv)
# A release is resolved as of shortly after it was published: newer packages break it (kombu refuses its redis, fastmcp
# has moved a module, flask-caching 2.4 an argument).
while read -r version date; do
  "$uv" pip compile --quiet --no-config --python-version 3.11 --exclude-newer "$date" --generate-hashes --no-annotate \
    --no-header "$version.in" --output-file "$version.txt"
done << 'LIST'
6.0.0 2025-12-20
6.1.0 2026-05-31
LIST
