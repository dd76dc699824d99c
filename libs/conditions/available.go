package conditions

import (
	"fmt"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// availableRules read the serving units only: incoming and outgoing units do not
// affect availability.
var availableRules = []rule{
	stopped,
	noWorkloads,
	notServing,
	insufficientReplicas,
	notRouted,
	nodeUnreachable,
	scaledToZero,
	allComponentsReady,
}

// stopped matches when a stop has removed a serving unit. A stop takes effect
// unit by unit, and the first one without replicas ends the service. While paused no unit
// is removed, so all of them must be unavailable.
func stopped(e *evaluation) (outcome, bool) {
	if !e.o.Intent.Stopped {
		return noMatch()
	}
	serving := e.units(serves)
	unavailable := e.units(func(u contract.Unit) bool { return serves(u) && count(u, u.Available) == 0 })
	if len(unavailable) == len(serving) || (len(unavailable) > 0 && !e.o.Intent.Paused) {
		return conditionFalse(ReasonStopped, "The object is stopped on request"+by(e.o.Intent.StoppedBy)+".")
	}
	return noMatch()
}

func noWorkloads(e *evaluation) (outcome, bool) {
	if len(e.o.Units) > 0 {
		return noMatch()
	}
	if e.specApplied() && e.o.Reconcile.Outcome == contract.Succeeded && !e.deleting() {
		return conditionTrue(ReasonNoComponentsEnabled, "The spec enables no component.")
	}
	return conditionUnknown(ReasonNoWorkloads, "No workload is observed.")
}

func notServing(e *evaluation) (outcome, bool) {
	if len(e.units(serves)) > 0 {
		return noMatch()
	}
	return conditionFalse(ReasonInsufficientReplicas, "No workload serves yet.")
}

func insufficientReplicas(e *evaluation) (outcome, bool) {
	var parts []string
	for _, u := range e.units(serves) {
		if have, want := count(u, u.Available), needed(u); have < want && !explainedByLostNodes(u) {
			parts = append(parts, fmt.Sprintf("%s has %d of %d replicas available", u.Name, have, want))
		}
	}
	if len(parts) == 0 {
		return noMatch()
	}
	return conditionFalse(ReasonInsufficientReplicas, sentence(parts))
}

func notRouted(e *evaluation) (outcome, bool) {
	unrouted := e.units(func(u contract.Unit) bool {
		return serves(u) && !u.Routed && (u.Present || needed(u) > 0) && count(u, u.Available) >= needed(u)
	})
	if len(unrouted) == 0 {
		return noMatch()
	}
	return conditionFalse(ReasonNotRouted, "Traffic does not reach "+list(names(unrouted))+".")
}

// nodeUnreachable returns Unknown: the pods of an unreachable node may or may not still serve.
func nodeUnreachable(e *evaluation) (outcome, bool) {
	unreachable := e.units(func(u contract.Unit) bool {
		return serves(u) && count(u, u.Available) < needed(u) && explainedByLostNodes(u)
	})
	if len(unreachable) == 0 {
		return noMatch()
	}
	return conditionUnknown(ReasonNodeUnreachable, "Nodes that run replicas of "+list(names(unreachable))+" are unreachable.")
}

func scaledToZero(e *evaluation) (outcome, bool) {
	for _, u := range e.units(serves) {
		if needed(u) > 0 || u.Desired > 0 || count(u, u.Available) > 0 {
			return noMatch()
		}
	}
	return conditionTrue(ReasonScaledToZero, "All workloads are scaled to zero.")
}

func allComponentsReady(*evaluation) (outcome, bool) {
	return conditionTrue(ReasonAllComponentsReady, "All serving workloads are available.")
}

// needed returns the number of available replicas at which a unit counts as available.
func needed(u contract.Unit) int32 {
	if u.MinAvailable != nil {
		return max(0, *u.MinAvailable)
	}
	return max(0, u.Desired)
}

// explainedByLostNodes reports whether lost nodes alone explain the missing replicas of a unit.
func explainedByLostNodes(u contract.Unit) bool {
	var lost int32
	for _, f := range u.Failures {
		if f.Count <= 0 {
			continue
		}
		if f.Class != contract.FailureNodeLost {
			return false
		}
		lost += f.Count
	}
	return u.Present && lost > 0 && count(u, u.Available)+lost >= needed(u)
}
