package conditions

import (
	"fmt"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// availableRules read the serving units only: incoming and outgoing units do not
// affect availability.
var availableRules = []rule{
	stopLeavesNothing,
	nothingIsDeclared,
	nothingServes,
	tooFewReplicas,
	trafficGoesElsewhere,
	nodesAreLost,
	nothingIsWanted,
	allIsReady,
}

// stopLeavesNothing matches when a stop has removed a serving unit. A stop takes effect
// unit by unit, and the first one without replicas ends the service. While paused no unit
// is removed, so all of them must be unavailable.
func stopLeavesNothing(v *view) (verdict, bool) {
	if !v.o.Intent.Stopped {
		return pass()
	}
	serving := v.units(serves)
	gone := v.units(func(u contract.Unit) bool { return serves(u) && count(u, u.Available) == 0 })
	if len(gone) == len(serving) || (len(gone) > 0 && !v.o.Intent.Paused) {
		return no(ReasonStopped, "Stopped on request"+by(v.o.Intent.StoppedBy)+".")
	}
	return pass()
}

func nothingIsDeclared(v *view) (verdict, bool) {
	if len(v.o.Units) > 0 {
		return pass()
	}
	if v.specApplied() && v.o.Reconcile.Outcome == contract.Succeeded && !v.deleting() {
		return yes(ReasonNoComponentsEnabled, "The spec enables no component.")
	}
	return unknown(ReasonNoWorkloads, "No workload is observed.")
}

func nothingServes(v *view) (verdict, bool) {
	if len(v.units(serves)) > 0 {
		return pass()
	}
	return no(ReasonInsufficientReplicas, "No workload serves yet.")
}

func tooFewReplicas(v *view) (verdict, bool) {
	var parts []string
	for _, u := range v.units(serves) {
		if have, want := count(u, u.Available), needed(u); have < want && !lostWithNodes(u) {
			parts = append(parts, fmt.Sprintf("%s has %d of %d replicas available", u.Name, have, want))
		}
	}
	if len(parts) == 0 {
		return pass()
	}
	return no(ReasonInsufficientReplicas, sentence(parts))
}

func trafficGoesElsewhere(v *view) (verdict, bool) {
	away := v.units(func(u contract.Unit) bool {
		return serves(u) && !u.Routed && (u.Present || needed(u) > 0) && count(u, u.Available) >= needed(u)
	})
	if len(away) == 0 {
		return pass()
	}
	return no(ReasonNotRouted, "Traffic does not reach "+list(names(away))+".")
}

// nodesAreLost answers Unknown: the pods of an unreachable node may or may not still serve.
func nodesAreLost(v *view) (verdict, bool) {
	lost := v.units(func(u contract.Unit) bool {
		return serves(u) && count(u, u.Available) < needed(u) && lostWithNodes(u)
	})
	if len(lost) == 0 {
		return pass()
	}
	return unknown(ReasonNodeUnreachable, "Nodes that run replicas of "+list(names(lost))+" are unreachable.")
}

func nothingIsWanted(v *view) (verdict, bool) {
	for _, u := range v.units(serves) {
		if needed(u) > 0 || u.Desired > 0 || count(u, u.Available) > 0 {
			return pass()
		}
	}
	return yes(ReasonScaledToZero, "All workloads are scaled to zero.")
}

func allIsReady(*view) (verdict, bool) {
	return yes(ReasonAllComponentsReady, "All serving workloads are available.")
}

// needed returns the number of available replicas at which a unit counts as available.
func needed(u contract.Unit) int32 {
	if u.MinAvailable != nil {
		return max(0, *u.MinAvailable)
	}
	return max(0, u.Desired)
}

// lostWithNodes reports whether lost nodes alone explain the missing replicas of a unit.
func lostWithNodes(u contract.Unit) bool {
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
