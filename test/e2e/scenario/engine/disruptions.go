package engine

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// Disruptions removes pods: those of the engine by eviction, and the operator's own in the middle of rollouts.
func Disruptions(p *platform.Platform) run.Scenario {
	e, s := engineScenario(p, "engine-disruptions", "Pods of an engine are evicted, one is killed, and the operator is "+
		"killed at random while generations roll, while queries run through the gateway.", 2)
	s.Phases = []run.Phase{
		{Name: "steady", Do: e.Steady},
		{Name: "eviction", Do: e.evict},
		{Name: "an engine is killed", Outage: true, Do: e.killEngine},
		{Name: "operator killed at random", Do: e.killOperator},
		{Name: "operator is back", Do: e.operatorIsBack},
		{Name: "delete", Outage: true, Do: e.remove},
	}
	return s
}

// evict removes each pod by the Eviction API, as kubectl drain would, one after the other.
func (e *Engine) evict(ctx context.Context, s *run.Step) error {
	pods, err := e.List(ctx, cluster.Pod, e.Namespace, client.MatchingLabels(engineLabels))
	if err != nil {
		return err
	}
	for i := range pods {
		pod := &pods[i]
		if err := e.EvictPod(ctx, s, pod); err != nil {
			return err
		}
		if err := s.Until(ctx, "another pod takes the place of "+pod.GetName(), func(ctx context.Context) error {
			now, err := e.Get(ctx, cluster.Pod, e.Namespace, pod.GetName())
			if err != nil {
				return err
			}
			if now.GetUID() == pod.GetUID() {
				return fmt.Errorf("%s is still there", pod.GetName())
			}
			return platform.IsTrue(now, "Ready")
		}); err != nil {
			return err
		}
	}
	return e.Rolled(ctx, s, -1)
}

// killEngine kills a pod without a grace period. The queries that it runs fail; none may be executed twice. The longest
// query takes seven seconds and counts in the phase in which it begins.
func (e *Engine) killEngine(ctx context.Context, s *run.Step) error {
	if err := s.Pass(ctx, 8*time.Second); err != nil {
		return err
	}
	serving, err := e.Serving(ctx)
	if err != nil {
		return err
	}
	if err := e.KillPods(ctx, e.Namespace, map[string]string{"statefulset.kubernetes.io/pod-name": fmt.Sprintf("etl-g%d-1", serving)}); err != nil {
		return err
	}
	return e.Rolled(ctx, s, -1)
}

// killOperator rolls generations and kills the operator's pod at random moments.
func (e *Engine) killOperator(ctx context.Context, s *run.Step) error {
	for i, image := range []string{"flotilla-e2e/engine:dev-2", "flotilla-e2e/engine:dev", "flotilla-e2e/engine:dev-2"} {
		before, err := e.Serving(ctx)
		if err != nil {
			return err
		}
		if err := e.Edit(ctx, s, platform.Engines, "etl", WithImage(image)); err != nil {
			return err
		}
		for range 2 {
			wait := time.Duration(e.Intn(6000)) * time.Millisecond
			if err := s.Pass(ctx, wait); err != nil {
				return err
			}
			s.Log("rollout %d: the operator is killed after %s", i+1, wait)
			if err := e.KillPods(ctx, e.System, engineOperator); err != nil {
				return err
			}
		}
		if err := e.Rolled(ctx, s, before); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) operatorIsBack(ctx context.Context, s *run.Step) error {
	if err := s.Until(ctx, "the operator is available", func(ctx context.Context) error {
		deployments, err := e.List(ctx, platform.Deployments, e.System, client.MatchingLabels(engineOperator))
		if err != nil {
			return err
		}
		if len(deployments) != 1 {
			return fmt.Errorf("%d Deployments of the engine operator in %s", len(deployments), e.System)
		}
		if ready := platform.Number(&deployments[0], "status", "availableReplicas"); ready < 1 {
			return fmt.Errorf("%d available replicas", ready)
		}
		return nil
	}); err != nil {
		return err
	}
	return e.Steady(ctx, s)
}
