package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// MaxEvidence is the greatest number of findings in [Result.Evidence].
const MaxEvidence = 10

// maxEvidenceBytes is the maximum length of one finding in the evidence.
const maxEvidenceBytes = 1024

// finding is one reason for which an object is degraded.
type finding struct {
	rank     int           // lowest first
	hold     time.Duration // counts only once a failure has lasted for it
	reason   string
	message  string // stable: no pod names, no times
	evidence string // the details
}

// Ranks of the findings without a failure class; the classes have the ranks between.
const (
	rankJobFailed = iota
	rankPermanentError
	rankFirstClass
	rankStalled = rankFirstClass + 100 + iota
	rankReplicas
	rankReconcile
	rankDependency
)

// findings lists all failures, those within the hold-down included.
func findings(e *evaluation) []finding {
	out := slices.Concat(jobFindings(e), reconcileFindings(e), dependencyFindings(e))
	for _, u := range e.o.Units {
		if u.Role == contract.Outgoing {
			continue // its removal is desired
		}
		out = append(out, unitFindings(e, u)...)
	}
	slices.SortFunc(out, func(a, b finding) int {
		return cmp.Or(
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.message, b.message),
			cmp.Compare(a.evidence, b.evidence),
		)
	})
	return out
}

func jobFindings(e *evaluation) []finding {
	var out []finding
	for _, j := range e.o.Jobs {
		if j.State != contract.JobFailed {
			continue
		}
		message := jobMessage(j)
		out = append(out, finding{rank: rankJobFailed, reason: ReasonJobFailed, message: message, evidence: message})
	}
	return out
}

// reconcileFindings returns the finding of a failed reconcile. A transient error has the hold-down
// of missing replicas; an error that requires a change of the spec has none.
func reconcileFindings(e *evaluation) []finding {
	r := e.o.Reconcile
	if r.Outcome != contract.Failed {
		return nil
	}
	f := finding{rank: rankReconcile, hold: MissingReplicasHold, reason: reconcileReason(r), message: reconcileMessage(r)}
	if r.Terminal {
		f.rank, f.hold = rankPermanentError, 0
	}
	f.evidence = f.message
	return []finding{f}
}

// dependencyFindings lists the dependencies that are not ready, separate from the object's
// own health: they degrade the object but do not affect Available or Progressing. An
// object that was stopped on request and has no pods left needs no dependency.
func dependencyFindings(e *evaluation) []finding {
	if e.o.Intent.Stopped && e.pods() == 0 {
		return nil
	}
	var out []finding
	for _, d := range e.o.Dependencies {
		if d.Ready {
			continue
		}
		message := detail(d.Kind+" "+d.Name+" is not ready.", d.Message)
		out = append(out, finding{
			rank: rankDependency, hold: MissingReplicasHold, reason: ReasonDependencyUnavailable,
			message: message, evidence: "Dependency: " + message,
		})
	}
	return out
}

func unitFindings(e *evaluation, u contract.Unit) []finding {
	var out []finding
	if u.Stalled {
		message := u.Name + " exceeded its progress deadline."
		out = append(out, finding{rank: rankStalled, reason: ReasonStalled, message: message, evidence: message})
	}
	for _, f := range u.Failures {
		if found, ok := failureFinding(e, u, f); ok {
			out = append(out, found)
		}
	}
	if serves(u) && short(u) && !e.explained(u) && !e.deleting() {
		message := fmt.Sprintf("%s has %d of %d replicas available.", u.Name, count(u, u.Available), u.Desired)
		out = append(out, finding{
			rank: rankReplicas, hold: MissingReplicasHold, reason: ReasonInsufficientReplicas, message: message, evidence: message,
		})
	}
	return out
}

func failureFinding(e *evaluation, u contract.Unit, f contract.Failure) (finding, bool) {
	c := class(f.Class)
	if f.Count <= 0 || (c.onlyShort && !short(u)) || (c.settledOnly && e.rollingOut()) {
		return finding{}, false
	}
	message := fmt.Sprintf("%s: %s.", u.Name, c.description)
	if c.includesMessage && f.Message != "" {
		message = fmt.Sprintf("%s: %s: %s", u.Name, c.description, f.Message)
	}
	pods := slices.Sorted(slices.Values(f.Examples))
	return finding{
		rank:     rankFirstClass + c.rank,
		hold:     c.hold,
		reason:   c.reason,
		message:  message,
		evidence: detail(fmt.Sprintf("%s: %s, %s (%s)", u.Name, c.description, countPods(int(f.Count)), list(pods)), f.Message),
	}, true
}

// evidence lists the findings, the object's own before those of its dependencies. When
// there are more than [MaxEvidence], one dependency is still listed.
func (e *evaluation) evidence() []string {
	var out []string
	if flaps := e.state.Flaps; e.state.Degraded && flaps.flapping() {
		out = append(out, clamp("Flapping: "+orElse(flaps.Cause, "the failure")+" recurs repeatedly.", maxEvidenceBytes))
	}
	kept := e.findings
	if limit := MaxEvidence - len(out); len(kept) > limit {
		kept = slices.Clone(kept[:limit])
		derived := slices.IndexFunc(e.findings, func(f finding) bool { return f.rank == rankDependency })
		if derived >= limit {
			kept[limit-1] = e.findings[derived]
		}
	}
	for _, f := range kept {
		out = append(out, clamp(f.evidence, maxEvidenceBytes))
	}
	return out
}

// failureClass describes how a class of pod failures affects the conditions.
type failureClass struct {
	rank        int
	reason      string
	description string
	// hold is the hold-down after which the failure counts.
	hold time.Duration
	// onlyShort is true for a failure that counts only while its unit lacks replicas. A
	// failed pod is harmless when all replicas are available.
	onlyShort bool
	// settledOnly is true for a class that is normal during a rollout.
	settledOnly bool
	// blocks is true for a failure that stalls a rollout while it lasts.
	blocks bool
	// blocksEmpty is like blocks, but only for a unit without a running pod.
	blocksEmpty bool
	// includesMessage is true if the message is from the API server and names no pod: the condition includes it.
	includesMessage bool
}

var failureClasses = map[contract.FailureClass]failureClass{
	contract.FailureCrashLoop:     {rank: 0, reason: ReasonCrashLoop, description: "containers are crash-looping", blocks: true},
	contract.FailureImagePull:     {rank: 1, reason: ReasonImagePull, description: "an image cannot be pulled", blocks: true},
	contract.FailureConfigError:   {rank: 2, reason: ReasonConfigError, description: "containers cannot be created", blocks: true},
	contract.FailurePodFailed:     {rank: 3, reason: ReasonPodFailed, description: "pods have failed", onlyShort: true, blocksEmpty: true},
	contract.FailureEvicted:       {rank: 4, reason: ReasonEvicted, description: "pods were evicted", onlyShort: true, blocksEmpty: true},
	contract.FailureOOMKilled:     {rank: 5, reason: ReasonOOMKilled, description: "containers ran out of memory", hold: MissingReplicasHold},
	contract.FailureUnschedulable: {rank: 6, reason: ReasonUnschedulable, description: "pods cannot be scheduled", hold: MissingReplicasHold, blocks: true},
	contract.FailureCreateFailed:  {rank: 7, reason: ReasonCreateFailed, description: "pods cannot be created", hold: CreateFailureHold, blocks: true, includesMessage: true},
	contract.FailureNodeLost:      {rank: 8, reason: ReasonNodeLost, description: "nodes are unreachable", hold: MissingReplicasHold, onlyShort: true},
	contract.FailureProbeFailing: {
		rank: 9, reason: ReasonProbeFailing, description: "probes fail", hold: MissingReplicasHold, onlyShort: true, settledOnly: true,
	},
}

// class returns the description of a failure class. A class of a newer contract has the
// longest hold-down and counts only while replicas are missing.
func class(c contract.FailureClass) failureClass {
	if known, ok := failureClasses[c]; ok {
		return known
	}
	return failureClass{rank: 10, reason: ReasonUnknownFailure, description: "pods fail for an unknown reason", hold: MissingReplicasHold, onlyShort: true}
}

// stalls reports whether the class stops the progress of the unit.
func (c failureClass) stalls(u contract.Unit) bool {
	return c.blocks || (c.blocksEmpty && u.Current <= 0 && short(u))
}
