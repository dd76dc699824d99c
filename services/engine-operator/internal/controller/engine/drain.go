package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// checkDrain tells what is known of the queries of the draining generation. It never
// waits for a pod: looks happen in the background, and wake the engine when they end.
func (c *Controller) checkDrain(ctx context.Context, p *pass) (steps.Result, error) {
	d := resolve.DrainOf(p.engine, p.class)
	p.drain = engine.Drain{Skip: d.Skip, Every: d.Interval}
	old := p.plan.Next.Draining
	if p.engine.Status.Phase != v1.PhaseDraining || old == engine.None || d.Skip || status.Intent(p.engine).Paused {
		c.drains.Forget(p.engine.UID)
		return steps.Result{}, nil
	}
	verdict := c.drains.Look(drain.Query{
		Engine: client.ObjectKeyFromObject(p.engine), UID: p.engine.UID, Generation: old,
		Mode: scrapeMode(p.instance), Pods: p.children.Pods[old],
		Switched: switchedAt(p.engine.Status.Transitions), Interval: d.Interval,
	})
	c.tell(ctx, p, verdict)
	p.drain.Drained = verdict.Drained
	if verdict.Trouble != "" {
		p.drainTrouble = fmt.Sprintf("Generation %d cannot be asked for its queries (%s); it is kept until it can, until its drain timeout ends, or until rollout is recreate.",
			old, verdict.Trouble)
	}
	if !verdict.Looked { // after a restart, what was found before stands until somebody has looked
		if was := meta.FindStatusCondition(p.engine.Status.Conditions, v1.ConditionReady); was != nil && was.Reason == v1.ReasonDrainCheckFailing {
			p.drainTrouble = was.Message
		}
	}
	if verdict.Drained {
		return steps.Result{}, nil
	}
	var left time.Duration
	p.drain.Expired, left = expired(verdict.Switched, d.Timeout, c.Clock.Now())
	return steps.Result{Requeue: steps.Sooner(left, verdict.Again)}, nil
}

// expired says whether queries have kept their generation for too long, and else how long
// they may keep it yet; zero when that is for ever.
func expired(switched time.Time, timeout time.Duration, now time.Time) (over bool, left time.Duration) {
	if timeout <= 0 {
		return false, 0
	}
	left = switched.Add(timeout).Sub(now)
	return left <= 0, max(left, 0)
}

// tell counts a look that failed, and logs when what is wrong has changed.
func (c *Controller) tell(ctx context.Context, p *pass, v drain.Verdict) {
	if v.Fresh && v.Trouble != "" {
		metrics.DrainCheckFailed(client.ObjectKeyFromObject(p.engine), p.engine.Spec.InstanceRef)
	}
	log := ctrl.LoggerFrom(ctx).WithValues("generation", p.plan.Next.Draining)
	switch {
	case v.Changed && v.Trouble != "":
		log.Info("Asked the draining generation in vain", "trouble", v.Trouble)
	case v.Changed:
		log.Info("Asked the draining generation again", "queries", v.Queries)
	}
}

// scrapeMode is the instance's; without an instance pods are asked directly.
func scrapeMode(i *v1.FireboltInstance) v1.ScrapeMode {
	if i == nil {
		return v1.ScrapePodIP
	}
	return i.Spec.MetricScrapeMode
}

// switchedAt is when traffic was moved away from the draining generation: when the phase
// began, plus the second that the recorded time may be short of. It is zero for an engine
// that an earlier operator left draining.
func switchedAt(transitions []transition.Entry) time.Time {
	for i := len(transitions) - 1; i >= 0; i-- {
		if t := transitions[i]; t.To == string(v1.PhaseDraining) {
			return t.Time.Add(time.Second)
		}
	}
	return time.Time{}
}
