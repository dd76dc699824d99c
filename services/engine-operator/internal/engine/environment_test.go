package engine

import "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"

// environment lists the next steps of all actors except the operator.
func (m *model) environment(w world, add func(what string, n world)) {
	m.users(w, add)
	m.cluster(w, add)
	if w.vandals > 0 {
		m.vandalism(w, func(what string, n world) {
			spend(&n.vandals)
			add(what, n)
		})
	}
	if w.lags > 0 && !w.lagging {
		n := w
		spend(&n.lags)
		n.lag, n.lagging = w.kids, true
		add("the cache of the children stops", n)
	}
	if w.lagging {
		n := w
		n.lag, n.lagging = children{}, false
		add("the cache of the children catches up", n)
	}
}

// users edit the engine, its class and its instance.
func (m *model) users(w world, add func(string, world)) {
	edit := func(what string, edited bool, change func(*object)) {
		n := w
		spend(&n.edits)
		m.change(&n, change, edited, edited)
		if m.stale && m.far && (w.newer || w.edited || w.old != w.eng) {
			far := n
			far.old, far.newer, far.edited = w.old, w.newer || edited, w.edited || edited
			add(what+", the cache stays", far)
		}
		add(what, n)
	}
	if w.edits > 0 {
		for s := range m.specs {
			if s != w.eng.spec {
				edit("the spec is edited", true, func(o *object) { o.spec, o.asked = s, true })
			}
		}
		if m.class {
			edit("the class is edited", false, func(o *object) { o.class ^= 1 })
		}
		if m.endpoint {
			edit("the instance moves", false, func(o *object) { o.endpoint ^= 1 })
		}
		if m.instance && w.eng.up {
			edit("the instance is lost", false, func(o *object) { o.up = false })
		}
	}
	if !w.eng.up {
		n := w
		m.change(&n, func(o *object) { o.up = true }, false, false)
		add("the instance is back", n)
	}
}

// cluster lists the steps of Kubernetes, queries and clocks.
func (m *model) cluster(w world, add func(string, world)) {
	for i, c := range w.kids.cells {
		switch {
		case c.sts == int8(Terminating) && !c.kept:
			n := w
			n.kids.cells[i].sts = int8(Absent)
			add("a StatefulSet is gone", n)
		case c.sts == int8(Present) && !c.able() && !m.hopeless(c):
			n := w
			n.kids.cells[i].ready = true
			add("pods are ready", n)
		}
		if m.some && c.sts == int8(Present) && !c.able() && !c.some {
			n := w
			n.kids.cells[i].some = true
			add("some pods are ready", n)
		}
	}
	st := w.eng.st
	if st.phase == draining && !m.skip {
		if !w.drained && !m.stuck && !m.endless {
			n := w
			n.drained = true
			add("the last query ends", n)
		}
		if m.expires && !w.expired {
			n := w
			n.expired = true
			add("the drain timeout ends", n)
		}
	}
	if m.deadline && st.phase == creating && !w.overdue {
		n := w
		n.overdue = true
		add("the progress deadline passes", n)
	}
}

// hopeless reports whether the pods never become ready.
func (m *model) hopeless(c cell) bool { return m.bad > 0 && c.made > nothing && c.made.spec() == m.bad }

// vandalism deletes and edits the operator's objects, and makes pods fail.
func (m *model) vandalism(w world, add func(string, world)) {
	touch := func(what string, change func(*children)) {
		n := w
		change(&n.kids)
		add(what, n)
	}
	for i, c := range w.kids.cells {
		if c.sts == int8(Present) {
			touch("a StatefulSet is deleted", func(k *children) {
				k.cells[i].sts, k.cells[i].past = int8(Terminating), c.made
			})
			if m.labels && !c.bare {
				touch("a StatefulSet loses its labels", func(k *children) { k.cells[i].bare = true })
			}
			if m.finalizers && !c.kept {
				touch("a StatefulSet gets a finalizer", func(k *children) { k.cells[i].kept = true })
			}
			if c.made != byHand {
				touch("a StatefulSet is edited", func(k *children) { k.cells[i].made = byHand })
			}
			if c.made == byHand && c.conf > nothing {
				touch("an edit of a StatefulSet is reverted", func(k *children) { k.cells[i].made = k.cells[i].conf })
			}
			if c.ready || c.some {
				touch("pods fail or are deleted", func(k *children) { k.cells[i].ready, k.cells[i].some = false, false })
			}
		}
		if c.hl {
			touch("a headless Service is deleted", func(k *children) { k.cells[i].hl = false })
		}
		if c.cm {
			touch("a configuration is deleted", func(k *children) { k.cells[i].cm = false })
			if c.conf != byHand {
				touch("a configuration is edited", func(k *children) { k.cells[i].conf = byHand })
			}
		}
	}
	if m.restarts {
		touch("the operator restarts", func(k *children) {
			for i := range k.cells {
				k.cells[i].past = nothing
			}
		})
	}
	if m.squats && !w.squatter {
		n := w
		n.squatter = true
		add("a foreign object takes the next name", n)
	}
	if cur := w.eng.st.current; m.squats && cur >= 0 && w.eng.st.phase != unborn && w.kids.cells[cur].sts == int8(Absent) && !w.kids.cells[cur].taken {
		touch("a foreign object takes the name of a deleted StatefulSet", func(k *children) { k.cells[cur].taken = true })
	}
	if m.forgets && w.eng.st.phase != unborn {
		n := w
		m.change(&n, func(o *object) { o.st = recordOf(StateOf(v1alpha1.FireboltEngineStatus{})) }, true, false)
		add("the status is lost", n)
	}
	if w.kids.route == int8(None) {
		return
	}
	touch("the cluster Service is deleted", func(k *children) { k.route = int8(None) })
	if w.lagging { // the lagging cache would hide it
		return
	}
	if unused := min(max(newest(w.kids), w.eng.st.allocated)+1, slots-1); m.squats && unused != w.kids.route {
		touch("the selector names a number that was never allocated", func(k *children) { k.route = unused })
	}
	for i := range w.kids.cells {
		if !w.kids.cells[i].gone() && int8(i) != w.kids.route {
			touch("the selector is edited", func(k *children) { k.route = int8(i) })
		}
	}
}

// newest returns the greatest generation with an existing object.
func newest(c children) int8 {
	out := int8(None)
	for i := range c.cells {
		if !c.cells[i].gone() {
			out = int8(i)
		}
	}
	return out
}
