package superset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// cloning enables the clone, with a schedule unless it is empty.
func cloning(schedule string) func(*v1alpha1.Superset) {
	return func(s *v1alpha1.Superset) {
		s.Spec.Environment = v1alpha1.Staging
		s.Spec.Lifecycle.Clone = &v1alpha1.CloneTaskSpec{Source: v1alpha1.CloneSourceSpec{
			Host: "postgres-prod", Database: "superset_prod", Username: "reader", PasswordFrom: secretKey("prod", "password"),
		}}
		if schedule != "" {
			s.Spec.Lifecycle.Clone.CronSchedule = &schedule
		}
	}
}

// taskNames returns the names of tasks from a list of "name image".
func taskNames(tasks []string) []string {
	var out []string
	for _, s := range tasks {
		name, _, _ := strings.Cut(s, " ")
		out = append(out, name)
	}
	return out
}

// scheduled returns a check of the scheduled times in the status of the clone.
func scheduled(last, next time.Time) func(*v1alpha1.Superset) error {
	return func(s *v1alpha1.Superset) error {
		entry := entryOf(s, "clone")
		if entry == nil || entry.LastScheduledAt == nil || entry.NextScheduleAt == nil ||
			!entry.LastScheduledAt.Time.Equal(last) || !entry.NextScheduleAt.Time.Equal(next) {
			return fmt.Errorf("clone %+v, want scheduled times %s and %s", entry, last, next)
		}
		return nil
	}
}

// TestScheduledCloneRunsSequenceAtScheduledTimes calls Reconcile itself, since it uses a fake clock.
func TestScheduledCloneRunsSequenceAtScheduledTimes(t *testing.T) {
	day := func(n, hour, minute int) time.Time {
		return time.Date(2026, time.November, n, hour, minute, 0, 0, time.UTC)
	}
	clk := clocktesting.NewFakePassiveClock(day(20, 12, 0))
	l := newParallelEnv(t, options{idle: true, clock: clk})
	sup := l.create(celery(cloning("0 2 * * *"))(l.env))
	l.reconcileUntil(sup, nil, all(settled, scheduled(day(20, 2, 0), day(21, 2, 0)), condition("ScheduleValid", metav1.ConditionTrue, "SchedulesValid")))
	sequence := []string{"clone", "migrate", "init"}
	l.history.checkTasks("clone", "migrate")
	if diff := cmp.Diff(sequence, taskNames(l.history.tasks(0))); diff != "" {
		t.Errorf("tasks of the installation differ (-want +got):\n%s", diff)
	}

	// Nothing happens before the scheduled time, and the operator requeues itself for it.
	clk.SetTime(day(21, 1, 59))
	result, err := l.reconciler.Reconcile(t.Context(), request(sup))
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > 2*time.Minute {
		t.Errorf("before the scheduled time: %+v, %v", result, err)
	}
	l.reconcileUntil(sup, nil, all(settled, scheduled(day(20, 2, 0), day(21, 2, 0))))

	start := revisionOf(sup)
	clk.SetTime(day(21, 2, 1))
	l.reconcileUntil(sup, nil, all(settled, scheduled(day(21, 2, 0), day(22, 2, 0)), task("clone", v1alpha1.TaskComplete, 1)))
	l.history.checkTasks("clone", "migrate")
	if diff := cmp.Diff(sequence, taskNames(l.history.tasks(start))); diff != "" {
		t.Errorf("tasks at the scheduled time differ (-want +got):\n%s", diff)
	}

	// Nor does it run again if the clock is set back, or when that time comes once more.
	start = revisionOf(sup)
	clk.SetTime(day(21, 1, 55))
	l.reconcileUntil(sup, nil, all(settled, scheduled(day(21, 2, 0), day(21, 2, 0))))
	clk.SetTime(day(21, 2, 0))
	l.reconcileUntil(sup, nil, all(settled, scheduled(day(21, 2, 0), day(22, 2, 0))))
	if got := taskNames(l.history.tasks(start)); len(got) > 0 {
		t.Errorf("tasks after the clock was set back: %v", got)
	}

	// After days without an operator the missed scheduled times run the tasks once.
	start = revisionOf(sup)
	clk.SetTime(day(25, 12, 0))
	l.reconciler = l.process(nil)
	l.reconcileUntil(sup, nil, all(settled, scheduled(day(25, 2, 0), day(26, 2, 0))))
	for range 5 {
		if _, err := l.reconciler.Reconcile(t.Context(), request(sup)); err != nil {
			t.Fatal(err)
		}
	}
	l.history.checkTasks("clone", "migrate")
	if diff := cmp.Diff(sequence, taskNames(l.history.tasks(start))); diff != "" {
		t.Errorf("tasks after the outage differ (-want +got):\n%s", diff)
	}
}

// TestScheduledTimeWaitsForRunningSequence also passes two scheduled times: the tasks run once for both.
func TestScheduledTimeWaitsForRunningSequence(t *testing.T) {
	day := func(n, hour int) time.Time { return time.Date(2026, time.November, n, hour, 0, 0, 0, time.UTC) }
	clk := clocktesting.NewFakePassiveClock(day(20, 12))
	l := newParallelEnv(t, options{idle: true, clock: clk})
	sup := l.create(celery(cloning("0 2 * * *"), tasks(finishAfter("500ms")))(l.env))
	l.reconcileUntil(sup, nil, task("migrate", v1alpha1.TaskRunning, 1))
	clk.SetTime(day(22, 12))
	l.reconcileUntil(sup, nil, all(settled, scheduled(day(22, 2), day(23, 2))))
	l.history.checkTasks("clone", "migrate")
	want := []string{"clone", "migrate", "init", "clone", "migrate", "init"}
	if diff := cmp.Diff(want, taskNames(l.history.tasks(0))); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
}

func TestInvalidScheduleBlocksAndChangesNothing(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery(cloning("0 2 30 1 *")))
	pods, start := l.pods(), l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Clone.CronSchedule = new("61 2 * * *") })
	l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), lifecyclePhase(v1alpha1.LifecycleBlocked),
		condition("LifecycleComplete", metav1.ConditionFalse, "InvalidCronSchedule"),
		condition("ScheduleValid", metav1.ConditionFalse, "InvalidCronSchedule")))
	if text := message(sup, "ScheduleValid"); !strings.Contains(text, "spec.lifecycle.clone.cronSchedule") {
		t.Errorf("the message does not name the field: %s", text)
	}
	l.checkNoTaskWithoutApproval(sup, start)
	l.checkPodsUnchanged(pods)
	l.waitEvents(map[string]int{"Warning InvalidCronSchedule": 1})

	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Clone.CronSchedule = nil })
	l.waitFor(sup, settled)
	if c := meta.FindStatusCondition(sup.Status.Conditions, "ScheduleValid"); c != nil {
		t.Errorf("without a schedule: %+v", c)
	}
}

// TestW14ReenabledCloneDropsNoDatabase also disables and enables the whole lifecycle.
func TestW14ReenabledCloneDropsNoDatabase(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery(cloning("")))
	start := revisionOf(sup)
	for _, change := range []func(*v1alpha1.Superset){
		func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Clone.Disabled = new(true) },
		func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Clone.Disabled = nil },
		func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Disabled = new(true) },
		func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Disabled = nil },
	} {
		l.edit(sup, change)
		l.waitFor(sup, settled)
		disabled := sup.Spec.Lifecycle.Disabled != nil || sup.Spec.Lifecycle.Clone.Disabled != nil
		if entry := entryOf(sup, "clone"); (entry == nil) != disabled {
			t.Errorf("disabled: %v, clone %+v", disabled, entry)
		}
	}
	l.history.checkTasks("clone", "migrate")
	if started := l.history.tasks(start); len(started) > 0 {
		t.Errorf("ran %v", started)
	}
}
