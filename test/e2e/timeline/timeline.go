// Package timeline notes how the conditions of resources change while a scenario runs.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Types are the conditions that every managed resource has, in the order in which they are shown.
var Types = []string{"Available", "Progressing", "Degraded", "Upgradable", "Paused", "Stopped"}

// Phase is the type under which changes of status.phase are noted.
const Phase = "phase"

// Object names a resource.
type Object struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
}

func (o Object) String() string { return fmt.Sprintf("%s %s/%s", o.GVK.Kind, o.Namespace, o.Name) }

// Change is a condition, or the phase, that became something else.
type Change struct {
	Time   time.Time `json:"time"`
	Object string    `json:"object"`
	Type   string    `json:"type"`
	Status string    `json:"status"` // of the phase: its name; empty once the object is gone
	Reason string    `json:"reason,omitempty"`
}

// Recorder keeps changes. It is safe for use by several watches.
type Recorder struct {
	mu      sync.Mutex
	now     func() time.Time
	changes []Change
	last    map[[2]string]Change
}

// NewRecorder has seen nothing yet.
func NewRecorder(now func() time.Time) *Recorder {
	return &Recorder{now: now, last: map[[2]string]Change{}}
}

// See notes what is different from what was seen before.
func (r *Recorder) See(o Object, resource *unstructured.Unstructured) {
	conditions, _, err := unstructured.NestedSlice(resource.Object, "status", "conditions")
	if err != nil {
		conditions = nil // a status of another shape has no conditions to note
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, entry := range conditions {
		c, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		conditionType, status, reason := text(c["type"]), text(c["status"]), text(c["reason"])
		if slices.Contains(Types, conditionType) {
			r.note(Change{Object: o.String(), Type: conditionType, Status: status, Reason: reason})
		}
	}
	if phase, _, err := unstructured.NestedString(resource.Object, "status", "phase"); err == nil && phase != "" {
		r.note(Change{Object: o.String(), Type: Phase, Status: phase})
	}
}

// Gone notes that a resource does not exist any more.
func (r *Recorder) Gone(o Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conditionType := range append(slices.Clone(Types), Phase) {
		if r.last[[2]string{o.String(), conditionType}].Status != "" {
			r.note(Change{Object: o.String(), Type: conditionType})
		}
	}
}

func (r *Recorder) note(c Change) {
	key := [2]string{c.Object, c.Type}
	before := r.last[key]
	if before.Status == c.Status && before.Reason == c.Reason {
		return
	}
	c.Time = r.now()
	r.last[key] = c
	r.changes = append(r.changes, c)
}

// Changes returns what was noted, in order.
func (r *Recorder) Changes() []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes)
}

// Track is one condition of one object through time.
type Track struct {
	Object, Type string
	Changes      []Change
}

// Tracks sorts changes into tracks: by object as they first appear, then in the order of Types, the phase first.
func Tracks(changes []Change) []Track {
	var objects []string
	byKey := map[[2]string][]Change{}
	for _, c := range changes {
		if !slices.Contains(objects, c.Object) {
			objects = append(objects, c.Object)
		}
		key := [2]string{c.Object, c.Type}
		byKey[key] = append(byKey[key], c)
	}
	var out []Track
	for _, object := range objects {
		for _, conditionType := range append([]string{Phase}, Types...) {
			if list := byKey[[2]string{object, conditionType}]; len(list) > 0 {
				slices.SortStableFunc(list, func(a, b Change) int { return cmp.Compare(a.Time.UnixNano(), b.Time.UnixNano()) })
				out = append(out, Track{Object: object, Type: conditionType, Changes: list})
			}
		}
	}
	return out
}

// Bad reports whether a status is undesirable.
func (c Change) Bad() bool {
	switch c.Type {
	case "Available":
		return c.Status != string(metav1.ConditionTrue) && c.Status != ""
	case "Degraded":
		return c.Status == string(metav1.ConditionTrue)
	}
	return c.Status == string(metav1.ConditionUnknown)
}

func text(v any) string {
	s, ok := v.(string)
	if !ok {
		return ""
	}
	return s
}
