package process_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/process"
)

// newSpec returns a spec whose process is killed at the end of the test.
func newSpec(t *testing.T, name, script string) process.Spec {
	t.Helper()
	dir := t.TempDir()
	marker := "PROCESS_TEST=" + dir + ";"
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if _, err := proc.KillMarked(context.Background(), marker); err != nil {
			t.Errorf("kill remaining processes: %v", err)
		}
	})
	return process.Spec{
		Name:   name,
		Args:   []string{"sh", "-c", script},
		Dir:    dir,
		Log:    filepath.Join(dir, "log", name+".log"),
		Run:    filepath.Join(dir, "run"),
		Marker: marker,
	}
}

func start(t *testing.T, s process.Spec) int {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	expect.Eventually(t, expect.Long, func() error {
		if pid = s.PID(); pid == 0 {
			return fmt.Errorf("%s does not run", s.Name)
		}
		return nil
	})
	return pid
}

func current(t *testing.T, s process.Spec) bool {
	t.Helper()
	is, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func TestStartedProcessRunsDetachedUntilStop(t *testing.T) {
	s := newSpec(t, "boat", "echo hello; exec sleep 1000")
	pid := start(t, s)
	if !current(t, s) {
		t.Error("the process is not reported as current")
	}
	session, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	if fields := strings.Fields(string(session)); fields[5] != strconv.Itoa(pid) {
		t.Errorf("session %s instead of its own", fields[5])
	}
	expect.Eventually(t, expect.Long, func() error {
		log, err := os.ReadFile(s.Log)
		if err != nil || string(log) != "hello\n" {
			return fmt.Errorf("log %q: %w", log, err)
		}
		return nil
	})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.PID() != 0 || proc.Alive(pid) {
		t.Error("the process still runs")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stop a stopped process: %v", err)
	}
}

func TestCurrentDetectsChangedSpec(t *testing.T) {
	s := newSpec(t, "boat", "exec sleep 1000")
	program := filepath.Join(s.Dir, "program")
	if err := os.WriteFile(program, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Files = []string{program}
	start(t, s)

	other := s
	other.Args = append([]string{}, append(s.Args, "--port=2")...)
	if current(t, other) {
		t.Error("other arguments count as current")
	}
	other = s
	other.Env = []string{"NATS_URL=elsewhere"}
	if current(t, other) {
		t.Error("another environment counts as current")
	}
	if !current(t, s) {
		t.Error("the same does not count as current")
	}
	if err := os.WriteFile(program, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if current(t, s) {
		t.Error("another program counts as current")
	}
}

func TestForeignPIDIsIgnored(t *testing.T) {
	s := newSpec(t, "boat", "exec sleep 1000")
	if err := os.MkdirAll(s.Run, 0o750); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.Run, "boat.pid")
	for name, text := range map[string]string{
		"this test's own pid":               strconv.Itoa(os.Getpid()),
		"a pid that does not exist":         "1073741824",
		"a file that holds no number":       "none",
		"an empty file":                     "",
		"a pid of the stack's other part":   strconv.Itoa(start(t, newSpecBeside(s, "ship"))),
		"a negative number, a whole group!": "-1",
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if pid := s.PID(); pid != 0 {
				t.Errorf("process %d is reported as that of the spec", pid)
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if newSpecBeside(s, "ship").PID() == 0 {
		t.Error("stopping one component stopped another")
	}
}

func newSpecBeside(s process.Spec, name string) process.Spec {
	s.Name, s.Log = name, filepath.Join(s.Dir, name+".log")
	return s
}

func TestProcessInheritsNoServiceVariables(t *testing.T) {
	for _, name := range []string{"FLOTILLA_NATS_URL", "KUBECONFIG", "NATS_URL", "MYSQL_DSN"} {
		t.Setenv(name, "of another checkout")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
	s := newSpec(t, "boat", "env; exec sleep 1000")
	s.Env = []string{"NATS_URL=ours"}
	start(t, s)
	expect.Eventually(t, expect.Long, func() error {
		log, err := os.ReadFile(s.Log)
		if err != nil {
			return err
		}
		if !strings.Contains(string(log), "NATS_URL=ours") {
			return fmt.Errorf("log %q", log)
		}
		if strings.Contains(string(log), "of another checkout") {
			t.Errorf("inherited in %s", log)
		}
		if !strings.Contains(string(log), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318") {
			t.Error("tracing cannot be configured")
		}
		return nil
	})
}
