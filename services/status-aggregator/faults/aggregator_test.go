package faults

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/controller/object"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/lease"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

var errUnavailable = errors.New("not reached")

const settle = 5 * time.Second

// aggregator is one process: the real components, wired like in package app.
type aggregator struct {
	w    *simulation
	name string
	// staleLeader marks a process that was paused between its last permission check and its writes.
	staleLeader bool

	model    *model.Store
	liveness *liveness.Tracker
	watchdog *liveness.Watchdog
	control  *object.Reconciler
	records  *records
	cache    map[string]*unstructured.Unstructured
	due      map[contract.Ref]time.Time

	observations, heartbeats reader
	from                     uint64 // sequence of the observation stream at the start of its session
	read                     uint64 // last sequence read
	heartbeat                uint64
	renewed                  time.Time // last renewal of the Lease by this process
	lastStep                 time.Time // last time that the process ran
	held                     bool
}

func newAggregator(w *simulation, name string, m *metrics.Metrics) *aggregator {
	a := &aggregator{
		w: w, name: name, model: model.NewStore(), liveness: liveness.NewTracker(settle, liveness.DefaultInactivity, observerName),
		cache: maps.Clone(w.objects), due: map[contract.Ref]time.Time{},
	}
	a.records = &records{w: w, known: map[contract.Ref]*history.Record{}, forgotten: map[contract.Ref]*history.Record{}}
	a.watchdog = liveness.NewWatchdog(a.liveness, a.missedHeartbeat, nil, func(string, liveness.State) { a.enqueueAll() })
	a.control = object.New(object.Config{
		Kinds: w.kinds, Model: a.model, Liveness: a.liveness, Reader: a, History: a.records, Writer: a,
		Permitted:      func() bool { return a.staleLeader || a.isCaughtUp() && a.holds() },
		PurgeTombstone: a.purge,
		Clock:          w.clock, Metrics: m,
	})
	return a
}

func newMetrics() (*metrics.Metrics, error) { return metrics.New(prometheus.NewRegistry()) }

func (a *aggregator) tick(ctx context.Context) {
	if a.w.now().Sub(a.lastStep) >= 10*time.Second { // package lease detects the stall
		a.renewed, a.held = time.Time{}, false
	}
	a.lastStep = a.w.now()
	a.watch()
	a.listen()
	a.watchdog.Step(ctx, a.w.now())
	a.renew()
	for _, r := range slices.SortedFunc(maps.Keys(a.due), func(x, y contract.Ref) int { return strings.Compare(x.Name, y.Name) }) {
		if a.w.now().Before(a.due[r]) {
			continue
		}
		delete(a.due, r)
		result, err := a.control.Reconcile(ctx, r)
		switch {
		case err != nil:
			a.at(r, time.Second)
		case result.RequeueAfter > 0:
			a.at(r, result.RequeueAfter)
		}
	}
}

// resume lets a paused process continue before it learns that it
// was replaced: with its outdated state, and only the guards of the writes protect
// the objects.
func (a *aggregator) resume(ctx context.Context) {
	a.staleLeader = true
	for _, name := range names {
		if _, err := a.control.Reconcile(ctx, ref(name)); err != nil && !errors.Is(err, errUnavailable) && !errors.Is(err, history.ErrConflict) {
			a.w.reportViolation("reconcile of a process that was paused: %v", err)
		}
	}
}

// at schedules a reconcile; an earlier scheduled one is kept.
func (a *aggregator) at(r contract.Ref, after time.Duration) {
	at := a.w.now().Add(after)
	if planned, ok := a.due[r]; !ok || at.Before(planned) {
		a.due[r] = at
	}
}

func (a *aggregator) enqueueAll() {
	for name := range a.cache {
		a.at(ref(name), object.Debounce)
	}
	for r := range a.w.bucket {
		a.at(r, object.Debounce)
	}
	for _, r := range a.model.Refs() {
		a.at(r, object.Debounce)
	}
}

// watch delivers some of the pending changes to the cache.
func (a *aggregator) watch() {
	for _, name := range names {
		live := a.w.objects[name]
		if live == a.cache[name] || !a.w.chance(60) {
			continue
		}
		if live == nil {
			delete(a.cache, name)
		} else {
			a.cache[name] = live
		}
		a.at(ref(name), object.Debounce)
	}
}

// missedHeartbeat is the watchdog's probe of the stream.
func (a *aggregator) missedHeartbeat(context.Context, string) (bool, error) {
	if !a.w.busUp {
		return false, errUnavailable
	}
	return a.w.heartbeat.sequence > a.heartbeat, nil
}

// renew renews the Lease like package lease.
func (a *aggregator) renew() {
	if !a.isCaughtUp() {
		a.renewed = time.Time{}
	} else if a.w.apiUp && (a.renewed.IsZero() || a.w.now().Sub(a.renewed) >= lease.RenewEvery) {
		a.renewed = a.w.now()
		a.w.lease.holder, a.w.lease.renewed = a.name, a.w.now()
	}
	if held := a.holds(); held != a.held {
		a.held = held
		if held {
			a.liveness.SetDisconnected()
			a.model.Retained()
			a.liveness.SetConnected(a.w.now())
			a.control.ResetGrace()
			a.enqueueAll()
		}
	}
}

func (a *aggregator) holds() bool {
	return !a.renewed.IsZero() && a.w.now().Sub(a.renewed) < lease.Duration-5*time.Second
}

func (a *aggregator) purge(r contract.Ref, upTo model.Position, done func()) error {
	if !a.w.busUp || a.observations.streamGeneration != a.w.streamGeneration {
		return nil // a resync repeats it
	}
	if m, ok := a.w.last[r.Name]; ok && m.sequence <= upTo.Sequence {
		delete(a.w.last, r.Name)
	}
	done()
	return nil
}
