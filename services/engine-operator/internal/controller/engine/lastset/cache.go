// Package lastset keeps the serving StatefulSet of each engine, to recreate it after a deletion.
package lastset

import (
	"maps"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
)

// Cache records the StatefulSet of each engine's serving generation as last seen in the
// informer cache. Its inputs may differ from the current rendering, so no other
// source can recreate it after a deletion.
type Cache struct {
	mu sync.Mutex
	of map[types.UID]*appsv1.StatefulSet // by engine
}

// New returns an empty Cache.
func New() *Cache { return &Cache{of: map[types.UID]*appsv1.StatefulSet{}} }

// LastVersions records the serving StatefulSet, or returns the recorded one if it was deleted.
func (s *Cache) LastVersions(e *v1alpha1.FireboltEngine, c observe.Children) map[int64]*appsv1.StatefulSet {
	n := engine.StateOf(e.Status).Active
	s.mu.Lock()
	defer s.mu.Unlock()
	if set := c.StatefulSets[n]; set != nil {
		s.of[e.UID] = set
		return nil
	}
	set := s.of[e.UID]
	if set == nil || set.Name != names.Generation(e.Name, n) {
		delete(s.of, e.UID)
		return nil
	}
	return map[int64]*appsv1.StatefulSet{n: set}
}

// Forget drops the StatefulSet of an engine.
func (s *Cache) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, uid)
}

// NewFrom returns a StatefulSet to create from a deleted one.
func NewFrom(deleted *appsv1.StatefulSet) *appsv1.StatefulSet {
	out := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: deleted.Name, Namespace: deleted.Namespace, Labels: maps.Clone(deleted.Labels), Annotations: maps.Clone(deleted.Annotations),
		},
		Spec: *deleted.Spec.DeepCopy(),
	}
	if _, ok := out.Annotations[names.AnnotationRenderingHash]; ok && deleted.Generation > 1 {
		out.Annotations[names.AnnotationRenderingHash] = editedRendering // the content may not match its hash
	}
	return out
}

// editedRendering is the rendering hash of a StatefulSet that was changed after its creation.
const editedRendering = "edited"
