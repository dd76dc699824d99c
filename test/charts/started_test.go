package charts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// started is a service that runs as a process.
type started struct {
	*testing.T
	cmd    *exec.Cmd
	log    buffer
	health string
	ended  chan error
}

// start runs the command line of the release's Deployment, with free ports and without webhooks.
func (p env) start(kubeconfig string, docs []*unstructured.Unstructured, args ...string) *started {
	p.Helper()
	typed := &appsv1.Deployment{}
	deployment := find(p, docs, "Deployment", p.service)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deployment.Object, typed); err != nil {
		p.Fatal(err)
	}
	port, err := freeport.One()
	if err != nil {
		p.Fatal(err)
	}
	s := &started{T: p.T, health: freeport.Address(port), ended: make(chan error, 1)}
	container := typed.Spec.Template.Spec.Containers[0]
	s.cmd = exec.Command(binary(p, p.service), container.Args...) //nolint:noctx // stopped by the cleanup
	// The leader must not lose its Lease if a busy machine delays the API server for ten seconds.
	s.cmd.Args = append(s.cmd.Args, "--metrics-bind-address=0", "--health-probe-bind-address="+s.health,
		"--leader-election-lease-duration=60s", "--leader-election-renew-deadline=50s")
	if p.service == "engine-operator" || p.service == "ingester" {
		s.cmd.Args = append(s.cmd.Args, "--enable-webhooks=false")
	}
	s.cmd.Args = append(s.cmd.Args, args...)
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.TempDir(), "KUBECONFIG=" + kubeconfig}
	for _, e := range container.Env {
		switch e.Name {
		case "POD_NAMESPACE":
			s.cmd.Env = append(s.cmd.Env, e.Name+"="+p.namespace)
		case "POD_NAME":
			s.cmd.Env = append(s.cmd.Env, e.Name+"="+p.service+"-0")
		case "POD_IP":
			s.cmd.Env = append(s.cmd.Env, e.Name+"=127.0.0.1")
		default:
			s.cmd.Env = append(s.cmd.Env, e.Name+"="+p.value(e))
		}
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	p.Cleanup(s.kill)
	return s
}

// kill kills the service if the test has not stopped it.
func (s *started) kill() {
	if s.Failed() {
		s.Logf("log of the service:\n%s", s.log.String())
	}
	if err := s.cmd.Process.Kill(); errors.Is(err, os.ErrProcessDone) {
		return
	}
	<-s.ended
}

// stop sends SIGTERM to the service, which must exit without an error.
func (s *started) stop() {
	s.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.Context(), expect.Long)
	defer cancel()
	select {
	case err := <-s.ended:
		if err != nil {
			s.Errorf("the service exited with %v", err)
		}
	case <-ctx.Done():
		s.Error("the service does not exit")
	}
}

// waitForLog waits until the log has a line with a text, and checks that the line contains more. The service logs the line
// once, and again only after the API server was unavailable: on a loaded machine, it answers no request for seconds while it
// publishes a large CRD.
func (s *started) waitForLog(text string, more ...string) {
	s.Helper()
	expect.Eventually(s, expect.Long, func() error {
		allowed, lines := 1, []string(nil)
		for line := range strings.Lines(s.log.String()) {
			switch {
			case strings.Contains(line, text):
				lines = append(lines, line)
			case strings.Contains(line, "Waiting for the API server") && len(lines) > 0:
				allowed++
			}
		}
		if len(lines) == 0 || len(lines) > allowed {
			return fmt.Errorf("%d lines with %q in\n%s", len(lines), text, s.log.String())
		}
		for _, want := range more {
			if !strings.Contains(lines[0], want) {
				return fmt.Errorf("%q is not in %q", want, lines[0])
			}
		}
		return nil
	})
}

// probes waits until the service is live and its readiness matches ready.
func (s *started) probes(ready bool) {
	s.Helper()
	want := map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusInternalServerError}
	if ready {
		want["/readyz"] = http.StatusOK
	}
	expect.Eventually(s, expect.Long, func() error {
		for path, status := range want {
			if got, err := s.get(path); err != nil || got != status {
				return fmt.Errorf("%s answers %d, want %d: %w", path, got, status, err)
			}
		}
		return nil
	})
}

func (s *started) get(path string) (status int, err error) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + s.health + path) //nolint:noctx // the client has a timeout
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// buffer is a buffer that can be read while a process writes to it.
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
