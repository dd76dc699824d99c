package engine

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// Classes of answers: that of an engine, and what the gateway says at once of an engine that has no pods.
const (
	answered = "200 engine"
	refused  = "503 stopped"
)

// unfound is how many queries may be refused after Available, at 20 a second: the gateway resolves the names of pods each
// second, and each second whether they are ready (dns_refresh_rate and health_checks of its envoy.yaml).
const unfound = 2 * 20

// stop stops the engine. Its pods answer earlier queries; later queries fail, since there are no pods.
func (e *Engine) stop(ctx context.Context, s *run.Step) error {
	var err error
	if e.before, err = e.Serving(ctx); err != nil {
		return err
	}
	// The queries of the previous phase must not be refused: they have reached an engine when one of this phase is answered.
	if e.loadgen != nil {
		if err := e.loadgen.Sees(ctx, s, answered); err != nil {
			return err
		}
	}
	if err := e.Edit(ctx, s, platform.Engines, "etl", `{"metadata":{"annotations":{"operator-command":"Stopped"}}}`); err != nil {
		return err
	}
	if err := s.Until(ctx, "engine etl is stopped", func(ctx context.Context) error {
		o, err := e.Get(ctx, platform.Engines, e.Namespace, "etl")
		if err != nil {
			return err
		}
		if err := e.countDrains(o); err != nil {
			return err
		}
		return platform.IsTrue(o, "Stopped")
	}); err != nil {
		return err
	}
	pods, err := e.List(ctx, cluster.Pod, e.Namespace, client.MatchingLabels(engineLabels))
	if err == nil && len(pods) > 0 {
		err = fmt.Errorf("condition Stopped is True and there are still the pods %v", platform.Names(pods))
	}
	if err != nil || e.loadgen == nil {
		return err
	}
	if err := e.loadgen.Sees(ctx, s, refused); err != nil {
		return err
	}
	return e.clear(ctx)
}

// start ends when the engine is Available and the gateway has found its pods, at most two seconds later.
func (e *Engine) start(ctx context.Context, s *run.Step) error {
	before, err := e.Serving(ctx)
	if err != nil {
		return err
	}
	e.before = before
	if err := e.Edit(ctx, s, platform.Engines, "etl", `{"metadata":{"annotations":{"operator-command":null}}}`); err != nil {
		return err
	}
	if err := s.Until(ctx, "engine etl is Available", func(ctx context.Context) error {
		o, err := e.Get(ctx, platform.Engines, e.Namespace, "etl")
		if err != nil {
			return err
		}
		return platform.IsTrue(o, "Available")
	}); err != nil || e.loadgen == nil {
		return err
	}
	early, err := e.asked(ctx)
	if err != nil {
		return err
	}
	if err := e.loadgen.Sees(ctx, s, answered); err != nil {
		return err
	}
	late, err := e.asked(ctx)
	if err != nil {
		return err
	}
	n := late.Classes[refused] - early.Classes[refused]
	s.Note("After the start, %d queries were refused although the engine was Available.", n)
	if n > unfound {
		return fmt.Errorf("%d queries were refused although the engine was Available, more than %d", n, unfound)
	}
	return e.clear(ctx)
}

// started is the time since, in which every query is answered.
func (e *Engine) started(ctx context.Context, s *run.Step) error {
	if err := e.Rolled(ctx, s, e.before); err != nil {
		return err
	}
	return e.Steady(ctx, s)
}

// remove deletes the engine. The queries that run are answered, later ones refused.
func (e *Engine) remove(ctx context.Context, s *run.Step) error {
	if _, err := e.Kubectl(ctx, "", "delete", "fireboltengine", "etl", "-n", e.Namespace, "--timeout=3m"); err != nil {
		return err
	}
	s.Note("%d old generations went when they had no queries left; none went before.", e.drained)
	if e.drained == 0 && !e.Simulated {
		return fmt.Errorf("no old generation was drained: the queries kept none busy")
	}
	if err := s.Until(ctx, "nothing is left of engine etl", func(ctx context.Context) error {
		return e.Leftovers(ctx, e.Namespace, engineLabels, platform.StatefulSets, platform.Services, platform.ConfigMaps, cluster.Pod)
	}); err != nil || e.loadgen == nil {
		return err
	}
	if err := e.loadgen.Sees(ctx, s, refused); err != nil {
		return err
	}
	return e.clear(ctx)
}

// asked is what was counted in the present phase.
func (e *Engine) asked(ctx context.Context) (load.Figures, error) {
	phases, err := e.loadgen.Figures(ctx)
	if err != nil {
		return load.Figures{}, err
	}
	return phases[len(phases)-1], nil
}

// clear wants every query of the present phase to be answered by the engine or clearly refused: none was cut, and none
// was left without an answer.
func (e *Engine) clear(ctx context.Context) error {
	now, err := e.asked(ctx)
	if err != nil {
		return err
	}
	for class, n := range now.Classes {
		if class != answered && class != refused {
			return fmt.Errorf("%d queries ended in %s: %v", n, class, now.Failures)
		}
	}
	return nil
}
