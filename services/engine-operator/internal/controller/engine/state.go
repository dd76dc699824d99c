package engine

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// reconcileState is the state that the steps of one reconcile share.
type reconcileState struct {
	engine  *v1alpha1.FireboltEngine
	deleted bool   // the last finalizer was removed
	stale   bool   // the API server has a newer version of the engine
	held    string // children that foreign finalizers hold after deletion

	children observe.Children
	observed bool // children were read
	stuck    []corev1.Pod
	class    *v1alpha1.FireboltEngineClass
	instance *v1alpha1.FireboltInstance
	// classError and instanceError describe the problem of the class and of the instance; empty without one.
	classError, instanceError string
	// unsupported, rejected and bounds describe what admission would reject, ignored its warnings.
	unsupported, rejected, bounds, ignored string

	// desired is the rendering of the current generation; nil when it cannot be rendered.
	desired *render.Generation

	drain      engine.Drain
	drainError string
	overdue    bool
	warning    status.Warning

	snapshot engine.Snapshot
	plan     engine.Plan
	decided  bool
	executed bool // all independent writes of the plan were attempted
	newSlot  bool // a rollout slot was acquired and is not recorded yet
}

// start sets an empty plan, which stays in place until decide runs.
func (s *reconcileState) start() {
	s.plan = engine.Plan{Route: engine.None, Next: engine.StateOf(s.engine.Status)}
}

// abandon handles a failure: the state of a decision whose writes were not all attempted must not be
// recorded, and a decision with a failed write does not settle the engine.
func (s *reconcileState) abandon() {
	if s.executed {
		s.plan.Settled = false
	} else {
		s.start()
	}
	s.decided = false
}

// fail handles a failure of the reconcile. A transient one does not clear a known warning.
func (s *reconcileState) fail(failure error) {
	s.abandon()
	if w := status.ApplyWarning(failure); w.Reason != "" {
		s.warning = w
	}
}

// checkedInstance reports whether the result of this reconcile replaces InstanceReady. Neither a deletion nor a reconcile that
// failed before reads the instance.
func (s *reconcileState) checkedInstance() bool {
	read := s.instance != nil || s.instanceError != ""
	return read && engine.ChecksInstance(s.engine.Status.Phase) && !status.Intent(s.engine).Paused
}

// ownSpecChanged reports whether the engine's own spec or command changed, and not only its class or the operator's
// release. Only spec and command set the number of replicas. An edit of a field that renders nothing counts too: no
// status records from which spec a generation was rendered.
func (s *reconcileState) ownSpecChanged() bool {
	g, ok := s.snapshot.Generations[s.plan.Next.Current]
	return s.engine.Generation != s.engine.Status.ObservedGeneration ||
		(ok && g.Replicas != status.Replicas(s.engine))
}

// isTransitional reports whether the writes of this reconcile enqueue the engine at once. The next
// reconcile supersedes this result, so states between two phases are not published.
func (s *reconcileState) isTransitional() bool {
	return s.decided && s.plan.Requeue == engine.RequeueNow && !engine.IsTerminal(s.plan.Next.Phase)
}

// applied reports whether the current generation matches the spec and its controller has
// observed it.
func (s *reconcileState) applied() bool {
	set := s.children.StatefulSets[s.plan.Next.Current]
	return set != nil && set.Status.ObservedGeneration >= set.Generation &&
		s.snapshot.Generations[s.plan.Next.Current].Match == engine.Same
}

// outcome returns the input of the status.
func (s *reconcileState) outcome() status.Engine {
	out := status.Engine{
		Object: s.engine, Plan: s.plan, Decided: s.decided, InstanceError: s.instanceError, InstanceChecked: s.checkedInstance(),
		Class: s.classError, Unsupported: s.unsupported, Rejected: s.rejected, Bounds: s.bounds, Ignored: s.ignored,
		ForeignFinalizers: s.held, DrainError: s.drainError, Overdue: s.overdue, Expired: s.drain.Expired, Warning: s.warning,
		Stuck: s.stuck, Unrouted: s.children.Route() != s.plan.Next.Active,
	}
	if finalizers := s.children.ServiceFinalizers(); len(finalizers) > 0 {
		out.Service = status.ServiceHeld(s.children.Cluster.Name, finalizers)
	}
	out.PodsReady, out.PodsTotal, out.Replicas, out.Image = status.Serving(s.children, s.plan.Next.Active)
	return out
}
