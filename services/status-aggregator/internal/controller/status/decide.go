package status

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/silence"
)

// grace is how long an object may go without an observation that can be used while its observer speaks.
const grace = 30 * time.Second

// facts are all that a decision is made from.
type facts struct {
	now     time.Time
	verdict silence.Verdict
	// heard is the observation to believe; nil: none of this incarnation.
	heard *model.Heard
	// formerAlive is until when the epoch that spoke last is believed; zero: no longer.
	formerAlive time.Time
	// waitingSince is since when we have waited for a first observation, or for one that
	// is not behind what the object shows.
	waitingSince time.Time
	// entry is what was said last of this incarnation; nil: nothing is known.
	entry *contract.StatusEntry
	// present are the conditions of ours that the object carries.
	present []metav1.Condition
}

// decision is what to say.
type decision struct {
	// hold says nothing new: what the object carries stays.
	hold      bool
	freshness conditions.Freshness
	// again is when to decide anew although nothing changed; zero: not by time.
	again time.Time
}

// decide says whether the observation may be acted upon, and how fresh it is.
func decide(f facts) decision {
	d := judge(f)
	if d.again.IsZero() {
		d.again = f.formerAlive // a word of a lower epoch may count then
	}
	return d
}

// judge is the list of rules; the first match wins.
func judge(f facts) decision {
	switch {
	case f.verdict == silence.Deaf:
		return decision{hold: true}
	case f.heard == nil:
		return decideUnheard(f)
	case f.verdict == silence.Silent:
		return decision{freshness: conditions.ObserverStale}
	case older(f):
		// What we heard is older than what was said last: the stream lost the rest, or
		// the observer's clock went back. The newer word counts while its speaker may live.
		return decision{hold: true}
	case behind(f) && f.now.Before(f.waitingSince.Add(grace)):
		return decision{hold: true, again: f.waitingSince.Add(grace)}
	case f.verdict == silence.Speaking:
		return decision{freshness: conditions.Fresh}
	case newer(f) && untouched(f) || len(f.present) == 0:
		return decision{freshness: conditions.Fresh}
	default:
		// Unsure: operators may have written since, and known more than what arrives now.
		return decision{hold: true}
	}
}

// decideUnheard answers for an object of which nothing was heard.
func decideUnheard(f facts) decision {
	until := f.waitingSince.Add(grace)
	switch {
	case f.verdict == silence.Silent:
		return decision{freshness: conditions.NeverObserved}
	case f.verdict == silence.Speaking && !f.now.Before(until):
		return decision{freshness: conditions.NeverObserved}
	default:
		return decision{hold: true, again: until}
	}
}

// evidence is the observation to fold, and how fresh it is. One that is not fresh says
// nothing but which generation was covered, and no condition may fall behind what the
// object shows: somebody may have written since, or the bus may have lost it all.
func evidence(f facts, freshness conditions.Freshness, observer string) (*contract.Observation, conditions.Freshness) {
	if freshness == conditions.Fresh {
		return &f.heard.Observation, freshness
	}
	o := contract.Observation{Observer: contract.Observer{Name: observer}}
	if f.heard != nil {
		o = f.heard.Observation
	}
	for _, c := range f.present {
		if c.Type == conditions.TypePaused {
			o.Object.Generation = max(o.Object.Generation, c.ObservedGeneration)
		} else {
			o.ObservedGeneration = max(o.ObservedGeneration, c.ObservedGeneration)
		}
	}
	if f.heard == nil && o.ObservedGeneration == 0 && o.Object.Generation == 0 {
		return nil, freshness
	}
	return &o, conditions.ObserverStale
}

// older says that the observation is older than the one behind the entry.
func older(f facts) bool {
	p := provenance(f)
	if p == nil {
		return false
	}
	o := f.heard.Observation
	if o.Epoch != p.Epoch {
		return o.Epoch < p.Epoch && !f.formerAlive.IsZero()
	}
	return o.Seq < p.Seq
}

// behind says that the observation covers less of the spec than what the object
// carries: somebody who knew more has written since, and the observer's newer word is
// still to come.
func behind(f facts) bool {
	o := f.heard.Observation
	for _, c := range f.present {
		covers := o.ObservedGeneration
		if c.Type == conditions.TypePaused {
			covers = o.Object.Generation
		}
		if covers < c.ObservedGeneration {
			return true
		}
	}
	return false
}

// newer says that the observation came live and is newer than the one behind the entry.
func newer(f facts) bool {
	p := provenance(f)
	o := f.heard.Observation
	return f.heard.Live && (p == nil || o.Epoch > p.Epoch || o.Epoch == p.Epoch && o.Seq > p.Seq)
}

// untouched says that the object shows what we said last, so that nobody else has written since.
func untouched(f facts) bool {
	if f.entry == nil {
		return false
	}
	for _, c := range f.present {
		said := find(f.entry.Conditions, c.Type)
		if said == nil || said.Status != string(c.Status) || said.Reason != c.Reason || said.Message != c.Message ||
			said.ObservedGeneration != c.ObservedGeneration ||
			!said.LastTransitionTime.Truncate(time.Second).Equal(c.LastTransitionTime.Truncate(time.Second)) {
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

func provenance(f facts) *contract.Provenance {
	if f.entry == nil {
		return nil
	}
	return f.entry.Provenance
}

// previous merges what the object carries of ours with what the entry says: of each type
// the one that changed last. The object may be ahead (operators wrote while we were
// away) or behind (our last write did not come through). Within the same second,
// which is all that the API server stores, it is behind: operators wait for longer
// than that before they write.
func previous(present []metav1.Condition, entry *contract.StatusEntry) []metav1.Condition {
	merged := slices.Clone(present)
	if entry == nil {
		return merged
	}
	for _, c := range entry.Conditions {
		said := toKubernetes(c)
		i := index(merged, c.Type)
		switch {
		case i < 0:
			merged = append(merged, said)
		case !said.LastTransitionTime.Before(&merged[i].LastTransitionTime):
			merged[i] = said
		}
	}
	return merged
}

// ours keeps the conditions that the fold writes. Ready is among them only where the
// operator defines none of its own: what that says follows other rules, and would look as
// if somebody had written for us.
func ours(present []metav1.Condition, withReady bool) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range present {
		switch c.Type {
		case conditions.TypeAvailable, conditions.TypeProgressing, conditions.TypeDegraded, conditions.TypeUpgradable,
			conditions.TypePaused, conditions.TypeStopped:
			out = append(out, c)
		case conditions.TypeReady:
			if withReady {
				out = append(out, c)
			}
		}
	}
	return out
}

// sameEntry compares what two entries say, leaving out when and at which version it was said.
func sameEntry(a, b contract.StatusEntry) (bool, error) {
	left, err := json.Marshal(essence(a))
	if err != nil {
		return false, err
	}
	right, err := json.Marshal(essence(b))
	if err != nil {
		return false, err
	}
	return bytes.Equal(left, right), nil
}

func essence(e contract.StatusEntry) contract.StatusEntry {
	e.Object.ResourceVersion = "" // our own write of the status moves it
	e.UpdatedAt = time.Time{}
	e.Memory = nil
	if e.Provenance != nil {
		p := *e.Provenance
		p.StreamSequence, p.ReceivedAt = 0, time.Time{}
		e.Provenance = &p
	}
	return e
}

func sameMemory(a, b conditions.Memory) (bool, error) {
	left, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	right, err := json.Marshal(b)
	if err != nil {
		return false, err
	}
	return bytes.Equal(left, right), nil
}

func index(list []metav1.Condition, conditionType string) int {
	for i := range list {
		if list[i].Type == conditionType {
			return i
		}
	}
	return -1
}

func toContract(list []metav1.Condition) []contract.Condition {
	out := make([]contract.Condition, 0, len(list))
	for _, c := range list {
		out = append(out, contract.Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message,
			ObservedGeneration: c.ObservedGeneration,
			// As the API server stores it: whole seconds.
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
