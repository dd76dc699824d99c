# shellcheck shell=bash disable=SC2154
# The stub engine, where the operator's start script expects a real one. dev-2 is the same under another version.
debian bookworm bash busybox-static
take "$root" bin/bash
libraries "$root" bin/bash
busybox "$root" sh cat sleep wget
compile "$root" test/e2e/stub ./cmd/engine opt/firebolt/firebolt
users "$root" firebolt:3473
install -d --mode=1777 "$root/var/lib/firebolt" "$root/run/firebolt"
for tag in "$image" "$image-2"; do
  pack "$tag" "$root" "$(labels engine "${tag##*:}" "$(git rev-parse HEAD:test/e2e/stub 2> /dev/null || echo unknown)" Apache-2.0)" "USER 3473:3473" "ENV PATH=/usr/bin" \
    "ENV STUB_VERSION=${tag##*:}" "EXPOSE 3473 8122 9090"
done
