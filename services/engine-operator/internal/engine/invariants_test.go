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
	"OnlyReadyGenerationDeleted":                   "A generation that was seen to have ready pods is not deleted in cleaning while the serving one was seen to have replicas but no ready pod.",
	"AtMostTwoGenerationsReferenced":               "The status never names more than two generations.",
	"AtMostTwoGenerationsStand":                    "With a cache that shows all objects, no third StatefulSet is created in addition to two without a foreign finalizer.",
	"NumberUsedTwice":                              "A number becomes current only once; a deleted generation is never recreated under its number.",
	"AllocatedWentBack":                            "The greatest allocated number is never forgotten.",
	"ExistsBeforeAllocated":                        "Nothing of a generation exists before its number is recorded.",
	"WroteBeforeIntent":                            "A reconcile that allocates a number does nothing else.",
	"WroteFromOutdatedState":                       "Nothing is created or routed for a recorded state that is not the API server's.",
	"NoClusterServiceBeforeFirstServing":           "While no generation has ever served, the cluster Service is not created, except by the step that makes one serve.",
	"EditsKeepDeadline":                            "While a StatefulSet of the current rendering is edited in creating, the deadline of the rollout continues, and its rollback is not postponed; with another rendering, the deadline starts over.",
	"NoMatchingGenerationDeleted":                  "A generation that was seen to match the spec is never abandoned, except by a rollback; so only generations that were abandoned, or drained, while they did not match are deleted.",
	"NewGenerationDuringTransition":                "No number is allocated in switching, draining and cleaning.",
	"TerminalWithTwoGenerations":                   "In a terminal phase the current generation is the active one, and none is draining.",
	"OldGenerationLeft":                            "Cleaning ends when nothing of the old generation was seen any more, except objects that a foreign finalizer holds, or when the generation that the Service selects replaces the active one; and at a fixed point nothing of another generation is left.",
	"DrainCutShort":                                "Draining ends when no query is left, or its timeout expires, or it is disabled, or nothing is left that could run one, or its generation serves again; it is skipped only when it is disabled.",
	"RunningConfigOverwritten":                     "The configuration of a StatefulSet is never replaced by that of another rendering.",
	"RenderedBlind":                                "Nothing is rendered while the instance's id or endpoint is unknown, nor for another number than the current one.",
	"GateIsClosed":                                 "While the credentials of the instance are deleted, no generation is started or created, and traffic is switched to one only if it has ready pods and the one that serves has no StatefulSet.",
	"RolledBackIsStable":                           "A rejected rendering is not built again while the serving generation exists.",
	"HeldRolloutDoesNotStart":                      "A rollout without a change of the engine's own spec is marked as external, and does not begin while it is throttled; nothing else waits.",
	"EveryFairPathEndsTerminal":                    "From every state, an operator without interference in a working cluster reaches a terminal phase and stays there.",
	"NoWritesAtFixedPoint":                         "There nothing is written, and nothing is read from the API server.",
	"TrafficGoesWhereItCan":                        "While the serving StatefulSet is missing, a reconcile that changes no phase ignores no other generation of the status that has ready pods.",
	"StartedEngineKeepsReadyPods":                  "While replicas are desired, no reconcile stays in draining with traffic on an empty generation when the old one was seen to have ready pods.",
	"LostServingComesBack":                         "A reconcile that changes no phase leaves the serving generation with a StatefulSet, when its rendering is known and no two others existed when the reconcile began.",
	"RestoredFromNothing":                          "A StatefulSet is only restored to its former state.",
	"LabelsComeBack":                               "A StatefulSet that lost its labels has them again in a terminal phase.",
	"CreatedWithoutDependencies":                   "With a cache that shows all objects, a StatefulSet with the current rendering is created only after its configuration and its headless Service.",
	"ActiveChangesOnlyForTraffic":                  "Outside switching, an active generation that was seen to have ready pods stays active.",
	"ReadyPodsKeepTraffic":                         "The cluster Service leaves a generation that was seen to have ready pods only for another one with ready pods, or, while no replicas are desired, for one without pods; and a StatefulSet only for a generation that has one or can be restored.",
	"ReadyHasPods":                                 "While replicas are desired, no rollback returns to a generation of zero replicas, and no fixed point is stable with one: Ready would be True without a pod.",
	"NumbersFitTheModel":                           "The number of generations in progress never exceeds what the model can distinguish.",
}

// checkRender runs before a rendering of the spec.
func (p *reconcile) checkRender(wr Write, cached genState) {
	p.violatesIf("RenderedBlind", !p.view.instanceExists || int8(wr.Generation) != p.view.st.current)
	p.violatesIf("RunningConfigOverwritten", wr.Op == EnsureConfig && cached.cm && cached.sts == int8(Present) &&
		cached.stsRendering != p.view.desired())
}

// checkWrite checks a write that changed something.
func (p *reconcile) checkWrite(wr Write, before children) {
	st, n := p.view.st, int8(wr.Generation)
	c := p.state.children.gens[n]
	p.violatesIf("WroteFromOutdatedState", st != p.before.eng.st && wr.Op <= RouteService && (wr.Op != EnsureConfig || !before.gens[n].cm))
	p.violatesIf("WroteBeforeIntent", p.plan.Next.Allocated > int64(max(st.allocated, p.latestCached())))
	switch wr.Op {
	case EnsureConfig, EnsureHeadless, CreateStatefulSet, RestoreStatefulSet:
		p.violatesIf("NumberUsedTwice", c.retired)
		gated := p.view.st.phase == creating || p.view.st.terminal()
		p.violatesIf("GateIsClosed", p.before.noCredentials && gated && wr.Op == CreateStatefulSet)
		p.violatesIf("CreatedWithoutDependencies", wr.Op == CreateStatefulSet && !p.state.childrenStale && (!c.hl || !c.cm))
		p.violatesIf("ExistsBeforeAllocated", n > p.before.eng.st.allocated && p.before.eng.st.phase != uninitialized)
		p.violatesIf("AtMostTwoGenerationsStand", (wr.Op == CreateStatefulSet || wr.Op == RestoreStatefulSet) && !p.state.childrenStale && existingStatefulSets(p.state.children) > 2)
	case RouteService:
		activeLost := st.active >= 0 && p.cached.gens[st.active].sts != int8(Present) && p.cached.gens[n].hasReadyPod()
		routable := (p.cached.gens[n].routable() || activeLost) && st.phase == switching && n == st.current
		p.violatesIf("NoClusterServiceBeforeFirstServing", before.route == int8(None) && st.active == int8(None) && st.phase != switching)
		p.violatesIf("ClusterServiceSelectsExistingReadyGeneration", !routable && n != st.active)
		p.checkTraffic(n)
	case DeleteStatefulSet, DeleteHeadless, DeleteConfig:
		now := p.before.eng.st
		outgoing := now.phase == cleaning && n == now.draining
		lost := st.active >= 0 && n != st.active && p.cached.gens[st.active].sts != int8(Present)
		p.violatesIf("ServingDeleted", lost && p.cached.gens[n].hasReadyPod() && p.before.eng.st.references(n))
		p.violatesIf("OnlyReadyGenerationDeleted", outgoing && p.failed(now))
		p.violatesIf("ServingDeleted", (now.phase != uninitialized && now.references(n) && !outgoing) || n == before.route || n == p.before.children.route)
	case RepairLabels, ConfirmUnrouted:
	}
}

// serviceSelects reports whether the Service was seen to select a generation with a StatefulSet.
func (p *reconcile) serviceSelects(n int8) bool {
	return n == p.cached.route && p.cached.gens[n].sts == int8(Present)
}

// checkTraffic checks a write of the Service against what the reconcile saw.
func (p *reconcile) checkTraffic(to int8) {
	if p.cached.route < 0 || p.cached.route == to {
		return
	}
	before, after := p.cached.gens[p.cached.route], p.cached.gens[to]
	stopped := after.sts == int8(Present) && after.stsRendering.replicas() == 0 && p.view.desired().replicas() == 0
	p.violatesIf("ReadyPodsKeepTraffic", before.hasReadyPod() && !after.hasReadyPod() && !stopped)
	p.violatesIf("ReadyPodsKeepTraffic", before.sts == int8(Present) && after.sts != int8(Present) && after.lastVersion == noRendering)
}

// latestCached returns the greatest number of which the reconcile read an object: a number beyond the
// recorded ones is recorded as allocated.
func (p *reconcile) latestCached() int8 {
	out := int8(None)
	for n, c := range p.cached.gens {
		if !c.absent() {
			out = max(out, int8(n))
		}
	}
	return out
}

func existingStatefulSets(c children) (n int) {
	for _, g := range c.gens {
		if g.sts != int8(Absent) && !g.held() {
			n++
		}
	}
	return n
}

// checkRecord compares the recorded state before and after a status write.
func (p *reconcile) checkRecord(next record) {
	was, v := p.state.eng.st, p.view
	isNew := next.current != was.current && next.current > max(was.allocated, p.latestCached())
	outgoing := was.state().outgoing()
	p.violatesIf("NumbersFitTheModel", next.current >= slots)
	p.violatesIf("AllocatedWentBack", next.allocated < was.allocated)
	p.violatesIf("NumberUsedTwice", was.phase != uninitialized && next.current != was.current && !isNew && next.current != was.active && !p.serviceSelects(next.current))
	p.violatesIf("NewGenerationDuringTransition", isNew && (was.phase == switching || was.phase == draining || was.phase == cleaning))
	p.violatesIf("GateIsClosed", p.before.noCredentials && isNew && was.phase != uninitialized)
	p.violatesIf("AtMostTwoGenerationsReferenced", referenced(next) > 2)
	p.violatesIf("TerminalWithTwoGenerations", next.terminal() && (next.current != next.active || next.draining != int8(None)))
	replaced := outgoing && next.active != was.active && p.serviceSelects(next.active) && p.cached.gens[was.draining].sts != int8(Present)
	p.violatesIf("OldGenerationLeft", was.phase == cleaning && outgoing && next.phase != cleaning && next.active != was.draining && !replaced && !p.cached.gens[was.draining].absent() && !p.cached.gens[was.draining].held())
	reverted := was.active >= 0 && next.phase == creating && next.active == was.draining &&
		(p.cached.gens[was.active].sts != int8(Present) || p.serviceSelects(was.draining) || p.startedAgain(was) || p.failed(was))
	p.violatesIf("DrainCutShort", was.phase == draining && outgoing && next.phase != draining && !p.skip && !reverted &&
		!p.state.drained && !p.state.expired && p.cached.gens[was.draining].sts != int8(Absent))
	p.violatesIf("DrainCutShort", was.phase == switching && next.phase == cleaning && !p.skip)
	if was.phase == creating && next.phase == switching && p.cached.route != was.current {
		c := p.cached.gens[was.current]
		activeLost := was.active >= 0 && p.cached.gens[was.active].sts != int8(Present) && c.hasReadyPod()
		p.violatesIf("GateIsClosed", p.before.noCredentials && !activeLost)
		p.violatesIf("ReadyBeforeSwitching", !activeLost && (!c.routable() || c.stsRendering != v.desired() || !c.hl || !c.cm))
	}
	if was.phase == switching && next.active == was.current && was.active >= 0 {
		p.violatesIf("ClusterServiceSelectsExistingReadyGeneration", p.cached.gens[was.current].sts != int8(Present) && p.cached.gens[was.active].sts == int8(Present))
	}
	p.violatesIf("ActiveChangesOnlyForTraffic", was.phase != switching && was.phase != uninitialized && was.active >= 0 && next.active != was.active && p.cached.gens[was.active].hasReadyPod())
	if was.phase == creating && next.terminal() && next.current != was.current {
		p.violatesIf("ReturnsToWhatStands", p.cached.gens[next.current].sts != int8(Present))
	}
	p.checkDeadline(isNew)
	rolledBack := next.rejected != noRendering && next.rejected != was.rejected
	p.violatesIf("ReadyHasPods", rolledBack && v.desired().replicas() > 0 && p.cached.gens[next.active].stsRendering.replicas() == 0)
	p.violatesIf("ServingNeverAbandoned", was.phase == creating && was.active == int8(None) && was.current == p.cached.route && !next.references(was.current))
	p.violatesIf("SettledMatchesSpec", p.plan.Settled && (!v.instanceExists || p.cached.gens[next.current].stsRendering != v.desired()))
	if was.current >= 0 && was.phase != uninitialized && !next.references(was.current) {
		c := p.cached.gens[was.current]
		rollback := p.rollback && p.state.overdue && next.rejected == v.desired() && next.current == was.active
		p.violatesIf("NoMatchingGenerationDeleted", c.sts == int8(Present) && c.stsRendering == v.desired() && !rollback)
	}
	if was.terminal() && isNew && was.active >= 0 {
		c := p.cached.gens[was.active]
		exists := c.sts == int8(Present) || (c.lastVersion != noRendering && c.lastVersion != v.desired())
		p.violatesIf("RolledBackIsStable", exists && was.rejected != noRendering && was.rejected == v.desired())
		exists = c.sts == int8(Present)
		p.violatesIf("HeldRolloutDoesNotStart", exists && !v.specChanged && (v.throttled || !p.plan.External))
	}
}

// startedAgain reports whether the engine is seen to be started again while the old generation still has ready pods.
func (p *reconcile) startedAgain(st record) bool {
	if st.phase != draining || !st.state().outgoing() || p.view.desired().replicas() == 0 {
		return false
	}
	active := p.cached.gens[st.active]
	return active.sts == int8(Present) && active.stsRendering.replicas() == 0 && p.cached.gens[st.draining].hasReadyPod()
}

// failed reports whether the serving generation is seen without ready pods, and the old one with some.
func (p *reconcile) failed(st record) bool {
	if !st.state().outgoing() {
		return false
	}
	active := p.cached.gens[st.active]
	return active.sts == int8(Present) && active.stsRendering.replicas() > 0 && !active.hasReadyPod() && p.cached.gens[st.draining].hasReadyPod()
}

func referenced(r record) (n int) {
	for i := range int8(slots) {
		if r.references(i) {
			n++
		}
	}
	return n
}

// checkWaiting checks a reconcile that left the recorded state unchanged: the model stays
// in this state until an event occurs.
func (p *reconcile) checkWaiting() {
	st := p.state.eng.st
	if p.state.childrenStale || p.view.cached {
		return
	}
	p.violatesIf("HeldRolloutDoesNotStart", p.plan.Waiting && (p.view.specChanged || !p.view.throttled))
	serves := st.active
	if st.phase == switching {
		serves = st.current
	}
	p.checkLost(serves)
	p.violatesIf("StartedEngineKeepsReadyPods", p.startedAgain(st))
	p.violatesIf("OnlyReadyGenerationDeleted", p.failed(st))
	if serves < 0 || p.state.children.gens[serves].sts == int8(Absent) {
		return
	}
	p.violatesIf("ActiveObjectsExistWhileServing", p.state.children.route != serves || !p.state.children.gens[serves].hl)
}

// checkLost checks a reconcile that left traffic with a deleted StatefulSet.
func (p *reconcile) checkLost(serves int8) {
	st, children := p.state.eng.st, p.state.children
	if serves < 0 || children.gens[serves].sts == int8(Present) || p.cached.gens[serves].sts == int8(Present) {
		return
	}
	for _, n := range []int8{st.current, st.draining} {
		p.violatesIf("TrafficGoesWhereItCan", n >= 0 && n != serves && children.gens[n].hasReadyPod() && p.cached.gens[n].hasReadyPod())
	}
	c := children.gens[serves]
	lastVersion := p.cached.gens[serves].lastVersion
	known := serves == st.current && (p.view.instanceExists && !p.before.noCredentials || lastVersion != noRendering)
	if st.current != serves { // the generation that starts may be the same
		known = lastVersion != noRendering && (!p.view.instanceExists || lastVersion != p.view.desired())
	}
	p.violatesIf("LostServingComesBack", c.sts == int8(Absent) && p.cached.gens[serves].sts == int8(Absent) && known && !c.nameTaken && existingStatefulSets(p.before.children) < 2)
}

// noServableGeneration reports whether all generations that could serve are deleted, except those that never become ready.
func (m *model) noServableGeneration(w modelState) bool {
	if m.failingSpec == 0 || w.eng.spec != m.failingSpec || w.eng.st.phase != creating || w.eng.st.active < 0 {
		return false
	}
	c := w.children.gens[w.eng.st.active]
	if c.sts == int8(Present) {
		return c.stsRendering.replicas() == 0 // nothing to return to
	}
	return c.sts == int8(Absent) && (c.lastVersion == noRendering || c.lastVersion == w.eng.desired())
}

// checkFixedPoint checks a state without further changes.
func (m *model) checkFixedPoint(o outcome) string {
	w := o.state
	a := w.eng.st.active
	drains := m.noDrainTimeout && w.eng.st.phase == draining
	for _, c := range w.children.gens {
		if c.unlabeled && c.sts == int8(Present) {
			return "LabelsComeBack"
		}
	}
	if m.noServableGeneration(w) {
		if o.writes > 0 || o.readAPI {
			return "NoWritesAtFixedPoint"
		}
		return ""
	}
	switch {
	case !w.eng.st.terminal() && !drains:
		return "EveryFairPathEndsTerminal"
	case o.writes > 0 || o.readAPI:
		return "NoWritesAtFixedPoint"
	case a < 0 || w.children.route != a:
		return "ActiveObjectsExistWhileServing"
	case w.eng.st.phase == stable && w.eng.desired().replicas() > 0 && w.children.gens[a].stsRendering.replicas() == 0:
		return "ReadyHasPods"
	}
	for n, c := range w.children.gens {
		if int8(n) != a && int8(n) != w.eng.st.draining && !c.absent() && !c.held() {
			return "OldGenerationLeft"
		}
	}
	if c := w.children.gens[a]; c.sts != int8(Present) || !c.hl || (!c.cm && (!drains || c.stsRendering == w.eng.desired())) {
		return "ActiveObjectsExistWhileServing"
	}
	return ""
}
