package eventcheck

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/test/e2e/subscriber"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func at(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }

func available(status string, second int) contract.Condition {
	return contract.Condition{Type: "Available", Status: status, LastTransitionTime: at(second)}
}

func event(id string, data contract.Lifecycle) subscriber.Event {
	data.Object.UID = "u"
	return subscriber.Event{ID: id, Data: data}
}

func snapshot(id string, gap bool, c contract.Condition, phase int64) subscriber.Event {
	return event(id, contract.Lifecycle{
		Event: contract.EventSnapshot, Gap: gap, Conditions: []contract.Condition{c}, Phase: &contract.PhaseChange{Seq: phase},
	})
}

func change(id string, before, after contract.Condition, gap bool) subscriber.Event {
	return event(id, contract.Lifecycle{
		Event: contract.EventAvailable, Gap: gap, Condition: &contract.ConditionChange{Type: "Available", Before: &before, After: after},
	})
}

func phase(id string, seq int64, to string) subscriber.Event {
	return event(id, contract.Lifecycle{Event: contract.EventPhase, Phase: &contract.PhaseChange{Seq: seq, To: to}})
}

// The life of an object, and its events.
var (
	falseAt1, trueAt2, falseAt9 = available("False", 1), available("True", 2), available("False", 9)
	recorded                    = History{
		Name:   "Boat b",
		flips:  []flip{{"Available", "False", at(1)}, {"Available", "True", at(2)}, {"Available", "False", at(9)}},
		phases: map[int64]string{1: "creating", 2: "stable"},
		last:   map[string]flip{"Available": {"Available", "False", at(9)}},
	}
	initial = []subscriber.Event{phase("1", 1, "creating"), snapshot("s", false, falseAt1, 1)}
	all     = slices.Concat(initial, []subscriber.Event{phase("2", 2, "stable"), change("a", falseAt1, trueAt2, false), change("b", trueAt2, falseAt9, false)})
)

type compareCase struct {
	history   History
	events    []subscriber.Event
	snapshots int
	outages   []Outage
	want      string // substring of the error; empty: no error
}

func checkCompare(t *testing.T, cases map[string]compareCase) {
	t.Helper()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			err := Compare("u", test.history, test.events, test.snapshots, test.outages)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestCompareEventsWithLife(t *testing.T) {
	ended := recorded
	ended.deleted = true
	end := event("d", contract.Lifecycle{Event: contract.EventDeleted})
	checkCompare(t, map[string]compareCase{
		"each event once":               {recorded, all, 1, nil, ""},
		"an event of another object":    {recorded, append(slices.Clip(all), subscriber.Event{ID: "x"}), 1, nil, ""},
		"the deletion":                  {ended, append(slices.Clip(all), end), 1, nil, ""},
		"the deletion is missing":       {ended, all, 1, nil, "deletion published: false"},
		"the deletion of a live object": {recorded, append(slices.Clip(all), end), 1, nil, "deletion published: true"},
		"an event after the deletion":   {ended, append(initial[:2:2], all[2], all[3], end, all[4]), 1, nil, "follows the deletion"},
		"a change is missing":           {recorded, append(initial[:2:2], all[2], all[4]), 1, nil, "of the previous event"},
		"the last change is missing":    {recorded, all[:4], 1, nil, "missing event: Available became False at 10:00:09"},
		"a change twice":                {recorded, append(all[:4:4], all[3], all[4]), 1, nil, "of the previous event"},
		"a change that did not last":    {recorded, append(all[:4:4], change("c", trueAt2, falseAt9, false), change("d", falseAt9, available("True", 9), false), change("e", available("True", 9), falseAt9, false)), 1, nil, ""},
		"a change that did not happen":  {recorded, append(all[:5:5], change("c", falseAt9, available("True", 12), false)), 1, nil, "Available is False"},
		"a phase is missing":            {recorded, append(initial[:2:2], all[3], all[4]), 1, nil, "phase change 2 to stable"},
		"a phase twice":                 {recorded, append(all[:3:3], all[2], all[3], all[4]), 1, nil, "follows number 2"},
		"a change without a difference": {recorded, append(all[:5:5], change("c", falseAt9, falseAt9, false)), 1, nil, "with gap: false"},
		"a snapshot without a reset":    {recorded, append(all[:5:5], snapshot("t", true, falseAt9, 2)), 1, nil, "2 snapshots"},
	})
}

func TestCompareEventsAfterOutage(t *testing.T) {
	checkCompare(t, map[string]compareCase{
		"a stream reset":                  {recorded, append(all[:3:3], snapshot("t", true, falseAt9, 2)), 2, []Outage{{at(2), at(9)}}, ""},
		"a stream reset without a gap":    {recorded, append(all[:3:3], snapshot("t", false, falseAt9, 2)), 2, []Outage{{at(2), at(9)}}, "gap: false"},
		"one change for several":          {recorded, append(initial[:2:2], all[2], change("g", falseAt1, falseAt9, true)), 1, []Outage{{at(2), at(9)}}, ""},
		"a wrong status after an outage":  {recorded, append(initial[:2:2], all[2], change("g", falseAt1, trueAt2, false)), 1, []Outage{{at(2), time.Time{}}}, "Available is False"},
		"an outage that was already over": {recorded, append(initial[:2:2], all[2], change("g", falseAt1, falseAt9, true)), 1, []Outage{{at(4), at(9)}}, "became True at 10:00:02"},
	})
}

func TestCompareUnwrittenStatus(t *testing.T) {
	// Another status between the first and the last one was not written to the API server.
	moved := History{
		Name: "Boat b", flips: []flip{{"Available", "False", at(1)}, {"Available", "False", at(9)}},
		moves:  []move{{"Available", "False", at(1), at(9)}},
		phases: recorded.phases, last: recorded.last,
	}
	jumped := slices.Concat(initial, []subscriber.Event{all[2], change("g", falseAt1, falseAt9, true)})
	checkCompare(t, map[string]compareCase{
		"a status that was never written":   {moved, all, 1, nil, ""},
		"a missing transition":              {moved, jumped, 1, nil, "stayed False, and its lastTransitionTime moved from 10:00:01 to 10:00:09"},
		"a missing transition in an outage": {moved, jumped, 1, []Outage{{at(2), at(9)}}, ""},
		"a transition after the outage":     {moved, jumped, 1, []Outage{{at(2), at(4)}}, "stayed False"},
	})
}

func TestSubscriberAndStreamAgree(t *testing.T) {
	histories := map[string]History{"u": {}}
	a, b, other := phase("1", 1, "x"), phase("2", 2, "y"), subscriber.Event{ID: "foreign"}
	for name, test := range map[string]struct {
		received, stored []subscriber.Event
		complete, ok     bool
	}{
		"the same":                 {[]subscriber.Event{a, b}, []subscriber.Event{a, b, other}, true, true},
		"one was not received":     {[]subscriber.Event{a}, []subscriber.Event{a, b}, true, false},
		"one was stored twice":     {[]subscriber.Event{a, b}, []subscriber.Event{a, b, b}, true, false},
		"one is not in the stream": {[]subscriber.Event{a, b}, []subscriber.Event{b}, true, false},
		"the stream was reset":     {[]subscriber.Event{a, b}, []subscriber.Event{b}, false, true},
	} {
		if err := Agree(histories, test.received, test.stored, test.complete); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
