package scripts_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

// gunicornDriver runs the configuration with a stub of a gunicorn 26 worker and a fake clock.
const gunicornDriver = `
import sys, types
scope = {}
exec(compile(sys.stdin.read(), "superset_gunicorn.py", "exec"), scope)
clock = 100.0
scope["time"] = types.SimpleNamespace(monotonic=lambda: clock)
waits = []
idle = types.SimpleNamespace(timeout=1000.0)
worker = types.SimpleNamespace(alive=True, keepalived_conns=[idle], wait_for_and_dispatch_events=waits.append)
scope["post_worker_init"](worker)
worker.wait_for_and_dispatch_events(timeout=1.0)
assert (waits, idle.timeout) == ([1.0], 1000.0), "while it serves nothing changes"
worker.alive = False
worker.wait_for_and_dispatch_events(timeout=60)
assert (waits[-1], idle.timeout) == (0.1, 1000.0), "a pending request is answered"
clock += 0.9
worker.wait_for_and_dispatch_events(timeout=60)
assert idle.timeout == 1000.0, "closed too soon"
clock += 0.2
worker.wait_for_and_dispatch_events(timeout=0.05)
assert (waits[-1], idle.timeout) == (0.05, 0), "an idle connection delays the exit"
other = types.SimpleNamespace(alive=True)
scope["post_worker_init"](other)
assert vars(other) == {"alive": True}, "other workers and releases stay as they are"
`

func TestGunicornClosesIdleConnections(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "python3", "-c", gunicornDriver)
	cmd.Stdin = strings.NewReader(scripts.Gunicorn())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
