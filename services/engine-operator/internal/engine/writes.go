package engine

// Op is one kind of write.
type Op int

// The writes of a plan, in execution order.
const (
	EnsureConfig Op = iota
	EnsureHeadless
	CreateStatefulSet
	// RestoreStatefulSet creates a StatefulSet from the remembered one.
	RestoreStatefulSet
	RepairLabels
	RouteService
	// ConfirmUnrouted writes nothing: it reads the cluster Service from the API server, and ends
	// the reconcile if the Service selects the generation that is about to be deleted. The
	// informer cache may be older than our own writes. A Service of another owner only
	// prevents the deletion.
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

// Writes flattens the plan into single writes: configuration before headless Services before
// StatefulSets, creation before routing, routing before deletion. The status write follows the last
// one. The write layer and the exhaustive test both use this list, so the test covers a crash
// between any two writes of the operator.
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

// Requires reports whether the write must not be executed after a failure of an earlier write of the
// same plan. Pods need the configuration and the headless Service of their generation, and a
// generation is deleted only after its traffic was routed elsewhere. All other writes are independent,
// so that one refused object does not block the others.
func (w Write) Requires(earlier Write) bool {
	switch w.Op {
	case CreateStatefulSet, RestoreStatefulSet:
		return earlier.Generation == w.Generation
	case ConfirmUnrouted:
		return earlier.Op == RouteService
	case DeleteStatefulSet:
		return earlier == Write{ConfirmUnrouted, w.Generation}
	case DeleteHeadless, DeleteConfig: // the StatefulSet may serve again
		return earlier == Write{DeleteStatefulSet, w.Generation}
	case EnsureConfig, EnsureHeadless, RepairLabels, RouteService:
	}
	return false
}
