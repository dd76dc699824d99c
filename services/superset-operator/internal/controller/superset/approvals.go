package superset

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// clearApprovals removes the approval annotations of a settled change, so that they cannot approve another one.
func (r *Reconciler) clearApprovals(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if !s.decision.ClearApprovals {
		return steps.Result{}, nil
	}
	annotations := map[string]any{}
	for _, name := range []string{v1alpha1.AnnotationApproveUpgrade, v1alpha1.AnnotationApproveDowngrade} {
		if _, set := s.sup.Annotations[name]; set {
			annotations[name] = nil
		}
	}
	if len(annotations) == 0 {
		return steps.Result{}, nil
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": s.sup.ResourceVersion, "annotations": annotations,
	}})
	if err != nil {
		return steps.Result{}, fmt.Errorf("encode patch of approvals: %w", err)
	}
	target := s.sup.DeepCopy()
	err = r.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, text), client.FieldOwner(names.FieldManager))
	switch {
	case apierrors.IsConflict(err):
		return steps.Result{}, errStale
	case err != nil:
		return steps.Result{}, fmt.Errorf("clear approvals: %w", err)
	}
	s.sup = target
	r.written.Record(s.sup)
	return steps.Result{}, nil
}
