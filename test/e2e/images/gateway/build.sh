# shellcheck shell=bash disable=SC2154
# The stand-in for Envoy, with the bash and the tools that the pod's preStop needs, as in the official image.
debian bookworm bash busybox-static
take "$root" bin/bash
libraries "$root" bin/bash
busybox "$root" sh cat sleep timeout wget
compile "$root" test/e2e/standin ./cmd/gateway usr/bin/envoy
users "$root" envoy:101
for tag in "$image" "$image-2"; do
  pack "$tag" "$root" "$(labels gateway "${tag##*:}" "$(git rev-parse HEAD:test/e2e/standin 2> /dev/null || echo unknown)" Apache-2.0)" "USER 101:101" "ENV PATH=/usr/bin" \
    "EXPOSE 8080 9090" 'CMD ["envoy"]'
done
