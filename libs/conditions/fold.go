package conditions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// FieldManager owns the six conditions, and Ready where it is written, on every
// managed object, whichever process writes them.
const FieldManager = "flotilla-conditions"

// LeaseName is the Lease whose holder writes the conditions of all objects. While
// nobody renews it each operator writes those of its own objects.
const LeaseName = "flotilla-conditions"

// Condition types. The first six are those of ADR027.
const (
	TypeAvailable   = "Available"   // users' requests can be served
	TypeProgressing = "Progressing" // on the way from one steady state to another
	TypeDegraded    = "Degraded"    // something is wrong and has been for a while
	TypeUpgradable  = "Upgradable"  // an upgrade may begin; treat Unknown as no
	TypePaused      = "Paused"      // the user asked not to reconcile
	TypeStopped     = "Stopped"     // the user asked for no pods, and the last one is gone
	TypeReady       = "Ready"       // summary: Available is True and Degraded is not True
)

// Types lists all condition types that Fold writes; Ready only on request.
func Types() []string {
	return []string{TypeAvailable, TypeProgressing, TypeDegraded, TypeUpgradable, TypePaused, TypeStopped, TypeReady}
}

// Hold-downs of Degraded; all other types are published at once.
const (
	// MissingReplicasHold is how long replicas may be missing outside a rollout
	// before Degraded goes True.
	MissingReplicasHold = 120 * time.Second
	// RecoveryHold is how long the trouble must be gone before Degraded goes False.
	RecoveryHold = 30 * time.Second
	// FlapWindow is how long trouble that has come and gone must stay away before
	// Degraded goes False. A kubelet forgives a crashing container after as long.
	FlapWindow = 10 * time.Minute
	// FlapCount is how often trouble comes back before it is called flapping. Coming
	// back within FlapWindow of a published recovery is enough by itself.
	FlapCount = 3
	// FlapLeak is how much slower time without trouble empties the hold-down than
	// time with trouble fills it, so that what comes and goes matures in the end.
	FlapLeak = 2
)

// Freshness says how far an observation may be believed.
type Freshness int

// Degrees of freshness.
const (
	Fresh         Freshness = iota // the observer is heard
	ObserverStale                  // the bus is heard, the observer is not
	NeverObserved                  // no observation was ever received
)

// Input is all that [Fold] reads.
type Input struct {
	// Observation is the newest one; nil when there was none.
	Observation *contract.Observation
	// Generation is metadata.generation of the object as it is now; it may be ahead of the observation's.
	Generation int64
	// Deleting is true when the object carries a deletion timestamp.
	Deleting  bool
	Freshness Freshness
	// Now is the time of the fold.
	Now time.Time
	// Previous are the conditions that the object carries; types that Fold does not own are ignored.
	Previous []metav1.Condition
	// Memory is what the last Fold for this object returned; the zero value is a fresh start.
	Memory Memory
	// WithReady asks for the summary Ready too.
	WithReady bool
}

// Result is the answer of [Fold].
type Result struct {
	// Conditions has one entry for each type, in the order of the Type constants.
	Conditions []metav1.Condition
	// Memory is to be handed to the next Fold for the same object.
	Memory Memory
	// Next is when a hold-down ends; the zero time when nothing is pending.
	Next time.Time
	// Evidence are the findings behind the answer, most telling first, at most [MaxEvidence] of them.
	Evidence []string
}

// Held is a change of Degraded that damping holds back.
type Held struct {
	// Status is what Degraded would be without damping.
	Status metav1.ConditionStatus
	// Since is since when it would be that, and Until when it will be, if nothing changes.
	Since, Until time.Time
}

// Held returns the change that is held back; nil when none is.
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
	return nil // flapping: what ends then is that name, not the status
}

// Fold computes the conditions of one object.
//
// It reads the observation as it is published, with texts cut to the bounds of the contract, so
// that whoever holds it unpublished comes to the same conditions.
func Fold(in Input) Result {
	if in.Observation != nil {
		published := in.Observation.Bounded()
		in.Observation = &published
	}
	old := indexByType(in.Previous)
	if !heard(in) {
		return unheard(in, old)
	}
	v := newView(in, old)
	degraded, next := v.damp(in.Now)

	verdicts := map[string]verdict{
		TypeAvailable:   firstMatch(availableRules, v),
		TypeProgressing: firstMatch(progressingRules, v),
		TypeDegraded:    degraded,
		TypePaused:      firstMatch(pausedRules, v),
		TypeStopped:     firstMatch(stoppedRules, v),
	}
	verdicts[TypeUpgradable] = upgradable(v, verdicts[TypeProgressing], degraded)
	if in.WithReady {
		verdicts[TypeReady] = ready(verdicts[TypeAvailable], degraded)
	}
	says := publish(in, old, verdicts, v.observedGeneration)
	v.memory.said(says)
	return Result{Conditions: says, Memory: v.memory, Next: next, Evidence: v.evidence()}
}

// heard says whether there is an observation that may be believed.
func heard(in Input) bool { return in.Observation != nil && in.Freshness == Fresh }

// unheard answers Unknown for every type and leaves the memory alone, so that
// hold-downs go on where they were once the observer is heard again.
func unheard(in Input, old map[string]metav1.Condition) Result {
	says := verdict{metav1.ConditionUnknown, ReasonNotYetObserved, "No observation of this object has been received yet."}
	var covered func(string) int64
	if in.Observation != nil && in.Freshness != NeverObserved {
		observer := in.Observation.Observer.Name
		says.reason = ReasonObserverStale
		says.message = "Nothing has been heard from " + orElse(observer, "the observer") + " for too long; what it said last may no longer be true."
		covered = newView(in, old).observedGeneration
	} else {
		covered = func(string) int64 { return 0 }
	}
	verdicts := make(map[string]verdict, len(types(in.WithReady)))
	for _, t := range types(in.WithReady) {
		verdicts[t] = says
	}
	return Result{Conditions: publish(in, old, verdicts, covered), Memory: in.Memory, Evidence: []string{says.message}}
}

// types lists the condition types in the order in which they are published.
func types(withReady bool) []string {
	six := []string{TypeAvailable, TypeProgressing, TypeDegraded, TypeUpgradable, TypePaused, TypeStopped}
	if withReady {
		return append(six, TypeReady)
	}
	return six
}

// publish makes conditions of verdicts. lastTransitionTime moves only when the status does.
func publish(in Input, old map[string]metav1.Condition, verdicts map[string]verdict, covered func(string) int64) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(verdicts))
	for _, t := range types(in.WithReady) {
		says := verdicts[t]
		c := metav1.Condition{
			Type:               t,
			Status:             says.status,
			Reason:             says.reason,
			Message:            clamp(says.message, MaxMessageBytes),
			ObservedGeneration: covered(t),
			LastTransitionTime: metav1.NewTime(in.Now.Truncate(time.Second)),
		}
		if before, ok := old[t]; ok && before.Status == c.Status && !before.LastTransitionTime.IsZero() {
			c.LastTransitionTime = before.LastTransitionTime
		}
		out = append(out, c)
	}
	return out
}

// indexByType keeps the newest entry of each type.
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
