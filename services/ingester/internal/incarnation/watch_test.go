package incarnation_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// api is a fake API server whose cluster is at one version and has one object.
type api struct {
	cluster, object atomic.Int64
	lists           atomic.Int64
	failing         atomic.Int64 // reads of the object that fail from now on
	unserved        atomic.Value // the errors of the lists of kinds without a CRD
	uid             atomic.Value // of the cluster, if it is another one
}

func (a *api) Get(_ context.Context, key types.NamespacedName, o client.Object, _ ...client.GetOption) error {
	uid := "cluster-uid"
	if other, ok := a.uid.Load().(string); ok {
		uid = other
	}
	if key.Namespace != "" {
		uid = "u"
		if a.failing.Add(-1) >= 0 {
			return errors.New("the API server is unavailable")
		}
	}
	o.SetUID(types.UID(uid))
	o.SetResourceVersion(strconv.FormatInt(a.object.Load(), 10))
	return nil
}

func (a *api) List(_ context.Context, l client.ObjectList, _ ...client.ListOption) error {
	if errs, ok := a.unserved.Load().(map[string]error); ok {
		if err := errs[strings.TrimSuffix(l.GetObjectKind().GroupVersionKind().Kind, "List")]; err != nil {
			return err
		}
	}
	a.lists.Add(1)
	l.SetResourceVersion(strconv.FormatInt(a.cluster.Load(), 10))
	return nil
}

// object is the name of the object.
var object = types.NamespacedName{Namespace: "ns", Name: "n"}

type watched struct {
	*testing.T
	db    *sql.DB
	api   *api
	clock *clocktesting.FakeClock
	watch *incarnation.Watch
	done  chan error
}

// watch runs a watch of a cluster that was settled at version 100 with incarnation 1,
// whose row of object u has version 90.
func watch(t *testing.T) *watched {
	t.Helper()
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	m, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{T: t, db: db, api: &api{}, clock: clocktesting.NewFakeClock(time.Unix(0, 0)), done: make(chan error, 1)}
	w.api.cluster.Store(100)
	w.api.object.Store(90)
	settled := incarnation.Cluster{UID: "cluster-uid", ResourceVersion: 100}
	if n, err := incarnation.Resolve(t.Context(), db, kinds, settled.UID, at(settled.ResourceVersion), time.Unix(0, 0)); err != nil || n != 1 {
		t.Fatalf("settled %d, %v", n, err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO project (uid, group_ver, namespace, name, res_version, incarnation, create_time, update_time, proto, json)"+
		" VALUES ('u', 'v', 'ns', 'n', 90, 1, NOW(6), NOW(6), '', '{}')"); err != nil {
		t.Fatal(err)
	}
	w.watch = &incarnation.Watch{DB: db, Kinds: kinds, APIReader: w.api, Clock: w.clock, Log: testr.New(t), Metrics: m}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.done <- w.watch.Run(ctx, settled, 1) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return w
}

// check makes the watch read the cluster's version once.
func (w *watched) check() {
	w.Helper()
	before := w.api.lists.Load()
	expect.Eventually(w, expect.Long, func() error {
		if w.clock.HasWaiters() {
			w.clock.Step(time.Minute)
		}
		if w.api.lists.Load() == before {
			return errors.New("no look yet")
		}
		return nil
	})
}

func (w *watched) restored() {
	w.Helper()
	w.restoredAs(2)
}

// restoredAs waits until the watch has bumped the incarnation.
func (w *watched) restoredAs(want int64) {
	w.Helper()
	expect.Eventually(w, expect.Long, func() error {
		w.clock.Step(time.Minute)
		select {
		case err := <-w.done:
			if !errors.Is(err, incarnation.ErrClusterRestored) {
				w.Errorf("ended with %v", err)
			}
			return nil
		default:
			return errors.New("the watch runs")
		}
	})
	if n, _, err := incarnation.Stored(context.WithoutCancel(w.Context()), w.db, "cluster-uid", ""); err != nil || n.Int64 != want {
		w.Errorf("incarnation %d, %v, want %d", n.Int64, err, want)
	}
}

func TestWatchDetectsLowerClusterVersion(t *testing.T) {
	w := watch(t)
	w.check()
	w.api.cluster.Store(300)
	w.check()
	w.api.cluster.Store(200) // more than when it was settled, less than it was
	w.restored()
}

// The CRD of the first kind is missing at the start, and that of the second one is deleted.
func TestWatchDetectsLowerClusterVersionWithoutAllCRDs(t *testing.T) {
	w := watch(t)
	kinds := w.watch.Kinds.Kinds()
	w.api.unserved.Store(map[string]error{
		kinds[0].Name: &meta.NoKindMatchError{GroupKind: kinds[0].GVK().GroupKind()},
		kinds[1].Name: apierrors.NewNotFound(schema.GroupResource{Resource: kinds[1].Plural}, ""),
	})
	w.check()
	w.api.cluster.Store(99)
	w.restored()
}

func TestClusterVersionFailsWithoutCRDs(t *testing.T) {
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]error{}
	for _, kind := range kinds.Kinds() {
		missing[kind.Name] = &meta.NoKindMatchError{GroupKind: kind.GVK().GroupKind()}
	}
	a := &api{}
	a.unserved.Store(missing)
	if _, err := incarnation.ClusterVersion(t.Context(), a, kinds, nil); err == nil || !strings.Contains(err.Error(), "list models") {
		t.Errorf("got %v, want that the cluster serves no kind", err)
	}
}

// During an outage of the API server the only object that proves the restore cannot be read.
func TestWatchRepeatsFailedObjectCheck(t *testing.T) {
	w := watch(t)
	w.api.cluster.Store(300)
	w.api.object.Store(80)
	w.api.failing.Store(2)
	w.watch.RequestCheck("Project", object, "u")
	w.restored()
	if deadline := w.api.failing.Load(); deadline >= 0 {
		t.Errorf("%d failures are left: the object was not checked again", deadline+1)
	}
}

// The cluster's own version may have passed the old one by then. The object was created many times before.
func TestWatchDetectsObjectBelowRow(t *testing.T) {
	w := watch(t)
	var former []string
	for i := range 1001 {
		former = append(former, fmt.Sprintf("('a-%d', 'v', 'ns', 'n', 1, 1, NOW(6), NOW(6), NOW(6), '', '{}')", i))
	}
	if _, err := w.db.ExecContext(t.Context(), "INSERT INTO project (uid, group_ver, namespace, name, res_version, incarnation, create_time, update_time, delete_time, proto, json) VALUES "+
		strings.Join(former, ", ")); err != nil {
		t.Fatal(err)
	}
	w.api.cluster.Store(100_000)
	w.api.object.Store(89)
	w.watch.RequestCheck("Project", object, "u")
	w.restored()
}

// The row, of a version that the object had, is from a leader whose incarnation is missing in the restored table.
func TestWatchDetectsRowOfHigherIncarnation(t *testing.T) {
	w := watch(t)
	stored{uid: "u", version: 90, incarnation: 3}.store(t, w.db)
	w.api.object.Store(95)
	w.watch.RequestCheck("Project", object, "u")
	w.restoredAs(4)
}

func TestWatchIgnoresStaleObject(t *testing.T) {
	w := watch(t)
	for _, version := range []int64{90, 91} {
		w.api.object.Store(version)
		w.watch.RequestCheck("Project", object, "u")
		w.watch.RequestCheck("Project", types.NamespacedName{Namespace: "ns", Name: "other"}, "other")
		w.check()
	}
	w.check()
	select {
	case err := <-w.done:
		t.Errorf("ended with %v", err)
	default:
	}
}

// fakeStorage is a store that has newer versions of all objects.
type fakeStorage struct{ storage.IngesterStorage }

func (fakeStorage) Upsert(context.Context, runtime.Object, bool, []storage.IndexedField) error {
	return storage.ErrStale
}
func (fakeStorage) Finish(context.Context, runtime.Object) error { return storage.ErrStale }
func (fakeStorage) Evict(context.Context, runtime.Object) error  { return storage.ErrStale }
func (fakeStorage) Reopen(context.Context, runtime.Object) error { return storage.ErrStale }

func TestRejectedStaleObjectsAreChecked(t *testing.T) {
	for name, write := range map[string]func(context.Context, storage.IngesterStorage, runtime.Object) error{
		"upsert": func(ctx context.Context, s storage.IngesterStorage, o runtime.Object) error {
			return s.Upsert(ctx, o, false, nil)
		},
		"finish": func(ctx context.Context, s storage.IngesterStorage, o runtime.Object) error { return s.Finish(ctx, o) },
		"evict":  func(ctx context.Context, s storage.IngesterStorage, o runtime.Object) error { return s.Evict(ctx, o) },
		"reopen": func(ctx context.Context, s storage.IngesterStorage, o runtime.Object) error { return s.Reopen(ctx, o) },
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			w.api.object.Store(80)
			o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name, UID: "u"}}
			if err := write(t.Context(), incarnation.Observed(fakeStorage{}, "Project", w.watch), o); !errors.Is(err, storage.ErrStale) {
				t.Errorf("got %v", err)
			}
			w.restored()
		})
	}
}

func TestConcurrentBumpsBumpOnce(t *testing.T) {
	w := watch(t)
	for range 2 {
		n, err := incarnation.Bump(t.Context(), w.db, w.watch.Kinds, "cluster-uid", 1, time.Unix(1, 0))
		if err != nil || n != 2 {
			t.Errorf("incarnation %d, %v", n, err)
		}
	}
}
