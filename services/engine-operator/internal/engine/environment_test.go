package engine

import "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"

// environment lists the next steps of all actors except the operator.
func (m *model) environment(w modelState, add func(desc string, n modelState)) {
	m.users(w, add)
	m.cluster(w, add)
	if w.faults > 0 {
		m.injectFaults(w, func(desc string, n modelState) {
			consume(&n.faults)
			add(desc, n)
		})
	}
	if w.cacheStops > 0 && !w.childrenStale {
		n := w
		consume(&n.cacheStops)
		n.staleChildren, n.childrenStale = w.children, true
		add("the cache of the children stops", n)
	}
	if w.childrenStale {
		n := w
		n.staleChildren, n.childrenStale = children{}, false
		add("the cache of the children catches up", n)
	}
}

// users edit the engine, its class and its instance.
func (m *model) users(w modelState, add func(string, modelState)) {
	edit := func(desc string, edited bool, change func(*object)) {
		n := w
		consume(&n.edits)
		m.change(&n, change, edited, edited)
		if m.stale && m.veryStale && (w.newer || w.edited || w.old != w.eng) {
			staler := n
			staler.old, staler.newer, staler.edited = w.old, w.newer || edited, w.edited || edited
			add(desc+", the cache stays", staler)
		}
		add(desc, n)
	}
	if w.edits > 0 {
		for s := range m.specs {
			if s != w.eng.spec {
				edit("the spec is edited", true, func(o *object) { o.spec, o.specChanged = s, true })
			}
		}
		if m.class {
			edit("the class is edited", false, func(o *object) { o.class ^= 1 })
		}
		if m.endpoint {
			edit("the instance moves", false, func(o *object) { o.endpoint ^= 1 })
		}
		if m.instance && w.eng.instanceExists {
			edit("the instance is lost", false, func(o *object) { o.instanceExists = false })
		}
	}
	if w.noCredentials {
		n := w
		n.noCredentials = false
		add("the credentials are back", n)
	}
	if !w.eng.instanceExists {
		n := w
		m.change(&n, func(o *object) { o.instanceExists = true }, false, false)
		add("the instance is back", n)
	}
}

// cluster lists the steps of Kubernetes, queries and clocks.
func (m *model) cluster(w modelState, add func(string, modelState)) {
	for i, c := range w.children.gens {
		switch {
		case c.sts == int8(Terminating) && !c.foreignFinalizer:
			n := w
			n.children.gens[i].sts = int8(Absent)
			add("a StatefulSet is gone", n)
		case c.sts == int8(Present) && !c.routable() && !m.neverReady(c):
			n := w
			n.children.gens[i].ready = true
			add("pods are ready", n)
		}
		if m.partlyReady && c.sts == int8(Present) && !c.routable() && !c.partlyReady {
			n := w
			n.children.gens[i].partlyReady = true
			add("some pods are ready", n)
		}
	}
	st := w.eng.st
	if st.phase == draining && !m.skip {
		if !w.drained && !m.stuckQuery && !m.noDrainTimeout {
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

// neverReady reports whether the pods never become ready.
func (m *model) neverReady(c genState) bool {
	return m.failingSpec > 0 && c.stsRendering > noRendering && c.stsRendering.spec() == m.failingSpec
}

// serves reports whether a generation serves, by record or by the Service.
func (w *modelState) serves(n int8) bool { return n == w.eng.st.active || n == w.children.route }

// injectFaults deletes and edits the operator's objects, and makes pods fail.
func (m *model) injectFaults(w modelState, add func(string, modelState)) {
	mutate := func(desc string, change func(*children)) {
		n := w
		change(&n.children)
		add(desc, n)
	}
	for i, c := range w.children.gens {
		if c.sts == int8(Present) {
			m.damageStatefulSet(&w, i, mutate)
		}
		if c.hl {
			mutate("a headless Service is deleted", func(k *children) { k.gens[i].hl = false })
		}
		if c.cm {
			mutate("a configuration is deleted", func(k *children) { k.gens[i].cm = false })
			if c.cmRendering != editedRendering {
				mutate("a configuration is edited", func(k *children) { k.gens[i].cmRendering = editedRendering })
			}
		}
	}
	if m.credentials && !w.noCredentials {
		n := w
		n.noCredentials = true
		add("the credentials are deleted", n)
	}
	if m.restarts {
		mutate("the operator restarts", func(k *children) {
			for i := range k.gens {
				k.gens[i].lastVersion = noRendering
			}
		})
	}
	if m.nameConflicts && !w.nextNameTaken {
		n := w
		n.nextNameTaken = true
		add("a foreign object takes the next name", n)
	}
	if cur := w.eng.st.current; m.nameConflicts && cur >= 0 && w.eng.st.phase != uninitialized && w.children.gens[cur].sts == int8(Absent) && !w.children.gens[cur].nameTaken {
		mutate("a foreign object takes the name of a deleted StatefulSet", func(k *children) { k.gens[cur].nameTaken = true })
	}
	if w.eng.st.phase != uninitialized {
		m.damageStatus(w, add)
	}
	if w.children.route != int8(None) {
		m.damageRoute(&w, mutate)
	}
}

// damageStatefulSet deletes or edits the StatefulSet of a generation, or makes its pods fail.
func (m *model) damageStatefulSet(w *modelState, i int, mutate func(string, func(*children))) {
	c := w.children.gens[i]
	if !m.keepsServing || w.eng.st.terminal() || !w.serves(int8(i)) {
		mutate("a StatefulSet is deleted", func(k *children) {
			k.gens[i].sts, k.gens[i].lastVersion = int8(Terminating), c.stsRendering
		})
	}
	if m.labels && !c.unlabeled {
		mutate("a StatefulSet loses its labels", func(k *children) { k.gens[i].unlabeled = true })
	}
	if m.finalizers && !c.foreignFinalizer {
		mutate("a StatefulSet gets a finalizer", func(k *children) { k.gens[i].foreignFinalizer = true })
	}
	if c.stsRendering != editedRendering {
		mutate("a StatefulSet is edited", func(k *children) { k.gens[i].stsRendering = editedRendering })
	}
	if c.stsRendering == editedRendering && c.cmRendering > noRendering {
		mutate("an edit of a StatefulSet is reverted", func(k *children) { k.gens[i].stsRendering = k.gens[i].cmRendering })
	}
	if c.ready || c.partlyReady {
		mutate("pods fail or are deleted", func(k *children) { k.gens[i].ready, k.gens[i].partlyReady = false, false })
	}
}

// damageStatus deletes the status or replaces it.
func (m *model) damageStatus(w modelState, add func(string, modelState)) {
	if m.losesStatus {
		n := w
		m.change(&n, func(o *object) { o.st = newRecord(StateOf(v1alpha1.FireboltEngineStatus{})) }, true, false)
		add("the status is lost", n)
	}
	if !m.foreignStatus {
		return
	}
	for _, st := range foreignRecords(w) {
		n := w
		for i := range n.children.gens { // the status no longer shows which numbers were used
			n.children.gens[i].retired = false
		}
		m.change(&n, func(o *object) { o.st = st }, true, false)
		add("another client writes the status", n)
	}
}

// damageRoute deletes or edits the cluster Service.
func (m *model) damageRoute(w *modelState, mutate func(string, func(*children))) {
	mutate("the cluster Service is deleted", func(k *children) { k.route = int8(None) })
	if w.childrenStale { // the stale cache would hide it
		return
	}
	if unused := min(max(latest(w.children), w.eng.st.allocated)+1, slots-1); m.nameConflicts && unused != w.children.route {
		mutate("the selector names a number that was never allocated", func(k *children) { k.route = unused })
	}
	for i := range w.children.gens {
		if !w.children.gens[i].absent() && int8(i) != w.children.route {
			mutate("the selector is edited", func(k *children) { k.route = int8(i) })
		}
	}
}

// foreignRecords lists the records of all phases with existing numbers, with one that was never allocated, and with
// none. The greatest allocated number is kept, as by a merge patch.
func foreignRecords(w modelState) (out []record) {
	unused := min(max(latest(w.children), w.eng.st.allocated)+1, slots-1)
	for phase := stable; phase <= cleaning; phase++ {
		for current := range unused + 1 {
			for active := int8(None); active <= unused; active++ {
				for draining := int8(None); draining <= unused; draining++ {
					out = append(out, record{
						phase: phase, current: current, active: active, draining: draining,
						allocated: max(w.eng.st.allocated, current, active), rejected: w.eng.st.rejected,
					})
				}
			}
		}
	}
	return out
}

// latest returns the greatest generation with an existing object.
func latest(c children) int8 {
	out := int8(None)
	for i := range c.gens {
		if !c.gens[i].absent() {
			out = int8(i)
		}
	}
	return out
}
