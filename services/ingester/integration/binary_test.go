package integration

import (
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
	binary := filepath.Join(t.TempDir(), "ingester")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../cmd/ingester").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	health := fmt.Sprintf("127.0.0.1:%d", port)
	logs := &output{}
	cmd := exec.CommandContext(t.Context(), binary, "--cluster-name=test", "--bus-bootstrap",
		"--metrics-bind-address=0", "--health-probe-bind-address="+health, "--log-format=text",
		"--leader-elect=true", "--leader-election-namespace=flotilla-system", "--watch-namespaces="+b.namespace)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Get(t).Kubeconfig, "NATS_URL="+b.nats.URL(), "MYSQL_DSN="+dsn)
	cmd.Stdout, cmd.Stderr = logs, logs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := b.create(b.model("churn"))
	answers := func(path string, want int) func() error {
		return func() error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+health+path, nil)
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
	expect.Eventually(t, expect.Long, answers("/healthz", http.StatusOK))
	expect.Eventually(t, expect.Long, answers("/readyz", http.StatusInternalServerError))
	// The ingester is not ready before its first attempt to connect either.
	expect.Eventually(t, expect.Long, func() error {
		if logs.count("Waiting for MySQL") == 0 {
			return errors.New("the wait for MySQL is not logged")
		}
		return nil
	})
	server.Start()
	expect.Eventually(t, expect.Long, answers("/readyz", http.StatusOK))
	expect.Eventually(t, expect.Long, answers("/readyz/mysql", http.StatusOK)) // its body names the cause of a failure
	b.stored(b.finalizer(m))
	b.events(m, "created")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the ingester ended with %v", err)
	}
	if n := logs.count("connection refused"); n != 1 {
		t.Errorf("the wait for MySQL is logged %d times, want 1", n)
	}
	if t.Failed() {
		t.Log(logs.String())
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
