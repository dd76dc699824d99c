package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestSupersetLifecycleCountsOnce records the writes of an installation, a supervised upgrade with a drain and a
// retry, a canceled drain, and a downtime that one write records.
func TestSupersetLifecycleCountsOnce(t *testing.T) {
	s, registry := newSet(), prometheus.NewRegistry()
	for _, c := range s.collectors() {
		registry.MustRegister(c)
	}
	var before *v1alpha1.LifecycleStatus
	for _, w := range lifecycleWrites() {
		after := w.sup.Status.Lifecycle
		s.observe(before, after, now.Add(time.Duration(w.second)*time.Second))
		before = after
	}
	names := []string{"superset_approvals_total", "superset_drains_total", "superset_task_runs_total"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(lifecycleCounters()), names...); err != nil {
		t.Error(err)
	}
	// Runs took 20 s, 450 s and 470 s: all fixtures started at second 0.
	wantSums := map[string]float64{
		"superset_task_run_duration_seconds": 940, "superset_task_attempts": 3,
		"superset_downtime_seconds drain": 41, "superset_downtime_seconds tasks": 40, "superset_downtime_seconds start": 21,
		"superset_downtime_seconds total": 102, "superset_approval_wait_seconds": 300,
	}
	if diff := cmp.Diff(wantSums, histogramSums(t, registry)); diff != "" {
		t.Errorf("sums of the histograms differ (-want +got):\n%s", diff)
	}
}

// lifecycleWrite is a Superset as it is written at a second.
type lifecycleWrite struct {
	second int
	sup    *v1alpha1.Superset
}

func lifecycleWrites() []lifecycleWrite {
	finished := func(s *v1alpha1.TaskRefStatus) { s.CompletedAt = at(20) }
	waits := func(s *v1alpha1.TaskRefStatus) { s.NextAttemptAt = at(30) }
	draining := func() *v1alpha1.Superset { return phase(v1alpha1.LifecycleDraining) }
	canceled := withDowntime(draining(), 510)
	canceled.Status.Lifecycle.Downtime.EndedAt = at(520)
	return []lifecycleWrite{
		{0, migrateAttempt(v1alpha1.TaskRunning, 1)},
		{20, migrateAttempt(v1alpha1.TaskComplete, 1, finished)},
		{30, phase(v1alpha1.LifecycleComplete)},
		{100, supervisedUpgrade(nil)},
		{400, supervisedUpgrade(at(400))},
		{400, supervisedUpgrade(at(400))},
		{401, withDowntime(draining(), 401)},
		{402, withDowntime(draining(), 401)},
		{441, withDowntime(migrateAttempt(v1alpha1.TaskRunning, 1), 401, 441)},
		{450, withDowntime(migrateAttempt(v1alpha1.TaskPending, 1, waits), 401, 441)},
		{460, withDowntime(migrateAttempt(v1alpha1.TaskRunning, 2), 401, 441)},
		{470, withDowntime(migrateAttempt(v1alpha1.TaskFailed, 2), 401, 441)},
		{480, withDowntime(draining(), 401, 441, 480)},
		{500, withDowntime(draining(), 401, 441, 480, 500)},
		{510, withDowntime(draining(), 510)},
		{520, canceled},
		{530, withDowntime(draining(), 530, 531, 532, 533)},
		{540, withDowntime(draining(), 530, 531, 532, 533)},
	}
}

// supervisedUpgrade returns a Superset whose upgrade requires an approval.
func supervisedUpgrade(approvedAt *metav1.Time) *v1alpha1.Superset {
	return supersetWith(&v1alpha1.LifecycleStatus{Phase: v1alpha1.LifecycleAwaitingApproval, Upgrade: &v1alpha1.UpgradeContext{
		Direction: v1alpha1.DirectionUpgrade, StartedAt: at(100), ApprovedAt: approvedAt,
	}})
}

func migrateAttempt(state v1alpha1.TaskState, attempts int32, edit ...func(*v1alpha1.TaskRefStatus)) *v1alpha1.Superset {
	entry := v1alpha1.TaskRefStatus{State: state, Attempts: attempts, StartedAt: at(0)}
	for _, e := range edit {
		e(&entry)
	}
	return migrate(entry)
}

// withDowntime adds a downtime with these times: the start, the end of the drain, of the tasks, and its end.
func withDowntime(sup *v1alpha1.Superset, seconds ...int) *v1alpha1.Superset {
	d := &v1alpha1.DowntimeStatus{}
	for i, field := range []**metav1.Time{&d.StartedAt, &d.DrainedAt, &d.TasksCompletedAt, &d.EndedAt} {
		if i < len(seconds) {
			*field = at(seconds[i])
		}
	}
	sup.Status.Lifecycle.Downtime = d
	return sup
}

// lifecycleCounters returns the counters after lifecycleWrites.
func lifecycleCounters() string {
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
	return want.String()
}

// histogramSums returns the sum of each histogram. Downtime has one for each part.
func histogramSums(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
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
	return sums
}
