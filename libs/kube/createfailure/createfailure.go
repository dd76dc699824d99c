// Package createfailure reports why Kubernetes creates no pods for a workload: a quota,
// a LimitRange, a webhook, a service account that does not exist.
//
// A Deployment has a condition for it, see workload.Deployment. For a Job and a StatefulSet
// only events report it. [Finder] reads them from the API server, only for a workload that has
// lacked pods for some seconds, so healthy workloads cost no request.
package createfailure

import (
	"context"
	"fmt"
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
	// Refresh is the lifetime of a new result.
	Refresh = 10 * time.Second
	// MaxRefresh is the lifetime of a result that has not changed for long.
	MaxRefresh = 5 * time.Minute
)

// RefreshAfter returns the lifetime of a result that two or more reads in the given time returned: half of that time. So
// thousands of workloads that an exhausted quota rejects cost few requests.
func RefreshAfter(unchanged time.Duration) time.Duration {
	return min(max(unchanged/2, Refresh), MaxRefresh)
}

// Finder finds the reason for which pods are not created. It is safe for concurrent use. Its
// state may be lost.
type Finder struct {
	reader client.Reader
	clock  clock.PassiveClock

	mu      sync.Mutex
	results map[types.UID]result
}

type result struct {
	version   string    // resourceVersion of the workload
	since, at time.Time // the first and the last read that returned it
	message   string
}

// refreshAt returns when the events of a workload are read again: soon if it has changed.
func (r result) refreshAt(version string) time.Time {
	if r.version != version {
		return r.at.Add(Refresh)
	}
	return r.at.Add(RefreshAfter(r.at.Sub(r.since)))
}

// New returns a Finder. reader reads from the API server: a cache of events would be large and
// rarely used.
func New(reader client.Reader, c clock.PassiveClock) *Finder {
	return &Finder{reader: reader, clock: c, results: map[types.UID]result{}}
}

// Find returns the reason for which the missing pods of a workload are not created, empty if
// unknown, and the delay before the next call while pods are missing. With an error, it is the last known reason.
func (f *Finder) Find(ctx context.Context, owner client.Object) (message string, requeueAfter time.Duration, err error) {
	now := f.clock.Now()
	if age := now.Sub(owner.GetCreationTimestamp().Time); age < GracePeriod {
		return "", GracePeriod - age, nil
	}
	version := owner.GetResourceVersion()
	last, found := f.cached(owner.GetUID(), now)
	if wait := last.refreshAt(version).Sub(now); found && wait > 0 {
		return last.message, wait, nil
	}
	var list corev1.EventList
	err = f.reader.List(ctx, &list, client.InNamespace(owner.GetNamespace()), client.MatchingFields{
		"involvedObject.uid": string(owner.GetUID()), "reason": Reason,
	})
	if err != nil {
		return last.message, Refresh, fmt.Errorf("list events of %T %q: %w", owner, owner.GetName(), err)
	}
	a := result{version: version, since: now, at: now, message: Message(list.Items)}
	if found && a.version == last.version && a.message == last.message {
		a.since = last.since
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[owner.GetUID()] = a
	return a.message, a.refreshAt(version).Sub(now), nil
}

// cached returns the last result, and drops those of workloads that no longer lack pods.
func (f *Finder) cached(uid types.UID, now time.Time) (result, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for other, a := range f.results {
		if now.Sub(a.at) >= 2*MaxRefresh {
			delete(f.results, other)
		}
	}
	a, ok := f.results[uid]
	return a, ok
}

// Message returns the message of the newest event; empty without any.
func Message(events []corev1.Event) string {
	newest := workload.NewestEvent(events)
	if newest == nil {
		return ""
	}
	return workload.CreateFailure(newest.Message)
}
