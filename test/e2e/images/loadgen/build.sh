# shellcheck shell=bash disable=SC2154
# The load generator of a scenario.
compile "$root" test/e2e ./loadgen usr/bin/loadgen
pack "$image" "$root" "$(labels loadgen dev source Apache-2.0)" "USER 65532:65532" 'ENTRYPOINT ["/usr/bin/loadgen"]'
