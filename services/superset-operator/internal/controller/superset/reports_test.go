package superset_test

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset"
)

// reports keeps the last observation of each object and forwards all calls.
type reports struct {
	watcher *standalone.LeaseWatcher
	bus     *bus.ObservationPublisher
	next    superset.Reporter
	mu      sync.Mutex
	last    map[string]contract.Observation
}

func (r *reports) Report(ctx context.Context, cr client.Object, o contract.Observation) (time.Duration, error) {
	r.mu.Lock()
	if r.last == nil {
		r.last = map[string]contract.Observation{}
	}
	r.last[o.Object.Name] = o
	r.mu.Unlock()
	return r.next.Report(ctx, cr, o)
}

func (r *reports) Delete(object contract.Object) { r.next.Delete(object) }

func (r *reports) lastOf(name string) contract.Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[name]
}
