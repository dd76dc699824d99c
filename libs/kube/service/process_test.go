package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

const waitTimeout = 2 * time.Minute

// started is a service that runs as a separate process.
type started struct {
	*testing.T
	cmd             *exec.Cmd
	out, log        buffer
	metrics, health string
}

// start runs the test service with its endpoints on free ports.
func start(t *testing.T, mode string, env []string, args ...string) *started {
	t.Helper()
	ports, err := freeport.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	s := &started{T: t, metrics: fmt.Sprint("127.0.0.1:", ports[0]), health: fmt.Sprint("127.0.0.1:", ports[1])}
	s.cmd = exec.Command(os.Args[0], append([]string{ //nolint:noctx // stopped by the test's cleanup
		"--metrics-bind-address=" + s.metrics, "--metrics-secure=false", "--health-probe-bind-address=" + s.health,
	}, args...)...)
	s.cmd.Env = append([]string{modeVariable + "=" + mode, "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState != nil {
			return
		}
		if err := s.cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := s.cmd.Wait(); err != nil && t.Failed() {
			t.Logf("service: %v, log:\n%s", err, s.log.String())
		}
	})
	return s
}

// stop stops the service by a signal and checks that it exits without an error.
func (s *started) stop() {
	s.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.Errorf("service ended with %v, log:\n%s", err, s.log.String())
	}
}

// logged waits for a text in the log.
func (s *started) logged(text string, times int) {
	s.Helper()
	expect.Eventually(s, waitTimeout, func() error {
		if n := strings.Count(s.log.String(), text); n != times {
			return fmt.Errorf("%q was logged %d times, want %d; log:\n%s", text, n, times, s.log.String())
		}
		return nil
	})
}

// wantResponse waits until an endpoint responds with a status.
func (s *started) wantResponse(address, path string, status int) string {
	s.Helper()
	var body []byte
	expect.Eventually(s, waitTimeout, func() error {
		resp, err := http.Get("http://" + address + path) //nolint:noctx // Eventually bounds it
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, resp.Body.Close()) }()
		if body, err = io.ReadAll(resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != status {
			return fmt.Errorf("%s returns status %d, want %d: %s", path, resp.StatusCode, status, body)
		}
		return err
	})
	return string(body)
}

func TestErrorsAreOneLineThatNamesSetting(t *testing.T) {
	dir := t.TempDir()
	invalid := filepath.Join(dir, "garbage")
	if err := os.WriteFile(invalid, []byte("a: [b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	occupied, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := occupied.Close(); err != nil {
			t.Error(err)
		}
	})
	const election = "--leader-elect=false"
	const kubeconfig = "--kubeconfig (FLOTILLA_KUBECONFIG) cannot be used: "
	tests := map[string]struct {
		args []string
		env  []string
		want string // prefix of the line
	}{
		"no kubeconfig and no pod":     {[]string{election}, nil, kubeconfig + "is not set and the process does not run in a pod"},
		"a kubeconfig that is missing": {[]string{election}, []string{"KUBECONFIG=/nonexistent/config"}, kubeconfig + "stat /nonexistent/config: no such file"},
		"a kubeconfig that is garbage": {[]string{election, "--kubeconfig=" + invalid}, nil, kubeconfig},
		"a kubeconfig that is empty":   {[]string{election, "--kubeconfig=" + empty}, nil, kubeconfig},
		"an unknown flag":              {[]string{"--color=red"}, nil, "unknown flag: --color"},
		"a bus without a cluster name": {[]string{election}, []string{"NATS_URL=nats://127.0.0.1:1"}, "--cluster-name (FLOTILLA_CLUSTER_NAME) is required with --nats-url"},
		"an unknown log level":         {[]string{election, "--log-level=loud"}, nil, `--log-level (FLOTILLA_LOG_LEVEL) unknown log level "loud", want`},
		"an unknown log format":        {[]string{election, "--log-format=xml"}, nil, "--log-format (FLOTILLA_LOG_FORMAT) unknown log format \"xml\", want json or text"},
		"an address in use": {
			[]string{election, "--health-probe-bind-address=" + occupied.Addr().String()},
			[]string{"KUBECONFIG=" + unreachable(t, dir)},
			"--health-probe-bind-address (FLOTILLA_HEALTH_PROBE_BIND_ADDRESS) cannot be used: listen tcp",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := start(t, "mark", tc.env, tc.args...)
			err := s.cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit code 1", err)
			}
			line, more, _ := strings.Cut(s.log.String(), "\n")
			if !strings.HasPrefix(line, "test-service: "+tc.want) || more != "" {
				t.Errorf("stderr is not one line that begins with %q:\n%s", tc.want, s.log.String())
			}
		})
	}
}

// unreachable writes a kubeconfig for an address without a server.
func unreachable(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "unreachable")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],"users":[{"name":"u","user":{}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommands(t *testing.T) {
	tests := map[string]struct {
		args     []string
		code     int
		out, log string
	}{
		"a command gets options and arguments": {[]string{"greet", "--workers=3", "you"}, 0, "hello you with 3\n", ""},
		"its error is one line":                {[]string{"greet"}, 1, "", "test-service: greet whom?\n"},
		"an unknown one is reported":           {[]string{"gret"}, 1, "", "test-service: unknown command \"gret\", see --help\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], tc.args...)
			cmd.Env = []string{modeVariable + "=mark"}
			var out, log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &log
			err := cmd.Run()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != tc.code {
				t.Errorf("ended with %v, want exit code %d", err, tc.code)
			}
			if diff := cmp.Diff([]string{tc.out, tc.log}, []string{out.String(), log.String()}); diff != "" {
				t.Errorf("stdout and stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// buffer is a bytes.Buffer that may be read while a process writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Setup adds the readiness checks of webhooks and APIs. Before, a pod would receive their requests.
func TestServiceIsReadyAfterSetup(t *testing.T) {
	p := newEnv(t)
	release := filepath.Join(t.TempDir(), "release")
	s := start(t, "held", []string{releaseVariable + "=" + release}, p.args()...)
	s.wantResponse(s.health, "/readyz/prerequisites", http.StatusOK)
	s.wantResponse(s.health, "/readyz", http.StatusInternalServerError)
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wantResponse(s.health, "/readyz", http.StatusOK)
	s.stop()
}

func TestSignalPreventsRestart(t *testing.T) {
	errPermanent := errors.New("not transient")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, tc := range map[string]struct {
		ctx      context.Context
		err      error
		restarts bool
		want     error
	}{
		"a transient reason":                     {t.Context(), errRestart, true, nil},
		"a transient reason, and a signal since": {stopped, errRestart, false, nil},
		"a permanent error":                      {t.Context(), errPermanent, false, errPermanent},
		"a permanent error, and a signal since":  {stopped, errPermanent, false, errPermanent},
		"stopped by a signal":                    {stopped, nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			restarted := false
			err := handleRestart(tc.ctx, tc.err, func() error { restarted = true; return nil })
			if !errors.Is(err, tc.want) || restarted != tc.restarts {
				t.Errorf("error %v, restarted %v", err, restarted)
			}
		})
	}
}
