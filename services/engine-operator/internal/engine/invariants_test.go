package engine

// invariants are the properties that the search checks, by name. "Seen" refers
// to the view of the reconcile: changes by other clients between reading and writing
// are invisible to an operator.
var invariants = map[string]string{
	"ClusterServiceSelectsExistingReadyGeneration": "The cluster Service only selects the generation that serves by record, or in switching one whose StatefulSet was seen with all pods ready; and the switch is recorded only while that StatefulSet exists, if there is another to return to.",
	"SettledMatchesSpec":                           "A reconcile marks the engine as settled only when its generation was seen to match the spec.",
	"ReturnsToWhatStands":                          "Creating returns to the active generation only when its StatefulSet was seen.",
	"ServingNeverAbandoned":                        "The generation that the cluster Service was seen to select is not dropped from the status while no other one serves by record.",
	"ReadyBeforeSwitching":                         "Switching begins only when the new generation was seen complete, ready, and matching the spec.",
	"ActiveObjectsExistWhileServing":               "Whatever another client deletes, a reconcile that changes no phase leaves the serving generation with its headless Service and the cluster Service on it, and in a terminal phase also with its StatefulSet and configuration.",
	"ServingDeleted":                               "The operator deletes nothing of a generation that the API server's status names, except of the draining one in cleaning, and nothing that the Service selects or selected when the reconcile began.",
	"AtMostTwoGenerationsReferenced":               "The status never names more than two generations.",
	"AtMostTwoGenerationsStand":                    "With a cache that shows all objects, no third StatefulSet is created in addition to two without a foreign finalizer.",
	"NumberUsedTwice":                              "A number becomes current only once; a deleted generation is never recreated under its number.",
	"AllocatedWentBack":                            "The greatest allocated number is never forgotten.",
	"ExistsBeforeAllocated":                        "Nothing of a generation exists before its number is recorded.",
	"WroteBeforeIntent":                            "A reconcile that allocates a number does nothing else.",
	"WroteFromOutdatedState":                       "Nothing is created or routed for a recorded state that is not the API server's.",
	"NoClusterServiceBeforeFirstServing":           "While no generation has ever served, the cluster Service is not created, except by the step that makes one serve.",
	"NoMatchingGenerationDeleted":                  "A generation that was seen to match the spec is never abandoned, except by a rollback; so only generations that were abandoned, or drained, while they did not match are deleted.",
	"NewGenerationDuringTransition":                "No number is allocated in switching, draining and cleaning.",
	"TerminalWithTwoGenerations":                   "In a terminal phase the current generation is the active one, and none is draining.",
	"OldGenerationLeft":                            "Cleaning ends when nothing of the old generation was seen any more, except objects that a foreign finalizer holds.",
	"DrainCutShort":                                "Draining ends when no query is left, or its timeout expires, or it is disabled, or nothing is left that could run one; it is skipped only when it is disabled.",
	"RunningConfigOverwritten":                     "The configuration of a StatefulSet is never replaced by that of another rendering.",
	"RenderedBlind":                                "Nothing is rendered while the instance's id or endpoint is unknown, nor for another number than the current one.",
	"RolledBackIsStable":                           "A rejected rendering is not built again while the serving generation exists.",
	"HeldRolloutDoesNotStart":                      "A rollout without a change of the engine's own spec is marked as external, and does not begin while it is throttled; nothing else waits.",
	"EveryFairPathEndsTerminal":                    "From every state, an operator without interference in a working cluster reaches a terminal phase and stays there.",
	"NoWritesAtFixedPoint":                         "There nothing is written, and nothing is read from the API server.",
	"TrafficGoesWhereItCan":                        "While the serving StatefulSet is missing, a reconcile that changes no phase ignores no other generation of the status that has ready pods.",
	"LostServingComesBack":                         "A reconcile that changes no phase leaves the serving generation with a StatefulSet, when its rendering is known and no two others existed when the reconcile began.",
	"RestoredFromNothing":                          "A StatefulSet is only restored to its former state.",
	"LabelsComeBack":                               "A StatefulSet that lost its labels has them again in a terminal phase.",
	"NumbersFitTheModel":                           "The number of generations in progress never exceeds what the model can distinguish.",
}

// checkRender runs before a rendering of the spec.
func (p *pass) checkRender(wr Write, seen cell) {
	p.breaks("RenderedBlind", !p.view.up || int8(wr.Generation) != p.view.st.current)
	p.breaks("RunningConfigOverwritten", wr.Op == EnsureConfig && seen.cm && seen.sts == int8(Present) &&
		seen.made != p.view.wants())
}

// checkWrite checks a write that changed something.
func (p *pass) checkWrite(wr Write, before children) {
	st, n := p.view.st, int8(wr.Generation)
	c := p.world.kids.cells[n]
	p.breaks("WroteFromOutdatedState", st != p.before.eng.st && wr.Op <= RouteService && (wr.Op != EnsureConfig || !before.cells[n].cm))
	p.breaks("WroteBeforeIntent", p.plan.Next.Allocated > int64(max(st.allocated, p.newestSeen())))
	switch wr.Op {
	case EnsureConfig, EnsureHeadless, CreateStatefulSet, RestoreStatefulSet:
		p.breaks("NumberUsedTwice", c.retired)
		p.breaks("ExistsBeforeAllocated", n > p.before.eng.st.allocated && p.before.eng.st.phase != unborn)
		p.breaks("AtMostTwoGenerationsStand", (wr.Op == CreateStatefulSet || wr.Op == RestoreStatefulSet) && !p.world.lagging && standing(p.world.kids) > 2)
	case RouteService:
		alone := st.active >= 0 && p.seen.cells[st.active].sts != int8(Present) && p.seen.cells[n].answers()
		able := (p.seen.cells[n].able() || alone) && st.phase == switching && n == st.current
		p.breaks("NoClusterServiceBeforeFirstServing", before.route == int8(None) && st.active == int8(None) && st.phase != switching)
		p.breaks("ClusterServiceSelectsExistingReadyGeneration", !able && n != st.active)
	case DeleteStatefulSet, DeleteHeadless, DeleteConfig:
		now := p.before.eng.st
		outgoing := now.phase == cleaning && n == now.draining
		lost := st.active >= 0 && n != st.active && p.seen.cells[st.active].sts != int8(Present)
		p.breaks("ServingDeleted", lost && p.seen.cells[n].answers() && p.before.eng.st.refers(n))
		p.breaks("ServingDeleted", (now.phase != unborn && now.refers(n) && !outgoing) || n == before.route || n == p.before.kids.route)
	case RepairLabels, ConfirmUnrouted:
	}
}

// newestSeen returns the greatest number of which the reconcile read an object: a number beyond the
// recorded ones is recorded as allocated.
func (p *pass) newestSeen() int8 {
	out := int8(None)
	for n, c := range p.seen.cells {
		if !c.gone() {
			out = max(out, int8(n))
		}
	}
	return out
}

func standing(c children) (n int) {
	for _, g := range c.cells {
		if g.sts != int8(Absent) && !g.held() {
			n++
		}
	}
	return n
}

// checkRecord compares the recorded state before and after a status write.
func (p *pass) checkRecord(next record) {
	was, v := p.world.eng.st, p.view
	fresh := next.current != was.current && next.current > max(was.allocated, p.newestSeen())
	outgoing := was.state().outgoing()
	p.breaks("NumbersFitTheModel", next.current >= slots)
	p.breaks("AllocatedWentBack", next.allocated < was.allocated)
	p.breaks("NumberUsedTwice", was.phase != unborn && next.current != was.current && !fresh && next.current != was.active)
	p.breaks("NewGenerationDuringTransition", fresh && (was.phase == switching || was.phase == draining || was.phase == cleaning))
	p.breaks("AtMostTwoGenerationsReferenced", referenced(next) > 2)
	p.breaks("TerminalWithTwoGenerations", next.terminal() && (next.current != next.active || next.draining != int8(None)))
	p.breaks("OldGenerationLeft", was.phase == cleaning && outgoing && next.phase != cleaning && next.active != was.draining && !p.seen.cells[was.draining].gone() && !p.seen.cells[was.draining].held())
	back := was.active >= 0 && next.phase == creating && next.active == was.draining && p.seen.cells[was.active].sts != int8(Present)
	p.breaks("DrainCutShort", was.phase == draining && outgoing && next.phase != draining && !p.skip && !back &&
		!p.world.drained && !p.world.expired && p.seen.cells[was.draining].sts != int8(Absent))
	p.breaks("DrainCutShort", was.phase == switching && next.phase == cleaning && !p.skip)
	if was.phase == creating && next.phase == switching && p.seen.route != was.current {
		c := p.seen.cells[was.current]
		alone := was.active >= 0 && p.seen.cells[was.active].sts != int8(Present) && c.answers()
		p.breaks("ReadyBeforeSwitching", !alone && (!c.able() || c.made != v.wants() || !c.hl || !c.cm))
	}
	if was.phase == switching && next.active == was.current && was.active >= 0 {
		p.breaks("ClusterServiceSelectsExistingReadyGeneration", p.seen.cells[was.current].sts != int8(Present) && p.seen.cells[was.active].sts == int8(Present))
	}
	if was.phase == creating && next.terminal() && next.current != was.current {
		p.breaks("ReturnsToWhatStands", p.seen.cells[next.current].sts != int8(Present))
	}
	p.breaks("ServingNeverAbandoned", was.phase == creating && was.active == int8(None) && was.current == p.seen.route && !next.refers(was.current))
	p.breaks("SettledMatchesSpec", p.plan.Settled && (!v.up || p.seen.cells[next.current].made != v.wants()))
	if was.current >= 0 && was.phase != unborn && !next.refers(was.current) {
		c := p.seen.cells[was.current]
		rollback := p.rollback && p.world.overdue && next.rejected == v.wants() && next.current == was.active
		p.breaks("NoMatchingGenerationDeleted", c.sts == int8(Present) && c.made == v.wants() && !rollback)
	}
	if was.terminal() && fresh && was.active >= 0 {
		c := p.seen.cells[was.active]
		stands := c.sts == int8(Present) || (c.past != nothing && c.past != v.wants())
		p.breaks("RolledBackIsStable", stands && was.rejected != nothing && was.rejected == v.wants())
		stands = c.sts == int8(Present)
		p.breaks("HeldRolloutDoesNotStart", stands && !v.asked && (v.held || !p.plan.External))
	}
}

func referenced(r record) (n int) {
	for i := range int8(slots) {
		if r.refers(i) {
			n++
		}
	}
	return n
}

// checkWaiting checks a reconcile that left the recorded state unchanged: the world stays
// the same until an event occurs.
func (p *pass) checkWaiting() {
	st := p.world.eng.st
	if p.world.lagging || p.view.cached {
		return
	}
	p.breaks("HeldRolloutDoesNotStart", p.plan.Waiting && (p.view.asked || !p.view.held))
	serves := st.active
	if st.phase == switching {
		serves = st.current
	}
	p.checkLost(serves)
	if serves < 0 || p.world.kids.cells[serves].sts == int8(Absent) {
		return
	}
	p.breaks("ActiveObjectsExistWhileServing", p.world.kids.route != serves || !p.world.kids.cells[serves].hl)
}

// checkLost checks a reconcile that left traffic with a deleted StatefulSet.
func (p *pass) checkLost(serves int8) {
	st, kids := p.world.eng.st, p.world.kids
	if serves < 0 || kids.cells[serves].sts == int8(Present) || p.seen.cells[serves].sts == int8(Present) {
		return
	}
	for _, n := range []int8{st.current, st.draining} {
		p.breaks("TrafficGoesWhereItCan", n >= 0 && n != serves && kids.cells[n].answers() && p.seen.cells[n].answers())
	}
	c := kids.cells[serves]
	past := p.seen.cells[serves].past
	known := serves == st.current && (p.view.up || past != nothing)
	if st.current != serves { // the generation that starts may be the same
		known = past != nothing && (!p.view.up || past != p.view.wants())
	}
	p.breaks("LostServingComesBack", c.sts == int8(Absent) && p.seen.cells[serves].sts == int8(Absent) && known && !c.taken && standing(p.before.kids) < 2)
}

// nothingWorks reports whether all generations that could serve are deleted, except those that never become ready.
func (m *model) nothingWorks(w world) bool {
	if m.bad == 0 || w.eng.spec != m.bad || w.eng.st.phase != creating || w.eng.st.active < 0 {
		return false
	}
	c := w.kids.cells[w.eng.st.active]
	return c.sts == int8(Absent) && (c.past == nothing || c.past == w.eng.wants())
}

// checkRest checks a state without further changes.
func (m *model) checkRest(o outcome) string {
	w := o.world
	a := w.eng.st.active
	drains := m.endless && w.eng.st.phase == draining
	for _, c := range w.kids.cells {
		if c.bare && c.sts == int8(Present) {
			return "LabelsComeBack"
		}
	}
	if m.nothingWorks(w) {
		if o.writes > 0 || o.asked {
			return "NoWritesAtFixedPoint"
		}
		return ""
	}
	switch {
	case !w.eng.st.terminal() && !drains:
		return "EveryFairPathEndsTerminal"
	case o.writes > 0 || o.asked:
		return "NoWritesAtFixedPoint"
	case a < 0 || w.kids.route != a:
		return "ActiveObjectsExistWhileServing"
	}
	if c := w.kids.cells[a]; c.sts != int8(Present) || !c.hl || (!c.cm && (!drains || c.made == w.eng.wants())) {
		return "ActiveObjectsExistWhileServing"
	}
	return ""
}
