package sweep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{filepath.Join("..", "..", "config", "crd")}, Nodes: 1}))
}

// env is a namespace of a cluster, a database, and a sweeper between the two.
type env struct {
	*testing.T
	client    client.Client
	namespace string
	store     *mysql.Storage
	db        *sql.DB
	live      *reader
	cfg       Config
	events    *events.FakeRecorder
	registry  *prometheus.Registry
}

func newEnv(t *testing.T) *env {
	t.Helper()
	return newEnvOn(t, mysqltest.DSN(t))
}

func newEnvOn(t *testing.T, dsn string) *env {
	t.Helper()
	c := cluster.Get(t)
	e := &env{T: t, client: c.Client(t, clientgoscheme.Scheme), namespace: c.Namespace(t), db: dbtest.Open(t, dsn)}
	var err error
	e.store, err = mysql.Open(context.WithoutCancel(t.Context()), mysql.Options{DSN: dsn, Log: logr.Discard(), Outbox: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := e.store.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{}
	if err := e.client.Get(t.Context(), types.NamespacedName{Name: "kube-system"}, system); err != nil {
		t.Fatal(err)
	}
	if _, err := e.store.ResolveIncarnation(t.Context(), string(system.UID), func(context.Context) (int64, error) { return 1, nil }); err != nil {
		t.Fatal(err)
	}
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	e.live = &reader{Reader: e.client}
	e.events = events.NewFakeRecorder(100)
	e.cfg = Config{
		DB: e.db, Kinds: kinds.Kinds(), Close: e.store.CloseRows, APIReader: e.live, Namespaces: []string{e.namespace},
		Clock: clock.RealClock{}, Random: func() float64 { return 0.5 }, Log: logr.Discard(), Events: e.events, Ready: e.store.Prepared(),
		Regarding: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "ingester-checkpoint"}},
	}
	return e
}

// sweeper returns a sweeper with the current settings and its own metrics.
func (e *env) sweeper() *Sweeper {
	e.Helper()
	e.registry = prometheus.NewRegistry()
	e.cfg.Registerer = e.registry
	s, err := New(e.cfg)
	if err != nil {
		e.Fatal(err)
	}
	return s
}

// sweep sweeps once, as a periodic sweep.
func (e *env) sweep() error {
	e.Helper()
	e.cfg.Interval = time.Hour
	return e.sweeper().Sweep(e.Context())
}

// mustSweep sweeps and checks that no error occurs.
func (e *env) mustSweep() {
	e.Helper()
	if err := e.sweep(); err != nil {
		e.Fatal(err)
	}
}

// expectAbort sweeps and checks that one kind is aborted for the given reason.
func (e *env) expectAbort(kind string, want reason) {
	e.Helper()
	err := e.sweep()
	var got *abortError
	if !errors.As(err, &got) || got.reason != want {
		e.Fatalf("error %v, want the reason %s", err, want)
	}
	if n := e.metric("sweep_aborted_total", kind, string(want)); n != 1 {
		e.Errorf("%v aborts of %s are counted", n, kind)
	}
	if n := e.metric("sweep_last_success_timestamp_seconds"); n != 0 {
		e.Error("counted as a success")
	}
}

// metric sums a metric over the series that have all the label values.
func (e *env) metric(name string, labels ...string) float64 {
	e.Helper()
	families, err := e.registry.Gather()
	if err != nil {
		e.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != "flotilla_ingester_"+name {
			continue
		}
	series:
		for _, m := range f.GetMetric() {
			has := map[string]bool{}
			for _, l := range m.GetLabel() {
				has[l.GetValue()] = true
			}
			for _, l := range labels {
				if !has[l] {
					continue series
				}
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

func object(kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetAPIVersion(api.GroupVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// recorder writes events as a manager's does.
func (e *env) recorder() events.EventRecorder {
	e.Helper()
	set, err := kubernetes.NewForConfig(cluster.Get(e).Config)
	if err != nil {
		e.Fatal(err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: set.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(e.Context()); err != nil {
		e.Fatal(err)
	}
	e.Cleanup(broadcaster.Shutdown)
	return broadcaster.NewRecorder(clientgoscheme.Scheme, "ingester")
}

// stored creates objects without our finalizer and stores them.
func (e *env) stored(kind string, names ...string) []*unstructured.Unstructured {
	e.Helper()
	var out []*unstructured.Unstructured
	for _, name := range names {
		u := object(kind, e.namespace, name)
		if err := e.client.Create(e.Context(), u); err != nil {
			e.Fatal(err)
		}
		if err := e.store.Upsert(e.Context(), u, false, nil); err != nil {
			e.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

// remove deletes objects without an event to the sweeper.
func (e *env) remove(objects ...*unstructured.Unstructured) {
	e.Helper()
	for _, u := range objects {
		if err := e.client.Delete(e.Context(), u); err != nil {
			e.Fatal(err)
		}
	}
}

// addOrphanRows adds rows of Models without an object.
func (e *env) addOrphanRows(count int) {
	e.Helper()
	row := fmt.Sprintf("(UUID(), '%s', UUID(), 'michelangelo.api/v2', 1, 1, '2026-01-01', '2026-01-02', '', '{}')", e.namespace)
	if _, err := e.db.ExecContext(e.Context(), "INSERT INTO model (uid, namespace, name, group_ver, res_version, incarnation, create_time, update_time, proto, json) VALUES "+
		strings.TrimSuffix(strings.Repeat(row+", ", count), ", ")); err != nil {
		e.Fatal(err)
	}
}

func (e *env) exec(query string, args ...any) {
	e.Helper()
	if _, err := e.db.ExecContext(e.Context(), query, args...); err != nil {
		e.Fatal(err)
	}
}

// liveRows checks the names of live rows, evicted ones included.
func (e *env) liveRows(table string, want ...string) {
	e.Helper()
	got := dbtest.Strings(e, e.db, "SELECT name FROM "+table+" WHERE delete_time IS NULL ORDER BY name")
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("live rows of %s (-want +got):\n%s", table, diff)
	}
}

func (e *env) deletions() []string {
	e.Helper()
	return dbtest.Strings(e, e.db, "SELECT CONCAT_WS(' ', kind, name) FROM outbox WHERE operation = 'deleted' ORDER BY id")
}

// run starts the sweeper until the test ends.
func (e *env) run() *Sweeper {
	e.Helper()
	s := e.sweeper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	e.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				e.Error(err)
			}
		case <-time.After(time.Minute):
			e.Error("the sweeper does not end")
		}
	})
	return s
}
