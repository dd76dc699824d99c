package instance

import (
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// pass is the state that the steps of one reconcile share.
type pass struct {
	instance *v1.FireboltInstance
	stale    bool // the API server has a newer version of it
	engines  v1.FireboltEngineList
	// gone: there is nothing to record any more. observed: what exists has been looked at.
	// judged: the whole of the spec has been dealt with, if only by refusing it.
	// waits: something could not be applied yet, though nothing is wrong.
	gone, observed, judged, waits bool

	metadata, gateway status.Component
	database          *appsv1.StatefulSet
	databaseReplicas  int32
	databaseFailure   string // why its pod cannot be created

	// trouble is of the whole instance; errs are of single components, none of which keeps
	// the others from being served.
	trouble *status.Trouble
	errs    []error
}

// conclude says what the end of the steps means for the status.
func (p *pass) conclude(result steps.Result, err error) {
	switch {
	case err != nil && p.trouble == nil:
		p.trouble = &status.Trouble{Reason: v1.ReasonEnsureFailed, Message: err.Error()}
	case err == nil && !result.Stop:
		p.judged = true
	}
}

// outcome is what the status is made from. The message of an error that is of no single
// component is the trouble of all.
func (p *pass) outcome(failure error) status.Instance {
	troubled := p.trouble != nil && p.trouble.Reason != v1.ReasonDeletionBlocked
	return status.Instance{
		Object: p.instance, Metadata: p.metadata, Gateway: p.gateway,
		Database: p.database, DatabaseReplicas: p.databaseReplicas, DatabaseFailure: p.databaseFailure,
		Trouble: p.trouble, Judged: p.judged,
		Applied: p.judged && !p.waits && failure == nil && !troubled && p.metadata.Trouble == nil && p.gateway.Trouble == nil,
	}
}

// refused records what the API server said against an object that a component needs, and
// returns when to try again. What it calls invalid stays invalid until somebody changes
// the spec, or a policy: that is no error of the pass, and tried again slowly.
func (p *pass) refused(c *status.Component, reason string, err error) steps.Result {
	switch {
	case errors.Is(err, apply.ErrBeingDeleted):
		p.waits = true
		return steps.Result{Requeue: retryTrouble}
	case isStale(err):
		p.errs = append(p.errs, err)
		return steps.Result{}
	case apierrors.IsInvalid(err):
		return p.troubled(c, status.Trouble{Reason: reason, Message: err.Error(), Terminal: true}, retryTerminal)
	}
	p.errs = append(p.errs, err)
	return p.troubled(c, status.Trouble{Reason: reason, Message: err.Error()}, 0)
}

// troubled records why a component is not what it should be. The other components go on.
func (*pass) troubled(c *status.Component, t status.Trouble, again time.Duration) steps.Result {
	c.Trouble = &t
	return steps.Result{Requeue: again}
}
