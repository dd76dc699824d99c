package conditions

import (
	"fmt"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// availableRules read the serving units only: a unit that comes in or goes out
// neither makes nor breaks availability.
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

// stopLeavesNothing: a stop takes effect unit by unit, and the first one that is
// gone ends the service. While paused nothing is taken away, so only all of them count.
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
	return unknown(ReasonNoWorkloads, "No workload is known.")
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

// nodesAreLost: the pods of a lost node may or may not still serve.
func nodesAreLost(v *view) (verdict, bool) {
	lost := v.units(func(u contract.Unit) bool {
		return serves(u) && count(u, u.Available) < needed(u) && lostWithNodes(u)
	})
	if len(lost) == 0 {
		return pass()
	}
	return unknown(ReasonNodeUnreachable, "The nodes of replicas of "+list(names(lost))+" cannot be reached.")
}

func nothingIsWanted(v *view) (verdict, bool) {
	for _, u := range v.units(serves) {
		if needed(u) > 0 || u.Desired > 0 || count(u, u.Available) > 0 {
			return pass()
		}
	}
	return yes(ReasonScaledToZero, "Every workload is meant to have no replicas, and has none.")
}

func allIsReady(*view) (verdict, bool) {
	return yes(ReasonAllComponentsReady, "Every serving workload has the replicas it needs.")
}

// needed is how many available replicas make a unit count as available.
func needed(u contract.Unit) int32 {
	if u.MinAvailable != nil {
		return max(0, *u.MinAvailable)
	}
	return max(0, u.Desired)
}

// lostWithNodes says whether lost nodes alone explain what a unit lacks.
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
