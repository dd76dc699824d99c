package checkpoint_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// server is a fake API server with one ConfigMap.
type server struct {
	client.Reader
	client.Writer
	mu          sync.Mutex
	object      *corev1.ConfigMap
	err         error
	writeErr    error
	writes      int
	beforeWrite func() // a write takes effect
}

func (s *server) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.object == nil {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	s.object.DeepCopyInto(o.(*corev1.ConfigMap))
	return nil
}

func (s *server) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return s.write(o)
}

func (s *server) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return s.write(o)
}

func (s *server) write(o client.Object) error {
	if s.beforeWrite != nil {
		s.beforeWrite()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(s.err, s.writeErr); err != nil {
		return err
	}
	s.writes++
	s.object = o.(*corev1.ConfigMap).DeepCopy()
	return nil
}

func (s *server) number() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.object == nil {
		return ""
	}
	return s.object.Data["number"]
}

var errForbidden = apierrors.NewForbidden(corev1.Resource("configmaps"), checkpoint.Name, errors.New("no"))

func newTracker(t *testing.T, s *server, change func(*checkpoint.Config)) (*checkpoint.Tracker, checkpoint.Config) {
	t.Helper()
	db, _ := dbtest.Migrated(t)
	cfg := checkpoint.Config{
		DB: db, Cluster: &checkpoint.Cluster{APIReader: s, Writer: s, Namespace: "home"}, Clock: clock.RealClock{}, Log: logr.Discard(),
	}
	if change != nil {
		change(&cfg)
	}
	k, err := checkpoint.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return k, cfg
}

func TestAdvanceWritesDatabaseFirst(t *testing.T) {
	s := &server{}
	k, cfg := newTracker(t, s, nil)
	s.beforeWrite = func() {
		if n, err := checkpoint.Stored(t.Context(), cfg.DB); err != nil || n != 1 {
			t.Errorf("the cluster is written while the database has %d, %v", n, err)
		}
	}
	s.err = nil
	if err := k.Advance(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.beforeWrite = func() { s.mu.Lock(); s.err = errors.New("crash"); s.mu.Unlock() }
	if err := k.Advance(t.Context()); err == nil {
		t.Fatal("an eviction continues although the cluster does not record it")
	}
	s.err = nil
	if err := k.Check(t.Context()); err != nil || s.number() != "1" {
		t.Errorf("a crash looks like a restore: %v, the cluster has %s", err, s.number())
	}
}

func TestOlderDatabaseBlocksEvictionsUntilAccepted(t *testing.T) {
	s, recorder, reg := &server{}, events.NewFakeRecorder(10), prometheus.NewRegistry()
	k, cfg := newTracker(t, s, func(c *checkpoint.Config) { c.Events, c.Registerer = recorder, reg })
	for range 3 {
		if err := k.Advance(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cfg.DB.ExecContext(t.Context(), "UPDATE checkpoint SET number = 2"); err != nil {
		t.Fatal(err)
	}
	if err := k.Advance(t.Context()); !errors.Is(err, checkpoint.ErrBehind) {
		t.Fatalf("advance: %v", err)
	}
	restarted, _ := checkpoint.New(checkpoint.Config{DB: cfg.DB, Cluster: &checkpoint.Cluster{APIReader: s, Writer: s, Namespace: "home"}, Log: logr.Discard()})
	for name, err := range map[string]error{
		"behind": k.Behind(t.Context()), "check": k.Check(t.Context()), "behind after a restart": restarted.Behind(t.Context()),
	} {
		if !errors.Is(err, checkpoint.ErrBehind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e := <-recorder.Events; !strings.Contains(e, "Warning DatabaseBehind database was restored from an older backup: its checkpoint is 2, that of the cluster is 3") {
		t.Error(e)
	}
	gauge := func(want string) {
		t.Helper()
		text := "# HELP flotilla_ingester_database_behind 1 while the database lacks completed evictions, since it was restored from an older backup.\n" +
			"# TYPE flotilla_ingester_database_behind gauge\nflotilla_ingester_database_behind " + want + "\n"
		if err := testutil.GatherAndCompare(reg, strings.NewReader(text), "flotilla_ingester_database_behind"); err != nil {
			t.Error(err)
		}
	}
	gauge("1")
	if err := checkpoint.Accept(t.Context(), cfg.DB, 3); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(k.Check(t.Context()), k.Advance(t.Context())); err != nil || s.number() != "4" {
		t.Errorf("accepted: %v, the cluster has %s", err, s.number())
	}
	gauge("0")
}

func TestMissingPermissionIsLoggedOnce(t *testing.T) {
	s := &server{err: errForbidden}
	var logged atomic.Int32
	k, _ := newTracker(t, s, func(c *checkpoint.Config) {
		c.Log = funcr.New(func(_, args string) {
			if strings.Contains(args, "older databases are not detected: see config/rbac/role.yaml") {
				logged.Add(1)
			}
		}, funcr.Options{})
	})
	for range 3 {
		if err := errors.Join(k.Check(t.Context()), k.Advance(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if n := logged.Load(); n != 1 {
		t.Errorf("the missing permission is logged %d times", n)
	}
	s.mu.Lock()
	s.err = nil
	s.mu.Unlock()
	if err := k.Advance(t.Context()); err != nil || s.number() != "4" {
		t.Errorf("permitted again: %v, the cluster has %q", err, s.number())
	}
}

// TestMissingPermissionToWrite has a Role that lacks the verbs create and update, which are granted later.
func TestMissingPermissionToWrite(t *testing.T) {
	s, reg, ready := &server{writeErr: errForbidden}, prometheus.NewRegistry(), make(chan struct{})
	close(ready)
	k, _ := newTracker(t, s, func(c *checkpoint.Config) { c.Registerer, c.Ready = reg, ready })
	unprotected := func(want string) error {
		const name = "flotilla_ingester_checkpoint_unprotected"
		return testutil.GatherAndCompare(reg, strings.NewReader("# HELP "+name+" 1 while an older database cannot be detected, since the permission for the ConfigMap is missing.\n"+
			"# TYPE "+name+" gauge\n"+name+" "+want+"\n"), name)
	}
	if err := k.Advance(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second one after a read that is permitted
		if err := unprotected("1"); err != nil {
			t.Fatal(err)
		}
		if err := k.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.writeErr = nil
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	expect.Eventually(t, expect.Long, func() error { return unprotected("0") })
	cancel()
	running.Wait()
	if s.number() != "1" {
		t.Errorf("the cluster has %q, want the number of the database", s.number())
	}
}

func TestConcurrentEvictionsShareOneWrite(t *testing.T) {
	s := &server{}
	k, _ := newTracker(t, s, nil)
	started, proceed := make(chan struct{}, 1), make(chan struct{})
	s.beforeWrite = func() {
		select {
		case started <- struct{}{}:
		default:
		}
		<-proceed
	}
	var group sync.WaitGroup
	advance := func() {
		group.Go(func() {
			if err := k.Advance(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	advance()
	<-started
	const waiting = 50
	for range waiting {
		advance()
	}
	close(proceed)
	group.Wait()
	if s.writes > waiting/2 || s.writes < 2 {
		t.Errorf("%d writes for %d evictions", s.writes, waiting+1)
	}
}

// BenchmarkAdvance measures the cost of an eviction in addition to its row, without the API server: one, and 256 at once.
func BenchmarkAdvance(b *testing.B) {
	db, _ := dbtest.Migrated(b)
	s := &server{}
	k, err := checkpoint.New(checkpoint.Config{DB: db, Cluster: &checkpoint.Cluster{APIReader: s, Writer: s, Namespace: "home"}, Log: logr.Discard()})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			if err := k.Advance(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("together", func(b *testing.B) {
		b.SetParallelism(128) // times GOMAXPROCS
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if err := k.Advance(b.Context()); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
