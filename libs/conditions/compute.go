package conditions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// FieldManager owns the six conditions, and Ready where it is written, on every
// managed object, whichever process writes them.
const FieldManager = "flotilla-conditions"

// LeaseName is the Lease whose holder writes the conditions of all objects. While the
// Lease is not renewed, each operator writes those of its own objects.
const LeaseName = "flotilla-conditions"

// LeaseDuration is the time without a renewal of the Lease after which operators write the conditions themselves.
const LeaseDuration = 30 * time.Second

// Condition types. The first six are those of ADR027.
const (
	TypeAvailable   = "Available"   // users' requests can be served
	TypeProgressing = "Progressing" // changing from one steady state to another
	TypeDegraded    = "Degraded"    // a failure has lasted for its hold-down
	TypeUpgradable  = "Upgradable"  // an upgrade may begin; treat Unknown as no
	TypePaused      = "Paused"      // the user paused reconciliation
	TypeStopped     = "Stopped"     // the user requested a stop, and no pods are left
	TypeReady       = "Ready"       // summary: Available is True and Degraded is not True
)

// Types lists all condition types that [Compute] writes; Ready only on request.
func Types() []string { return TypesOf(true) }

// TypesOf lists the condition types that [Compute] writes, with or without Ready, in the order in which it publishes them.
func TypesOf(withReady bool) []string {
	all := []string{TypeAvailable, TypeProgressing, TypeDegraded, TypeUpgradable, TypePaused, TypeStopped}
	if withReady {
		all = append(all, TypeReady)
	}
	return all
}

// WithReady reports whether the writer of the conditions writes Ready for objects of the kind: their operator has none of its own.
func WithReady(kind contract.Kind) bool { return kind == contract.Superset }

// Hold-downs of Degraded; all other types are published at once.
const (
	// MissingReplicasHold is how long replicas may be missing outside a rollout
	// before Degraded goes True.
	MissingReplicasHold = 120 * time.Second
	// CreateFailureHold is how long the API server may reject pods before Degraded goes
	// True. A quota rejects some for a moment during an ordinary rollout.
	CreateFailureHold = 15 * time.Second
	// RecoveryHold is how long a failure must be cleared before Degraded goes False.
	RecoveryHold = 30 * time.Second
	// FlapWindow is how long a flapping failure must be cleared before Degraded goes
	// False. The kubelet resets the backoff of a crashing container after the same time.
	FlapWindow = 10 * time.Minute
	// FlapCount is the number of returns at which a failure counts as flapping. One
	// return within FlapWindow of a published recovery is enough.
	FlapCount = 3
	// FlapLeak is the factor by which time without a failure empties the hold-down more
	// slowly than time with one fills it, so that a flapping failure fills it eventually.
	FlapLeak = 2
)

// Freshness describes whether an observation is current.
type Freshness int

// Degrees of freshness.
const (
	Fresh         Freshness = iota // the observer is alive
	ObserverStale                  // the bus is connected, the observer sends no heartbeats
	NeverObserved                  // no observation was ever received
)

// Input is all that [Compute] reads.
type Input struct {
	// Observation is the latest observation; nil if there is none.
	Observation *contract.Observation
	// Generation is the current metadata.generation of the object; it may be ahead of the observation's.
	Generation int64
	// Deleting is true when the object carries a deletion timestamp.
	Deleting  bool
	Freshness Freshness
	// Now is the time of the computation.
	Now time.Time
	// Previous are the conditions that the object carries; types that [Compute] does not own are ignored.
	Previous []metav1.Condition
	// Memory is the State that the last [Compute] for this object returned; the zero value is a fresh start.
	Memory State
	// WithReady adds the summary Ready.
	WithReady bool
}

// Result is the result of [Compute].
type Result struct {
	// Conditions has one entry for each type, in the order of the Type constants.
	Conditions []metav1.Condition
	// Memory is the State to pass to the next [Compute] for the same object.
	Memory State
	// Next is the time at which a hold-down ends; zero if none is pending.
	Next time.Time
	// Evidence lists the findings behind the conditions, most important first, at most [MaxEvidence].
	Evidence []string
}

// Held is a change of Degraded that a hold-down delays.
type Held struct {
	// Status is the status of Degraded without damping.
	Status metav1.ConditionStatus
	// Since is the start of the hold-down and Until its end, if the findings do not change.
	Since, Until time.Time
}

// Held returns the change that a hold-down delays; nil if there is none.
func (r Result) Held() *Held {
	m := r.Memory
	switch {
	case r.Next.IsZero():
		return nil
	case !m.Degraded && m.BadSince != nil:
		return &Held{Status: metav1.ConditionTrue, Since: *m.BadSince, Until: r.Next}
	case m.Degraded && m.GoodSince != nil:
		return &Held{Status: metav1.ConditionFalse, Since: *m.GoodSince, Until: r.Next}
	}
	return nil // flapping: at Next the reason changes, not the status
}

// Compute computes the conditions of one object.
//
// It truncates texts of the observation to the bounds of the contract, as publishing does, so
// that an operator with an unpublished observation computes the same conditions.
func Compute(in Input) Result {
	if in.Observation != nil {
		bounded := in.Observation.Bounded()
		in.Observation = &bounded
	}
	old := indexByType(in.Previous)
	if !isFresh(in) {
		return computeStale(in, old)
	}
	e := newEvaluation(in, old)
	degraded, next := e.damp(in.Now)

	outcomes := map[string]outcome{
		TypeAvailable:   firstMatch(availableRules, e),
		TypeProgressing: firstMatch(progressingRules, e),
		TypeDegraded:    degraded,
		TypePaused:      firstMatch(pausedRules, e),
		TypeStopped:     firstMatch(stoppedRules, e),
	}
	outcomes[TypeUpgradable] = upgradable(e, outcomes[TypeProgressing], degraded)
	if in.WithReady {
		outcomes[TypeReady] = ready(outcomes[TypeAvailable], degraded)
	}
	published := publish(in, old, outcomes, e.observedGeneration)
	e.state.recordTransitions(published)
	return Result{Conditions: published, Memory: e.state, Next: next, Evidence: e.evidence()}
}

// isFresh reports whether there is a current observation.
func isFresh(in Input) bool { return in.Observation != nil && in.Freshness == Fresh }

// computeStale returns Unknown for each type and keeps the state, so that hold-downs continue
// when the observer is alive again.
func computeStale(in Input, old map[string]metav1.Condition) Result {
	stale := outcome{metav1.ConditionUnknown, ReasonNotYetObserved, "No observation of this object has been received yet."}
	var observedGeneration func(string) int64
	if in.Observation != nil && in.Freshness != NeverObserved {
		observer := in.Observation.Observer.Name
		stale.reason = ReasonObserverStale
		stale.message = "No heartbeat from " + orElse(observer, "the observer") + "; its last observation may be stale."
		observedGeneration = newEvaluation(in, old).observedGeneration
	} else {
		observedGeneration = func(string) int64 { return 0 }
	}
	outcomes := make(map[string]outcome, len(TypesOf(in.WithReady)))
	for _, t := range TypesOf(in.WithReady) {
		outcomes[t] = stale
	}
	return Result{Conditions: publish(in, old, outcomes, observedGeneration), Memory: in.Memory, Evidence: []string{stale.message}}
}

// publish converts outcomes to conditions. lastTransitionTime changes only with the status.
func publish(
	in Input, old map[string]metav1.Condition, outcomes map[string]outcome, observedGeneration func(string) int64,
) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(outcomes))
	for _, t := range TypesOf(in.WithReady) {
		o := outcomes[t]
		c := metav1.Condition{
			Type:               t,
			Status:             o.status,
			Reason:             o.reason,
			Message:            clamp(o.message, MaxMessageBytes),
			ObservedGeneration: observedGeneration(t),
			LastTransitionTime: metav1.NewTime(in.Now.Truncate(time.Second)),
		}
		if before, ok := old[t]; ok && before.Status == c.Status && !before.LastTransitionTime.IsZero() {
			c.LastTransitionTime = before.LastTransitionTime
		}
		out = append(out, c)
	}
	return out
}

// indexByType returns the newest condition of each type.
func indexByType(previous []metav1.Condition) map[string]metav1.Condition {
	out := make(map[string]metav1.Condition, len(previous))
	for _, c := range previous {
		have, ok := out[c.Type]
		if !ok || have.LastTransitionTime.Before(&c.LastTransitionTime) {
			out[c.Type] = c
		}
	}
	return out
}
