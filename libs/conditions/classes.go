package conditions

import "github.com/flotilla-dev/flotilla/libs/contract"

// failureClass describes how a class of pod failures affects the conditions.
type failureClass struct {
	rank        int
	reason      string
	description string
	// transient: counts only after the hold-down.
	transient bool
	// onlyShort: counts only while its unit lacks replicas. A failed pod is harmless
	// when all replicas are available.
	onlyShort bool
	// settledOnly: normal during a rollout, a failure only outside one.
	settledOnly bool
	// blocks: stalls a rollout while it lasts.
	blocks bool
	// blocksEmpty: as blocks, but only when the unit has no running pod.
	blocksEmpty bool
	// includesMessage: the message comes from the API server and names no pod, so the condition includes it.
	includesMessage bool
}

var failureClasses = map[contract.FailureClass]failureClass{
	contract.FailureCrashLoop:     {rank: 0, reason: ReasonCrashLoop, description: "containers are crash-looping", blocks: true},
	contract.FailureImagePull:     {rank: 1, reason: ReasonImagePull, description: "an image cannot be pulled", blocks: true},
	contract.FailureConfigError:   {rank: 2, reason: ReasonConfigError, description: "containers cannot be created", blocks: true},
	contract.FailurePodFailed:     {rank: 3, reason: ReasonPodFailed, description: "pods have failed", onlyShort: true, blocksEmpty: true},
	contract.FailureEvicted:       {rank: 4, reason: ReasonEvicted, description: "pods were evicted", onlyShort: true, blocksEmpty: true},
	contract.FailureOOMKilled:     {rank: 5, reason: ReasonOOMKilled, description: "containers ran out of memory", transient: true},
	contract.FailureUnschedulable: {rank: 6, reason: ReasonUnschedulable, description: "pods cannot be scheduled", transient: true, blocks: true},
	contract.FailureCreateFailed:  {rank: 7, reason: ReasonCreateFailed, description: "pods cannot be created", transient: true, blocks: true, includesMessage: true},
	contract.FailureNodeLost:      {rank: 8, reason: ReasonNodeLost, description: "nodes are unreachable", transient: true, onlyShort: true},
	contract.FailureProbeFailing: {
		rank: 9, reason: ReasonProbeFailing, description: "probes fail", transient: true, onlyShort: true, settledOnly: true,
	},
}

// class returns the description of a failure class. A class of a newer contract is
// transient and counts only while replicas are missing.
func class(c contract.FailureClass) failureClass {
	if known, ok := failureClasses[c]; ok {
		return known
	}
	return failureClass{rank: 10, reason: ReasonUnknownFailure, description: "pods fail for an unknown reason", transient: true, onlyShort: true}
}

// stalls reports whether the class stops the progress of the unit.
func (c failureClass) stalls(u contract.Unit) bool {
	return c.blocks || (c.blocksEmpty && u.Current <= 0 && short(u))
}
