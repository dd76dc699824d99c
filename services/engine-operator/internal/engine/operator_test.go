package engine

// view is the input of one reconcile: an engine object, fresh or cached, and the children in the
// cache.
type view struct {
	object
	cached bool
	// raced marks a reconcile whose read from the API server returned just before an edit of
	// the spec.
	raced bool
	held  bool // other rollouts hold all slots
}

// outcome is the result of a reconcile.
type outcome struct {
	world  world
	plan   Plan
	broken string // the name of an invariant
	asked  bool   // the API server was read to confirm
	writes int    // requests that changed something or tried to
}

// input returns the input of Decide, like the controller.
func (m *model) input(w *world, v view) Input {
	wants := v.wants()
	in := Input{
		State: v.st.state(), Snapshot: snapshot(w.seen(), v.object), Replicas: wants.replicas(),
		Renderable: v.up, OwnSpecChanged: v.asked, Throttled: v.held, Overdue: w.overdue, Rollback: m.rollback,
		Drain: Drain{Skip: m.skip, Drained: w.drained, Expired: w.expired, Every: RequeueWait},
	}
	if v.up {
		in.Desired = renderingNames[wants]
	}
	return in
}

func snapshot(c *children, o object) Snapshot {
	s := Snapshot{Route: int64(c.route), Generations: make(map[int64]Generation, slots)}
	for n := range c.cells {
		g := &c.cells[n]
		if g.gone() && g.past == nothing && !g.taken {
			continue
		}
		out := Generation{
			StatefulSet: Existence(g.sts), Replicas: g.made.replicas(), Held: g.held(),
			Restorable: g.sts == int8(Absent) && g.past != nothing && !g.taken, Unlabeled: g.bare, Taken: g.taken,
		}
		if g.sts == int8(Absent) && out.Restorable {
			out.Match = match(g.past, o)
		}
		if o.up && g.sts != int8(Absent) && (int8(n) == o.st.current || int8(n) == o.st.active) {
			out.Match = match(g.made, o)
		}
		if g.able() {
			out.PodsTotal, out.PodsReady = out.Replicas, out.Replicas
		} else if g.answers() {
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

func match(made rendering, o object) Match {
	switch {
	case !o.up:
		return Unknown
	case made == o.wants():
		return Same
	}
	return Differs
}

// decided is a reconcile with a plan.
type decided struct {
	view   view
	plan   Plan
	writes []Write
	broken string
	// asked reports whether the API server was read for confirmation, refused whether it did not confirm.
	asked, refused bool
	current        bool // the status write will not conflict
}

// decide implements internal/controller/engine: decide, and confirm if the plan requires it.
func (m *model) decide(w *world, v view) decided {
	in := m.input(w, v)
	d := decided{view: v, plan: Decide(in), current: !v.cached || !w.newer}
	if d.plan.Confirm {
		d.asked = true
		if v.st != w.eng.st || (v.cached && w.edited && !v.raced) {
			d.refused = true // the cache is stale
			return d
		}
		d.current = !v.raced // the reconcile continues with the object that the API server has
		in.Confirmed = true
		if d.plan = Decide(in); d.plan.Confirm {
			d.broken = "EveryFairPathEndsTerminal"
		}
	}
	d.writes = d.plan.Writes()
	return d
}

// carryOut executes the reconcile, which crashes before write number `crash`; the status write is the last.
func (m *model) carryOut(w world, d decided, crash int) outcome {
	out := outcome{world: w, plan: d.plan, asked: d.asked, broken: d.broken}
	if d.refused || d.broken != "" {
		return out
	}
	p := &pass{model: m, view: d.view, before: &w, plan: d.plan, world: &out.world, seen: w.seen()}
	for _, wr := range d.writes {
		if crash--; crash < 0 {
			return out
		}
		did, ok := p.write(wr)
		if did {
			out.writes++
		}
		if out.broken = p.broken; out.broken != "" || !ok {
			return out
		}
	}
	if crash--; crash < 0 || !d.current {
		return out
	}
	p.record()
	out.broken = p.broken
	return out
}

// pass is one reconcile in progress.
type pass struct {
	*model
	view   view
	before *world // at its start
	plan   Plan
	world  *world
	seen   *children
	broken string
}

func (p *pass) breaks(name string, when bool) {
	if when && p.broken == "" {
		p.broken = name
	}
}

// write executes one write. did reports whether a request was sent to the API server, ok
// whether the reconcile continues: the write layer stops when the cache is stale, and
// when an object is terminating.
func (p *pass) write(wr Write) (did, ok bool) {
	n := int8(wr.Generation)
	c, seen, wants := &p.world.kids.cells[n], p.seen.cells[n], p.view.wants()
	before := p.world.kids
	switch wr.Op {
	case EnsureConfig:
		switch {
		case seen.cm && seen.conf == wants:
			return false, true
		case seen.cm && !c.cm:
			return true, false
		}
		p.checkRender(wr, seen)
		c.cm, c.conf = true, wants
	case EnsureHeadless:
		if seen.hl {
			return false, true
		}
		c.hl = true
	case CreateStatefulSet:
		if c.sts != int8(Absent) || c.taken {
			return true, false
		}
		p.checkRender(wr, seen)
		*c = cell{sts: int8(Present), made: wants, hl: c.hl, cm: c.cm, conf: c.conf, retired: c.retired}
	case RestoreStatefulSet:
		if c.sts != int8(Absent) || c.taken {
			return true, false
		}
		p.breaks("RestoredFromNothing", seen.past == nothing)
		*c = cell{sts: int8(Present), made: seen.past, hl: c.hl, cm: c.cm, conf: c.conf, retired: c.retired}
	case RepairLabels:
		if c.sts == int8(Absent) || !c.bare {
			return true, false
		}
		c.bare = false
	case RouteService:
		switch {
		case p.seen.route == n:
			return false, true
		case p.seen.route != int8(None) && p.world.kids.route == int8(None):
			return true, false
		}
		p.world.kids.route = n
	case ConfirmUnrouted:
		return true, p.world.kids.route != n
	case DeleteStatefulSet:
		if seen.sts != int8(Present) || c.sts != int8(Present) {
			return false, true
		}
		c.sts, c.retired = int8(Terminating), true
	case DeleteHeadless:
		if !seen.hl || !c.hl {
			return false, true
		}
		c.hl, c.retired = false, true
	case DeleteConfig:
		if !seen.cm || !c.cm {
			return false, true
		}
		c.cm, c.retired = false, true
	}
	p.checkWrite(wr, before)
	return true, true
}

// record writes the status.
func (p *pass) record() {
	w := p.world
	next := recordOf(p.plan.Next)
	p.checkRecord(next)
	if next == w.eng.st && (!p.plan.Settled || !w.eng.asked) {
		p.checkWaiting()
		return
	}
	if next.phase != w.eng.st.phase {
		w.drained, w.expired = false, false
		w.overdue = w.overdue && (next.phase == creating || next.phase == switching)
	}
	if next.allocated > w.eng.st.allocated {
		w.overdue = false
		if w.squatter && next.current == next.allocated && next.current < slots {
			w.kids.cells[next.current].taken, w.squatter = true, false
		}
	}
	p.change(w, func(o *object) {
		o.st = next
		o.asked = o.asked && !p.plan.Settled
	}, true, false)
}

// change creates a new version of the engine object, or of its inputs. The cache
// keeps the previous version.
func (m *model) change(w *world, change func(*object), newer, edited bool) {
	if m.stale {
		w.old, w.newer, w.edited = w.eng, newer, edited
	}
	change(&w.eng)
	if !m.stale {
		w.old = w.eng
	}
}
