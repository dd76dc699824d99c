package object

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }

func observed(epoch int64, seq uint64, live bool) *model.Received {
	return &model.Received{Observation: contract.Observation{Epoch: epoch, Seq: seq}, Live: live}
}

func spoken(epoch int64, seq uint64) *contract.StatusEntry {
	return &contract.StatusEntry{Provenance: &contract.Provenance{Epoch: epoch, Seq: seq}}
}

// shown is an entry that equals the conditions of an object.
func shown(epoch int64, seq uint64, present []metav1.Condition) *contract.StatusEntry {
	e := spoken(epoch, seq)
	e.Conditions = toContract(present)
	return e
}

func covering(generation int64, live bool) *model.Received {
	h := observed(1, 1, live)
	h.Observation.ObservedGeneration = generation
	h.Observation.Object.Generation = generation
	return h
}

func covered(generation int64) []metav1.Condition {
	return []metav1.Condition{{Type: conditions.TypeAvailable, ObservedGeneration: generation}}
}

func TestDecide(t *testing.T) {
	present := []metav1.Condition{{Type: conditions.TypeAvailable, Status: metav1.ConditionTrue}}
	later := []metav1.Condition{{Type: conditions.TypeAvailable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(-60))}}
	ready := []metav1.Condition{{Type: "LifecycleComplete", ObservedGeneration: 1}, {Type: conditions.TypeReady, ObservedGeneration: 1}}
	hold := decision{hold: true}
	fresh := decision{freshness: conditions.Fresh}
	cases := map[string]struct {
		facts facts
		want  decision
	}{
		"deaf: say nothing": {
			facts{state: liveness.Disconnected, received: observed(1, 1, true), present: present}, hold,
		},
		"an engine waits for its instance, of which its operator's own Ready tells: fold": {
			facts{state: liveness.Alive, received: covering(0, true), present: ours(ready, false), waitingSince: now}, fresh,
		},
		"the same of a kind whose Ready is ours: wait": {
			facts{state: liveness.Alive, received: covering(0, true), present: ours(ready, true), waitingSince: now},
			decision{hold: true, again: at(30)},
		},
		"speaking: fold": {
			facts{state: liveness.Alive, received: observed(1, 1, false), present: present}, fresh,
		},
		"speaking, the same as last time: fold, since time may have passed": {
			facts{state: liveness.Alive, received: observed(1, 1, false), entry: spoken(1, 1), present: present}, fresh,
		},
		"an observation that covers less than what somebody wrote since: wait": {
			facts{state: liveness.Alive, received: covering(1, true), present: covered(2), waitingSince: at(-29)},
			decision{hold: true, again: at(1)},
		},
		"an observation that covers less, and no other one comes: fold": {
			facts{state: liveness.Alive, received: covering(1, true), present: covered(2), waitingSince: at(-30)}, fresh,
		},
		"an observation that covers as much: fold": {
			facts{state: liveness.Alive, received: covering(2, false), present: covered(2)}, fresh,
		},
		"silent: stale": {
			facts{state: liveness.Stale, received: observed(1, 1, true), entry: spoken(1, 1), present: present},
			decision{freshness: conditions.ObserverStale},
		},
		"unsure, and the object has conditions that somebody may have written since: wait": {
			facts{state: liveness.Unconfirmed, received: observed(1, 1, false), entry: spoken(1, 1), present: present}, hold,
		},
		"unsure, a retained observation that is newer: wait, an even newer one may be held back": {
			facts{state: liveness.Unconfirmed, received: observed(1, 2, false), entry: spoken(1, 1), present: present}, hold,
		},
		"unsure, but a newer observation came live, and the object shows what we said: fold": {
			facts{state: liveness.Unconfirmed, received: observed(1, 2, true), entry: shown(1, 1, present), present: present}, fresh,
		},
		"unsure, a live observation of a greater epoch: fold": {
			facts{state: liveness.Unconfirmed, received: observed(2, 1, true), entry: shown(1, 9, present), present: present}, fresh,
		},
		"unsure, a newer observation came live, but somebody has written since, and may have known more: wait": {
			facts{state: liveness.Unconfirmed, received: observed(1, 2, true), entry: shown(1, 1, later), present: present}, hold,
		},
		"unsure, a live observation, and nothing is known of who wrote what the object shows: wait": {
			facts{state: liveness.Unconfirmed, received: observed(1, 2, true), present: present}, hold,
		},
		"unsure, but nobody has written conditions yet: fold": {
			facts{state: liveness.Unconfirmed, received: observed(1, 1, false), present: ours(ready, false)}, fresh,
		},
		"an observation older than the last word, same epoch: wait": {
			facts{state: liveness.Alive, received: observed(1, 1, true), entry: spoken(1, 2), present: present}, hold,
		},
		"a lower epoch while the former one is believed: wait until it is not": {
			facts{state: liveness.Alive, received: observed(1, 9, true), entry: spoken(2, 1), formerAlive: at(20), present: present},
			decision{hold: true, again: at(20)},
		},
		"a lower epoch when the former one has fallen silent: fold": {
			facts{state: liveness.Alive, received: observed(1, 9, true), entry: spoken(2, 1), present: present}, fresh,
		},
		"a lower epoch waits behind the one that is believed: fold, and look again": {
			facts{state: liveness.Alive, received: observed(2, 1, true), entry: spoken(2, 1), formerAlive: at(20), present: present},
			decision{freshness: conditions.Fresh, again: at(20)},
		},
		"nothing heard of a new object: wait": {
			facts{state: liveness.Alive, waitingSince: at(-5)}, decision{hold: true, again: at(25)},
		},
		"nothing heard for long although the observer speaks: never observed": {
			facts{state: liveness.Alive, waitingSince: at(-30)}, decision{freshness: conditions.NeverObserved},
		},
		"nothing heard, and the observer is silent: never observed": {
			facts{state: liveness.Stale, waitingSince: now}, decision{freshness: conditions.NeverObserved},
		},
		"nothing heard, and it is unsure whether the observer speaks: wait": {
			facts{state: liveness.Unconfirmed, waitingSince: at(-300), present: present}, decision{hold: true, again: at(-270)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.facts.now = now
			if diff := cmp.Diff(tc.want, decide(tc.facts), cmp.AllowUnexported(decision{})); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrevious(t *testing.T) {
	available := func(status metav1.ConditionStatus, second int) metav1.Condition {
		return metav1.Condition{Type: conditions.TypeAvailable, Status: status, LastTransitionTime: metav1.NewTime(at(second))}
	}
	entry := func(list ...metav1.Condition) *contract.StatusEntry {
		return &contract.StatusEntry{Conditions: toContract(list)}
	}
	cases := map[string]struct {
		present []metav1.Condition
		entry   *contract.StatusEntry
		want    []metav1.Condition
	}{
		"nothing is known": {},
		"the object alone, without what others own": {
			present: []metav1.Condition{{Type: "LifecycleComplete"}, available("True", 1)},
			want:    []metav1.Condition{available("True", 1)},
		},
		"the entry alone: the object lost its status": {
			entry: entry(available("True", 1)), want: []metav1.Condition{available("True", 1)},
		},
		"operators wrote while we were away": {
			present: []metav1.Condition{available("False", 9)}, entry: entry(available("True", 1)),
			want: []metav1.Condition{available("False", 9)},
		},
		"our last write did not come through": {
			present: []metav1.Condition{available("False", 1)}, entry: entry(available("True", 9)),
			want: []metav1.Condition{available("True", 9)},
		},
		"our last write, in the second of the one before it, did not come through": {
			present: []metav1.Condition{available("False", 1)}, entry: entry(available("True", 1)),
			want: []metav1.Condition{available("True", 1)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, previous(ours(tc.present, true), tc.entry)); diff != "" {
				t.Errorf("previous (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSameEntry(t *testing.T) {
	base := contract.StatusEntry{
		Object: contract.Object{UID: "u", ResourceVersion: "1"}, Phase: "Running", UpdatedAt: now,
		Conditions: []contract.Condition{{Type: "Available", Status: "True"}},
		Provenance: &contract.Provenance{Epoch: 1, Seq: 1, StreamSequence: 7, ReceivedAt: now},
	}
	cases := map[string]struct {
		change func(*contract.StatusEntry)
		want   bool
	}{
		"nothing":                        {func(*contract.StatusEntry) {}, true},
		"the object's resource version":  {func(e *contract.StatusEntry) { e.Object.ResourceVersion = "2" }, true},
		"the time of writing":            {func(e *contract.StatusEntry) { e.UpdatedAt = at(1) }, true},
		"the opaque memory":              {func(e *contract.StatusEntry) { e.Memory = []byte("{}") }, true},
		"the place in the stream":        {func(e *contract.StatusEntry) { e.Provenance.StreamSequence = 8 }, true},
		"the time of receipt":            {func(e *contract.StatusEntry) { e.Provenance.ReceivedAt = at(1) }, true},
		"the version of the observation": {func(e *contract.StatusEntry) { e.Provenance.Seq = 2 }, false},
		"the phase":                      {func(e *contract.StatusEntry) { e.Phase = "Degraded" }, false},
		"the last transition":            {func(e *contract.StatusEntry) { e.LastTransitionSeq = 2 }, false},
		"a condition":                    {func(e *contract.StatusEntry) { e.Conditions[0].Status = "False" }, false},
		"the generation":                 {func(e *contract.StatusEntry) { e.Object.Generation = 2 }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := base
			other.Conditions = append([]contract.Condition{}, base.Conditions...)
			provenance := *base.Provenance
			other.Provenance = &provenance
			tc.change(&other)
			got, err := sameEntry(base, other)
			if err != nil || got != tc.want {
				t.Errorf("same: %v, %v", got, err)
			}
		})
	}
}

func TestEvidence(t *testing.T) {
	present := []metav1.Condition{
		{Type: conditions.TypeAvailable, ObservedGeneration: 2},
		{Type: conditions.TypePaused, ObservedGeneration: 3},
		{Type: "Foreign", ObservedGeneration: 9},
	}
	cases := map[string]struct {
		received  *model.Received
		present   []metav1.Condition
		freshness conditions.Freshness
		want      [2]int64 // generations of Available and of Paused; zero: no observation
		stale     conditions.Freshness
	}{
		"fresh: as it is":                                      {covering(1, true), present, conditions.Fresh, [2]int64{1, 1}, conditions.Fresh},
		"stale: not behind what the object shows":              {covering(1, true), present, conditions.ObserverStale, [2]int64{2, 3}, conditions.ObserverStale},
		"lost, and the object shows that there was one: stale": {nil, present, conditions.NeverObserved, [2]int64{2, 3}, conditions.ObserverStale},
		"never observed":                                       {nil, nil, conditions.NeverObserved, [2]int64{}, conditions.NeverObserved},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, freshness := evidence(facts{received: tc.received, present: ours(tc.present, true)}, tc.freshness, "x")
			var got [2]int64
			if o != nil {
				got = [2]int64{o.ObservedGeneration, o.Object.Generation}
			}
			if got != tc.want || freshness != tc.stale {
				t.Errorf("covers %v, freshness %d, want %v, %d", got, freshness, tc.want, tc.stale)
			}
		})
	}
}
