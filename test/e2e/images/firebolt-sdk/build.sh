# shellcheck shell=bash disable=SC2154
# Firebolt's own Python client, and a program that queries an engine with it.
debian bookworm python3 libgcc-s1
sdk=$(cd libs/testkit && CGO_ENABLED=0 GOWORK=off go run ./fireboltsdk/cmd/fireboltsdk)
mapfile -t files < <(cd "$packages" && ls -d usr/bin/python3* usr/lib/python3* usr/lib/*-linux-gnu lib/*-linux-gnu lib64)
take "$root" --exclude='*/python3.11/test' --exclude='*/config-3.*' --exclude='*/gconv' --exclude='*/__pycache__' "${files[@]}"
install -d "$root/app"
cp --archive "$sdk" "$root/app/sdk"
find "$root/app/sdk" -name __pycache__ -prune -exec rm -rf {} +
install --mode=644 "$here/queries.py" "$root/app/queries.py"
PYTHONPATH=/app/sdk PYTHONDONTWRITEBYTECODE=1 chroot "$root" /usr/bin/python3 -c 'import firebolt.db' ||
  fail "the image has Python 3.11 and cannot load firebolt-sdk, which $(python3 --version) installed: put python3.11 on PATH as python3"
pack "$image" "$root" "$(labels firebolt-sdk dev source Apache-2.0)" "USER 65532:65532" \
  "ENV PYTHONPATH=/app/sdk PYTHONDONTWRITEBYTECODE=1" 'ENTRYPOINT ["/usr/bin/python3", "/app/queries.py"]'
