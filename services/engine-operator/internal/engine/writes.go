package engine

// Op is one kind of write.
type Op int

// The writes of a plan, in the order in which they are carried out.
const (
	EnsureConfig Op = iota
	EnsureHeadless
	CreateStatefulSet
	// RestoreStatefulSet creates a StatefulSet from what is remembered of it.
	RestoreStatefulSet
	RepairLabels
	RouteService
	// ConfirmUnrouted writes nothing: it asks the API server whether the cluster Service
	// selects the generation that is about to be deleted, and ends the reconcile if it does. The
	// cache behind the decision may be older than our own writes.
	ConfirmUnrouted
	DeleteStatefulSet
	DeleteHeadless
	DeleteConfig
)

// String names the operation, for errors and test output.
func (o Op) String() string {
	return [...]string{
		"ensure config", "ensure headless service", "create statefulset", "restore statefulset", "repair labels", "route service", "confirm unrouted",
		"delete statefulset", "delete headless service", "delete config",
	}[o]
}

// Write is one write on one generation.
type Write struct {
	Op         Op
	Generation int64
}

// Writes flattens the plan into single writes: configuration before names before pods,
// creation before routing, routing before deletion. The status write follows the last
// one. The write layer and the exhaustive test both walk this list, so what the test
// proves about a crash between two writes holds for the operator.
func (p Plan) Writes() []Write {
	var out []Write
	for _, e := range p.Ensure {
		if e.Config {
			out = append(out, Write{EnsureConfig, e.Generation})
		}
		if e.Headless {
			out = append(out, Write{EnsureHeadless, e.Generation})
		}
		if e.StatefulSet {
			out = append(out, Write{CreateStatefulSet, e.Generation})
		}
		if e.Restore {
			out = append(out, Write{RestoreStatefulSet, e.Generation})
		}
	}
	for _, n := range p.Relabel {
		out = append(out, Write{RepairLabels, n})
	}
	if p.Route != None {
		out = append(out, Write{RouteService, p.Route})
	}
	for _, n := range p.Delete {
		out = append(out, Write{ConfirmUnrouted, n}, Write{DeleteStatefulSet, n}, Write{DeleteHeadless, n}, Write{DeleteConfig, n})
	}
	return out
}
