package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// Disruptions evicts the pods of an engine, and kills the operator during rollouts.
func Disruptions(p *platform.Platform) run.Scenario {
	e, s := engineScenario(p, "engine-disruptions", "Pods of an engine are evicted, one is killed, one freezes, the node of "+
		"one is lost, and the operator is killed at random during rollouts, while queries run through the gateway.", 2)
	s.Phases = []run.Phase{
		{Name: "steady", Do: e.Steady},
		{Name: "eviction", Do: e.evict},
		{Name: "engine killed", Outage: true, Do: e.killEngine},
		{Name: "engine frozen", Outage: true, Do: e.freezeEngine},
		{Name: "node lost", Outage: true, Do: e.loseNode},
		{Name: "operator killed at random times", Do: e.killOperator},
		{Name: "operator available again", Do: run.InOrder(e.waitForOperator, e.Steady)},
		{Name: "delete", Outage: true, Do: e.remove},
	}
	return s
}

// evict evicts one pod after the other through the Eviction API, as kubectl drain does.
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
		what := "another pod replaces " + pod.GetName()
		if err := e.Object(cluster.Pod, e.Namespace, pod.GetName()).Await(ctx, s, what, func(now *unstructured.Unstructured) error {
			if now.GetUID() == pod.GetUID() {
				return fmt.Errorf("%s still exists", pod.GetName())
			}
			return platform.IsTrue(now, "Ready")
		}); err != nil {
			return err
		}
	}
	return e.Rolled(ctx, s, -1)
}

const (
	engineHealth = 8122
	// longestQuery is longer than any query of the load generator: a query counts in the phase in which it begins.
	longestQuery = 8 * time.Second
	// longestGap is how long the other engines may not answer while one hangs.
	longestGap = 5 * time.Second
)

// killEngine kills a pod with the shortest grace period. The queries that it runs fail; none may be executed twice.
func (e *Engine) killEngine(ctx context.Context, s *run.Step) error {
	victim, err := e.busyVictim(ctx, s)
	if err != nil {
		return err
	}
	if err := e.KillPods(ctx, e.Namespace, map[string]string{"statefulset.kubernetes.io/pod-name": victim.GetName()}); err != nil {
		return err
	}
	return e.Rolled(ctx, s, -1)
}

// freezeEngine makes an engine hang. Others answer within the interval of the gateway's health checks, and the liveness
// probe ends the engine, so the queries that it runs fail within a minute.
func (e *Engine) freezeEngine(ctx context.Context, s *run.Step) error {
	victim, err := e.busyVictim(ctx, s)
	if err != nil {
		return err
	}
	if _, err := e.Pod(ctx, http.MethodPost, e.Namespace, victim.GetName(), engineHealth, "/control/freeze"); err != nil {
		return err
	}
	what := "the kubelet restarts " + victim.GetName()
	if err := e.Object(cluster.Pod, e.Namespace, victim.GetName()).Await(ctx, s, what, func(now *unstructured.Unstructured) error {
		n, err := platform.Restarts(now)
		if err == nil && n == 0 {
			err = errors.New("its container runs")
		}
		return err
	}); err != nil {
		return err
	}
	return run.InOrder(e.rolled, e.checkLongestGap)(ctx, s)
}

// checkLongestGap fails if there was no good answer for long in the present phase.
func (e *Engine) checkLongestGap(ctx context.Context, _ *run.Step) error {
	now, err := e.loadgen.Current(ctx)
	if err != nil {
		return err
	}
	if now.LongestGap > longestGap.Seconds() {
		return fmt.Errorf("%.1f s without a good answer, more than %s", now.LongestGap, longestGap)
	}
	return nil
}

// killOperator starts rollouts and kills the operator's pod at random times.
func (e *Engine) killOperator(ctx context.Context, s *run.Step) error {
	for i, image := range []string{"flotilla-e2e/engine:dev-2", "flotilla-e2e/engine:dev", "flotilla-e2e/engine:dev-2"} {
		before, err := e.Serving(ctx)
		if err != nil {
			return err
		}
		if err := e.Edit(ctx, s, WithImage(image)); err != nil {
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

func (e *Engine) waitForOperator(ctx context.Context, s *run.Step) error {
	return s.Until(ctx, "the operator is available", func(ctx context.Context) error {
		deployments, err := e.List(ctx, platform.Deployments, e.System, client.MatchingLabels(engineOperator))
		if err != nil {
			return err
		}
		if len(deployments) != 1 {
			return fmt.Errorf("got %d Deployments of the engine operator in %s, want 1", len(deployments), e.System)
		}
		if ready := platform.Number(&deployments[0], "status", "availableReplicas"); ready < 1 {
			return fmt.Errorf("%d available replicas", ready)
		}
		return nil
	})
}
