package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
)

// TestBinaryRunsWithLateMySQL runs the ingester as the local stack does, and starts MySQL later.
func TestBinaryRunsWithLateMySQL(t *testing.T) {
	server := mysqltest.Private(t)
	dsn := server.DSN()
	server.Stop()
	b := newEnvOn(t, dsn)
	system := &corev1.Namespace{}
	system.Name = "flotilla-system"
	if err := client.IgnoreAlreadyExists(b.client.Create(t.Context(), system)); err != nil {
		t.Fatal(err)
	}
	p := startBinary(t, b, dsn)
	m := b.create(b.model("churn"))
	expect.Eventually(t, expect.Long, p.returns(t.Context(), "/healthz", http.StatusOK))
	expect.Eventually(t, expect.Long, p.returns(t.Context(), "/readyz", http.StatusInternalServerError))
	// The ingester is not ready before its first attempt to connect either.
	expect.Eventually(t, expect.Long, func() error {
		if p.logs.count("Waiting for MySQL") == 0 {
			return errors.New("the wait for MySQL is not logged")
		}
		return nil
	})
	server.Start()
	expect.Eventually(t, expect.Long, p.returns(t.Context(), "/readyz", http.StatusOK))
	expect.Eventually(t, expect.Long, p.returns(t.Context(), "/readyz/mysql", http.StatusOK)) // its body names the cause of a failure
	b.stored(b.finalizer(m))
	b.events(m, "created")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the ingester ended with %v", err)
	}
	if n := p.logs.count("connection refused"); n != 1 {
		t.Errorf("the wait for MySQL is logged %d times, want 1", n)
	}
	if t.Failed() {
		t.Log(p.logs.String())
	}
}

// process is a running ingester.
type process struct {
	cmd    *exec.Cmd
	health string // address of the probes
	logs   *output
}

// startBinary builds the ingester and starts it for the namespace of b.
func startBinary(t *testing.T, b *env, dsn string) *process {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "ingester")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../cmd/ingester").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{health: fmt.Sprintf("127.0.0.1:%d", port), logs: &output{}}
	p.cmd = exec.CommandContext(t.Context(), binary, "--cluster-name=test", "--bus-bootstrap",
		"--metrics-bind-address=0", "--health-probe-bind-address="+p.health, "--log-format=text",
		"--leader-elect=true", "--leader-election-namespace=flotilla-system", "--watch-namespaces="+b.namespace)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Get(t).Kubeconfig, "NATS_URL="+b.nats.URL(), "MYSQL_DSN="+dsn)
	p.cmd.Stdout, p.cmd.Stderr = p.logs, p.logs
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// returns checks the status of a probe.
func (p *process) returns(ctx context.Context, path string, want int) func() error {
	return func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.health+path, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		if response.StatusCode != want {
			return fmt.Errorf("%s returns status %d", path, response.StatusCode)
		}
		return nil
	}
}

// output collects what a process prints while it runs.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) count(text string) int { return strings.Count(o.String(), text) }
