package engine

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// Classes of answers: from an engine, and from the gateway when an engine has no pods; then those of Firebolt's own client.
const (
	answered    = "200 engine"
	refused     = "503 stopped"
	sdkAnswered = "sdk row"
	sdkRefused  = "sdk stopped"
)

// unfound is the number of queries that the gateway may reject after Available, at 20 per second: it resolves the names of
// pods once a second, and checks their health once a second (dns_refresh_rate and health_checks of its envoy.yaml).
const unfound = 2 * 20

// stop stops the engine. Its pods answer the queries that they accepted; the gateway rejects later ones.
func (e *Engine) stop(ctx context.Context, s *run.Step) error {
	var err error
	if e.before, err = e.Serving(ctx); err != nil {
		return err
	}
	// Queries of the previous phase must not be rejected: an answer in this phase shows that an engine accepted them.
	if err := e.loadgen.WaitForClass(ctx, s, answered); err != nil {
		return err
	}
	if err := e.Edit(ctx, s, `{"metadata":{"annotations":{"operator-command":"Stopped"}}}`); err != nil {
		return err
	}
	if err := e.until(ctx, s, "engine etl is stopped", func(o *unstructured.Unstructured) error {
		if err := e.countDrains(o); err != nil {
			return err
		}
		return platform.IsTrue(o, "Stopped")
	}); err != nil {
		return err
	}
	pods, err := e.List(ctx, cluster.Pod, e.Namespace, client.MatchingLabels(engineLabels))
	if err == nil && len(pods) > 0 {
		err = fmt.Errorf("condition Stopped is True, but pods %v exist", platform.Names(pods))
	}
	if err != nil {
		return err
	}
	return e.rejects(ctx, s)
}

// start starts the engine. The gateway must route queries to it at most two seconds after it is Available.
func (e *Engine) start(ctx context.Context, s *run.Step) error {
	var err error
	if e.before, err = e.Serving(ctx); err != nil {
		return err
	}
	if err := e.Edit(ctx, s, `{"metadata":{"annotations":{"operator-command":null}}}`); err != nil {
		return err
	}
	if err := e.until(ctx, s, "engine etl is Available", func(o *unstructured.Unstructured) error {
		return platform.IsTrue(o, "Available")
	}); err != nil {
		return err
	}
	early, err := e.loadgen.Current(ctx)
	if err != nil {
		return err
	}
	if err := e.loadgen.WaitForClass(ctx, s, answered); err != nil {
		return err
	}
	late, err := e.loadgen.Current(ctx)
	if err != nil {
		return err
	}
	n := late.Classes[refused] - early.Classes[refused]
	s.Note("After the start, the gateway rejected %d queries although the engine was Available.", n)
	if n > unfound {
		return fmt.Errorf("the gateway rejected %d queries although the engine was Available, want at most %d", n, unfound)
	}
	return e.clear(ctx)
}

// started checks the rollout after the start. Every query must succeed.
func (e *Engine) started(ctx context.Context, s *run.Step) error { return e.Rolled(ctx, s, e.before) }

// remove deletes the engine. Its pods answer the queries that they accepted; the gateway rejects later ones.
func (e *Engine) remove(ctx context.Context, s *run.Step) error {
	if _, err := e.Kubectl(ctx, "", "delete", "fireboltengine", "etl", "-n", e.Namespace, "--timeout=3m"); err != nil {
		return err
	}
	s.Note("%d old generations were deleted when they had no queries; none was deleted earlier.", e.drained)
	if e.drained == 0 {
		return fmt.Errorf("no old generation was drained, so no queries kept one busy")
	}
	if err := s.Until(ctx, "the objects of engine etl are deleted", func(ctx context.Context) error {
		return e.Leftovers(ctx, e.Namespace, engineLabels, platform.StatefulSets, platform.Services, platform.ConfigMaps, cluster.Pod)
	}); err != nil {
		return err
	}
	return e.rejects(ctx, s)
}

// rejects waits until the gateway rejects a query, and checks the queries of the current phase.
func (e *Engine) rejects(ctx context.Context, s *run.Step) error {
	if err := e.loadgen.WaitForClass(ctx, s, refused); err != nil {
		return err
	}
	return e.clear(ctx)
}

// clear returns an error unless the engine answered or the gateway rejected every query of the current phase: a query
// must not be cut off or time out.
func (e *Engine) clear(ctx context.Context) error {
	now, err := e.loadgen.Current(ctx)
	if err != nil {
		return err
	}
	for class, n := range now.Classes {
		if !slices.Contains([]string{answered, refused, sdkAnswered, sdkRefused}, class) {
			return fmt.Errorf("%d queries ended with %s: %v", n, class, now.Failures)
		}
	}
	return nil
}
