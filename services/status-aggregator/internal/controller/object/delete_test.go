package object

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// emptyCluster has no objects.
type emptyCluster struct {
	Reader
	onGet func()
}

func (c emptyCluster) Get(context.Context, registry.Kind, contract.Ref) (observe.Object, error) {
	if c.onGet != nil {
		c.onGet()
	}
	return observe.Object{}, observe.ErrNotFound
}

func (emptyCluster) Drop(contract.Ref) {}

// emptyHistory has no entries.
type emptyHistory struct{ Records }

func (emptyHistory) Load(context.Context, contract.Ref) (*history.Record, error) {
	return &history.Record{}, nil
}

func (emptyHistory) Delete(context.Context, contract.Ref, bool) error { return nil }

// newDeleteReconciler returns a reconciler of a cluster without objects.
func newDeleteReconciler(t *testing.T, store *model.Store, cluster emptyCluster, purge func(contract.Ref, model.Position, func())) *Reconciler {
	t.Helper()
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Kinds: kinds, Model: store, Reader: cluster, History: emptyHistory{}, Permitted: func() bool { return true },
		PurgeTombstone: func(ref contract.Ref, upTo model.Position, done func()) error {
			purge(ref, upTo, done)
			return nil
		},
		Clock: clocktesting.NewFakePassiveClock(now), Metrics: m,
	})
}

var deletedRef = contract.Ref{Cluster: "prod", Namespace: "n", Kind: contract.Superset, Name: "a"}

func receivedAt(uid string, sequence uint64) model.Received {
	return model.Received{Observation: contract.Observation{Object: contract.Object{UID: uid}, Epoch: 1, Seq: 1}, StreamSequence: sequence}
}

// Each resync enqueues the objects of the model. A deleted object stays there until the bus has no observation of it.
func TestResyncRepeatsFailedPurge(t *testing.T) {
	type purge struct {
		Name string
		UpTo uint64
	}
	var purges []purge
	fails, store := true, model.NewStore()
	r := newDeleteReconciler(t, store, emptyCluster{}, func(ref contract.Ref, upTo model.Position, done func()) {
		purges = append(purges, purge{ref.Name, upTo.Sequence})
		if !fails {
			done()
		}
	})
	store.Merge(deletedRef, receivedAt("uid", 7))
	resync := func() {
		t.Helper()
		for _, ref := range store.Refs() {
			if _, err := r.Reconcile(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
		}
	}
	resync()
	fails = false
	resync()
	resync()
	if diff := cmp.Diff([]purge{{"a", 7}, {"a", 7}}, purges); diff != "" {
		t.Errorf("purges (-want +got):\n%s", diff)
	}
	if n := store.Len(); n != 0 {
		t.Errorf("the model has %d objects after the purge, want none", n)
	}
}

// The stream is re-created while the API server is queried: the position that was read before names other messages now.
func TestDeletionKeepsObservationsOfNewStream(t *testing.T) {
	store := model.NewStore()
	cluster := emptyCluster{onGet: func() {
		store.StreamRecreated()
		store.Merge(deletedRef, receivedAt("successor", 3))
	}}
	r := newDeleteReconciler(t, store, cluster, func(_ contract.Ref, upTo model.Position, done func()) {
		if store.IsCurrent(upTo) {
			t.Errorf("position %v, which was read before, belongs to the new stream", upTo)
		}
		done()
	})
	store.Merge(deletedRef, receivedAt("uid", 7))
	if _, err := r.Reconcile(t.Context(), deletedRef); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := store.Get(deletedRef).Pick("successor", nil); !ok {
		t.Error("the observation of the successor was dropped")
	}
}
