package object

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

// grace is how long an object may lack a usable observation while its observer is alive.
const grace = 30 * time.Second

// requeueOverdue is the delay of the next decision while an observer is overdue.
const requeueOverdue = time.Second

// inputs are the inputs of a decision.
type inputs struct {
	now   time.Time
	state liveness.State
	// received is the observation to use; nil if this incarnation has none.
	received *model.Received
	// overdue is true for an observer past its deadline whose heartbeats the watchdog has not probed for yet.
	overdue bool
	// formerExpiry is the end of the validity of the previous epoch; zero if it has ended.
	formerExpiry time.Time
	// waitingSince is the start of the wait for a first observation, or for one that covers
	// the generation on the object.
	waitingSince time.Time
	// entry is the last status entry of this incarnation; nil if there is none.
	entry *contract.StatusEntry
	// present are the managed conditions on the object.
	present []metav1.Condition
}

// decision is the result of [decide].
type decision struct {
	// hold keeps the conditions of the object unchanged.
	hold      bool
	freshness conditions.Freshness
	// retryAt is the time of the next decision without a change; zero for none.
	retryAt time.Time
}

// decide returns whether to act on the observation, and its freshness.
func decide(f inputs) decision {
	d := evaluate(f)
	switch {
	case !d.retryAt.IsZero():
	case !f.formerExpiry.IsZero():
		d.retryAt = f.formerExpiry // an observation of a lower epoch may be used then
	case d.hold && f.overdue:
		d.retryAt = f.now.Add(requeueOverdue) // if the probe finds a heartbeat, the state never changed
	}
	return d
}

// evaluate evaluates the rules in order; the first match wins.
func evaluate(f inputs) decision {
	switch {
	case f.state == liveness.Disconnected:
		return decision{hold: true}
	case f.received == nil:
		return decideUnobserved(f)
	case f.state == liveness.Stale:
		return decision{freshness: conditions.ObserverStale}
	case isOlder(f):
		// The observation is older than that of the entry: the stream lost newer ones, or
		// the observer's clock was set back. The newer one counts while its epoch may be alive.
		return decision{hold: true}
	case isBehind(f) && f.now.Before(f.waitingSince.Add(grace)):
		return decision{hold: true, retryAt: f.waitingSince.Add(grace)}
	case f.state == liveness.Alive:
		return decision{freshness: conditions.Fresh}
	case isNewer(f) && isUnchanged(f) || len(f.present) == 0:
		return decision{freshness: conditions.Fresh}
	default:
		// Unconfirmed: operators may have written since, from newer state than this observation.
		return decision{hold: true}
	}
}

// decideUnobserved decides for an object without an observation.
func decideUnobserved(f inputs) decision {
	until := f.waitingSince.Add(grace)
	switch {
	case f.state == liveness.Stale:
		return decision{freshness: conditions.NeverObserved}
	case f.state == liveness.Alive && !f.now.Before(until):
		return decision{freshness: conditions.NeverObserved}
	case f.now.Before(until):
		return decision{hold: true, retryAt: until}
	default:
		return decision{hold: true} // Unconfirmed: the next change of the observer's state enqueues all objects
	}
}

// effectiveObservation returns the observation to compute conditions from, and its freshness. A stale observation
// contributes only the read and the applied generation, neither lower than that of the conditions on the
// object: an operator may have written since, or the bus may have lost its data. A generation that was read
// is not raised to an applied one: operators continue from that of Available.
func effectiveObservation(f inputs, freshness conditions.Freshness, observer string) (*contract.Observation, conditions.Freshness) {
	if freshness == conditions.Fresh {
		return &f.received.Observation, freshness
	}
	o := contract.Observation{Observer: contract.Observer{Name: observer}}
	if f.received != nil {
		o = f.received.Observation
	}
	for _, c := range f.present {
		if conditions.MayPrecedeApply(c.Type) {
			o.Object.Generation = max(o.Object.Generation, c.ObservedGeneration)
		} else {
			o.ObservedGeneration = max(o.ObservedGeneration, c.ObservedGeneration)
		}
	}
	if f.received == nil && o.ObservedGeneration == 0 && o.Object.Generation == 0 {
		return nil, freshness
	}
	return &o, conditions.ObserverStale
}

// isOlder reports whether the observation is older than that of the entry.
func isOlder(f inputs) bool {
	p := provenance(f)
	if p == nil {
		return false
	}
	o := f.received.Observation
	if o.Epoch != p.Epoch {
		return o.Epoch < p.Epoch && !f.formerExpiry.IsZero()
	}
	return o.Seq < p.Seq
}

// isBehind reports whether the observation covers an older generation than the conditions on the
// object: an operator has written since, and its newer observation has not arrived yet.
func isBehind(f inputs) bool {
	o := f.received.Observation
	for _, c := range f.present {
		observed := o.ObservedGeneration
		if conditions.MayPrecedeApply(c.Type) {
			observed = max(observed, o.Object.Generation)
		}
		if observed < c.ObservedGeneration {
			return true
		}
	}
	return false
}

// isNewer reports whether the observation arrived live and is newer than that of the entry.
func isNewer(f inputs) bool {
	p := provenance(f)
	o := f.received.Observation
	return f.received.Live && (p == nil || o.Epoch > p.Epoch || o.Epoch == p.Epoch && o.Seq > p.Seq)
}

// isUnchanged reports whether the object shows the conditions of the entry, so that no other client has
// written since.
func isUnchanged(f inputs) bool {
	if f.entry == nil {
		return false
	}
	for _, c := range f.present {
		recorded := find(f.entry.Conditions, c.Type)
		if recorded == nil || recorded.Status != string(c.Status) || recorded.Reason != c.Reason || recorded.Message != c.Message ||
			recorded.ObservedGeneration != c.ObservedGeneration ||
			!recorded.LastTransitionTime.Truncate(time.Second).Equal(c.LastTransitionTime.Truncate(time.Second)) {
			return false
		}
	}
	return true
}

func find(list []contract.Condition, conditionType string) *contract.Condition {
	for i := range list {
		if list[i].Type == conditionType {
			return &list[i]
		}
	}
	return nil
}

func provenance(f inputs) *contract.Provenance {
	if f.entry == nil {
		return nil
	}
	return f.entry.Provenance
}

// previous merges the managed conditions of the object with those of the entry: the latest
// transition of each type wins. The object may be ahead (operators wrote while the
// aggregator was down) or behind (the last write failed). Within the same second, the
// resolution of the API server, it is behind: operators wait longer than that before they
// write.
func previous(present []metav1.Condition, entry *contract.StatusEntry) []metav1.Condition {
	merged := slices.Clone(present)
	if entry == nil {
		return merged
	}
	for _, c := range entry.Conditions {
		recorded := toKubernetes(c)
		i := slices.IndexFunc(merged, func(m metav1.Condition) bool { return m.Type == c.Type })
		switch {
		case i < 0:
			merged = append(merged, recorded)
		case !recorded.LastTransitionTime.Before(&merged[i].LastTransitionTime):
			merged[i] = recorded
		}
	}
	return merged
}

// ownConditions returns the conditions that the aggregator writes. Ready is included only for kinds whose
// operator does not define it: such a Ready follows other rules and would look like a
// write by another client.
func ownConditions(present []metav1.Condition, withReady bool) []metav1.Condition {
	types := conditions.TypesOf(withReady)
	return slices.DeleteFunc(slices.Clone(present), func(c metav1.Condition) bool { return !slices.Contains(types, c.Type) })
}

// sameEntry reports whether two entries are equal, ignoring times and versions.
func sameEntry(a, b contract.StatusEntry) (bool, error) {
	return sameJSON(comparableEntry(a), comparableEntry(b))
}

func comparableEntry(e contract.StatusEntry) contract.StatusEntry {
	e.Object.ResourceVersion = "" // the controller's own status write changes it
	e.UpdatedAt = time.Time{}
	e.Memory = nil
	if e.Provenance != nil {
		p := *e.Provenance
		p.StreamSequence, p.ReceivedAt = 0, time.Time{}
		e.Provenance = &p
	}
	return e
}

// sameJSON reports whether two values are equal once they are stored.
func sameJSON(a, b any) (bool, error) {
	encodedA, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	encodedB, err := json.Marshal(b)
	return bytes.Equal(encodedA, encodedB), err
}

func toContract(list []metav1.Condition) []contract.Condition {
	out := make([]contract.Condition, 0, len(list))
	for _, c := range list {
		out = append(out, contract.Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message,
			ObservedGeneration: c.ObservedGeneration,
			// The API server stores whole seconds.
			LastTransitionTime: c.LastTransitionTime.UTC().Truncate(time.Second),
		})
	}
	return out
}

func toKubernetes(c contract.Condition) metav1.Condition {
	return metav1.Condition{
		Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
		ObservedGeneration: c.ObservedGeneration, LastTransitionTime: metav1.NewTime(c.LastTransitionTime),
	}
}
