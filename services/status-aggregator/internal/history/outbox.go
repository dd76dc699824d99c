package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// entryState is the content of an entry's opaque memory.
type entryState struct {
	// Fold is the state of damping.
	Fold conditions.State `json:"fold"`
	// Pending lists the pending events of this entry, in order.
	Pending []pendingEvent `json:"owes,omitempty"`
	// Base distinguishes the revisions of a lost bucket from those of its successor: the
	// stream sequence of the last event of the lost one or, if the stream has none, the
	// creation time of the stream in milliseconds; 0 if nothing was lost.
	Base uint64 `json:"base,omitempty"`
	// Ring counts how often the numbers of the object's phase changes restarted, as they do
	// when the cluster is restored from a backup: numbers are then used twice.
	Ring int64 `json:"ring,omitempty"`
	// NeverKnown lists the condition types that have been Unknown since the object was first seen.
	NeverKnown []string `json:"unjudged,omitempty"`
}

// pendingEvent is an event that an entry causes.
type pendingEvent struct {
	// Type is the condition type, or typePhase; empty for the snapshot.
	Type string `json:"type,omitempty"`
	// Before is the previous condition; nil if there was none.
	Before *contract.Condition `json:"before,omitempty"`
	// First marks a condition that became False and was never True, so that no state has ended.
	First bool `json:"first,omitempty"`
	// Gap marks that changes before this one are missing.
	Gap bool `json:"gap,omitempty"`
	// Seq is the last phase change that was published before the numbers restarted.
	Seq int64 `json:"seq,omitempty"`
}

// typePhase marks that the numbers of the phase changes restarted.
const typePhase = "phase"

// planned is an event that is ready to be published.
type planned struct {
	id    string
	phase phase // of a phase change, otherwise zero
	event contract.LifecycleEvent
	time  time.Time
	data  contract.Lifecycle
}

// ends are the condition types whose change to False ends a state: a new object has
// not recovered, and was neither resumed nor started.
var ends = []string{conditions.TypeDegraded, conditions.TypePaused, conditions.TypeStopped}

// neverKnown lists the types in ends that have been Unknown since the object was first seen.
func neverKnown(before *contract.StatusEntry, after contract.StatusEntry, was []string) []string {
	var out []string
	for _, kind := range ends {
		first := before == nil || before.Object.UID != after.Object.UID || slices.Contains(was, kind)
		if c := find(after.Conditions, kind); first && (c == nil || c.Status == "Unknown") {
			out = append(out, kind)
		}
	}
	return out
}

// pendingEvents compares two entries of one object. before is nil for the first entry. Types in
// neverKnown become False for the first time.
func pendingEvents(before *contract.StatusEntry, after contract.StatusEntry, lost bool, neverKnown []string) []pendingEvent {
	if before == nil || before.Object.UID != after.Object.UID {
		return []pendingEvent{{Gap: lost || hasForeignHistory(after)}}
	}
	var out []pendingEvent
	if after.LastTransitionSeq < before.LastTransitionSeq {
		out = append(out, pendingEvent{Type: typePhase, Gap: true, Seq: before.LastTransitionSeq})
	}
	for _, c := range after.Conditions {
		was := find(before.Conditions, c.Type)
		_, public := events[c.Type]
		switch {
		case !public: // Ready: it summarizes the others
		case was == nil || was.Status != c.Status:
			first := c.Status == "False" && slices.Contains(neverKnown, c.Type)
			out = append(out, pendingEvent{Type: c.Type, Before: was, First: first})
		case c.LastTransitionTime.After(was.LastTransitionTime):
			// Another writer changed the condition and changed it back: the steps in between are unknown.
			out = append(out, pendingEvent{Type: c.Type, Before: was, Gap: true})
		}
	}
	return out
}

// hasForeignHistory reports whether a condition is older than the entry, so another client wrote it.
func hasForeignHistory(e contract.StatusEntry) bool {
	for _, c := range e.Conditions {
		if c.LastTransitionTime.Before(e.UpdatedAt.Truncate(time.Second)) {
			return true
		}
	}
	return false
}

// plan returns the pending events of an entry. It depends only on the entry.
func plan(e contract.StatusEntry, p entryState, revision uint64) []planned {
	out := make([]planned, 0, len(p.Pending))
	for _, o := range p.Pending {
		if o.Type == "" {
			out = append(out, snapshot(e, o, id(e, "snapshot", p.Base, revision)))
			continue
		}
		if o.Type == typePhase {
			out = append(out, phaseReset(e, o, id(e, typePhase, p.Base, revision)))
			continue
		}
		after := find(e.Conditions, o.Type)
		if after == nil {
			continue // the entry is from another release
		}
		event := eventOf(*after)
		message := ""
		if o.First {
			event = contract.EventKnown
		}
		if o.Gap {
			event, message = contract.EventGap, fmt.Sprintf("%s changed and changed back without a published event", o.Type)
		}
		out = append(out, planned{
			id:    id(e, o.Type, p.Base, revision),
			event: event,
			time:  after.LastTransitionTime,
			data: contract.Lifecycle{
				Object: e.Object, Event: event, Gap: o.Gap, Message: message,
				Condition: &contract.ConditionChange{Type: o.Type, Before: o.Before, After: *after},
			},
		})
	}
	return out
}

func snapshot(e contract.StatusEntry, o pendingEvent, id string) planned {
	p := planned{
		id: id, event: contract.EventSnapshot, time: e.UpdatedAt,
		data: contract.Lifecycle{Object: e.Object, Event: contract.EventSnapshot, Gap: o.Gap, Conditions: e.Conditions},
	}
	if e.Phase != "" {
		p.data.Phase = &contract.PhaseChange{Seq: e.LastTransitionSeq, Time: e.UpdatedAt, To: e.Phase}
	}
	if o.Gap {
		p.data.Message = "changes before this snapshot are not in the history"
	}
	return p
}

// phaseReset returns the gap event for phase changes whose numbers restarted lower.
func phaseReset(e contract.StatusEntry, o pendingEvent, id string) planned {
	return planned{
		id: id, event: contract.EventGap, time: e.UpdatedAt,
		data: contract.Lifecycle{
			Object: e.Object, Event: contract.EventGap, Gap: true,
			Message: fmt.Sprintf("phase changes regressed from %d to %d, as after a restored backup; some may be missing",
				o.Seq, e.LastTransitionSeq),
			Phase: &contract.PhaseChange{Seq: e.LastTransitionSeq, Time: e.UpdatedAt, To: e.Phase},
		},
	}
}

// planPhases returns the events of the ring's entries after the given one. If the ring
// overwrote some, the first event has gap set.
func planPhases(object contract.Object, ring []transition.Entry, after phase) []planned {
	var out []planned
	for _, t := range ring {
		if t.Seq <= after.seq {
			continue
		}
		p := planned{
			id:    phaseID(object.UID, phase{after.restarts, t.Seq}),
			phase: phase{after.restarts, t.Seq},
			event: contract.EventPhase,
			time:  t.Time.Time,
			data: contract.Lifecycle{Object: object, Event: contract.EventPhase, Phase: &contract.PhaseChange{
				Seq: t.Seq, Time: t.Time.Time, From: t.From, To: t.To, Reason: t.Reason, Message: t.Message,
			}},
		}
		if missing := t.Seq - after.seq - 1; len(out) == 0 && missing > 0 {
			p.data.Gap = true
			p.data.Message = fmt.Sprintf("%d phase changes before this one were overwritten before they could be published", missing)
		}
		out = append(out, p)
	}
	return out
}

// deletedSuffix is the suffix of the id of an object's last event.
const deletedSuffix = ".deleted"

// deletionID returns `<uid>.deleted`, with the base appended for an object that a restored
// backup brought back: its deletion was already published once.
func deletionID(r *Record) string {
	if r.entryState.Base == 0 {
		return r.Entry.Object.UID + deletedSuffix
	}
	return fmt.Sprintf("%s%s.%d", r.Entry.Object.UID, deletedSuffix, r.entryState.Base)
}

func deletion(r *Record, gap bool, now time.Time) planned {
	p := planned{
		id: deletionID(r), event: contract.EventDeleted, time: now,
		data: contract.Lifecycle{Object: r.Entry.Object, Event: contract.EventDeleted, Gap: gap},
	}
	if r.Entry.Phase != "" {
		p.data.Phase = &contract.PhaseChange{Time: now, From: r.Entry.Phase}
	}
	if gap {
		p.data.Message = "object was deleted while unobserved; its last changes may be missing"
	}
	return p
}

// id returns `<uid>.<type>.<revision>`, with the base appended in a bucket that replaces a lost one.
func id(e contract.StatusEntry, part string, base, revision uint64) string {
	if base == 0 {
		return fmt.Sprintf("%s.%s.%d", e.Object.UID, part, revision)
	}
	return fmt.Sprintf("%s.%s.%d.%d", e.Object.UID, part, revision, base)
}

// events names the event of each condition going True and going False.
var events = map[string][2]contract.LifecycleEvent{
	conditions.TypeAvailable:   {contract.EventAvailable, contract.EventUnavailable},
	conditions.TypeProgressing: {contract.EventProgressing, contract.EventSettled},
	conditions.TypeDegraded:    {contract.EventDegraded, contract.EventRecovered},
	conditions.TypeUpgradable:  {contract.EventUpgradable, contract.EventNotUpgradable},
	conditions.TypePaused:      {contract.EventPaused, contract.EventResumed},
	conditions.TypeStopped:     {contract.EventStopped, contract.EventStarted},
}

// eventOf names the event of a condition that took its present status.
func eventOf(c contract.Condition) contract.LifecycleEvent {
	pair, ok := events[c.Type]
	switch {
	case !ok || c.Status == "Unknown":
		return contract.EventUnknown
	case c.Status == "True":
		return pair[0]
	default:
		return pair[1]
	}
}

func find(list []contract.Condition, conditionType string) *contract.Condition {
	for i := range list {
		if list[i].Type == conditionType {
			return &list[i]
		}
	}
	return nil
}

func decodeState(raw []byte) entryState {
	var p entryState
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil {
		return entryState{} // another release wrote another format: only a hold-down restarts
	}
	return p
}
