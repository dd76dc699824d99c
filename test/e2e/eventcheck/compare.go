package eventcheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/test/e2e/subscriber"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

// Outage is a period in which no service can publish. Changes during an outage may be published as one change. They may also
// be written as one change, since no service writes conditions until the operators start to, after 30 s.
type Outage struct{ From, To time.Time }

func during(list []Outage, at time.Time) bool {
	return slices.ContainsFunc(list, func(a Outage) bool {
		return !at.Before(a.From.Truncate(time.Second)) && (a.To.IsZero() || !at.After(a.To))
	})
}

// published is the state of one object according to its events, in order.
type published struct {
	status    map[string]string // latest status by condition type
	flips     map[flip]bool
	phases    map[int64]string
	phase     int64 // number of the last phase change
	snapshots int
	ended     bool
	problems  []error
}

// read processes the events of an object. The state before each event must equal the state after the previous one.
func read(uid string, events []subscriber.Event) *published {
	t := &published{status: map[string]string{}, flips: map[flip]bool{}, phases: map[int64]string{}}
	for _, e := range events {
		if e.Data.Object.UID != uid {
			continue
		}
		if t.ended {
			t.addProblem("event %s follows the deletion", e.ID)
		}
		switch data := e.Data; {
		case data.Event == contract.EventSnapshot:
			t.snapshot(e)
		case data.Event == contract.EventPhase && data.Phase != nil:
			if data.Phase.Seq != t.phase+1 && !data.Gap {
				t.addProblem("phase change %d follows number %d", data.Phase.Seq, t.phase)
			}
			t.phase = data.Phase.Seq
			t.phases[t.phase] = data.Phase.To
		case data.Event == contract.EventDeleted:
			t.ended = true
		case data.Condition != nil:
			t.change(e)
		}
	}
	return t
}

func (t *published) addProblem(format string, args ...any) {
	t.problems = append(t.problems, fmt.Errorf(format, args...))
}

// snapshot processes a snapshot, which begins a history. Only the first one has no gap; later ones follow a stream reset.
func (t *published) snapshot(e subscriber.Event) {
	t.snapshots++
	if e.Data.Gap != (t.snapshots > 1) {
		t.addProblem("snapshot %s has number %d and gap: %t", e.ID, t.snapshots, e.Data.Gap)
	}
	clear(t.status)
	for _, c := range e.Data.Conditions {
		t.apply(c)
	}
	if e.Data.Phase != nil {
		t.phase = max(t.phase, e.Data.Phase.Seq)
	}
}

func (t *published) change(e subscriber.Event) {
	c := e.Data.Condition
	before := ""
	if c.Before != nil {
		before = c.Before.Status
	}
	if before != t.status[c.Type] {
		t.addProblem("event %s has %s before = %q, want %q of the previous event", e.ID, c.Type, before, t.status[c.Type])
	}
	if (before == c.After.Status) != e.Data.Gap {
		t.addProblem("event %s has a change of %s to %s from %s, with gap: %t", e.ID, c.Type, c.After.Status, before, e.Data.Gap)
	}
	t.apply(c.After)
}

func (t *published) apply(c contract.Condition) {
	t.status[c.Type] = c.Status
	if slices.Contains(timeline.Types, c.Type) {
		t.flips[flip{c.Type, c.Status, c.LastTransitionTime.UTC().Truncate(time.Second)}] = true
	}
}

// between reports whether the events contain another status between the two times of the move.
func (t *published) between(m move) bool {
	for f := range t.flips {
		if f.Type == m.Type && f.Status != m.Status && !f.At.Before(m.From) && !f.At.After(m.To) {
			return true
		}
	}
	return false
}

// Compare compares the events of an object with its history in the API server: all changes, their order, and the final
// state. Each snapshot begins a new history. A status that lasts only a moment may be published without being written: the
// aggregator publishes first, and computes the conditions again before the write if the object has changed.
func Compare(uid string, l History, events []subscriber.Event, snapshots int, outages []Outage) error {
	t := read(uid, events)
	problems := slices.Clone(t.problems)
	addProblem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if t.snapshots != snapshots {
		addProblem("got %d snapshots, want %d", t.snapshots, snapshots)
	}
	for _, f := range l.flips {
		if !t.flips[f] && !during(outages, f.At) {
			addProblem("missing event: %s became %s at %s", f.Type, f.Status, f.At.Format(time.TimeOnly))
		}
	}
	for _, m := range l.moves {
		if !t.between(m) && !during(outages, m.To) {
			addProblem("%s stayed %s, and its lastTransitionTime moved from %s to %s", m.Type, m.Status, m.From.Format(time.TimeOnly), m.To.Format(time.TimeOnly))
		}
	}
	for conditionType, f := range l.last {
		if t.status[conditionType] != f.Status && !l.deleted {
			addProblem("%s is %s, but its last event has %q", conditionType, f.Status, t.status[conditionType])
		}
	}
	for seq, to := range l.phases {
		if t.phases[seq] != to {
			addProblem("phase change %d to %s was published with phase %q", seq, to, t.phases[seq])
		}
	}
	if l.deleted != t.ended {
		addProblem("object deleted: %t, deletion published: %t", l.deleted, t.ended)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", l.Name, errors.Join(problems...))
}

// Agree compares the events that a subscriber received with those that the stream holds for the same objects: each must be
// stored once and received. If whole, the stream was not reset and must hold all received events.
func Agree(histories map[string]History, received, stored []subscriber.Event, complete bool) error {
	ids := func(events []subscriber.Event) map[string]int {
		out := map[string]int{}
		for _, e := range events {
			if _, ours := histories[e.Data.Object.UID]; ours {
				out[e.ID]++
			}
		}
		return out
	}
	receivedIDs, storedIDs := ids(received), ids(stored)
	var problems []string
	for id, n := range storedIDs {
		if n > 1 {
			problems = append(problems, fmt.Sprintf("%s is %d times in the stream", id, n))
		}
		if receivedIDs[id] == 0 {
			problems = append(problems, id+" was not received")
		}
	}
	for id := range receivedIDs {
		if complete && storedIDs[id] == 0 {
			problems = append(problems, id+" was received but is not in the stream")
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return errors.New(strings.Join(problems, "; "))
}
