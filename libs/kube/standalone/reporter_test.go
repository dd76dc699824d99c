package standalone_test

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

// observation returns an observation of an object whose one unit has the given number of two replicas.
func observation(cr *apitest.Ship, available int32) contract.Observation {
	return contract.Observation{
		Object:             workload.Object(cr, apitest.GroupVersion.WithKind("Ship")),
		ObservedGeneration: cr.Generation,
		Phase:              "Running",
		Reconcile:          contract.Reconcile{Outcome: contract.Succeeded},
		Units: []contract.Unit{{
			Name: "web", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
			Desired: 2, Current: 2, Updated: 2, Ready: available, Available: available,
		}},
	}
}

func (w *env) ship() *apitest.Ship {
	return &apitest.Ship{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "s"}}
}

func (w *env) read() *apitest.Ship {
	w.Helper()
	return apitest.Read(w.T, w.c.Client, w.ship())
}

func (w *env) wantCondition(conditionType string, status metav1.ConditionStatus) {
	w.Helper()
	c := meta.FindStatusCondition(w.read().Status.Conditions, conditionType)
	if c == nil || c.Status != status {
		w.Errorf("condition %s is %+v, want %s", conditionType, c, status)
	}
}

func (w *env) reporter(kind contract.Kind) *standalone.Reporter {
	return standalone.NewReporter(w.c, w.watcher, nil, kind, w.clock)
}

func (w *env) report(r *standalone.Reporter, available int32) time.Duration {
	w.Helper()
	cr := w.read()
	requeueAfter, err := r.Report(w.Context(), cr, observation(cr, available))
	if err != nil {
		w.Fatal(err)
	}
	return requeueAfter
}

func TestReporterWritesConditionsAlone(t *testing.T) {
	w := setUp(t)
	apitest.Create(t, w.c, w.ship())
	w.want(true)
	r := w.reporter(contract.FireboltEngine)

	if requeueAfter := w.report(r, 2); requeueAfter != 0 {
		t.Errorf("a settled object is requeued after %v", requeueAfter)
	}
	got := w.read()
	if len(got.Status.Conditions) != 6 {
		t.Errorf("there are %d conditions, want the six", len(got.Status.Conditions))
	}
	w.wantCondition(conditions.TypeAvailable, metav1.ConditionTrue)
	for _, entry := range got.ManagedFields {
		if entry.Subresource == "status" && entry.Manager != conditions.FieldManager {
			t.Errorf("status is owned by %q, want %q", entry.Manager, conditions.FieldManager)
		}
	}
	cr := w.read()
	if n := w.c.Requests(func() {
		if _, err := r.Report(t.Context(), cr, observation(cr, 2)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("reporting the same again cost %d requests, want 0", n)
	}
}

func TestReporterDelaysReasonsAndMessages(t *testing.T) {
	w := setUp(t)
	apitest.Create(t, w.c, w.ship())
	w.want(true)
	r := w.reporter(contract.FireboltEngine)
	w.report(r, 0)
	available := func() string {
		return meta.FindStatusCondition(w.read().Status.Conditions, conditions.TypeAvailable).Message
	}
	none := available()
	if requeueAfter := w.report(r, 1); requeueAfter != coalesce.Interval {
		t.Errorf("requeued after %v, want %v", requeueAfter, coalesce.Interval)
	}
	w.clock.Step(coalesce.Interval - time.Millisecond)
	if w.report(r, 1); available() != none {
		t.Errorf("message is %q before the interval ends, want %q", available(), none)
	}
	w.clock.Step(time.Millisecond)
	if w.report(r, 1); available() == none {
		t.Errorf("message is still %q after the interval", none)
	}
	w.report(r, 2) // a change of a status is written at once
	w.wantCondition(conditions.TypeAvailable, metav1.ConditionTrue)
}

func TestReporterWritesReadyOfSuperset(t *testing.T) {
	w := setUp(t)
	apitest.Create(t, w.c, w.ship())
	w.want(true)
	w.report(w.reporter(contract.Superset), 2)
	w.wantCondition(conditions.TypeReady, metav1.ConditionTrue)
}

func TestReporterDelaysDegradedByHoldDown(t *testing.T) {
	w := setUp(t)
	apitest.Create(t, w.c, w.ship())
	w.want(true)
	r := w.reporter(contract.FireboltEngine)
	w.report(r, 2)

	if requeueAfter := w.report(r, 1); requeueAfter != conditions.MissingReplicasHold {
		t.Errorf("requeued after %v, want %v", requeueAfter, conditions.MissingReplicasHold)
	}
	w.wantCondition(conditions.TypeAvailable, metav1.ConditionFalse)
	w.wantCondition(conditions.TypeDegraded, metav1.ConditionFalse)
	w.clock.Step(conditions.MissingReplicasHold - time.Second)
	if requeueAfter := w.report(r, 1); requeueAfter != time.Second {
		t.Errorf("requeued after %v, want the remaining second", requeueAfter)
	}
	w.wantCondition(conditions.TypeDegraded, metav1.ConditionFalse)
	w.clock.Step(time.Second)
	w.report(r, 1)
	w.wantCondition(conditions.TypeDegraded, metav1.ConditionTrue)
}

func TestReporterWritesNoConditionsBesideAggregator(t *testing.T) {
	w := setUp(t)
	apitest.Create(t, w.c, w.ship())
	w.want(true)
	r := w.reporter(contract.FireboltEngine)
	w.report(r, 2)

	w.hold()
	w.want(false)
	cr := w.read()
	if n := w.c.Requests(func() {
		if _, err := r.Report(t.Context(), cr, observation(cr, 0)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("it made %d requests, want 0", n)
	}
	// The aggregator becomes the writer under the same manager, and then the operator again.
	computed := conditions.Compute(conditions.Input{
		Observation: new(observation(cr, 1)), Generation: cr.Generation, Now: w.clock.Now(), Previous: cr.Status.Conditions,
	})
	if _, err := ownedstatus.New(w.c, conditions.FieldManager).ApplyConditions(t.Context(), cr, computed.Conditions); err != nil {
		t.Fatal(err)
	}
	w.wantCondition(conditions.TypeAvailable, metav1.ConditionFalse)
	w.release()
	w.want(true)
	w.report(r, 2)
	w.wantCondition(conditions.TypeAvailable, metav1.ConditionTrue)
}

func TestReporterRejectsStaleCache(t *testing.T) {
	w := setUp(t)
	apitest.Create(t, w.c, w.ship())
	w.want(true)
	cached := w.read()
	if _, err := ownedstatus.New(w.c, "test-operator").Apply(t.Context(), w.read(), map[string]any{"phase": "Running"}); err != nil {
		t.Fatal(err)
	}
	_, err := w.reporter(contract.FireboltEngine).Report(t.Context(), cached, observation(cached, 2))
	if !errors.Is(err, ownedstatus.ErrStale) {
		t.Errorf("got %v, want %v", err, ownedstatus.ErrStale)
	}
}
