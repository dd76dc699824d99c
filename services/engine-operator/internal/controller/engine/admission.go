package engine

import (
	"context"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// admit checks what admission checks, for clusters without the webhook and for objects
// that were there before it. A rejected spec is shown in the status; nothing is created
// from it, and the generation that serves stays.
//
// Accepted fields without effect produce a warning.
func (c *Reconciler) admit(_ context.Context, p *reconcileState) (steps.Result, error) {
	p.unsupported = validation.Message(validation.EngineUnsupported(p.engine, p.class))
	p.rejected = validation.Message(append(validation.EngineTemplate(p.engine, p.instance), validation.EngineInherited(p.class, p.instance)...))
	p.bounds = validation.Message(validation.EngineBounds(p.engine, p.class, c.Bounds))
	p.ignored = validation.Message(validation.EngineIgnored(p.engine, p.class))
	if p.class != nil {
		if wrong := validation.Class(p.class); len(wrong) > 0 {
			p.noClass = "FireboltEngineClass " + p.class.Name + ": " + validation.Message(wrong)
		}
	}
	return steps.Result{}, nil
}

// admitted reports whether a generation may be created from the spec.
func (p *reconcileState) admitted() bool {
	return p.gate == "" && p.noClass == "" && p.unsupported == "" && p.rejected == "" && p.bounds == ""
}
