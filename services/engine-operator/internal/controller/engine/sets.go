package engine

import (
	"context"
	"fmt"
	"maps"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
)

// sets remembers the StatefulSet of each engine's serving generation as the cache last
// had it: its inputs may differ from what would be rendered now, so nothing else
// shows how to recreate it when it is deleted.
type sets struct {
	mu sync.Mutex
	of map[types.UID]*appsv1.StatefulSet // by engine
}

func newSets() *sets { return &sets{of: map[types.UID]*appsv1.StatefulSet{}} }

// past records what serves, or returns what served and is gone.
func (s *sets) past(e *v1alpha1.FireboltEngine, c observe.Children) map[int64]*appsv1.StatefulSet {
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

func (s *sets) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, uid)
}

// restored is a StatefulSet to create from what another one was.
func restored(was *appsv1.StatefulSet) *appsv1.StatefulSet {
	out := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: was.Name, Namespace: was.Namespace, Labels: maps.Clone(was.Labels), Annotations: maps.Clone(was.Annotations),
		},
		Spec: *was.Spec.DeepCopy(),
	}
	if _, ok := out.Annotations[names.AnnotationRenderingHash]; ok && was.Generation > 1 {
		out.Annotations[names.AnnotationRenderingHash] = editedRendering // it may not be what the hash names
	}
	return out
}

// editedRendering is the rendering hash of a StatefulSet that was changed since it was made.
const editedRendering = "edited"

// relabel gives a StatefulSet the labels back by which its generation is selected.
func (r *Reconciler) relabel(ctx context.Context, s *reconcileState, n int64) error {
	live := s.children.StatefulSets[n]
	after := live.DeepCopy()
	if after.Labels == nil {
		after.Labels = map[string]string{}
	}
	maps.Copy(after.Labels, names.GenerationLabels(s.engine.Name, n))
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, after, patch, client.FieldOwner(names.FieldManager+"-labels")); err != nil {
		return fmt.Errorf("repair labels of statefulset %q: %w", live.Name, err)
	}
	return nil
}
