package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// full returns a generation with two ready pods that matches the spec.
func full() Generation {
	return Generation{
		StatefulSet: Present, Headless: Present, Config: Present, Match: Same,
		Replicas: 2, PodsTotal: 2, PodsReady: 2,
	}
}

// older returns a generation with two ready pods that does not match the spec.
func older() Generation { return with(full(), func(g *Generation) { g.Match = Differs }) }

// unknownMatch returns a generation with two ready pods that cannot be compared with the spec.
func unknownMatch() Generation { return with(full(), func(g *Generation) { g.Match = Unknown }) }

func with(g Generation, change func(*Generation)) Generation {
	change(&g)
	return g
}

func observed(route int64, gens map[int64]Generation) Snapshot {
	return Snapshot{Route: route, Generations: gens}
}

func at(phase v1alpha1.EnginePhase, current, active, draining int64) State {
	return State{Phase: phase, Current: current, Active: active, Draining: draining, Allocated: max(current, active)}
}

// edge is one decision from a confirmed state.
type edge struct {
	in       Input
	want     Plan
	replicas int32
}

// serve returns the objects of a serving generation that cannot be compared with the spec.
func serve(n int64) []Ensure { return []Ensure{{Generation: n, Headless: true}} }

func withReplicas(n int32, edges map[string]edge) map[string]edge {
	for name, e := range edges {
		e.replicas = n
		edges[name] = e
	}
	return edges
}

func runEdges(t *testing.T, edges map[string]edge) {
	t.Helper()
	for name, tc := range edges {
		t.Run(name, func(t *testing.T) {
			tc.in.Confirmed, tc.in.Replicas = true, tc.replicas
			if diff := cmp.Diff(tc.want, Decide(tc.in)); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}
