package integration

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/statusevents"
)

// drained returns an engine whose rollouts wait for its queries.
func drained(name string, replicas int32, interval time.Duration) *v1alpha1.FireboltEngine {
	e := engineOf(name, replicas)
	e.Spec.DrainCheckEnabled = nil
	e.Spec.DrainCheckInterval = &metav1.Duration{Duration: interval}
	return e
}

// serving creates an engine and waits until it serves.
func (n *nodes) serving(e *v1alpha1.FireboltEngine) {
	n.t.Helper()
	n.create(e)
	n.waitForRollout(e, v1alpha1.PhaseStable, 0)
	for i := range e.Spec.Replicas {
		n.process(fmt.Sprintf("%s-g0-%d", e.Name, i))
	}
}

// startRollout requests the next generation, and waits until traffic has moved to it.
func (n *nodes) startRollout(e *v1alpha1.FireboltEngine) {
	n.t.Helper()
	n.edit(e, func(e *v1alpha1.FireboltEngine) {
		if e.Spec.Template == nil {
			e.Spec.Template = template("example.com/engine:2.0")
		} else {
			e.Spec.Template.Spec = template("example.com/engine:2.0").Spec
		}
	})
	expect.Object(n.t, n.api, e, func(e *v1alpha1.FireboltEngine) error {
		if e.Status.Phase != v1alpha1.PhaseDraining {
			return fmt.Errorf("phase %s", e.Status.Phase)
		}
		return nil
	})
}

// transitionInto returns the reason of the last transition into a phase, and when it was.
func transitionInto(t *testing.T, e *v1alpha1.FireboltEngine, phase v1alpha1.EnginePhase) (string, time.Time) {
	t.Helper()
	for _, x := range slices.Backward(e.Status.Transitions) {
		if x.To == string(phase) {
			return x.Reason, x.Time.Time
		}
	}
	t.Fatalf("phase %s was never entered: %v", phase, e.Status.Transitions)
	return "", time.Time{}
}

func TestRolloutInterruptsNoQuery(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	e := drained("a", 2, 500*time.Millisecond)
	n.serving(e)
	long, cancel := n.hold("a-g0-1", 12*time.Second)
	defer cancel()
	stop := n.clients(e, 4, 1500*time.Millisecond)
	n.startRollout(e)
	n.waitForRollout(e, v1alpha1.PhaseStable, 1)
	select {
	case err := <-long:
		if err != nil {
			t.Errorf("the long query was cut: %v", err)
		}
	default:
		t.Error("the rollout did not wait for the long query")
	}
	answered, problems := stop()
	if len(problems) > 0 || answered == 0 {
		t.Errorf("%d queries succeeded, errors:\n%s", answered, strings.Join(problems, "\n"))
	}
	if reason, _ := transitionInto(t, e, v1alpha1.PhaseCleaning); reason != "Drained" {
		t.Errorf("cleaning began for %s", reason)
	}
}

func TestFailingScrapeDelaysDrainAndIsReported(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	e := drained("a", 2, 200*time.Millisecond)
	n.serving(e)
	end, cancel := n.hold("a-g0-0", time.Hour)
	defer cancel()
	n.startRollout(e)
	for mode, want := range map[server.Mode]string{
		server.Broken:       `scrape pod "a-g0-1": status 500 Internal Server Error: "the metrics are broken"`,
		server.Unresponsive: `scrape pod "a-g0-1": no answer within 3s`,
		server.Missing:      `scrape pod "a-g0-1": gauge firebolt_suspended_queries is missing`,
		server.Labeled:      `scrape pod "a-g0-1": gauge firebolt_running_queries is missing`,
		server.Redirect:     `scrape pod "a-g0-1": status 302 Found`,
	} {
		n.setMode(mode, "a-g0-1")
		expect.Object(t, n.api, e, func(e *v1alpha1.FireboltEngine) error {
			c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonDrainCheckFailing || !strings.Contains(c.Message, want) {
				return fmt.Errorf("Ready = %+v", c)
			}
			return nil
		})
	}
	expect.Condition(t, n.api, e, "Available", metav1.ConditionTrue)
	n.restartAndScrape(server.Broken, "a-g0-1")
	n.setMode(server.Slow, "a-g0-1")
	waitReason(t, n.testEnv, e, v1alpha1.ReasonRolling) // the query still runs, and the check reports it
	n.setMode(server.Normal, "a-g0-1")
	if got := n.children(e); !slices.Contains(got, "a-g0") {
		t.Fatalf("generation 0 was deleted while it has a query: %v", got)
	}
	cancel()
	<-end
	n.waitForRollout(e, v1alpha1.PhaseStable, 1)
	expect.Condition(t, n.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
	n.checkRecoveredOnce()
}

// restartAndScrape restarts the operator, and waits until it has scraped a pod twice in a mode.
func (n *nodes) restartAndScrape(mode server.Mode, pod string) {
	n.t.Helper()
	n.setMode(mode, pod)
	n.stopAndWait()
	scrapes := func() int {
		s, err := n.process(pod).Stats(n.t.Context())
		if err != nil {
			n.t.Fatal(err)
		}
		return s.Scrapes
	}
	before := scrapes()
	n.run()
	expect.Eventually(n.t, expect.Long, func() error {
		if now := scrapes(); now < before+2 {
			return fmt.Errorf("scraped %d times since the restart", now-before)
		}
		return nil
	})
}

// checkRecoveredOnce checks that the recovery of the drain check was recorded once: a restart is none.
func (n *nodes) checkRecoveredOnce() {
	n.t.Helper()
	expect.Eventually(n.t, expect.Long, func() error {
		var list eventsv1.EventList
		if err := n.api.List(n.t.Context(), &list, client.InNamespace(n.namespace)); err != nil {
			return err
		}
		list.Items = slices.DeleteFunc(list.Items, func(o eventsv1.Event) bool { return o.Reason != statusevents.EventDrainCheckRecovered })
		if len(list.Items) != 1 || list.Items[0].Series != nil {
			return fmt.Errorf("got events %v, want one", list.Items)
		}
		return nil
	})
}

// noTimeout waits for a pod without a timeout, unlike a real transport.
type noTimeout struct{ drain.Transport }

func (p noTimeout) Metrics(ctx context.Context, pod *corev1.Pod) (io.ReadCloser, error) {
	return p.Transport.Metrics(context.WithoutCancel(ctx), pod)
}

// Defect 12: with one worker and scrapes in the reconcile, an unresponsive pod blocked
// every other engine. Here the pod never responds, so a caller that waits for it never returns.
func TestDefect12UnresponsivePodsDelayOneEngineOnly(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.stopAndWait()
	n.transport, n.workers = noTimeout{n.transport}, 1
	n.run()
	unresponsive, responsive := drained("unresponsive", 2, 100*time.Millisecond), drained("good", 1, 500*time.Millisecond)
	n.serving(unresponsive)
	n.serving(responsive)
	n.setMode(server.Unresponsive, "unresponsive-g0-0", "unresponsive-g0-1")
	n.startRollout(unresponsive)
	expect.Eventually(t, expect.Long, func() error {
		if s, err := n.process("unresponsive-g0-0").Stats(t.Context()); err != nil || s.Scrapes == 0 {
			return fmt.Errorf("stats %+v, %w", s, err)
		}
		return nil
	})
	n.startRollout(responsive)
	n.waitForRollout(responsive, v1alpha1.PhaseStable, 1)
	if err := n.api.Get(t.Context(), client.ObjectKeyFromObject(unresponsive), unresponsive); err != nil {
		t.Fatal(err)
	}
	if unresponsive.Status.Phase != v1alpha1.PhaseDraining {
		t.Errorf("phase %s although its pods cannot be scraped", unresponsive.Status.Phase)
	}
}

func TestDrainTimeoutEndsDrain(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	const timeout = 8 * time.Second
	// Checks are an hour apart: only the timeout can end this drain.
	e := drained("a", 1, time.Hour)
	e.Spec.DrainTimeout = &metav1.Duration{Duration: timeout}
	e.Spec.Template = template("example.com/engine:1.0")
	e.Spec.Template.Annotations = map[string]string{controlplane.EndAfterAnnotation: "3s"}
	n.serving(e)
	end, cancel := n.hold("a-g0-0", time.Hour)
	defer cancel()
	n.startRollout(e)
	if c := expect.Condition(t, n.api, e, v1alpha1.ConditionRolloutOverdue, metav1.ConditionTrue); c.Reason != v1alpha1.ReasonDrainTimeoutExceeded {
		t.Errorf("RolloutOverdue: %s, %s", c.Reason, c.Message)
	}
	n.waitForRollout(e, v1alpha1.PhaseStable, 1)
	if err := <-end; err == nil {
		t.Error("the endless query succeeded")
	}
	reason, cleaningStarted := transitionInto(t, e, v1alpha1.PhaseCleaning)
	_, drainStarted := transitionInto(t, e, v1alpha1.PhaseDraining)
	if reason != v1alpha1.ReasonDrainTimeoutExceeded || cleaningStarted.Sub(drainStarted) < timeout {
		t.Errorf("cleaning began for %s, %s after the switch", reason, cleaningStarted.Sub(drainStarted))
	}
	expect.Condition(t, n.api, e, v1alpha1.ConditionRolloutOverdue, metav1.ConditionFalse)
}

func TestDrainEndsWhenSpecSkipsIt(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "large"}}
	n.create(class)
	for name, change := range map[string]func(*v1alpha1.FireboltEngine){
		"recreate": func(e *v1alpha1.FireboltEngine) {
			n.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Rollout = new(v1alpha1.RolloutRecreate) })
		},
		"unchecked": func(e *v1alpha1.FireboltEngine) {
			n.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.DrainCheckEnabled = new(false) })
		},
		"class": func(*v1alpha1.FireboltEngine) {
			before := class.DeepCopy()
			class.Spec.Rollout = new(v1alpha1.RolloutRecreate)
			if err := n.api.Patch(t.Context(), class, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		e := drained(name, 1, time.Hour)
		if name == "class" {
			e.Spec.EngineClassRef = new("large")
		}
		n.serving(e)
		end, cancel := n.hold(name+"-g0-0", time.Hour)
		n.startRollout(e)
		expect.Never(t, short, func() error {
			if got := n.children(e); !slices.Contains(got, name+"-g0") {
				return fmt.Errorf("generation 0 was deleted too early: %v", got)
			}
			return nil
		})
		change(e)
		n.waitForRollout(e, v1alpha1.PhaseStable, 1)
		if reason, _ := transitionInto(t, e, v1alpha1.PhaseCleaning); reason != "DrainSkipped" {
			t.Errorf("%s: cleaning began for %s", name, reason)
		}
		if err := <-end; err == nil {
			t.Errorf("%s: the query succeeded", name)
		}
		cancel()
	}
}
