# shellcheck shell=bash disable=SC2154
# The client that never stops asking while a scenario runs.
compile "$root" test/e2e ./asker usr/bin/asker
pack "$image" "$root" "$(labels asker dev source Apache-2.0)" "USER 65532:65532" 'ENTRYPOINT ["/usr/bin/asker"]'
