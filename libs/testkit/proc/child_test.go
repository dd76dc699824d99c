package proc_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

func TestChildReportsExit(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	c, err := proc.Start(exec.CommandContext(context.Background(), "sh", "-c", "echo hello; read line; exit 3"), log)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Ended() // nothing can be read
	if err := c.Running(); err == nil || !strings.Contains(err.Error(), "hello") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a child that has ended: %v", err)
	}
	if c.ExitCode() != 3 {
		t.Errorf("exit code %d", c.ExitCode())
	}
}

func TestChildIsKilled(t *testing.T) {
	c, err := proc.Start(exec.CommandContext(context.Background(), "sleep", "1000"), filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Running(); err != nil || !proc.Alive(c.PID) {
		t.Errorf("a child that runs: %v", err)
	}
	c.Kill()
	c.Kill() // a no-op for an exited process
	if proc.Alive(c.PID) || c.Running() == nil {
		t.Error("the process still runs")
	}
	if _, err := proc.Start(exec.CommandContext(context.Background(), "/no/such/program"), c.Log); err == nil {
		t.Error("a missing program was started")
	}
}
