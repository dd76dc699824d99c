package engine

import (
	"context"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/admit"
)

// admit checks what admission checks, for clusters without the webhook and for objects
// that were there before it. What is refused is shown; nothing is made of it, and the
// generation that serves goes on.
//
// What is accepted and not used is a warning.
func (c *Controller) admit(_ context.Context, p *pass) (steps.Result, error) {
	p.unsupported = admit.Message(admit.EngineUnsupported(p.engine, p.class))
	p.rejected = admit.Message(append(admit.EngineTemplate(p.engine, p.instance), admit.EngineInherited(p.class, p.instance)...))
	p.bounds = admit.Message(admit.EngineBounds(p.engine, p.class, c.Bounds))
	p.ignored = admit.Message(admit.EngineIgnored(p.engine, p.class))
	if p.class != nil {
		if wrong := admit.Class(p.class); len(wrong) > 0 {
			p.noClass = "FireboltEngineClass " + p.class.Name + ": " + admit.Message(wrong)
		}
	}
	return steps.Result{}, nil
}

// admitted says whether a generation may be made from the spec.
func (p *pass) admitted() bool {
	return p.gate == "" && p.noClass == "" && p.unsupported == "" && p.rejected == "" && p.bounds == ""
}
