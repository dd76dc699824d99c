package engine

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// adopt annotates the StatefulSet of an earlier operator that matches the spec. Later, a
// change of the spec can be distinguished from another operator's rendering of the same spec.
// The patch sets one annotation and requires the compared resource version; the pod template
// is not changed.
func (r *Reconciler) adopt(ctx context.Context, s *reconcileState) (steps.Result, error) {
	n := s.plan.Next.Current
	live := s.children.StatefulSets[n].DeepCopy()
	if s.desired == nil || live == nil || status.Intent(s.engine).Paused || s.snapshot.Generations[n].Match != engine.Same {
		return steps.Result{}, nil
	}
	value := render.Adoption(*s.desired, live)
	if value == "" {
		return steps.Result{}, nil
	}
	err := mutationcache.Patch(ctx, r.Client, live, func(set *appsv1.StatefulSet) {
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, names.AnnotationAdopted, value)
	}, client.FieldOwner(names.FieldManager+"-adoption"))
	if err != nil {
		return steps.Result{}, fmt.Errorf("adopt statefulset %q: %w", live.Name, err)
	}
	s.children.StatefulSets[n] = live
	return steps.Result{}, nil
}
