package faults

import "context"

// fault injects at most one fault.
func (r *run) fault(ctx context.Context) {
	name := names[r.random.IntN(len(names))]
	t := r.actual[name]
	switch r.random.IntN(24) {
	case 0:
		r.busUp = !r.busUp
		r.session++
	case 1:
		if r.chance(30) {
			r.loseStreams()
		}
	case 2:
		r.apiUp = !r.apiUp
	case 3:
		r.operator.up = false
	case 4, 5:
		if !r.operator.up {
			r.operator.start()
		}
	case 6:
		r.active = nil
	case 7, 8:
		if r.active == nil {
			r.startAggregator()
		}
	case 9: // the leader is paused, and the standby becomes the leader at once
		if r.active != nil {
			r.paused = r.active
			r.startAggregator()
		}
	case 10, 11:
		if r.paused != nil {
			r.paused.resume(ctx)
			r.paused = nil
		}
	case 12:
		if t != nil {
			r.remove(name)
		}
	case 13, 14:
		if t == nil {
			r.create(name)
		}
	default:
		if t != nil {
			r.change(name)
		}
	}
}

// change changes one object.
func (r *run) change(name string) {
	t := r.actual[name]
	switch r.random.IntN(10) {
	case 0:
		r.changeSpec(name)
	case 1, 2:
		t.applySpec()
	case 3:
		t.crashing = !t.crashing
	case 4:
		t.paused = !t.paused
	case 5:
		t.stopped = !t.stopped
	case 6:
		r.changeIneffectively(name)
	case 7:
		t.outcome = succeeded
	default:
		t.available = r.random.Int32N(desired + 1)
	}
}

// removeFaults ends all faults.
func (r *run) removeFaults() {
	if !r.busUp {
		r.busUp = true
		r.session++
	}
	r.apiUp, r.paused = true, nil
	if !r.operator.up {
		r.operator.start()
	}
	if r.active == nil {
		r.startAggregator()
	}
	for _, t := range r.actual {
		*t = actualState{uid: t.uid, generation: t.generation, applied: t.generation, available: desired, outcome: succeeded}
	}
}

// changeSpecs changes the spec of some objects to one that takes no effect.
func (r *run) changeSpecs() {
	for _, name := range names {
		if r.actual[name] != nil && r.chance(50) {
			r.changeIneffectively(name)
		}
	}
}

// end sets the final state of each object, so that the expected state does not depend on the schedule.
func (r *run) end() {
	for _, name := range names {
		if r.actual[name] == nil {
			continue
		}
		t := r.actual[name]
		switch r.random.IntN(7) {
		case 0:
			t.available = 1
		case 1:
			t.available, t.crashing = 0, true
		case 2:
			t.stopped, t.available = true, 0
		case 3:
			t.paused = true
		case 4:
			r.changeSpec(name)
		case 5:
			t.outcome = succeeded
		}
	}
}
