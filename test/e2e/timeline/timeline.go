// Package timeline records changes of conditions and phases of resources during a scenario.
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

// Types lists the conditions of every managed resource, in the order of the report.
var Types = []string{"Available", "Progressing", "Degraded", "Upgradable", "Paused", "Stopped"}

// Phase is the type of changes of status.phase.
const Phase = "phase"

// Object identifies a resource.
type Object struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
}

func (o Object) String() string { return fmt.Sprintf("%s %s/%s", o.GVK.Kind, o.Namespace, o.Name) }

// Change is a change of a condition or of the phase.
type Change struct {
	Time   time.Time `json:"time"`
	Object string    `json:"object"`
	Type   string    `json:"type"`
	Status string    `json:"status"` // status of the condition, or the phase; empty: the object was deleted
	Reason string    `json:"reason,omitempty"`
}

// Recorder records changes. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	now     func() time.Time
	changes []Change
	last    map[[2]string]Change
}

// NewRecorder returns an empty recorder.
func NewRecorder(now func() time.Time) *Recorder {
	return &Recorder{now: now, last: map[[2]string]Change{}}
}

// Record records the differences from the last observed state of a resource.
func (r *Recorder) Record(o Object, resource *unstructured.Unstructured) {
	conditions, _, err := unstructured.NestedSlice(resource.Object, "status", "conditions")
	if err != nil {
		conditions = nil // a malformed status has no conditions
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

// RecordDeleted records the deletion of a resource.
func (r *Recorder) RecordDeleted(o Object) {
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

// Changes returns all recorded changes in order.
func (r *Recorder) Changes() []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes)
}

// Track is the history of one condition of one object.
type Track struct {
	Object, Type string
	Changes      []Change
}

// Tracks groups changes into tracks, ordered by the first change of the object, then Phase, then Types.
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

// IsFailure reports whether a status is undesirable.
func (c Change) IsFailure() bool {
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
