package eventcheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

// flip is a transition of a condition to a status. At is its lastTransitionTime, which has a resolution of seconds.
type flip struct {
	Type, Status string
	At           time.Time
}

// move is a change of lastTransitionTime without a change of the status.
type move struct {
	Type, Status string
	From, To     time.Time
}

// History is the history of one object in the API server.
type History struct {
	Name    string
	flips   []flip
	moves   []move
	phases  map[int64]string // status.transitions by number
	last    map[string]flip  // by type
	deleted bool
}

// Recorder records the history of the objects of a namespace by UID. It is safe for concurrent use.
type Recorder struct {
	mu        sync.Mutex
	histories map[string]*History
	problems  []error
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{histories: map[string]*History{}} }

// record records an object's status. incomplete means that earlier states may have been missed.
func (r *Recorder) record(o *unstructured.Unstructured, incomplete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.histories[string(o.GetUID())]
	if l == nil {
		l = &History{Name: o.GetKind() + " " + o.GetName(), phases: map[int64]string{}, last: map[string]flip{}}
		r.histories[string(o.GetUID())] = l
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		r.problems = append(r.problems, err)
	}
	for _, entry := range conditions {
		c, ok := entry.(map[string]any)
		if !ok || !slices.Contains(timeline.Types, fmt.Sprint(c["type"])) {
			continue
		}
		at, err := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"]))
		if err != nil {
			r.problems = append(r.problems, fmt.Errorf("%s: %w", l.Name, err))
		}
		now := flip{fmt.Sprint(c["type"]), fmt.Sprint(c["status"]), at.UTC()}
		r.problems = append(r.problems, l.transition(now, incomplete))
	}
	transitions, _, err := unstructured.NestedSlice(o.Object, "status", "transitions")
	if err != nil {
		r.problems = append(r.problems, err)
	}
	for _, entry := range transitions {
		if p, ok := entry.(map[string]any); ok {
			if seq, ok := p["seq"].(int64); ok {
				l.phases[seq] = fmt.Sprint(p["to"])
			}
		}
	}
}

// transition adds a flip. It returns an error if lastTransitionTime is earlier than before.
func (l *History) transition(now flip, incomplete bool) error {
	before, known := l.last[now.Type]
	if before == now {
		return nil
	}
	l.last[now.Type] = now
	l.flips = append(l.flips, now)
	switch {
	case known && now.At.Before(before.At):
		return fmt.Errorf("%s: %s is %s since %s, after it was %s since %s", l.Name, now.Type, now.Status, now.At, before.Status, before.At)
	case known && !incomplete && before.Status == now.Status:
		l.moves = append(l.moves, move{now.Type, now.Status, before.At, now.At})
	}
	return nil
}

func (r *Recorder) end(o *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.histories[string(o.GetUID())]; l != nil {
		l.deleted = true
	}
}

// Histories returns the histories by UID, and the errors until now.
func (r *Recorder) Histories() (map[string]History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]History{}
	for uid, l := range r.histories {
		out[uid] = History{l.Name, slices.Clone(l.flips), slices.Clone(l.moves), maps.Clone(l.phases), maps.Clone(l.last), l.deleted}
	}
	return out, errors.Join(r.problems...)
}

// Watch records the changes of all objects of a kind in a namespace until ctx ends.
func (r *Recorder) Watch(ctx context.Context, c client.WithWatch, gvk schema.GroupVersionKind, namespace string) {
	all := timeline.Object{GVK: gvk, Namespace: namespace}
	timeline.Follow(ctx, c, all, func(o *unstructured.Unstructured, deleted, incomplete bool) {
		r.record(o, incomplete)
		if deleted {
			r.end(o)
		}
	})
}

// Changes returns the number of changes of conditions and of phases.
func (l History) Changes() (conditions, phases int) { return len(l.flips), len(l.phases) }
