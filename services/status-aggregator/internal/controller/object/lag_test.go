package object

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

func TestLags(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		cached, observed string
		age              time.Duration
		retained         bool
		want             bool
	}{
		"an older version":                       {cached: "99", observed: "100", want: true},
		"until the limit":                        {cached: "99", observed: "100", age: maxLag - 1, want: true},
		"no longer: the cluster may be restored": {cached: "99", observed: "100", age: maxLag},
		"an observation from before an outage":   {cached: "99", observed: "100", retained: true},
		"the same version":                       {cached: "100", observed: "100"},
		"a newer version":                        {cached: "101", observed: "100"},
		"an observer that publishes no version":  {cached: "99"},
		"a version without order":                {cached: "99", observed: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			received := model.Received{ReceivedAt: now.Add(-tc.age), Live: !tc.retained}
			received.Observation.Object = contract.Object{ResourceVersion: tc.observed}
			if got := lags(tc.cached, &received, now); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// An observation arrives before the watch event of the version that it describes: nothing is computed from the older one.
func TestComputeWaitsForObservedVersion(t *testing.T) {
	const observer = "superset-operator"
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ref := contract.Ref{Kind: contract.Superset, Namespace: "n", Name: "a"}
	r := New(Config{
		Model: model.NewStore(), Liveness: liveness.NewTracker(0, liveness.DefaultInactivity, observer),
		Clock: clocktesting.NewFakePassiveClock(now), Metrics: m,
	})
	received := model.Received{ReceivedAt: now, Live: true}
	received.Observation.Object = contract.Object{UID: "u", ResourceVersion: "100"}
	if r.cfg.Model.Merge(ref, received) != model.Applied {
		t.Fatal("the observation is not used")
	}
	compute := func(version string) steps.Result {
		live := &unstructured.Unstructured{}
		live.SetUID("u")
		live.SetResourceVersion(version)
		s := &reconcileState{
			ref: ref, now: now, kind: registry.Kind{Observer: observer}, record: &history.Record{},
			live: observe.Object{Unstructured: live, Conditions: []metav1.Condition{}},
		}
		result, err := r.compute(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if got := compute("99"); !got.Stop || got.Requeue != Gather {
		t.Errorf("with an older version: %+v, want a stop for %s", got, Gather)
	}
	if got := compute("100"); got.Requeue == Gather {
		t.Errorf("with the observed version: %+v", got)
	}
}
