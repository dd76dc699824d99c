package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"

	"github.com/flotilla-dev/flotilla/libs/testkit/reconciletest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// env is the environment of the ingesters of one test.
type env struct {
	*testing.T
	cluster   *cluster.Cluster
	client    client.Client
	namespace string
	mysql     *mysqltest.Server
	dsn       string // for the ingesters; the test itself connects directly to the server
	db        *sql.DB
	nats      *natstest.Server
	conn      *bus.Conn
	marker    string
	logs      []string
}

func newEnv(t *testing.T, c *cluster.Cluster, vendor mysqltest.Vendor) *env {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &env{
		T: t, cluster: c, client: c.Client(t, scheme), namespace: c.Namespace(t),
		mysql: mysqltest.PrivateOf(t, vendor), nats: natstest.Start(t),
		marker: watchdog.Marker("FLOTILLA_TEST_INGESTER", t.TempDir()),
	}
	s.dsn = s.mysql.DSN()
	s.db = dbtest.Open(t, s.dsn)
	dbtest.Migrate(t, s.db)
	s.audit()
	var err error
	if s.conn, err = bus.Connect(bus.Config{URL: s.nats.URL(), Name: "test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.conn.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := bus.Bootstrap(t.Context(), s.conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: s.marker})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guard.Release(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			s.showLogs()
		}
	})
	return s
}

// ingester is one process.
type ingester struct {
	*env
	cmd      *exec.Cmd
	health   string
	exited   chan struct{} // closed when it ended
	err      error         // how, once it has
	stopping atomic.Bool   // that it ends
}

// start runs the binary. The test fails if the process exits by itself.
func (s *env) start(arguments ...string) *ingester {
	s.Helper()
	i := s.launch(arguments...)
	go func() {
		<-i.exited
		if !i.stopping.Load() {
			s.Errorf("the ingester ended: %v", i.err)
		}
	}()
	return i
}

func (s *env) launch(arguments ...string) *ingester {
	s.Helper()
	port, err := freeport.One()
	if err != nil {
		s.Fatal(err)
	}
	i := &ingester{env: s, health: freeport.Address(port), exited: make(chan struct{})}
	arguments = append([]string{
		"--cluster-name=test", "--metrics-bind-address=0", "--health-probe-bind-address=" + i.health,
		"--log-format=text", "--leader-elect=false", "--watch-namespaces=" + s.namespace, "--requeue-period=2s",
		// Rows committed after the check of a deleted object are closed by the next sweep, by default within ten minutes.
		"--sweep-interval=20s",
	}, arguments...)
	i.cmd = exec.Command(program(s), arguments...) //nolint:noctx // ends by kill or stop
	i.cmd.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.Kubeconfig, "NATS_URL="+s.nats.URL(), "MYSQL_DSN="+s.dsn, s.marker)
	name := filepath.Join(s.TempDir(), fmt.Sprintf("ingester-%d.log", len(s.logs)))
	s.logs = append(s.logs, name)
	log, err := os.Create(name)
	if err != nil {
		s.Fatal(err)
	}
	i.cmd.Stdout, i.cmd.Stderr = log, log
	if err := i.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	go func() {
		i.err = errors.Join(i.cmd.Wait(), log.Close())
		close(i.exited)
	}()
	s.Cleanup(func() {
		select {
		case <-i.exited:
		default:
			i.kill()
		}
		if data, err := os.ReadFile(name); err != nil || strings.Contains(string(data), reconciletest.Warning) {
			s.Errorf("a reconcile returned both a result and an error, or there is no log: %v", err)
		}
	})
	return i
}

// kill kills the process, like a crash.
func (i *ingester) kill() { i.end(syscall.SIGKILL) }

// stop stops the process by a signal and checks that it shuts down gracefully.
func (i *ingester) stop() {
	i.Helper()
	i.end(syscall.SIGTERM)
	if i.err != nil {
		i.Errorf("the ingester ended with %v", i.err)
	}
}

func (i *ingester) end(signal syscall.Signal) {
	i.Helper()
	i.stopping.Store(true)
	if err := i.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		i.Error(err)
	}
	<-i.exited
}

// ready waits until the process is ready, or not ready.
func (i *ingester) ready(want bool) {
	i.Helper()
	expect.Eventually(i, 2*expect.Long, func() error {
		req, err := http.NewRequestWithContext(i.Context(), http.MethodGet, "http://"+i.health+"/readyz", nil)
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
		if (response.StatusCode == http.StatusOK) != want {
			return fmt.Errorf("/readyz returns status %d", response.StatusCode)
		}
		return nil
	})
}

func (s *env) showLogs() {
	const lines = 25
	for _, name := range s.logs[max(0, len(s.logs)-3):] {
		data, err := os.ReadFile(name)
		if err != nil {
			s.Log(err)
			continue
		}
		all := strings.Split(strings.TrimSpace(string(data)), "\n")
		s.Logf("%s:\n%s", filepath.Base(name), strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
}
