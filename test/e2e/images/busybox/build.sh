# shellcheck shell=bash disable=SC2154
# A shell and its tools, for pods that a scenario needs for a moment.
debian bookworm busybox-static
busybox "$root"
for applet in $("$root/usr/bin/busybox" --list); do [ "$applet" = busybox ] || ln -s busybox "$root/usr/bin/$applet"; done
ln -s usr/bin "$root/bin"
users "$root" nonroot:65532
pack "$image" "$root" "$(labels busybox "$("$root/usr/bin/busybox" | sed -n '1s/BusyBox v\([^ ]*\).*/\1/p')" debian-bookworm GPL-2.0-only)" \
  "USER 65532:65532" "ENV PATH=/usr/bin" 'CMD ["sh"]'
