//go:build long

package stack_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// Hold-downs of Degraded (libs/conditions), minus one second, since the times of conditions have a resolution of seconds.
const (
	missingHold  = 119 * time.Second
	recoveryHold = 29 * time.Second
)

// TestMain runs all scenarios in parallel, regardless of the number of cores, since they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "32"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestConditionsOnStack changes real resources and makes them fail, and expects from the aggregator the conditions of the
// rules in libs/conditions, after their hold-downs.
func TestConditionsOnStack(t *testing.T) {
	s := start(t)
	s.samplesAreHealthy(t)
	scenarios := map[string]func(*testing.T){
		"a rollout of a Superset":        s.supersetRollsOut,
		"a rollout of an engine":         s.engineRollsOut,
		"a crash loop":                   s.podsCrash,
		"an image that cannot be pulled": s.imageIsMissing,
		"unschedulable pods":             s.podsAreUnschedulable,
		"lost nodes":                     s.nodesAreUnreachable,
		"scaling to zero":                s.scalesToZero,
		"a pause":                        s.isPaused,
		"a stop of a Superset":           s.supersetIsStopped,
		"a stop of an engine":            s.engineIsStopped,
	}
	// The scenarios mostly wait for hold-downs, so they run in parallel.
	t.Run("scenarios", func(t *testing.T) {
		for name, run := range scenarios {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t)
			})
		}
	})
	t.Run("kubectl wait never ends early", func(t *testing.T) { s.waitNeverEndsEarly(t, 1000) })
	t.Run("an observer that is killed", s.observerIsKilled)
}

// newSuperset creates a Superset, waits until it is healthy, and returns its spec.
func (s *suite) newSuperset(t *testing.T, name string) map[string]any {
	t.Helper()
	spec := superset("4.1.1")
	s.apply(t, supersets, name, spec)
	s.wait(t, supersets, name, isHealthy)
	return spec
}

func (s *suite) newEngine(t *testing.T, name string) map[string]any {
	t.Helper()
	spec := map[string]any{"instanceRef": s.list(t, instances)[0].GetName(), "replicas": int64(2), "drainCheckEnabled": false}
	s.apply(t, engines, name, spec)
	s.wait(t, engines, name, isHealthy)
	return spec
}

func (s *suite) supersetRollsOut(t *testing.T) {
	spec := s.newSuperset(t, "rolls-out")
	before := s.conditionNow(t, supersets, "rolls-out", "Available")
	spec["forceReload"] = "once"
	s.apply(t, supersets, "rolls-out", spec)
	s.wait(t, supersets, "rolls-out", isHealthy)
	s.neverUnavailable(t, supersets, "rolls-out", before)
}

// engineRollsOut replaces a generation, which must not interrupt Available.
func (s *suite) engineRollsOut(t *testing.T) {
	spec := s.newEngine(t, "rolls-out")
	before := s.conditionNow(t, engines, "rolls-out", "Available")
	spec["replicas"] = int64(3)
	s.apply(t, engines, "rolls-out", spec)
	s.wait(t, engines, "rolls-out", isHealthy)
	s.neverUnavailable(t, engines, "rolls-out", before)
}

func (s *suite) podsCrash(t *testing.T) {
	s.newSuperset(t, "crashes")
	s.annotatePods(t, "crashes", controlplane.FailCrashLoop)
	s.wait(t, supersets, "crashes", reports(
		"Available=False/InsufficientReplicas", "Progressing=False/Stalled", "Degraded=True/CrashLoop", "Ready=False", "Upgradable=False"))
	s.annotatePods(t, "crashes", "")
	s.wait(t, supersets, "crashes", reports("Available=True/AllComponentsReady", "Degraded=True/Recovering"))
	recovered := s.conditionNow(t, supersets, "crashes", "Available").LastTransitionTime.Time
	s.wait(t, supersets, "crashes", isHealthy)
	s.lasted(t, supersets, "crashes", recovered, recoveryHold)
}

// imageIsMissing checks that the old generation keeps serving if the image of the new one cannot be pulled.
func (s *suite) imageIsMissing(t *testing.T) {
	spec := s.newEngine(t, "no-image")
	image := func(name string) map[string]any {
		container := map[string]any{"name": "engine", "image": name}
		return map[string]any{"spec": map[string]any{"containers": []any{container}}}
	}
	spec["template"] = image(controlplane.MissingRepository + "engine:1")
	s.apply(t, engines, "no-image", spec)
	s.wait(t, engines, "no-image", reports("Available=True/AllComponentsReady", "Degraded=True/ImagePull", "Upgradable=False"))
	delete(spec, "template")
	s.apply(t, engines, "no-image", spec)
	s.wait(t, engines, "no-image", isHealthy)
}

func (s *suite) podsAreUnschedulable(t *testing.T) {
	spec := s.newSuperset(t, "no-node")
	applied := time.Now()
	spec["webServer"] = map[string]any{"replicas": int64(1), "podTemplate": map[string]any{"nodeSelector": map[string]any{"disk": "made-of-gold"}}}
	s.apply(t, supersets, "no-node", spec)
	s.wait(t, supersets, "no-node", reports("Available=True", "Progressing=False/Stalled", "Degraded=False/WithinTolerance", "Upgradable=False/Unschedulable"))
	s.wait(t, supersets, "no-node", reports("Available=True", "Degraded=True/Unschedulable"))
	s.lasted(t, supersets, "no-node", applied, missingHold)
	s.apply(t, supersets, "no-node", superset("4.1.1"))
	s.wait(t, supersets, "no-node", isHealthy)
}

// nodesAreUnreachable sets the status that the node lifecycle controller gives to the pods of an unreachable node: not ready without
// a reason, with unchanged container statuses.
func (s *suite) nodesAreUnreachable(t *testing.T) {
	s.newSuperset(t, "lost")
	s.annotatePods(t, "lost", "NodeLost") // no stage has this name, so the simulation does not change the pods
	lost := time.Now()
	s.patchPodStatus(t, "lost", `{"status":{"conditions":[{"type":"Ready","status":"False","reason":null,"message":null}]}}`)
	s.wait(t, supersets, "lost", reports("Available=Unknown/NodeUnreachable", "Degraded=False/WithinTolerance", "Ready=Unknown"))
	s.wait(t, supersets, "lost", reports("Available=Unknown/NodeUnreachable", "Degraded=True/NodeLost"))
	s.lasted(t, supersets, "lost", lost, missingHold)
	s.annotatePods(t, "lost", "")
	s.wait(t, supersets, "lost", isHealthy)
}

func (s *suite) scalesToZero(t *testing.T) {
	spec := s.newEngine(t, "to-zero")
	spec["replicas"] = int64(0)
	s.apply(t, engines, "to-zero", spec)
	s.wait(t, engines, "to-zero", reports("Available=True/ScaledToZero", "Progressing=False/AsExpected", "Degraded=False", "Stopped=False"))
	spec["replicas"] = int64(2)
	s.apply(t, engines, "to-zero", spec)
	s.wait(t, engines, "to-zero", isHealthy)
}

func (s *suite) isPaused(t *testing.T) {
	spec := s.newSuperset(t, "paused")
	s.command(t, supersets, "paused", "Paused")
	s.wait(t, supersets, "paused", reports("Paused=True/ReconciliationPaused", "Available=True", "Upgradable=False/ReconciliationPaused"))
	spec["webServer"] = map[string]any{"replicas": int64(2)}
	s.apply(t, supersets, "paused", spec)
	// The latest spec is observed but not applied, which the generations of the conditions show.
	s.wait(t, supersets, "paused", func(obj *unstructured.Unstructured) error {
		conditions, err := expect.Conditions(obj)
		if err != nil {
			return err
		}
		for _, c := range conditions {
			switch {
			case c.Type == "Paused" && c.ObservedGeneration != obj.GetGeneration(),
				c.Type == "Available" && c.ObservedGeneration == obj.GetGeneration(),
				c.Type == "Progressing" && c.Reason != "ReconciliationPaused":
				return fmt.Errorf("%s=%s/%s observed generation %d, the object has %d", c.Type, c.Status, c.Reason, c.ObservedGeneration, obj.GetGeneration())
			}
		}
		return nil
	})
	if n := len(s.pods(t, "paused")); n != 1 {
		t.Errorf("got %d pods of a Superset that was paused with 1", n)
	}
	s.command(t, supersets, "paused", "")
	s.wait(t, supersets, "paused", isHealthy)
}

func (s *suite) supersetIsStopped(t *testing.T) {
	s.newSuperset(t, "halted")
	s.stopAndStart(t, supersets, "halted")
}

func (s *suite) engineIsStopped(t *testing.T) {
	s.newEngine(t, "stopped-engine")
	s.stopAndStart(t, engines, "stopped-engine")
}

// observerIsKilled checks that only the conditions of resources without an alive operator become Unknown.
func (s *suite) observerIsKilled(t *testing.T) {
	s.newEngine(t, "spoken-for")
	supersetsOf := s.list(t, supersets)
	s.stack(t, "kill", "superset-operator")
	for _, item := range supersetsOf {
		s.wait(t, supersets, item.GetName(), reports("Available=Unknown/ObserverStale", "Progressing=Unknown/ObserverStale",
			"Degraded=Unknown/ObserverStale", "Paused=Unknown/ObserverStale", "Stopped=Unknown/ObserverStale", "Upgradable=Unknown/ObserverStale"))
	}
	s.wait(t, engines, "spoken-for", isHealthy)
	s.stack(t, "start", "superset-operator")
	for _, item := range supersetsOf {
		s.wait(t, supersets, item.GetName(), isHealthy)
	}
	s.history(t, func(h historyReader) error {
		for _, e := range h.Of("FireboltEngine", "spoken-for") {
			if e.Event == contract.EventUnknown {
				return errors.New("a condition of an engine became Unknown without the Superset operator")
			}
		}
		return h.Check()
	})
}

// lasted checks that Degraded did not change before its hold-down ended.
func (s *suite) lasted(t *testing.T, kind kindOf, name string, since time.Time, hold time.Duration) {
	t.Helper()
	flipped := s.conditionNow(t, kind, name, "Degraded").LastTransitionTime.Time
	if duration := flipped.Sub(since); duration < hold {
		t.Errorf("Degraded of %s changed after %s, want at least the hold-down of %s", name, duration, hold)
	}
}

// neverUnavailable checks the events of an object that was rolled out: the new generation settled, and Available did not
// change since before.
func (s *suite) neverUnavailable(t *testing.T, kind kindOf, name string, before metav1.Condition) {
	t.Helper()
	if now := s.conditionNow(t, kind, name, "Available"); !now.LastTransitionTime.Equal(&before.LastTransitionTime) {
		t.Errorf("Available of %s changed during the rollout: it is %s since %s", name, now.Status, now.LastTransitionTime)
	}
	s.history(t, func(h historyReader) error {
		if wrong := h.Wrong(kind.Kind, name); len(wrong) > 0 {
			return fmt.Errorf("unexpected failures of %s in the history: %v", name, wrong)
		}
		published := slices.ContainsFunc(h.Of(kind.Kind, name), func(e contract.Lifecycle) bool {
			return e.Event == contract.EventSettled && e.Condition.After.ObservedGeneration > before.ObservedGeneration
		})
		if !published {
			return fmt.Errorf("no event that %s settled with a generation after %d", name, before.ObservedGeneration)
		}
		return h.Check()
	})
}
