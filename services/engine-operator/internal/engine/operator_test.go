package engine

import "slices"

// view is the input of one reconcile: an engine object, fresh or cached, and the children in the cache.
type view struct {
	object
	cached bool
	// raced marks a reconcile whose read from the API server returned just before an edit of
	// the spec.
	raced     bool
	throttled bool // other rollouts hold all slots
}

// outcome is the result of a reconcile.
type outcome struct {
	state    modelState
	plan     Plan
	violated string // the name of an invariant
	readAPI  bool   // the API server was read to confirm
	writes   int    // requests that changed something or tried to
}

// input returns the input of Decide, like the controller.
func (m *model) input(w *modelState, v view) Input {
	desired := v.desired()
	in := Input{
		State: v.st.state(), Snapshot: snapshot(w.cachedChildren(), v.object), Replicas: desired.replicas(),
		Renderable: v.instanceExists, OwnSpecChanged: v.specChanged, Overdue: w.overdue, Rollback: m.rollback,
		Drain: Drain{Skip: m.skip, Drained: w.drained, Expired: w.expired, Every: RequeueWait},
	}
	if v.instanceExists {
		in.Desired = renderingNames[desired]
	}
	return in
}

func snapshot(c *children, o object) Snapshot {
	s := Snapshot{Route: int64(c.route), Generations: make(map[int64]Generation, slots)}
	for n := range c.gens {
		g := &c.gens[n]
		if g.absent() && g.lastVersion == noRendering && !g.nameTaken {
			continue
		}
		out := Generation{
			StatefulSet: Existence(g.sts), Replicas: g.stsRendering.replicas(), Held: g.held(),
			Restorable: g.sts == int8(Absent) && g.lastVersion != noRendering && !g.nameTaken, Unlabeled: g.unlabeled, Taken: g.nameTaken, Rendered: o.instanceExists && g.createdFrom(o.desired()),
		}
		if g.sts == int8(Absent) && out.Restorable {
			out.Match = match(g.lastVersion, o)
		}
		if o.instanceExists && g.sts != int8(Absent) && (int8(n) == o.st.current || int8(n) == o.st.active) {
			out.Match = match(g.stsRendering, o)
		}
		if g.routable() {
			out.PodsTotal, out.PodsReady = out.Replicas, out.Replicas
		} else if g.hasReadyPod() {
			out.PodsTotal, out.PodsReady = out.Replicas, 1
		}
		if g.hl {
			out.Headless = Present
		}
		if g.cm {
			out.Config = Present
		}
		s.Generations[int64(n)] = out
	}
	return s
}

func match(rendered rendering, o object) Match {
	switch {
	case !o.instanceExists:
		return Unknown
	case rendered == o.desired():
		return Same
	}
	return Differs
}

// decided is a reconcile with a plan.
type decided struct {
	view     view
	plan     Plan
	writes   []Write
	violated string
	// readAPI reports whether the API server was read for confirmation, unconfirmed whether it did not confirm.
	readAPI, unconfirmed bool
	current              bool // the status write will not conflict
}

// decide implements internal/controller/engine: decide, and confirm if the plan requires it; the same again if the plan
// starts a rollout that is throttled, and if it needs the instance, whose credentials are missing.
func (m *model) decide(w *modelState, v view) decided {
	in := m.input(w, v)
	d := decided{view: v, current: !v.cached || !w.newer}
	if !d.confirmed(w, &in) {
		return d
	}
	in.Throttled = v.throttled // the controller sets it only for an external plan; no other may depend on it
	if in.Throttled && !d.confirmed(w, &in) {
		return d
	}
	if w.noCredentials && v.instanceExists && d.plan.NeedsInstance(in.State) {
		in.Renderable = false
		if !d.confirmed(w, &in) {
			return d
		}
	}
	d.writes = d.plan.Writes()
	return d
}

// confirmed sets the plan. It returns false if the reconcile ends because the input is stale.
func (d *decided) confirmed(w *modelState, in *Input) bool {
	if d.plan = Decide(*in); !d.plan.Confirm {
		return true
	}
	v := d.view
	d.readAPI = true
	if v.st != w.eng.st || (v.cached && w.edited && !v.raced) {
		d.unconfirmed = true // the cache is stale
		return false
	}
	d.current = !v.raced // the reconcile continues with the object that the API server has
	in.Confirmed = true
	if d.plan = Decide(*in); d.plan.Confirm {
		d.violated = "EveryFairPathEndsTerminal"
	}
	return true
}

// accepted is the number of the refused write in a reconcile without one.
const accepted = -1

// execute executes the reconcile. The API server refuses write number `refused`, and the operator crashes before write
// number `crash`; the status write is the last.
func (m *model) execute(w modelState, d decided, refused, crash int) outcome {
	out := outcome{state: w, plan: d.plan, readAPI: d.readAPI, violated: d.violated}
	if d.unconfirmed || d.violated != "" {
		return out
	}
	p := &reconcile{model: m, view: d.view, before: &w, plan: d.plan, state: &out.state, cached: w.cachedChildren()}
	var failed []Write
	for i, wr := range d.writes {
		if crash--; crash < 0 {
			return out
		}
		if i == refused || slices.ContainsFunc(failed, wr.Requires) {
			failed = append(failed, wr)
			continue
		}
		did, ok := p.write(wr)
		if did {
			out.writes++
		}
		if out.violated = p.violated; out.violated != "" || !ok {
			return out
		}
	}
	if crash--; crash < 0 || !d.current {
		return out
	}
	p.refused = len(failed) > 0
	p.plan.Settled = p.plan.Settled && !p.refused
	p.record()
	out.violated = p.violated
	return out
}

// reconcile is one reconcile in progress.
type reconcile struct {
	*model
	view     view
	before   *modelState // at its start
	plan     Plan
	state    *modelState
	cached   *children
	refused  bool // the API server refused a write
	violated string
}

func (p *reconcile) violatesIf(name string, when bool) {
	if when && p.violated == "" {
		p.violated = name
	}
}

// write executes one write. did reports whether a request was sent to the API server, ok
// whether the reconcile continues: the write layer stops when the cache is stale, and
// when an object is terminating.
func (p *reconcile) write(wr Write) (did, ok bool) {
	n := int8(wr.Generation)
	c, cached, desired := &p.state.children.gens[n], p.cached.gens[n], p.view.desired()
	before := p.state.children
	switch wr.Op {
	case EnsureConfig:
		switch {
		case cached.cm && cached.cmRendering == desired:
			return false, true
		case cached.cm && !c.cm:
			return true, false
		}
		p.checkRender(wr, cached)
		c.cm, c.cmRendering = true, desired
	case EnsureHeadless:
		if cached.hl {
			return false, true
		}
		c.hl = true
	case CreateStatefulSet:
		if c.sts != int8(Absent) || c.nameTaken {
			return true, false
		}
		p.checkRender(wr, cached)
		*c = genState{sts: int8(Present), stsRendering: desired, hl: c.hl, cm: c.cm, cmRendering: c.cmRendering, retired: c.retired}
	case RestoreStatefulSet:
		if c.sts != int8(Absent) || c.nameTaken {
			return true, false
		}
		p.violatesIf("RestoredFromNothing", cached.lastVersion == noRendering)
		*c = genState{sts: int8(Present), stsRendering: cached.lastVersion, hl: c.hl, cm: c.cm, cmRendering: c.cmRendering, retired: c.retired}
	case RepairLabels:
		if c.sts == int8(Absent) || !c.unlabeled {
			return true, false
		}
		c.unlabeled = false
	case RouteService:
		switch {
		case p.cached.route == n:
			return false, true
		case p.cached.route != int8(None) && p.state.children.route == int8(None):
			return true, false
		}
		p.state.children.route = n
	case ConfirmUnrouted:
		return true, p.state.children.route != n
	case DeleteStatefulSet, DeleteHeadless, DeleteConfig:
		if !c.deleteObject(wr.Op, cached) {
			return false, true
		}
	}
	p.checkWrite(wr, before)
	return true, true
}

// deleteObject deletes one object of a generation. It returns false if the object or its copy in the cache is deleted already.
func (c *genState) deleteObject(op Op, cached genState) bool {
	switch {
	case op == DeleteStatefulSet && cached.sts == int8(Present) && c.sts == int8(Present):
		c.sts = int8(Terminating)
	case op == DeleteHeadless && cached.hl && c.hl:
		c.hl = false
	case op == DeleteConfig && cached.cm && c.cm:
		c.cm = false
	default:
		return false
	}
	c.retired = true
	return true
}

// record writes the status.
func (p *reconcile) record() {
	w := p.state
	next := newRecord(p.plan.Next)
	p.checkRecord(next)
	if next == w.eng.st && (!p.plan.Settled || !w.eng.specChanged) {
		if !p.refused {
			p.checkWaiting()
		}
		return
	}
	if next.phase != w.eng.st.phase {
		w.drained, w.expired = false, false
		w.overdue = w.overdue && (next.phase == creating || next.phase == switching)
	}
	if next.allocated > w.eng.st.allocated {
		w.overdue = w.overdue && p.plan.SameRollout
		if w.nextNameTaken && next.current == next.allocated && next.current < slots {
			w.children.gens[next.current].nameTaken, w.nextNameTaken = true, false
		}
	}
	p.change(w, func(o *object) {
		o.st = next
		o.specChanged = o.specChanged && !p.plan.Settled
	}, true, false)
}

// change creates a new version of the engine object, or of its inputs. The cache
// keeps the previous version.
func (m *model) change(w *modelState, change func(*object), newer, edited bool) {
	if m.stale {
		w.old, w.newer, w.edited = w.eng, newer, edited
	}
	change(&w.eng)
	if !m.stale {
		w.old = w.eng
	}
}
