# shellcheck shell=bash disable=SC2154
# The real Envoy, in the version of the image that the engine operator names by default, with the bash and the tools that
# the pod's preStop needs, as in the official image.
debian bookworm bash busybox-static
envoy=$(cd libs/testkit && CGO_ENABLED=0 GOWORK=off go run ./envoy/cmd/envoy)
version=$("$envoy" --version | sed -n 's|.*version: [^/]*/\([^/]*\)/.*|\1|p')
take "$root" bin/bash
libraries "$root" bin/bash "$(realpath --relative-to="$packages" "$envoy")"
busybox "$root" sh cat sleep timeout wget
install -D "$envoy" "$root/usr/bin/envoy"
users "$root" envoy:101
for tag in "$image" "$image-2"; do
  pack "$tag" "$root" "$(labels gateway "$version-${tag##*:}" "$version" Apache-2.0)" "USER 101:101" "ENV PATH=/usr/bin" \
    "EXPOSE 8080 9090" 'CMD ["envoy"]'
done
