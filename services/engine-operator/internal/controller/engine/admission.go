package engine

import (
	"context"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// admit validates like the admission webhook, for clusters without the webhook and for objects
// that are older than it. The status reports a rejected spec; nothing is created
// from it, and the serving generation stays.
//
// Accepted fields without effect produce a warning.
func (r *Reconciler) admit(_ context.Context, s *reconcileState) (steps.Result, error) {
	s.unsupported = validation.Message(validation.EngineUnsupported(s.engine, s.class))
	s.rejected = validation.Message(slices.Concat(validation.EngineTemplate(s.engine, s.instance),
		validation.EngineInherited(s.class, s.instance), validation.EngineMerged(s.engine, s.class)))
	s.bounds = validation.Message(append(validation.EngineReplicas(s.engine), validation.EngineBounds(s.engine, s.class, r.Bounds)...))
	s.ignored = validation.Message(validation.EngineIgnored(s.engine, s.class))
	if s.class != nil {
		if errs := validation.Class(s.class); len(errs) > 0 {
			s.classError = status.ClassRejected(s.class.Name, validation.Message(errs))
		}
	}
	return steps.Result{}, nil
}

// admitted reports whether a generation may be created from the spec.
func (s *reconcileState) admitted() bool {
	return s.instanceError == "" && s.classError == "" && s.unsupported == "" && s.rejected == "" && s.bounds == ""
}
