package conditions

import "github.com/flotilla-dev/flotilla/libs/contract"

// failureClass says how a class of pod failures is judged.
type failureClass struct {
	rank   int
	reason string
	words  string
	// held: may heal by waiting, so it counts only once it has lasted.
	held bool
	// onlyShort: counts only while its unit lacks replicas. A failed pod beside a
	// complete set of others is a corpse, not trouble.
	onlyShort bool
	// settledOnly: part of any roll-out, trouble only outside one.
	settledOnly bool
	// blocks: a roll-out gets no further while it lasts.
	blocks bool
	// blocksEmpty: as blocks, but only when the unit has no other pod at work.
	blocksEmpty bool
	// tells: the message is the API server's and names no pod, so it stands in the condition.
	tells bool
}

var failureClasses = map[contract.FailureClass]failureClass{
	contract.FailureCrashLoop:     {rank: 0, reason: ReasonCrashLoop, words: "containers crash again and again", blocks: true},
	contract.FailureImagePull:     {rank: 1, reason: ReasonImagePull, words: "an image cannot be pulled", blocks: true},
	contract.FailureConfigError:   {rank: 2, reason: ReasonConfigError, words: "containers cannot be set up", blocks: true},
	contract.FailurePodFailed:     {rank: 3, reason: ReasonPodFailed, words: "pods have failed", onlyShort: true, blocksEmpty: true},
	contract.FailureEvicted:       {rank: 4, reason: ReasonEvicted, words: "pods were evicted", onlyShort: true, blocksEmpty: true},
	contract.FailureOOMKilled:     {rank: 5, reason: ReasonOOMKilled, words: "containers ran out of memory", held: true},
	contract.FailureUnschedulable: {rank: 6, reason: ReasonUnschedulable, words: "pods find no node", held: true, blocks: true},
	contract.FailureCreateFailed:  {rank: 7, reason: ReasonCreateFailed, words: "pods cannot be created", held: true, blocks: true, tells: true},
	contract.FailureNodeLost:      {rank: 8, reason: ReasonNodeLost, words: "nodes cannot be reached", held: true, onlyShort: true},
	contract.FailureProbeFailing: {
		rank: 9, reason: ReasonProbeFailing, words: "probes fail", held: true, onlyShort: true, settledOnly: true,
	},
}

// class returns how to judge a class; one from a newer contract is judged with care.
func class(c contract.FailureClass) failureClass {
	if known, ok := failureClasses[c]; ok {
		return known
	}
	return failureClass{rank: 10, reason: ReasonUnknownFailure, words: "pods are in trouble of an unknown kind", held: true, onlyShort: true}
}

// stalls says whether the class keeps this unit from getting further.
func (c failureClass) stalls(u contract.Unit) bool {
	return c.blocks || (c.blocksEmpty && u.Current <= 0 && short(u))
}
