package metrics

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Results of a run.
const (
	succeeded = "succeeded"
	failed    = "failed"  // permanently: no attempt is left
	retried   = "retried" // another attempt follows
)

// change holds the changes that one write of a status makes.
type change struct {
	runs     []run
	downtime []part
	approval *approval
}

// run is one attempt of a task that ended.
type run struct {
	task, result string
	duration     time.Duration
	// attempts is how many attempts the task has had, this one included.
	attempts int32
}

// part is a part of a downtime that ended.
type part struct {
	name     string
	duration time.Duration
}

// Parts of a downtime.
const (
	drain = "drain"
	tasks = "tasks"
	start = "start" // of the components
	total = "total"
)

// approval is an image change that a user approved.
type approval struct {
	direction string
	waited    time.Duration
}

// diff returns the changes between the lifecycle before and after a write; both may be nil.
func diff(before, after *v1alpha1.LifecycleStatus, now time.Time) change {
	var out change
	if before == nil {
		before = &v1alpha1.LifecycleStatus{}
	}
	if after == nil {
		after = &v1alpha1.LifecycleStatus{}
	}
	for _, kind := range resolve.TaskKinds() {
		if r, ended := endedRun(*kind.StatusRef(before), *kind.StatusRef(after), now); ended {
			r.task = kind.Slug
			out.runs = append(out.runs, r)
		}
	}
	out.downtime = endedParts(before.Downtime, after.Downtime)
	out.approval = approved(before.Upgrade, after.Upgrade)
	return out
}

// endedRun distinguishes an attempt that ended from a task that only changed its state:
// reverting to an image that ran before completes tasks without a run, and
// lowering the number of attempts fails one that ended long ago.
func endedRun(before, after *v1alpha1.TaskRefStatus, now time.Time) (run, bool) {
	if after == nil || after.Attempts == 0 {
		return run{}, false
	}
	if before == nil {
		before = &v1alpha1.TaskRefStatus{}
	}
	r := run{attempts: after.Attempts, duration: duration(after, now)}
	started := before.State == v1alpha1.TaskRunning || before.Attempts != after.Attempts
	switch {
	case after.State == v1alpha1.TaskComplete && after.CompletedAt != nil && !after.CompletedAt.Equal(before.CompletedAt):
		r.result = succeeded
	case after.State == v1alpha1.TaskFailed && before.State != v1alpha1.TaskFailed && started:
		r.result = failed
	case after.State == v1alpha1.TaskPending && after.NextAttemptAt != nil && !after.NextAttemptAt.Equal(before.NextAttemptAt) && started:
		r.result = retried
	default:
		return run{}, false
	}
	return r, true
}

// duration returns how long the attempt lasted; a failed one ends when the failure is observed.
func duration(entry *v1alpha1.TaskRefStatus, now time.Time) time.Duration {
	if entry.StartedAt == nil {
		return 0
	}
	end := now
	if entry.CompletedAt != nil {
		end = entry.CompletedAt.Time
	}
	return max(end.Sub(entry.StartedAt.Time), 0)
}

// endedParts returns the parts of a downtime that ended. A downtime whose drain was canceled has none.
func endedParts(before, after *v1alpha1.DowntimeStatus) []part {
	if after == nil || after.StartedAt == nil || after.DrainedAt == nil {
		return nil
	}
	if before == nil || !before.StartedAt.Equal(after.StartedAt) {
		before = &v1alpha1.DowntimeStatus{}
	}
	var out []part
	add := func(name string, from, to, known *metav1.Time) {
		if from != nil && to != nil && known == nil {
			out = append(out, part{name, max(to.Sub(from.Time), 0)})
		}
	}
	add(drain, after.StartedAt, after.DrainedAt, before.DrainedAt)
	add(tasks, after.DrainedAt, after.TasksCompletedAt, before.TasksCompletedAt)
	add(start, after.TasksCompletedAt, after.EndedAt, before.EndedAt)
	add(total, after.StartedAt, after.EndedAt, before.EndedAt)
	return out
}

func approved(before, after *v1alpha1.UpgradeContext) *approval {
	if after == nil || after.ApprovedAt == nil || before != nil && before.ApprovedAt.Equal(after.ApprovedAt) {
		return nil
	}
	a := &approval{direction: string(after.Direction)}
	if after.StartedAt != nil {
		a.waited = max(after.ApprovedAt.Sub(after.StartedAt.Time), 0)
	}
	return a
}
