// Package createfailure reports why Kubernetes creates no pods for a workload: a quota,
// a LimitRange, a webhook, a service account that does not exist.
//
// A Deployment has a condition for it, see workload.Deployment. For a Job and a StatefulSet
// only events report it. [Finder] reads them from the API server, only for a workload that has
// lacked pods for some seconds, so healthy workloads cost no request.
package createfailure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

// Reason is the reason of the events that report a failed creation.
const Reason = "FailedCreate"

const (
	// GracePeriod is how long a new workload may lack pods before events are read, so that an
	// ordinary creation costs no request.
	GracePeriod = 3 * time.Second
	// Refresh is the lifetime of a cached result.
	Refresh = 10 * time.Second
)

// Finder finds the reason for which pods are not created. It is safe for concurrent use. Its
// state may be lost.
type Finder struct {
	reader client.Reader
	clock  clock.PassiveClock

	mu      sync.Mutex
	results map[types.UID]result
}

type result struct {
	at      time.Time
	message string
}

// New returns a Finder. reader reads from the API server: a cache of events would be large and
// rarely used.
func New(reader client.Reader, c clock.PassiveClock) *Finder {
	return &Finder{reader: reader, clock: c, results: map[types.UID]result{}}
}

// Find returns the reason for which the missing pods of a workload are not created, empty if
// unknown, and the delay before the next call while pods are missing.
func (f *Finder) Find(ctx context.Context, owner client.Object) (message string, requeueAfter time.Duration, err error) {
	now := f.clock.Now()
	if age := now.Sub(owner.GetCreationTimestamp().Time); age < GracePeriod {
		return "", GracePeriod - age, nil
	}
	if a, ok := f.cached(owner.GetUID(), now); ok {
		return a.message, a.at.Add(Refresh).Sub(now), nil
	}
	var list corev1.EventList
	err = f.reader.List(ctx, &list, client.InNamespace(owner.GetNamespace()), client.MatchingFields{
		"involvedObject.uid": string(owner.GetUID()), "reason": Reason,
	})
	if err != nil {
		return "", Refresh, fmt.Errorf("list events of %T %q: %w", owner, owner.GetName(), err)
	}
	a := result{at: now, message: Message(list.Items)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[owner.GetUID()] = a
	return a.message, Refresh, nil
}

// cached returns a cached result that is still valid, and drops all expired ones.
func (f *Finder) cached(uid types.UID, now time.Time) (result, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for other, a := range f.results {
		if now.Sub(a.at) >= Refresh {
			delete(f.results, other)
		}
	}
	a, ok := f.results[uid]
	return a, ok
}

// Message returns the message of the newest event; empty without any.
func Message(events []corev1.Event) string {
	if len(events) == 0 {
		return ""
	}
	newest := slices.MaxFunc(events, func(a, b corev1.Event) int {
		return cmp.Or(lastSeen(&a).Compare(lastSeen(&b)), cmp.Compare(a.Name, b.Name))
	})
	return workload.CreateFailure(newest.Message)
}

func lastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
