package stack_test

import (
	"os"
	"os/exec"
	"testing"
)

// pagesLinkCorrectly runs the marked commands of README.md and docs/tutorial.md.
func (s *suite) pagesLinkCorrectly(t *testing.T) {
	t.Helper()
	const script = `
source "$FLOTILLA_LOCAL/env"
commands=$(cd test/docs && GOWORK=off go run ./marked ../../README.md ../../docs/tutorial.md)
bash -euxo pipefail -c "$commands"
`
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = s.Root
	cmd.Env = append(os.Environ(), "FLOTILLA_LOCAL="+s.Local)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
