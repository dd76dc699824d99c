package metrics

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(seconds int) *metav1.Time {
	return &metav1.Time{Time: now.Add(time.Duration(seconds) * time.Second)}
}

// migrate returns a Superset with the given status of task migrate.
func migrate(entry v1alpha1.TaskRefStatus) *v1alpha1.Superset {
	return supersetWith(&v1alpha1.LifecycleStatus{Phase: v1alpha1.LifecycleMigrating, Migrate: &entry})
}

func supersetWith(lifecycle *v1alpha1.LifecycleStatus) *v1alpha1.Superset {
	return &v1alpha1.Superset{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"},
		Status:     v1alpha1.SupersetStatus{Lifecycle: lifecycle},
	}
}

func phase(p v1alpha1.LifecyclePhase) *v1alpha1.Superset {
	return supersetWith(&v1alpha1.LifecycleStatus{Phase: p})
}

func TestRunIsCountedAtEnd(t *testing.T) {
	running := v1alpha1.TaskRefStatus{State: v1alpha1.TaskRunning, Attempts: 2, StartedAt: at(0)}
	complete := v1alpha1.TaskRefStatus{State: v1alpha1.TaskComplete, Attempts: 2, StartedAt: at(0), CompletedAt: at(40), CompletedChecksum: "a"}
	pending := v1alpha1.TaskRefStatus{State: v1alpha1.TaskPending, Attempts: 2, StartedAt: at(0), NextAttemptAt: at(60)}
	fail := v1alpha1.TaskRefStatus{State: v1alpha1.TaskFailed, Attempts: 2, StartedAt: at(0)}
	other := func(s v1alpha1.TaskRefStatus, edit func(*v1alpha1.TaskRefStatus)) v1alpha1.TaskRefStatus {
		edit(&s)
		return s
	}
	cases := map[string]struct {
		before, after v1alpha1.TaskRefStatus
		want          *run
	}{
		"it succeeds": {running, complete, &run{task: "migrate", result: succeeded, duration: 40 * time.Second, attempts: 2}},
		"it succeeds while the operator is down": {
			v1alpha1.TaskRefStatus{State: v1alpha1.TaskPending},
			complete,
			&run{task: "migrate", result: succeeded, duration: 40 * time.Second, attempts: 2},
		},
		"it fails and is retried": {running, pending, &run{task: "migrate", result: retried, duration: 50 * time.Second, attempts: 2}},
		"it fails permanently":    {running, fail, &run{task: "migrate", result: failed, duration: 50 * time.Second, attempts: 2}},
		"it continues":            {before: running, after: other(running, func(s *v1alpha1.TaskRefStatus) { s.Message = "still" })},
		"it starts":               {before: v1alpha1.TaskRefStatus{State: v1alpha1.TaskPending}, after: running},
		"the next attempt starts": {before: pending, after: other(running, func(s *v1alpha1.TaskRefStatus) { s.Attempts = 3 })},
		"its inputs change while it runs": {
			before: running, after: v1alpha1.TaskRefStatus{State: v1alpha1.TaskPending, DesiredChecksum: "b"},
		},
		"a revert completes it without a run": {
			before: running, after: v1alpha1.TaskRefStatus{State: v1alpha1.TaskComplete, Attempts: 2, CompletedChecksum: "a"},
		},
		"its checksum is translated": {
			before: complete, after: other(complete, func(s *v1alpha1.TaskRefStatus) { s.CompletedChecksum = "b" }),
		},
		"fewer attempts are allowed after one failed": {before: pending, after: fail},
		"it has failed and is reconciled again":       {before: fail, after: other(fail, func(s *v1alpha1.TaskRefStatus) { s.Message = "m" })},
		"the time of the next attempt moves":          {before: pending, after: other(pending, func(s *v1alpha1.TaskRefStatus) { s.NextAttemptAt = at(90) })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := migrate(tc.before).Status.Lifecycle, migrate(tc.after).Status.Lifecycle
			got := diff(before, after, now.Add(50*time.Second))
			var want []run
			if tc.want != nil {
				want = []run{*tc.want}
			}
			if diff := cmp.Diff(want, got.runs, cmp.AllowUnexported(run{})); diff != "" {
				t.Errorf("runs differ (-want +got):\n%s", diff)
			}
			if again := diff(after, after, now.Add(time.Minute)); len(again.runs) > 0 {
				t.Errorf("counted again: %+v", again.runs)
			}
		})
	}
}

func TestGaugesFollowExistingSupersets(t *testing.T) {
	startFailure := migrate(v1alpha1.TaskRefStatus{State: v1alpha1.TaskRunning, Attempts: 1, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionTaskComplete, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTaskCannotStart},
	}})
	startFailure.Status.Phase = v1alpha1.PhaseUpgrading
	startFailure.Status.Lifecycle.MaintenanceActive = true
	running := v1alpha1.Superset{Status: v1alpha1.SupersetStatus{Phase: v1alpha1.PhaseRunning}}
	all := []v1alpha1.Superset{*startFailure, running, running, {}}
	var failure error
	c := &instances{}
	c.setLister(func(context.Context) ([]v1alpha1.Superset, error) { return all, failure })
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	wantGauges := func(want map[string]float64) {
		t.Helper()
		got := map[string]float64{}
		for _, family := range gather(t, registry) {
			for _, m := range family.GetMetric() {
				var name strings.Builder
				name.WriteString(family.GetName())
				for _, l := range m.GetLabel() {
					name.WriteString(" " + l.GetValue())
				}
				if v := m.GetGauge().GetValue(); v != 0 {
					got[name.String()] = v
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("gauges differ (-want +got):\n%s", diff)
		}
	}
	wantGauges(map[string]float64{
		"superset_instances Running": 2, "superset_instances Upgrading": 1, "superset_instances Unknown": 1,
		"superset_maintenance_active": 1, "superset_tasks_cannot_start migrate": 1,
	})
	all = all[1:2]
	wantGauges(map[string]float64{"superset_instances Running": 1})
	if n := testutil.CollectAndCount(c, "superset_instances"); n != len(v1alpha1.Phases()) {
		t.Errorf("%d phases have a series", n)
	}
	failure = errors.New("the cache is not synced")
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("%d series although the cache is not synced", n)
	}
}

func TestMetricsHaveValidNamesWithoutObjects(t *testing.T) {
	registry := prometheus.NewRegistry()
	list := func(context.Context) ([]v1alpha1.Superset, error) { return []v1alpha1.Superset{*phase("")}, nil }
	for range 2 {
		if err := Register(registry, list); err != nil {
			t.Fatal(err)
		}
	}
	Observe(migrate(v1alpha1.TaskRefStatus{}).Status.Lifecycle, migrate(v1alpha1.TaskRefStatus{
		State: v1alpha1.TaskComplete, Attempts: 1, StartedAt: at(0), CompletedAt: at(1),
	}).Status.Lifecycle, now)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	for _, family := range gather(t, registry) {
		if !strings.HasPrefix(family.GetName(), "superset_") {
			t.Errorf("%s has another prefix", family.GetName())
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if name := l.GetName(); name != "phase" && name != "task" && name != "result" && name != "direction" && name != "part" {
					t.Errorf("%s has the label %s", family.GetName(), name)
				}
			}
		}
	}
}

func gather(t *testing.T, registry *prometheus.Registry) []*dto.MetricFamily {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}
