package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

func (c *Controller) observe(ctx context.Context, p *pass) (steps.Result, error) {
	children, err := observe.Read(ctx, c.Client, p.engine)
	if err != nil {
		return steps.Result{}, err
	}
	p.children, p.observed = children, true
	return steps.Result{}, nil
}

// resolveClass finds the engine's class. An absent one is shown, not an error: the
// watch wakes the engine when the class appears.
func (c *Controller) resolveClass(ctx context.Context, p *pass) (steps.Result, error) {
	ref := p.engine.Spec.EngineClassRef
	if ref == nil {
		return steps.Result{}, nil
	}
	class := &v1.FireboltEngineClass{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.engine.Namespace, Name: *ref}, class)
	switch {
	case apierrors.IsNotFound(err):
		p.noClass = fmt.Sprintf("FireboltEngineClass %q does not exist.", *ref)
	case err != nil:
		return steps.Result{}, fmt.Errorf("get class %q: %w", *ref, err)
	default:
		p.class = class
	}
	return steps.Result{}, nil
}

// resolveInstance finds the engine's instance and says what is missing of it.
func (c *Controller) resolveInstance(ctx context.Context, p *pass) (steps.Result, error) {
	name := p.engine.Spec.InstanceRef
	instance := &v1.FireboltInstance{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.engine.Namespace, Name: name}, instance)
	switch {
	case apierrors.IsNotFound(err):
		p.gate = fmt.Sprintf("FireboltInstance %q does not exist.", name)
		return steps.Result{}, nil
	case err != nil:
		return steps.Result{}, fmt.Errorf("get instance %q: %w", name, err)
	case resolve.UnsupportedInstance(instance) != "":
		p.gate = fmt.Sprintf("FireboltInstance %q asks for %s, which this release does not support.", name, resolve.UnsupportedInstance(instance))
	case instance.Spec.ID == "":
		p.gate = fmt.Sprintf("FireboltInstance %q has no id yet.", name)
	case instance.Status.MetadataEndpoint == "":
		p.gate = fmt.Sprintf("FireboltInstance %q has no metadata endpoint yet.", name)
	}
	p.instance = instance
	return steps.Result{}, nil
}

// render draws the current generation, if its inputs are known.
func (c *Controller) render(_ context.Context, p *pass) (steps.Result, error) {
	p.unsupported = resolve.UnsupportedEngine(p.engine, p.class)
	if p.gate == "" && p.noClass == "" && p.unsupported == "" {
		e, err := p.resolved()
		if err != nil {
			return steps.Result{}, err
		}
		p.input = render.Input{
			Engine: e, Images: c.Images, Generation: p.plan.Next.Current,
			Instance: render.Instance{ID: p.instance.Spec.ID, Endpoint: p.instance.Status.MetadataEndpoint},
		}
		desired, err := render.Of(p.input)
		if err != nil {
			return steps.Result{}, err
		}
		p.desired = &desired
	}
	var err error
	if p.desired == nil {
		p.snapshot, err = p.children.Snapshot(p.plan.Next.Current, nil)
	} else {
		p.snapshot, err = p.children.Snapshot(p.plan.Next.Current, p.desired.StatefulSet)
	}
	return steps.Result{}, err
}

// drainMemory keeps the samples of draining generations. Losing it, in a restart, costs
// two more samples.
type drainMemory struct {
	mu sync.Mutex
	of map[types.UID]drain.Memory
}

func (m *drainMemory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, uid)
}

func (m *drainMemory) judge(uid types.UID, n int64, judge func(drain.Memory) (drain.Memory, bool)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	memory := m.of[uid]
	if memory.Generation != n {
		memory = drain.Memory{Generation: n}
	}
	memory, drained := judge(memory)
	m.of[uid] = memory
	return drained
}

// checkDrain asks the draining generation for its queries.
func (c *Controller) checkDrain(ctx context.Context, p *pass) (steps.Result, error) {
	d := resolve.DrainOf(p.engine, p.class)
	p.drain = engine.Drain{Skip: d.Skip, Every: d.Interval}
	old := p.plan.Next.Draining
	if p.engine.Status.Phase != v1.PhaseDraining || old == engine.None || p.drain.Skip || status.Intent(p.engine).Paused {
		return steps.Result{}, nil
	}
	mode := v1.ScrapePodIP
	if p.instance != nil {
		mode = p.instance.Spec.MetricScrapeMode
	}
	sample := c.Prober.Sample(ctx, mode, p.children.Pods[old])
	if sample.Err != nil {
		ctrl.LoggerFrom(ctx).Info("Asked the draining generation in vain", "generation", old, "error", sample.Err.Error())
		p.drainTrouble = fmt.Sprintf("Generation %d cannot be asked for its queries; it is kept until it can, or until rollout is recreate.", old)
	}
	p.drain.Drained = c.drains.judge(p.engine.UID, old, func(m drain.Memory) (drain.Memory, bool) {
		return drain.Judge(m, sample, switchedAt(p.engine), d.Interval)
	})
	return steps.Result{}, nil
}

// switchedAt is when traffic was moved away from the draining generation: when the phase
// began, plus the second that the recorded time may be short of.
func switchedAt(e *v1.FireboltEngine) time.Time {
	for i := len(e.Status.Transitions) - 1; i >= 0; i-- {
		if t := e.Status.Transitions[i]; t.To == string(v1.PhaseDraining) {
			return t.Time.Add(time.Second)
		}
	}
	return time.Time{}
}
