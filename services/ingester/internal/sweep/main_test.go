package sweep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
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

// world is a namespace of a cluster, a database, and a sweeper between the two.
type world struct {
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

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, mysqltest.DSN(t))
}

func newWorldOn(t *testing.T, dsn string) *world {
	t.Helper()
	c := cluster.Get(t)
	w := &world{T: t, client: c.Client(t, clientgoscheme.Scheme), namespace: c.Namespace(t), db: dbtest.Open(t, dsn)}
	var err error
	w.store, err = mysql.Open(context.WithoutCancel(t.Context()), mysql.Options{DSN: dsn, Log: logr.Discard(), Outbox: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := w.store.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{}
	if err := w.client.Get(t.Context(), types.NamespacedName{Name: "kube-system"}, system); err != nil {
		t.Fatal(err)
	}
	if err := w.store.SettleFor(t.Context(), string(system.UID), 1); err != nil {
		t.Fatal(err)
	}
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	w.live = &reader{Reader: w.client}
	w.events = events.NewFakeRecorder(100)
	w.cfg = Config{
		DB: w.db, Kinds: kinds.Kinds(), Close: w.store.CloseRows, APIReader: w.live, Namespaces: []string{w.namespace},
		Clock: clock.RealClock{}, Random: func() float64 { return 0.5 }, Log: logr.Discard(), Events: w.events, Ready: w.store.Prepared(),
	}
	return w
}

// sweeper returns a sweeper with the current settings and its own metrics.
func (w *world) sweeper() *Sweeper {
	w.Helper()
	w.registry = prometheus.NewRegistry()
	w.cfg.Registerer = w.registry
	s, err := New(w.cfg)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) sweep() error { return w.sweeper().Sweep(w.Context()) }

// swept sweeps and checks that no error occurs.
func (w *world) swept() {
	w.Helper()
	if err := w.sweep(); err != nil {
		w.Fatal(err)
	}
}

// aborts sweeps and checks that one kind is aborted for the given reason.
func (w *world) aborts(kind string, want reason) {
	w.Helper()
	err := w.sweep()
	var got *abortError
	if !errors.As(err, &got) || got.reason != want {
		w.Fatalf("error %v, want the reason %s", err, want)
	}
	if n := w.metric("sweep_aborted_total", kind, string(want)); n != 1 {
		w.Errorf("%v aborts of %s are counted", n, kind)
	}
	if n := w.metric("sweep_last_success_timestamp_seconds"); n != 0 {
		w.Error("counted as a success")
	}
}

// metric sums a metric over the series that have all the label values.
func (w *world) metric(name string, labels ...string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatal(err)
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
func (w *world) recorder() events.EventRecorder {
	w.Helper()
	set, err := kubernetes.NewForConfig(cluster.Get(w).Config)
	if err != nil {
		w.Fatal(err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: set.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(broadcaster.Shutdown)
	return broadcaster.NewRecorder(clientgoscheme.Scheme, "ingester")
}

// stored creates objects without our finalizer and stores them.
func (w *world) stored(kind string, names ...string) []*unstructured.Unstructured {
	w.Helper()
	var out []*unstructured.Unstructured
	for _, name := range names {
		u := object(kind, w.namespace, name)
		if err := w.client.Create(w.Context(), u); err != nil {
			w.Fatal(err)
		}
		if err := w.store.Upsert(w.Context(), u, false, nil); err != nil {
			w.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

// remove deletes objects without an event to the sweeper.
func (w *world) remove(objects ...*unstructured.Unstructured) {
	w.Helper()
	for _, u := range objects {
		if err := w.client.Delete(w.Context(), u); err != nil {
			w.Fatal(err)
		}
	}
}

// invented adds rows of Models without an object.
func (w *world) invented(count int) {
	w.Helper()
	row := fmt.Sprintf("(UUID(), '%s', UUID(), 'michelangelo.api/v2', 1, 1, '2026-01-01', '2026-01-02', '', '{}')", w.namespace)
	if _, err := w.db.ExecContext(w.Context(), "INSERT INTO model (uid, namespace, name, group_ver, res_version, incarnation, create_time, update_time, proto, json) VALUES "+
		strings.TrimSuffix(strings.Repeat(row+", ", count), ", ")); err != nil {
		w.Fatal(err)
	}
}

func (w *world) exec(query string, args ...any) {
	w.Helper()
	if _, err := w.db.ExecContext(w.Context(), query, args...); err != nil {
		w.Fatal(err)
	}
}

// liveRows checks the names of live rows, evicted ones included.
func (w *world) liveRows(table string, want ...string) {
	w.Helper()
	got := dbtest.Strings(w, w.db, "SELECT name FROM "+table+" WHERE delete_time IS NULL ORDER BY name")
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("live rows of %s (-want +got):\n%s", table, diff)
	}
}

func (w *world) deletions() []string {
	w.Helper()
	return dbtest.Strings(w, w.db, "SELECT CONCAT_WS(' ', kind, name) FROM outbox WHERE operation = 'deleted' ORDER BY id")
}

// reader intercepts the reads of the sweeper from the API server.
type reader struct {
	client.Reader
	mu       sync.Mutex
	get      func(kind string, key client.ObjectKey) error // before a read; an error is the answer
	list     func(list client.ObjectList, o *client.ListOptions) error
	requests atomic.Int64
}

func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	r.requests.Add(1)
	r.mu.Lock()
	hook := r.get
	r.mu.Unlock()
	if kind := into.GetObjectKind().GroupVersionKind().Kind; hook != nil && kind != "Namespace" {
		if err := hook(kind, key); err != nil {
			return err
		}
	}
	return r.Reader.Get(ctx, key, into, options...)
}

// List calls the hook with the filled list and returns its error.
func (r *reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	r.requests.Add(1)
	if err := r.Reader.List(ctx, list, options...); err != nil {
		return err
	}
	if r.list == nil {
		return nil
	}
	o := &client.ListOptions{}
	o.ApplyOptions(options)
	return r.list(list, o)
}

// run starts the sweeper until the test ends.
func (w *world) run() *Sweeper {
	w.Helper()
	s := w.sweeper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				w.Error(err)
			}
		case <-time.After(time.Minute):
			w.Error("the sweeper does not end")
		}
	})
	return s
}
