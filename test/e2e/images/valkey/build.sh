# shellcheck shell=bash disable=SC2154
# Valkey of Debian, which keeps everything in memory. A password comes as an argument: --requirepass TEXT.
rmdir "$root"
"$here/root.sh" "$root"
pack "$image" "$root" "$(labels valkey debian-trixie debian-trixie BSD-3-Clause)" "USER 999:999" "WORKDIR /tmp" "EXPOSE 6379" \
  "ENV PATH=/usr/bin" 'ENTRYPOINT ["/usr/bin/valkey-server", "--save", "", "--protected-mode", "no"]'
