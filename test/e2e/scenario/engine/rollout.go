package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// Serving returns the generation that serves.
func (e *Engine) Serving(ctx context.Context) (int64, error) {
	o, err := e.Get(ctx, platform.Engines, e.Namespace, "etl")
	if err != nil {
		return 0, err
	}
	return platform.Number(o, "status", "activeGeneration"), nil
}

// Rolled waits until a generation after before serves and all older ones are deleted. It returns an error if one of them
// was not drained.
func (e *Engine) Rolled(ctx context.Context, s *run.Step, before int64) error {
	var last *unstructured.Unstructured
	what := fmt.Sprintf("engine etl serves a generation after %d", before)
	if err := e.until(ctx, s, what, func(o *unstructured.Unstructured) error {
		last = o
		return e.Settled(o, before)
	}); err != nil {
		return err
	}
	if err := e.countDrains(last); err != nil {
		return err
	}
	if err := e.Ready(ctx, s, e.Namespace, engineLabels, e.Replicas); err != nil {
		return err
	}
	return s.Until(ctx, "older generations are deleted", func(ctx context.Context) error {
		sets, err := e.List(ctx, platform.StatefulSets, e.Namespace, client.MatchingLabels(engineLabels))
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("etl-g%d", platform.Number(last, "status", "activeGeneration")); len(sets) != 1 || sets[0].GetName() != want {
			return fmt.Errorf("got StatefulSets %v, want %s", platform.Names(sets), want)
		}
		return nil
	})
}

// rolled is Rolled for any generation.
func (e *Engine) rolled(ctx context.Context, s *run.Step) error { return e.Rolled(ctx, s, -1) }

// until waits until check accepts the engine.
func (e *Engine) until(ctx context.Context, s *run.Step, what string, check func(*unstructured.Unstructured) error) error {
	return e.Object(platform.Engines, e.Namespace, "etl").Await(ctx, s, what, check)
}

// Settled returns an error unless the engine is stable and Available with a generation after before.
func (e *Engine) Settled(o *unstructured.Unstructured, before int64) error {
	phase, active := platform.Text(o, "status", "phase"), platform.Number(o, "status", "activeGeneration")
	switch {
	case phase != "stable":
		return fmt.Errorf("phase is %q", phase)
	case active <= before:
		return fmt.Errorf("generation %d serves", active)
	case platform.Number(o, "status", "observedGeneration") != o.GetGeneration():
		return fmt.Errorf("observed generation %d of the object, want %d",
			platform.Number(o, "status", "observedGeneration"), o.GetGeneration())
	}
	return platform.IsTrue(o, "Available")
}

// countDrains counts the drained generations in the transitions since its last call. It returns an error for a generation
// that was deleted while it may have had queries.
func (e *Engine) countDrains(o *unstructured.Unstructured) error {
	entries, _, err := unstructured.NestedSlice(o.Object, "status", "transitions")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		t, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("unexpected entry %v in status.transitions", entry)
		}
		seq, ok := t["seq"].(int64)
		if !ok || seq <= e.checkedSeq {
			continue
		}
		e.checkedSeq = seq
		switch t["reason"] {
		case "Drained":
			e.drained++
		case "DrainSkipped", "DrainTimeoutExceeded":
			return fmt.Errorf("an old generation was deleted without a complete drain: %v: %v", t["reason"], t["message"])
		}
	}
	return nil
}
