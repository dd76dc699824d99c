package lifecycle_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

func schedule(scheduled, next time.Duration) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) {
		in.Schedule = &lifecycle.Schedule{ScheduledTime: now.Add(scheduled), Next: now.Add(next)}
	}
}

func invalid(in *lifecycle.Input) {
	in.Schedule = &lifecycle.Schedule{Err: errors.New("it never matches")}
}

func TestScheduleIsReportedInStatus(t *testing.T) {
	in, _ := runTasks(t, with(chain(input(), "c1", "m1", "i1"), schedule(-time.Hour, time.Hour)))
	d := lifecycle.Decide(in)
	if s := d.Status.Clone; !s.LastScheduledAt.Equal(at(-3600)) || !s.NextScheduleAt.Equal(at(3600)) {
		t.Errorf("last %s, next %s", s.LastScheduledAt, s.NextScheduleAt)
	}
	want := &metav1.Condition{
		Type: "ScheduleValid", Status: metav1.ConditionTrue, Reason: "SchedulesValid", Message: "The next clone is scheduled.",
	}
	if diff := cmp.Diff(want, d.Schedule); diff != "" {
		t.Errorf("condition differs (-want +got):\n%s", diff)
	}
	if want := now.Add(time.Hour + time.Second); !d.Next.Equal(want) {
		t.Errorf("next reconcile at %s, want %s", d.Next, want)
	}
	in.Schedule = nil
	d = lifecycle.Decide(in)
	if d.Schedule != nil || d.Status.Clone.NextScheduleAt != nil || !d.Next.IsZero() {
		t.Errorf("without a schedule: %+v, %+v, %s", d.Schedule, d.Status.Clone, d.Next)
	}
	if last := lifecycle.LastTime(d.Status); last == nil || !last.Equal(now.Add(-time.Hour)) {
		t.Errorf("kept %v: removing a schedule would clone again", last)
	}
}

func TestLastTimeIsThatOfTheLastStartedClone(t *testing.T) {
	const pending = v1alpha1.TaskPending
	cases := map[string]struct {
		clone *v1alpha1.TaskRefStatus
		first bool // no clone has completed
		want  *metav1.Time
	}{
		"complete":                  {entry(v1alpha1.TaskComplete, "c2", "c2", 1), false, at(-60)},
		"running":                   {entry(v1alpha1.TaskRunning, "c2", "", 1), false, at(-60)},
		"waiting for a retry":       {entry(pending, "c2", "", 1), false, at(-60)},
		"failed":                    {entry(v1alpha1.TaskFailed, "c2", "", 3), false, at(-60)},
		"due":                       {entry(pending, "c2", "c1", 0), false, at(-3600)},
		"due for the first time":    {entry(pending, "c2", "", 0), true, at(-60)},
		"disabled, thus no attempt": {nil, false, at(-3600)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.LifecycleStatus{Clone: tc.clone, CompletedTick: at(-3600), CompletedInputs: map[string]string{"Clone": "c"}}
			if tc.first {
				status.CompletedTick, status.CompletedInputs = nil, nil
			}
			if tc.clone != nil {
				tc.clone.LastScheduledAt = at(-60)
			}
			if got := lifecycle.LastTime(status); got == nil || !got.Equal(tc.want.Time) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestNextDecisionIsAfterMinimumDelay(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "c1", "m1", "i1"))
	for next, want := range map[time.Duration]time.Duration{
		-time.Minute: time.Second, -time.Second: time.Second, 0: time.Second, time.Second: 2 * time.Second,
	} {
		if got := lifecycle.Decide(with(base, schedule(-time.Hour, next))).Next.Sub(now); got != want {
			t.Errorf("scheduled time in %s: next reconcile in %s, want %s", next, got, want)
		}
	}
	failed := with(startTask(t, chain(base, "c1", "m1", "i2")), schedule(-time.Hour, time.Hour),
		job("init", lifecycle.Job{Checksum: "i2", Attempt: 1, State: lifecycle.JobFailed, FinishedAt: at(-4)}))
	if got := lifecycle.Decide(failed).Next.Sub(now); got != 6*time.Second {
		t.Errorf("next reconcile in %s, want the retry before the scheduled time", got)
	}
}

func TestScheduledTimeIsCheckedAfterSequence(t *testing.T) {
	in := with(startTask(t, with(chain(input(), "c1"), schedule(-time.Hour, time.Hour))),
		job("clone", lifecycle.Job{Checksum: "c1", Attempt: 1, State: lifecycle.JobSucceeded, FinishedAt: at(-1)}))
	d := lifecycle.Decide(in)
	if d.Mode != lifecycle.Apply || !d.Next.Equal(now.Add(time.Second)) {
		t.Errorf("mode %s, next reconcile at %s", d.Mode, d.Next)
	}
}

func TestFrozenTime(t *testing.T) {
	const pending, complete = v1alpha1.TaskPending, v1alpha1.TaskComplete
	cases := map[string]struct {
		clone, migrate *v1alpha1.TaskRefStatus
		phase          v1alpha1.LifecyclePhase
		frozen         bool
	}{
		"at rest":                          {entry(complete, "c", "c", 1), entry(complete, "m", "m", 1), "", false},
		"the clone runs":                   {entry(v1alpha1.TaskRunning, "c", "", 1), entry(pending, "m", "m", 0), "", true},
		"the clone waits for a retry":      {entry(pending, "c", "", 1), entry(pending, "m", "m", 0), "", true},
		"the clone has not started":        {entry(pending, "c", "c", 0), entry(pending, "m", "m", 0), "", false},
		"a later task runs":                {entry(complete, "c", "c", 1), entry(v1alpha1.TaskRunning, "m", "", 1), "", true},
		"between two tasks":                {entry(complete, "c2", "c2", 1), entry(pending, "m", "", 0), "", true},
		"a later task has not started":     {entry(complete, "c", "c", 1), entry(pending, "m", "m", 0), "", false},
		"a task failed permanently":        {entry(complete, "c2", "c2", 1), entry(v1alpha1.TaskFailed, "m", "", 3), "", false},
		"a change waits between two tasks": {entry(complete, "c2", "c2", 1), entry(pending, "m", "", 0), v1alpha1.LifecycleAwaitingApproval, false},
		"the schedule became invalid":      {entry(v1alpha1.TaskRunning, "c", "", 1), nil, v1alpha1.LifecycleBlocked, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.LifecycleStatus{
				Phase: tc.phase, Clone: tc.clone, Migrate: tc.migrate,
				LastCompletedChecksums: map[string]string{"Clone": "c", "Migrate": "m"},
			}
			status.Clone.LastScheduledAt = at(-60)
			if got := lifecycle.FrozenTime(status); (got != nil) != tc.frozen || got != nil && !got.Equal(at(-60).Time) {
				t.Errorf("got %v, want frozen %v", got, tc.frozen)
			}
		})
	}
	if lifecycle.FrozenTime(nil) != nil || lifecycle.LastTime(nil) != nil {
		t.Error("a time is frozen before the first scheduled time")
	}
}

func TestInvalidScheduleBlocksAndChangesNothing(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "c1", "m1", "i1"))
	base.Workloads = serving
	broken := with(chain(base, "c?", "m?", "i?"), invalid)
	d := lifecycle.Decide(broken)
	message := "The cron schedule spec.lifecycle.clone.cronSchedule is invalid: it never matches. Correct or remove it."
	if d.Mode != lifecycle.Hold || d.Phase != v1alpha1.PhaseBlocked || d.Status.Phase != v1alpha1.LifecycleBlocked ||
		d.Condition.Reason != v1alpha1.ReasonInvalidCronSchedule || d.Condition.Message != message {
		t.Errorf("%s, %q, %+v", d.Mode, d.Phase, d.Condition)
	}
	want := &metav1.Condition{Type: "ScheduleValid", Status: metav1.ConditionFalse, Reason: "InvalidCronSchedule", Message: message}
	if diff := cmp.Diff(want, d.Schedule); diff != "" {
		t.Errorf("condition differs (-want +got):\n%s", diff)
	}
	if len(d.Actions) > 0 || !cmp.Equal(base.Status.Clone, d.Status.Clone) || reasons(d) != "InvalidCronSchedule" {
		t.Errorf("actions %v, events %q, clone %+v", d.Actions, reasons(d), d.Status.Clone)
	}
	if second := lifecycle.Decide(decideOnce(broken)); reasons(second) != "" {
		t.Errorf("again: %q", reasons(second))
	}
	fixed := chain(decideOnce(broken), "c1", "m1", "i1")
	if d := lifecycle.Decide(with(fixed, schedule(-time.Hour, time.Hour))); d.Mode != lifecycle.Apply || d.Phase != "" {
		t.Errorf("after the correction: %s, %+v", d.Mode, d.Condition)
	}
}

func TestInvalidScheduleKeepsRunningTask(t *testing.T) {
	in := with(startTask(t, with(chain(input(), "c1", "m1"), schedule(-time.Hour, time.Hour))), invalid)
	d := lifecycle.Decide(chain(in, "c?", "m?"))
	if d.Mode != lifecycle.Wait || len(d.Actions) > 0 || d.Status.Clone.State != v1alpha1.TaskRunning {
		t.Errorf("%s, %v, %+v", d.Mode, d.Actions, d.Status.Clone)
	}
	in.Status, in.Schedule = d.Status, &lifecycle.Schedule{ScheduledTime: now.Add(-time.Hour), Next: now.Add(time.Hour)}
	if d := lifecycle.Decide(in); len(d.Actions) > 0 || d.Status.Clone.State != v1alpha1.TaskRunning || d.Status.Clone.Attempts != 1 {
		t.Errorf("after the correction: %v, %+v", d.Actions, d.Status.Clone)
	}
}

func TestInvalidScheduleDiffersFromBlockedDowngrade(t *testing.T) {
	in := chain(input(lastImage("superset:2.0.0")), "c1", "m1")
	in.Image, in.Workloads = "superset:1.0.0", serving
	in = decideOnce(in)
	if in.Status.Phase != v1alpha1.LifecycleBlocked {
		t.Fatalf("not blocked: %+v", in.Status)
	}
	if d := lifecycle.Decide(with(in, invalid)); reasons(d) != "InvalidCronSchedule" {
		t.Errorf("events %q", reasons(d))
	}
	in = with(decideOnce(with(in, invalid)), schedule(-time.Hour, time.Hour))
	if d := lifecycle.Decide(in); d.Phase != v1alpha1.PhaseBlocked || !strings.Contains(d.Condition.Message, "older") {
		t.Errorf("after the correction: %q, %+v", d.Phase, d.Condition)
	}
}

func TestScheduleWithoutCloneIsIgnored(t *testing.T) {
	in, _ := runTasks(t, chain(input(), "m1", "i1"))
	if d := lifecycle.Decide(with(in, invalid)); d.Mode != lifecycle.Apply || d.Schedule != nil {
		t.Errorf("%s, %+v", d.Mode, d.Schedule)
	}
}
