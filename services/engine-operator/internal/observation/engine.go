package observation

import (
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// ForEngine returns the observation of an engine. children are the objects that this
// reconcile observed, applied is true if the current generation matches the spec, and
// failure is the error of the reconcile.
func ForEngine(p status.Engine, children observe.Children, applied bool, failure error, now time.Time) contract.Observation {
	e, next := p.Object, p.Plan.Next
	o := contract.Observation{
		Object:             workload.Object(e, v1alpha1.GroupVersion.WithKind("FireboltEngine")),
		ObservedGeneration: e.Status.ObservedGeneration,
		Deleting:           e.DeletionTimestamp != nil,
		Phase:              string(next.Phase),
		DeployedVersion:    e.Status.DeployedVersion,
		Reconcile:          engineReconcile(p, failure),
		Intent:             status.Intent(e),
		Units:              engineUnits(p, children, now),
	}
	if applied {
		o.ObservedGeneration = e.Generation
	}
	if p.InstanceChecked {
		o.Dependencies = []contract.Dependency{{
			Kind: "FireboltInstance", Name: e.Spec.InstanceRef, Ready: p.InstanceError == "", Message: p.InstanceError,
		}}
	}
	if p.Class != "" {
		o.Dependencies = append(o.Dependencies, contract.Dependency{
			Kind: "FireboltEngineClass", Name: *e.Spec.EngineClassRef, Message: p.Class,
		})
	}
	if p.Service != "" {
		o.Dependencies = append(o.Dependencies, contract.Dependency{
			Kind: "Service", Name: names.Cluster(e.Name), Message: p.Service,
		})
	}
	if p.DrainError != "" {
		o.UpgradeBlockers = append(o.UpgradeBlockers, p.DrainError)
	}
	return o
}

// units returns the units of the generations in the status. The generation to which users are or will be
// routed has the serving role; a starting or terminating generation never makes the engine
// unavailable. Before the first switch the first generation has the serving role, unrouted.
func units(c observe.Children, s engine.State, replicas int32, now time.Time) []contract.Unit {
	route := c.Route()
	serving := s.Active
	switch {
	case route != engine.None && route == s.Current:
		serving = s.Current
	case serving == engine.None:
		serving = s.Current
	}
	out := []contract.Unit{unit(c, serving, contract.Serving, route == serving, replicas, now)}
	if s.Current != serving {
		out = append(out, unit(c, s.Current, contract.Incoming, false, replicas, now))
	}
	for _, old := range slices.Compact([]int64{s.Active, s.Draining}) {
		if old != engine.None && old != serving && old != s.Current {
			out = append(out, unit(c, old, contract.Outgoing, false, 0, now))
		}
	}
	return out
}

func name(n int64) string { return fmt.Sprintf("g%d", n) }

// unit counts a generation against its own size, since the spec of a later generation
// does not apply to it. An absent generation counts against the desired size, and so
// does a serving generation of zero pods: a restarted engine is not
// available because of the generation that it was stopped with.
func unit(c observe.Children, n int64, role contract.Role, routed bool, replicas int32, now time.Time) contract.Unit {
	set := c.StatefulSets[n]
	if set != nil && set.Spec.Replicas != nil && (*set.Spec.Replicas > 0 || role != contract.Serving) {
		replicas = *set.Spec.Replicas
	}
	if set != nil && set.Spec.Replicas != nil && *set.Spec.Replicas == 0 && replicas > 0 {
		routed = false // a generation without pods cannot serve
	}
	base := contract.Unit{Name: name(n), Kind: "StatefulSet", Role: role, Routed: routed, Desired: replicas}
	return workload.StatefulSet(base, set, workload.Inputs{Pods: c.Pods[n], Now: now})
}

// engineUnits adds to the units what no workload shows: that the new
// generation missed its deadline, and why pods of a generation cannot be created.
func engineUnits(p status.Engine, c observe.Children, now time.Time) []contract.Unit {
	next := p.Plan.Next
	out := units(c, next, status.Replicas(p.Object), now)
	find := func(n int64) *contract.Unit {
		if i := slices.IndexFunc(out, func(u contract.Unit) bool { return u.Name == name(n) }); i >= 0 {
			return &out[i]
		}
		return &contract.Unit{}
	}
	if u := find(next.Current); p.Overdue && next.Phase == v1alpha1.PhaseCreating {
		u.Stalled = true
	}
	u := find(p.Warning.Generation)
	if missing := u.Desired - u.Current; p.Warning.Reason == createfailure.Reason && missing > 0 {
		u.Failures = append(u.Failures, contract.Failure{Class: contract.FailureCreateFailed, Count: missing, Message: p.Warning.Cause})
	}
	return out
}

// engineReconcile returns the result of the reconcile. A rejected or rolled-back spec keeps its
// result until the spec, or an object that it refers to, changes.
func engineReconcile(p status.Engine, failure error) contract.Reconcile {
	reason, message := p.Rejection()
	switch {
	case status.Intent(p.Object).Paused:
	case reason != "":
		return contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: reason, Message: contract.Text(message)}
	case failure != nil && p.Warning.Terminal:
		return contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: p.Warning.Reason, Message: p.Warning.Message}
	case failure == nil && p.Plan.Waiting:
		return contract.Reconcile{Outcome: contract.Succeeded, Reason: conditions.ReasonRolloutThrottled, Message: fmt.Sprintf(
			"The rollout of the successor of generation %d waits for a rollout slot (--max-concurrent-rollouts).", p.Plan.Next.Active)}
	}
	return outcome(failure)
}

func outcome(failure error) contract.Reconcile {
	if failure == nil {
		return contract.Reconcile{Outcome: contract.Succeeded}
	}
	return contract.Reconcile{Outcome: contract.Failed, Reason: conditions.ReasonReconcileError, Message: contract.Text(failure.Error())}
}
