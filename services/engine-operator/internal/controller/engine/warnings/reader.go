// Package warnings reads the Warning events of a StatefulSet whose pods are missing, ever less often while they do not change.
package warnings

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Reader keeps the latest result for each StatefulSet. A restart may lose it.
type Reader struct {
	events typedcorev1.EventsGetter
	clock  clock.PassiveClock

	mu sync.Mutex
	of map[types.UID]cachedWarning // by engine
}

type cachedWarning struct {
	set       types.UID
	version   string    // resourceVersion of the StatefulSet
	since, at time.Time // the first and the last read that returned the warning
	warning   status.Warning
}

// refreshAt returns when the events of a StatefulSet are read again: at once for another one, soon if it has changed.
func (h cachedWarning) refreshAt(set *appsv1.StatefulSet) time.Time {
	switch {
	case h.set != set.UID:
		return time.Time{}
	case h.version != set.ResourceVersion:
		return h.at.Add(createfailure.Refresh)
	}
	return h.at.Add(createfailure.RefreshAfter(h.at.Sub(h.since)))
}

// isSame reports whether both have the same StatefulSet and the same warning. Each failed attempt changes the message.
func (h cachedWarning) isSame(o cachedWarning) bool {
	return h.set == o.set && h.version == o.version && h.warning.Reason == o.warning.Reason && h.warning.Cause == o.warning.Cause
}

// New returns a Reader of events; the getter reads from the API server.
func New(events typedcorev1.EventsGetter, clk clock.PassiveClock) *Reader {
	return &Reader{events: events, clock: clk, of: map[types.UID]cachedWarning{}}
}

func (r *Reader) last(uid types.UID) cachedWarning {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[uid]
}

func (r *Reader) store(uid types.UID, h cachedWarning) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[uid] = h
}

// Forget drops the result of an engine.
func (r *Reader) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, uid)
}

// Latest returns the newest Warning event of the StatefulSet of an engine, and when to read again. If the events cannot
// be read, it returns the error with the last one that was read.
func (r *Reader) Latest(ctx context.Context, engine types.UID, set *appsv1.StatefulSet) (status.Warning, time.Duration, error) {
	now := r.clock.Now()
	if age := now.Sub(set.CreationTimestamp.Time); age < createfailure.GracePeriod {
		return status.Warning{}, createfailure.GracePeriod - age, nil
	}
	h := r.last(engine)
	if !now.Before(h.refreshAt(set)) {
		found, err := r.list(ctx, set)
		if err != nil {
			if h.set != set.UID {
				h.warning = status.Warning{} // of another generation
			}
			return h.warning, createfailure.Refresh, err
		}
		read := cachedWarning{set: set.UID, version: set.ResourceVersion, since: now, at: now, warning: found}
		if read.isSame(h) {
			read.since = h.since
		}
		h = read
		r.store(engine, h)
	}
	return h.warning, h.refreshAt(set).Sub(now), nil
}

// list reads from the API server instead of a cache: events are many and rarely needed. It reads
// all events of the StatefulSet, since a list is ordered by name and the newest may be last.
func (r *Reader) list(ctx context.Context, set *appsv1.StatefulSet) (status.Warning, error) {
	list, err := r.events.Events(set.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.uid": string(set.UID), "type": corev1.EventTypeWarning}.String(),
	})
	if err != nil {
		return status.Warning{}, err
	}
	return status.WarningOf(set.Name, list.Items), nil
}
