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
type emptyCluster struct{ Reader }

func (emptyCluster) Get(context.Context, registry.Kind, contract.Ref) (observe.Object, error) {
	return observe.Object{}, observe.ErrNotFound
}

func (emptyCluster) Drop(contract.Ref) {}

// emptyHistory has no entries.
type emptyHistory struct{ Records }

func (emptyHistory) Load(context.Context, contract.Ref) (*history.Record, error) {
	return &history.Record{}, nil
}

func (emptyHistory) Delete(context.Context, contract.Ref, bool) error { return nil }

// Each resync enqueues the objects of the model. A deleted object stays there until the bus has no observation of it.
func TestResyncRepeatsFailedPurge(t *testing.T) {
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	type purge struct {
		Name string
		UpTo uint64
	}
	var purges []purge
	fails, store := true, model.NewStore()
	r := New(Config{
		Kinds: kinds, Model: store, Reader: emptyCluster{}, History: emptyHistory{}, Permitted: func() bool { return true },
		PurgeTombstone: func(ref contract.Ref, upTo uint64, done func()) error {
			purges = append(purges, purge{ref.Name, upTo})
			if !fails {
				done()
			}
			return nil
		},
		Clock: clocktesting.NewFakePassiveClock(now), Metrics: m,
	})
	ref := contract.Ref{Cluster: "prod", Namespace: "n", Kind: contract.Superset, Name: "a"}
	store.Merge(ref, model.Received{Observation: contract.Observation{Object: contract.Object{UID: "uid"}, Epoch: 1, Seq: 1}, StreamSequence: 7})
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
