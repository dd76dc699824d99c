package standalone

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// view is a Lease as a reader returns it. The tests check the decisions of the LeaseWatcher
// second by second, without an API server.
type view struct {
	client.Reader
	renewed int // 0 means not found, negative a failed read
}

var errUnavailable = errors.New("connection refused")

func (v *view) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch {
	case v.renewed < 0:
		return errUnavailable
	case v.renewed == 0:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "flotilla-conditions")
	}
	lease, ok := obj.(*coordinationv1.Lease)
	if !ok {
		return errUnavailable
	}
	lease.Spec.HolderIdentity = new("aggregator-0")
	// The writer's clock is decades behind ours.
	lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Unix(int64(v.renewed), 0)))
	return nil
}

// leaseCheck is one check in the history of a Lease.
type leaseCheck struct {
	at           int // seconds
	cached       int // state in the watch: the second of the last renewal, 0 none, -1 unreadable
	live         int // state in the API server
	viaAPIReader bool
	must         bool
	next         time.Duration
}

func TestCheckConfirmsStaleLeaseByLocalClock(t *testing.T) {
	const s = time.Second
	tests := map[string][]leaseCheck{
		"a lease that is renewed is never stale": {
			{at: 0, cached: 1, must: false, next: 30 * s},
			{at: 29, cached: 2, must: false, next: 30 * s},
			{at: 58, cached: 3, must: false, next: 30 * s},
		},
		"a lease that is not renewed is stale after exactly 30 s": {
			{at: 0, cached: 1, must: false, next: 30 * s},
			{at: 29, cached: 1, must: false, next: 1 * s},
			{at: 30, live: 1, viaAPIReader: true, must: true},
		},
		"a lease that is stale in the watch is confirmed first": {
			{at: 0, cached: 1, must: false, next: 30 * s},
			{at: 30, cached: 1, must: false, next: time.Nanosecond},
			{at: 30, live: 1, viaAPIReader: true, must: true},
		},
		"a renewal that the watch has missed counts": {
			{at: 0, cached: 1, must: false, next: 30 * s},
			{at: 30, live: 2, viaAPIReader: true, must: false, next: 30 * s},
		},
		"an unavailable API server is not a dead aggregator": {
			{at: 0, cached: 1, must: false, next: 30 * s},
			{at: 30, live: -1, viaAPIReader: true, must: false, next: retryAfter},
			{at: 600, live: -1, viaAPIReader: true, must: false, next: retryAfter},
			{at: 601, live: 2, viaAPIReader: true, must: false, next: 30 * s},
		},
		"an unavailable API server changes nothing for the current writer": {
			{at: 0, cached: 0, must: true},
			{at: 30, live: -1, viaAPIReader: true, must: true, next: retryAfter},
		},
		"a lease that is renewed again ends the writes": {
			{at: 0, cached: 0, must: true},
			{at: 1, cached: 1, must: false, next: 30 * s},
			{at: 2, cached: 0, must: true},
			{at: 3, cached: 1, must: false, next: 30 * s},
		},
	}
	for name, checks := range tests {
		t.Run(name, func(t *testing.T) { runChecks(t, checks) })
	}
}

// runChecks runs the checks of one LeaseWatcher.
func runChecks(t *testing.T, checks []leaseCheck) {
	t.Helper()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clk := clocktesting.NewFakeClock(start)
	cached, live := &view{}, &view{}
	g := &LeaseWatcher{apiReader: live, clock: clk, log: logr.Discard()}
	var seen observedLease
	for i, c := range checks {
		clk.SetTime(start.Add(time.Duration(c.at) * time.Second))
		cached.renewed, live.renewed = c.cached, c.live
		reader := client.Reader(cached)
		if c.viaAPIReader {
			reader = live
		}
		next := g.check(t.Context(), reader, &seen)
		if next != c.next || g.ShouldWrite() != c.must {
			t.Errorf("step %d at %d s: ShouldWrite %v, next check after %v; want %v, %v", i, c.at, g.ShouldWrite(), next, c.must, c.next)
		}
	}
}
