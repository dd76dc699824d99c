package command_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/command"
)

const asksForNode = "STACK_TEST_ASKS_FOR_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(asksForNode) != "" {
		os.Exit(command.Main(context.Background(), []string{"up", "--node", "real"}, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Without root the command immediately reports the missing prerequisite and the alternative. It creates no files.
func TestRealNodeRequiresRoot(t *testing.T) {
	program := copyOfThisTest(t)
	local := filepath.Join(filepath.Dir(program), "local")
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), asksForNode+"=yes", "FLOTILLA_LOCAL="+local)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err == nil {
		t.Error("the command succeeded")
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, part := range []string{"a real node cannot run here", "root: this is user", "`make up`"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("output lacks %q:\n%s", part, out.String())
		}
	}
	if _, err := os.Stat(local); err == nil {
		t.Error("the command created the directory of the stack")
	}
}

func TestNodeFlagRejectsOtherValues(t *testing.T) {
	var stderr bytes.Buffer
	if code := command.Main(t.Context(), []string{"up", "--node", "imagined"}, io.Discard, &stderr); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	if want := "--node is simulated or real"; !strings.Contains(stderr.String(), want) {
		t.Errorf("output lacks %q: %s", want, stderr.String())
	}
}

func TestInstallRequiresCluster(t *testing.T) {
	t.Setenv("FLOTILLA_LOCAL", t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"install"}, 2, "install requires --kubeconfig"},
		{[]string{"install", "--kubeconfig", "nowhere"}, 1, "kubeconfig nowhere not found"},
	} {
		var stderr bytes.Buffer
		if code := command.Main(t.Context(), c.args, io.Discard, &stderr); code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit code %d, want %d and %q: %s", c.args, code, c.code, c.want, stderr.String())
		}
	}
}

// copyOfThisTest copies this test binary to a directory where every user can run it.
func copyOfThisTest(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "stack") //nolint:usetesting // other users cannot access t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "stack.test")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}

func TestLogsRequireRunningStack(t *testing.T) {
	t.Setenv("FLOTILLA_LOCAL", t.TempDir())
	for _, args := range [][]string{{"logs"}, {"logs", "nats"}, {"logs", "superset-operator"}} {
		var stderr bytes.Buffer
		if code := command.Main(t.Context(), args, io.Discard, &stderr); code != 1 || !strings.Contains(stderr.String(), "the stack is down") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr.String())
		}
	}
}

func TestUnexpectedArgumentIsRejected(t *testing.T) {
	var stderr bytes.Buffer
	if code := command.Main(t.Context(), []string{"up", "--services", "ingester", "engine-operator"}, io.Discard, &stderr); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	if want := `up: unexpected argument "engine-operator"`; !strings.Contains(stderr.String(), want) {
		t.Errorf("output lacks %q: %s", want, stderr.String())
	}
}
