package instance

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/volume"
)

// mayLoseVolume reports whether the StatefulSet of the own database is about to be deleted, or is not yet applied by
// this operator, whose own ones retain the volume from the start.
func mayLoseVolume(s *reconcileState) bool {
	return s.database != nil && (s.database.Annotations[names.AnnotationRenderingHash] == "" ||
		s.instance.DeletionTimestamp != nil || s.instance.Spec.Metadata.Postgres != nil)
}

// retainVolume makes the volume of the own database outlive its StatefulSet. Neither a pause nor an invalid spec prevents
// that: until then, the data is deleted with the StatefulSet. While it fails, this operator does not delete it.
func (r *Reconciler) retainVolume(ctx context.Context, s *reconcileState) (steps.Result, error) {
	database := s.database.DeepCopy()
	retained, err := volume.Retain(ctx, r.APIReader, r.patchOwned, s.instance.Name, database)
	s.volumeAtRisk = !retained
	if err = client.IgnoreNotFound(err); err != nil { // the next reconcile no longer sees a deleted object
		return s.handleApplyError(&s.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
	}
	s.database = database
	if retained {
		return steps.Result{}, nil
	}
	return steps.Result{Requeue: requeueVolume}, nil
}

func (r *Reconciler) patchOwned(ctx context.Context, o client.Object, patch client.Patch) error {
	return r.Client.Patch(ctx, o, patch, client.FieldOwner(names.FieldManager))
}
