package instance

import (
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// reconcileState is the state that the steps of one reconcile share.
type reconcileState struct {
	instance *v1alpha1.FireboltInstance
	stale    bool // the API server has a newer version of it
	engines  v1alpha1.FireboltEngineList
	// deleted: the finalizer was removed, so no status is written. observed: the existing objects were read.
	// evaluated: the whole spec was processed or rejected.
	// pending: an object could not be applied yet, without a failure.
	// volumeAtRisk: the volume of the own database may not outlive its StatefulSet, which therefore is not deleted.
	deleted, observed, evaluated, pending, volumeAtRisk bool

	metadata, gateway status.Component
	database          *appsv1.StatefulSet
	databaseReplicas  int32
	databaseFailure   string       // why its pod cannot be created
	databasePods      []corev1.Pod // nil while it lacks none

	// The failure of the whole instance, and the errors of single components, none of which
	// blocks the others.
	failure *status.Failure
	errs    []error
}

// finish records the result of the steps for the status.
func (s *reconcileState) finish(result steps.Result, err error) {
	switch {
	case err != nil && s.failure == nil:
		s.failure = &status.Failure{Reason: v1alpha1.ReasonEnsureFailed, Message: err.Error()}
	case err == nil && !result.Stop:
		s.evaluated = true
	}
}

// outcome collects the input of the status. An error that belongs to no single component
// is the failure of the instance.
func (s *reconcileState) outcome(failure error) status.Instance {
	failed := s.failure != nil && s.failure.Reason != v1alpha1.ReasonDeletionBlocked
	return status.Instance{
		Object: s.instance, Metadata: s.metadata, Gateway: s.gateway,
		Database: s.database, DatabaseReplicas: s.databaseReplicas, DatabaseFailure: s.databaseFailure, DatabasePods: s.databasePods,
		Failure: s.failure, Evaluated: s.evaluated,
		Applied: s.evaluated && !s.pending && failure == nil && !failed && s.metadata.Failure == nil && s.gateway.Failure == nil,
	}
}

// handleApplyError records why the API server rejected an object of a component, and returns
// the delay of the retry. An invalid object stays invalid until the spec or a policy
// changes: this is not an error of the reconcile, and it is retried slowly.
func (s *reconcileState) handleApplyError(c *status.Component, reason string, err error) steps.Result {
	switch {
	case errors.Is(err, apply.ErrBeingDeleted), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		s.pending = true
		return steps.Result{Requeue: requeueFailure}
	case isStale(err):
		s.errs = append(s.errs, err)
		return steps.Result{}
	case apierrors.IsInvalid(err):
		return s.setFailure(c, status.NewApplyFailure(reason, err), requeueTerminal)
	}
	s.errs = append(s.errs, err)
	return s.setFailure(c, status.NewApplyFailure(reason, err), 0)
}

// setFailure records why a component is not in its desired state. The others are still reconciled.
func (*reconcileState) setFailure(c *status.Component, t status.Failure, requeueAfter time.Duration) steps.Result {
	c.Failure = &t
	return steps.Result{Requeue: requeueAfter}
}
