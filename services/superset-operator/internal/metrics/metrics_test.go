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

// TestSupersetLifecycleCountsOnce records the writes of an installation, a supervised upgrade with a drain and a
// retry, a canceled drain, and a downtime that one write records.
func TestSupersetLifecycleCountsOnce(t *testing.T) {
	s, registry := newSet(), prometheus.NewRegistry()
	for _, c := range s.collectors() {
		registry.MustRegister(c)
	}
	upgrade := func(approvedAt *metav1.Time) *v1alpha1.Superset {
		return supersetWith(&v1alpha1.LifecycleStatus{Phase: v1alpha1.LifecycleAwaitingApproval, Upgrade: &v1alpha1.UpgradeContext{
			Direction: v1alpha1.DirectionUpgrade, StartedAt: at(100), ApprovedAt: approvedAt,
		}})
	}
	task := func(state v1alpha1.TaskState, attempts int32, edit ...func(*v1alpha1.TaskRefStatus)) *v1alpha1.Superset {
		entry := v1alpha1.TaskRefStatus{State: state, Attempts: attempts, StartedAt: at(0)}
		for _, e := range edit {
			e(&entry)
		}
		return migrate(entry)
	}
	finished := func(s *v1alpha1.TaskRefStatus) { s.CompletedAt = at(20) }
	waits := func(s *v1alpha1.TaskRefStatus) { s.NextAttemptAt = at(30) }
	// downtime adds a downtime with these times: the start, the end of the drain, of the tasks, and its end.
	downtime := func(sup *v1alpha1.Superset, seconds ...int) *v1alpha1.Superset {
		if sup == nil {
			sup = phase(v1alpha1.LifecycleDraining)
		}
		d := &v1alpha1.DowntimeStatus{}
		for i, field := range []**metav1.Time{&d.StartedAt, &d.DrainedAt, &d.TasksCompletedAt, &d.EndedAt} {
			if i < len(seconds) {
				*field = at(seconds[i])
			}
		}
		sup.Status.Lifecycle.Downtime = d
		return sup
	}
	canceled := downtime(nil, 510)
	canceled.Status.Lifecycle.Downtime.EndedAt = at(520)
	type write struct {
		second int
		sup    *v1alpha1.Superset
	}
	var before *v1alpha1.Superset
	for _, w := range []write{
		{0, task(v1alpha1.TaskRunning, 1)},
		{20, task(v1alpha1.TaskComplete, 1, finished)},
		{30, phase(v1alpha1.LifecycleComplete)},
		{100, upgrade(nil)},
		{400, upgrade(at(400))},
		{400, upgrade(at(400))},
		{401, downtime(nil, 401)},
		{402, downtime(nil, 401)},
		{441, downtime(task(v1alpha1.TaskRunning, 1), 401, 441)},
		{450, downtime(task(v1alpha1.TaskPending, 1, waits), 401, 441)},
		{460, downtime(task(v1alpha1.TaskRunning, 2), 401, 441)},
		{470, downtime(task(v1alpha1.TaskFailed, 2), 401, 441)},
		{480, downtime(nil, 401, 441, 480)},
		{500, downtime(nil, 401, 441, 480, 500)},
		{510, downtime(nil, 510)},
		{520, canceled},
		{530, downtime(nil, 530, 531, 532, 533)},
		{540, downtime(nil, 530, 531, 532, 533)},
	} {
		s.observe(before, w.sup, now.Add(time.Duration(w.second)*time.Second))
		before = w.sup
	}
	var want strings.Builder
	want.WriteString(`
# HELP superset_approvals_total Total number of approved image changes by direction.
# TYPE superset_approvals_total counter
superset_approvals_total{direction="Upgrade"} 1
# HELP superset_drains_total Total number of completed drains: all components were removed before a task.
# TYPE superset_drains_total counter
superset_drains_total 2
# HELP superset_task_runs_total Total number of ended attempts of lifecycle tasks by result: succeeded, retried, or failed permanently.
# TYPE superset_task_runs_total counter
`)
	for _, name := range []string{"preflight", "clone", "init", "rotate"} {
		for _, result := range []string{failed, retried, succeeded} {
			want.WriteString(`superset_task_runs_total{result="` + result + `",task="` + name + "\"} 0\n")
		}
	}
	for _, result := range []string{failed, retried, succeeded} {
		want.WriteString(`superset_task_runs_total{result="` + result + "\",task=\"migrate\"} 1\n")
	}
	names := []string{"superset_approvals_total", "superset_drains_total", "superset_task_runs_total"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want.String()), names...); err != nil {
		t.Error(err)
	}
	sums := map[string]float64{}
	for _, family := range gather(t, registry) {
		for _, m := range family.GetMetric() {
			if h := m.GetHistogram(); h != nil {
				name := family.GetName()
				if name == "superset_downtime_seconds" {
					name += " " + m.GetLabel()[0].GetValue()
				}
				sums[name] += h.GetSampleSum()
			}
		}
	}
	// Runs took 20 s, 450 s and 470 s: all fixtures started at second 0.
	wantSums := map[string]float64{
		"superset_task_run_duration_seconds": 940, "superset_task_attempts": 3,
		"superset_downtime_seconds drain": 41, "superset_downtime_seconds tasks": 40, "superset_downtime_seconds start": 21,
		"superset_downtime_seconds total": 102, "superset_approval_wait_seconds": 300,
	}
	if diff := cmp.Diff(wantSums, sums); diff != "" {
		t.Errorf("sums of the histograms differ (-want +got):\n%s", diff)
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
	Observe(migrate(v1alpha1.TaskRefStatus{}), migrate(v1alpha1.TaskRefStatus{
		State: v1alpha1.TaskComplete, Attempts: 1, StartedAt: at(0), CompletedAt: at(1),
	}), now)
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
