# shellcheck shell=bash disable=SC2154
# The stub metadata service, under the path of a real one.
compile "$root" test/e2e/stub ./cmd/metadata dedicated-pensieve
users "$root" metadata:1111 metadata-ng:1112
install -d --mode=1777 "$root/tmp"
for tag in "$image" "$image-2"; do
  pack "$tag" "$root" "$(labels metadata "${tag##*:}" "$(git rev-parse HEAD:test/e2e/stub 2> /dev/null || echo unknown)" Apache-2.0)" "USER 1111:1111" "EXPOSE 7000" \
    'CMD ["/dedicated-pensieve"]'
done
