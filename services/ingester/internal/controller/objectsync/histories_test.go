package objectsync

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

const (
	histories    = 300 // histories
	historySteps = 25  // of a history
)

// TestDeletionHistories generates histories of one object each: updates, marks that come and go,
// deletions with and without our finalizer, and foreign finalizers occur in any order between the
// steps of the real controller on a real database, while its cache is stale, requests fail, and it
// restarts. Some objects begin without our finalizer, and a policy may reject each patch: such an object is stored
// nevertheless. In the end the row must hold the last content that the API server acknowledged. It
// must be closed if a user deleted the object, and evicted otherwise. A closed row is opened only
// while the object exists, and always then: rows are also closed by mistake. The purge deletes a closed
// row while foreign finalizers hold its object, which is not stored again then. Half of the ingesters
// evict the kind without the annotation. The database is restored from older backups at any moment,
// and the real sweep runs in between: it must not close the only copy of an object. The garbage
// collector holds an evicted object for a while. FLOTILLA_SEED
// repeats one history.
func TestDeletionHistories(t *testing.T) {
	db, dsn := dbtest.Migrated(t)
	store := openStore(t, dsn)
	n := histories
	if os.Getenv("FLOTILLA_SEED") != "" {
		n = 1
	}
	for i := range n {
		seed := rand.Uint64() >> 32
		if text := os.Getenv("FLOTILLA_SEED"); text != "" {
			var err error
			if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		h := newHistory(t, db, store, seed, i)
		h.run()
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(h.log, "\n"))
		}
	}
}

func openStore(t *testing.T, dsn string) *mysql.Storage {
	t.Helper()
	store, err := mysql.Open(t.Context(), mysql.Options{DSN: dsn, Outbox: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	store.SetIncarnation(1)
	return store
}

// history is the history of one object.
type history struct {
	*testing.T
	*users
	db         *sql.DB
	store      *faulty
	controller *Reconciler
	key        types.NamespacedName
	uid        string
	delivered  int // versions that the cache has shown
	calm       bool
	closed     bool // the row was closed once
	purged     bool // the closed row was deleted
	*backups
	log []string
}

// newHistory returns the history of a seed.
func newHistory(t *testing.T, db *sql.DB, store storage.IngesterStorage, seed uint64, i int) *history {
	t.Helper()
	h := &history{T: t, db: db, uid: fmt.Sprintf("u-%d", i), key: types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("m-%d", i)}}
	random := rand.New(rand.NewPCG(seed, 2))
	h.users = &users{apiServer: &apiServer{t: t}, rand: random}
	h.fault = func() bool { return !h.calm && random.IntN(10) == 0 }
	evictsKind := seed%2 == 1
	h.store = &faulty{store, h.fault}
	o := dbtest.Model(h.key.Name, h.uid, 1)
	if random.IntN(4) > 0 {
		o.SetFinalizers([]string{api.IngesterFinalizer})
	} else {
		o.SetFinalizers(nil)
	}
	h.commit(o)
	h.acknowledge()
	server := httptest.NewServer(h.apiServer)
	t.Cleanup(server.Close)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	model, _ := kinds.Lookup("Model")
	m, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCachedClient(model, connection{config: &rest.Config{Host: server.URL}, http: server.Client(), clock: clock.RealClock{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.backups = newBackups(h, model)
	h.controller = &Reconciler{
		config: Config{
			Kind: model, Store: h.store, Metrics: m, Checkpoint: h.backups, Clock: clock.RealClock{}, RequeuePeriod: time.Second,
			EvictImmutableKinds: evictsKind, OnDelete: func(string, string) {},
		}, client: c, events: events.NewFakeRecorder(20 * historySteps), backoff: newBackoff(time.Minute),
	}
	return h
}

// run takes steps in any order, and then deletes the object.
func (h *history) run() {
	h.Helper()
	h.deliver(1)
	for range historySteps {
		switch h.rand.IntN(12) {
		case 11:
			h.collectGarbage()
		case 10:
			h.purge()
		case 9:
			h.rejecting = h.rand.IntN(2) == 0
			h.note(fmt.Sprintf("rejecting %t", h.rejecting))
		case 8:
			h.closeRow()
		case 6:
			h.sweep()
		case 7:
			h.backUpOrRestore()
		case 0, 1:
			if h.object != nil {
				h.note(h.act())
			}
		case 2:
			h.deliver(1 + h.rand.IntN(3))
		case 3:
			if h.object != nil && h.rand.IntN(3) == 0 {
				h.restart()
			}
		default:
			h.reconcile()
		}
	}
	h.calm = true
	h.sweep()
	h.accept()
	h.checkRejected()
	for deletions := 0; deletions < 2 && len(h.log) < 10*historySteps; {
		h.deliver(len(h.versions))
		h.reconcile()
		switch {
		case h.object == nil:
			deletions++
		case h.has(metav1.FinalizerOrphanDependents):
			h.collectGarbage()
		case h.has(foreign):
			h.note(h.removeFinalizer(foreign, "remove at the end"))
		case h.object.GetDeletionTimestamp() == nil && !h.controller.config.EvictImmutableKinds &&
			!api.IsSet(h.object.GetAnnotations(), api.ImmutableAnnotation) &&
			!api.IsSet(h.object.GetAnnotations(), api.DeletingAnnotation):
			if row := h.row(); row.closed || row.evicted || row.content != h.content {
				h.Errorf("%s exists with %q, its row is %+v", h.uid, h.content, row)
			}
			h.note("delete at the end")
			h.deleted = true
			h.remove()
		}
	}
	h.check()
}

func (h *history) note(what string) {
	h.log = append(h.log, fmt.Sprintf("%-18s version %d", what, h.version))
}

// deliver delivers up to n further versions to the cache.
func (h *history) deliver(n int) {
	h.Helper()
	informer := h.controller.client.informers[""]
	for ; n > 0 && h.delivered < len(h.versions); n-- {
		v := h.versions[h.delivered]
		h.delivered++
		o, err := object.Parse(slices.Clone(v.json), api.DeletingAnnotation, api.ImmutableAnnotation)
		if err != nil {
			h.Fatal(err)
		}
		if !v.deleted {
			err = informer.GetStore().Update(o)
		} else if err = informer.GetStore().Delete(o); err == nil {
			h.controller.last.predicate().Delete(event.DeleteEvent{Object: o})
		}
		if err != nil {
			h.Fatal(err)
		}
		h.log = append(h.log, fmt.Sprintf("%-18s version %s", "seen", o.ResourceVersion))
	}
}

// restart begins with a fresh list.
func (h *history) restart() {
	h.Helper()
	h.note("restart")
	h.delivered = len(h.versions) - 1
	h.deliver(1)
	h.controller.last = lastStates{}
}

func (h *history) reconcile() {
	h.Helper()
	lives := h.lives()
	result, err := h.controller.Reconcile(h.Context(), ctrl.Request{NamespacedName: h.key})
	row := h.row()
	h.log = append(h.log, fmt.Sprintf("%-18s version %d, %v %v, row %+v", "reconciled", h.version, result, err, row))
	h.checkPurged(row)
	h.unseen = h.unseen && (err != nil || h.object == nil)
	if h.closed && !row.closed && !lives {
		h.Errorf("the closed row of %s is live again", h.uid)
	}
	h.closed = row.closed
}
