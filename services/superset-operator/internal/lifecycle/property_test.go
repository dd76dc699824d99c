package lifecycle_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/version"
)

// TestRandomEventsKeepInvariantsAndConverge runs the decision with random failures, crashes between any two writes,
// changes and reverts of the spec, approvals, scheduled times and slow pods. The invariants, by name, are in
// invariants_test.go. Without further events all tasks complete and the state stays unchanged.
func TestRandomEventsKeepInvariantsAndConverge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel()
		m.spec.disabled["clone"] = rapid.Bool().Draw(rt, "no clone")
		rt.Repeat(m.randomEvents())
		m.checkConvergence(rt)
	})
}

// TestToggledTasksStartNothing disables and enables tasks in any order, removes and restores the clone's schedule,
// and edits disabled tasks. No task, and no drain before one, starts meanwhile or when the original spec is restored.
func TestToggledTasksStartNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel()
		m.spec.cron, m.spec.disabled["rotate"] = rapid.Bool().Draw(rt, "cron"), rapid.Bool().Draw(rt, "no rotation")
		before := m.spec
		before.disabled, before.trigger = maps.Clone(before.disabled), map[string]int{}
		m.runAllTasks(rt)
		task := rapid.SampledFrom(taskSlugs)
		rt.Repeat(map[string]func(*rapid.T){
			"reconcile": func(rt *rapid.T) { m.reconcile(rt, 99); m.collect() },
			"disable":   func(rt *rapid.T) { m.spec.disabled[task.Draw(rt, "task")] = true },
			"enable": func(rt *rapid.T) {
				slug := task.Draw(rt, "task")
				m.spec.disabled[slug], m.spec.trigger[slug] = before.disabled[slug], 0
			},
			"edit": func(rt *rapid.T) {
				if slug := task.Draw(rt, "task"); m.spec.disabled[slug] {
					m.spec.trigger[slug]++
				}
			},
			"schedule": func(*rapid.T) { m.spec.cron = before.cron && !m.spec.cron },
			"": func(rt *rapid.T) {
				for slug, job := range m.jobs {
					if job.State == lifecycle.JobActive {
						rt.Fatalf("invariant toggling-starts-no-task: %s runs for %q", slug, job.Checksum)
					}
				}
				if m.lastDecision.Mode != lifecycle.Apply { // a drain begins before the first Job
					rt.Fatalf("invariant toggling-starts-no-task: %+v", m.lastDecision.Condition)
				}
			},
		})
		m.spec = before
		m.reconcile(rt, 99)
		m.reconcile(rt, 99)
		if m.lastDecision.Mode != lifecycle.Apply || len(m.lastDecision.Actions) > 0 {
			rt.Fatalf("invariant toggling-starts-no-task: %v, %+v", m.lastDecision.Actions, m.lastDecision.Condition)
		}
	})
}

// TestRemovedScheduleCancelsDueClone lets a clone become due while the Superset is stopped, and removes its schedule. The
// clone runs only if its trigger or the image changed too.
func TestRemovedScheduleCancelsDueClone(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*model)
		runs bool
	}{
		"nothing else": {edit: func(*model) {}},
		"trigger":      {edit: func(m *model) { m.spec.trigger["clone"]++ }, runs: true},
		"image":        {edit: func(m *model) { m.spec.image = "superset:2.0.0" }, runs: true},
		"disabled and enabled": {edit: func(m *model) {
			m.spec.disabled["clone"] = true
			m.reconcile(t, 99)
			m.spec.disabled["clone"] = false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel()
			m.spec.cron = true
			m.runAllTasks(t)
			first := *m.status.Clone.LastScheduledAt
			m.now, m.spec.stopped = m.now.Add(time.Hour), true
			m.reconcile(t, 99)
			if entry := m.status.Clone; entry.State != v1alpha1.TaskPending || entry.LastScheduledAt.Equal(&first) {
				t.Fatalf("the clone is not due: %+v", entry)
			}
			m.spec.cron = false
			tc.edit(m)
			m.reconcile(t, 99)
			m.spec.stopped = false
			cloned := false
			for range 20 {
				m.reconcile(t, 99)
				cloned = cloned || m.jobs["clone"].State == lifecycle.JobActive && m.status.Clone.State == v1alpha1.TaskRunning
				m.collect()
				m.succeed()
			}
			if cloned != tc.runs || m.lastDecision.Mode != lifecycle.Apply || !m.status.Clone.LastScheduledAt.Equal(&first) {
				t.Errorf("cloned %v, want %v: %s, %+v", cloned, tc.runs, m.lastDecision.Mode, m.status.Clone)
			}
		})
	}
}

// runAllTasks runs all tasks of a new model.
func (m *model) runAllTasks(t rapid.TB) {
	for range 20 {
		m.reconcile(t, 99)
		m.collect()
		m.succeed()
	}
	if m.lastDecision.Mode != lifecycle.Apply {
		t.Fatalf("the tasks do not complete: %+v", m.lastDecision.Condition)
	}
}

var taskSlugs = []string{"preflight", "clone", "migrate", "rotate", "init"}

// randomEvents returns all random events.
func (m *model) randomEvents() map[string]func(*rapid.T) {
	task := rapid.SampledFrom(taskSlugs)
	flag := func(at *bool) func(*rapid.T) { return func(*rapid.T) { *at = !*at } }
	events := map[string]func(*rapid.T){
		"reconcile":  func(rt *rapid.T) { m.reconcile(rt, 99) },
		"reconcile2": func(rt *rapid.T) { m.reconcile(rt, 99); m.collect(); m.reconcile(rt, 99) },
		"crash":      func(rt *rapid.T) { m.reconcile(rt, rapid.IntRange(0, 5).Draw(rt, "writes")) },
		"succeed":    func(rt *rapid.T) { m.finish(task.Draw(rt, "task"), lifecycle.JobSucceeded) },
		"fail":       func(rt *rapid.T) { m.finish(task.Draw(rt, "task"), lifecycle.JobFailed) },
		"delete":     func(rt *rapid.T) { m.deleteJob(task.Draw(rt, "task")) },
		"collect":    func(*rapid.T) { m.collect() },
		"start failure": func(rt *rapid.T) {
			m.setStartFailure(task.Draw(rt, "task"), rapid.SampledFrom([]string{"", "no image"}).Draw(rt, "message"))
		},
		"time": func(rt *rapid.T) {
			m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Second, 15 * time.Second, time.Minute, time.Hour}).Draw(rt, "time"))
		},
		"image": func(rt *rapid.T) {
			m.spec.image = rapid.SampledFrom([]string{"superset:1.0.0", "superset:2.0.0", "superset:2.0.0-dev", "superset:latest"}).Draw(rt, "image")
		},
		"trigger":   func(rt *rapid.T) { m.spec.trigger[task.Draw(rt, "task")] = rapid.IntRange(0, 2).Draw(rt, "trigger") },
		"settings":  func(rt *rapid.T) { m.spec.settings = rapid.IntRange(0, 2).Draw(rt, "settings") },
		"pod":       func(rt *rapid.T) { m.spec.pod = rapid.IntRange(0, 2).Draw(rt, "pod") },
		"task":      func(rt *rapid.T) { slug := task.Draw(rt, "task"); m.spec.disabled[slug] = !m.spec.disabled[slug] },
		"lifecycle": flag(&m.spec.lifecycleOff), "supervised": flag(&m.spec.supervised), "stopped": flag(&m.spec.stopped),
		"components": flag(&m.spec.components), "page": flag(&m.spec.page), "zero": flag(&m.spec.zero), "cron": flag(&m.spec.cron),
		"rejected": flag(&m.rejected),
		"foreign": func(rt *rapid.T) {
			m.spec.foreign = rapid.SampledFrom([][]string{nil, {"Pod other"}}).Draw(rt, "foreign")
		},
		"invalid": func(rt *rapid.T) {
			m.spec.cronErr = rapid.SampledFrom([]error{nil, errors.New("it never matches")}).Draw(rt, "error")
		},
		"approve": func(rt *rapid.T) {
			m.approval[rapid.IntRange(0, 1).Draw(rt, "annotation")] = rapid.SampledFrom([]string{"", "wrong", m.token()}).Draw(rt, "token")
		},
	}
	maps.Copy(events, m.sequences(task))
	return events
}

// sequences returns the events that consist of several steps.
func (m *model) sequences(task *rapid.Generator[string]) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"proceed":              func(rt *rapid.T) { m.proceed(rt, 3) },
		"upgrade without pods": func(rt *rapid.T) { m.upgradeWithoutPods(rt) },
		"fail permanently":     func(rt *rapid.T) { m.failPermanently(rt) },
		"idle": func(rt *rapid.T) {
			m.spec.zero = true
			for range 3 {
				m.reconcile(rt, 99)
				m.collect()
			}
		},
		"delete in the background": func(rt *rapid.T) { m.deleteJobsInBackground(); m.reconcile(rt, 99) },
		"stop and start after a failure": func(rt *rapid.T) {
			m.spec.settings = rapid.IntRange(0, 2).Draw(rt, "settings")
			m.failPermanently(rt)
			for _, m.spec.stopped = range []bool{true, false} {
				m.reconcile(rt, 99)
				m.collect()
			}
		},
		"disable a completed task": func(rt *rapid.T) {
			slug := task.Draw(rt, "task")
			m.finish(slug, lifecycle.JobSucceeded)
			m.reconcile(rt, 99)
			m.spec.disabled[slug] = true
		},
	}
}

// failPermanently fails all attempts of the current task.
func (m *model) failPermanently(t rapid.TB) {
	for range 6 {
		for _, slug := range taskSlugs {
			m.finish(slug, lifecycle.JobFailed)
		}
		m.reconcile(t, 99)
		m.collect()
		m.now = m.now.Add(11 * time.Second)
	}
}

func (m *model) token() string { return lifecycle.ApprovalToken(m.fromImage(), m.spec.image) }

// fromImage returns the image that a change starts from.
func (m *model) fromImage() string {
	if older(m.migrated, m.spec.image) {
		return m.migrated
	}
	return m.lastImage
}

func older(from, to string) bool {
	return from != "" && version.Compare(from, to) == v1alpha1.DirectionDowngrade
}

func (m *model) succeed() {
	for _, slug := range taskSlugs {
		m.finish(slug, lifecycle.JobSucceeded)
	}
}

// deleteJob removes a Job with its pod, as a user may do. If the result of a clone was not recorded, its completion is
// unknown afterwards.
func (m *model) deleteJob(task string) {
	if job, exists := m.jobs[task]; exists {
		if task == "clone" {
			m.cloned = ""
		}
		if task == "migrate" && m.status != nil {
			m.migrated = m.status.MigratedImage
		}
		job.Deleting = true
		m.jobs[task] = job
	}
}

// deleteJobsInBackground removes all Jobs. Their pods run until the next collection, as with kubectl's default.
func (m *model) deleteJobsInBackground() {
	for _, task := range taskSlugs {
		m.deleteJob(task)
		if job, exists := m.jobs[task]; exists && job.State == lifecycle.JobActive {
			m.former = append(m.former, "x-"+task)
		}
		delete(m.jobs, task)
	}
}

func (m *model) setStartFailure(task, message string) {
	if job, exists := m.jobs[task]; exists && job.State == lifecycle.JobActive {
		job.StartFailure = message
		m.jobs[task] = job
	}
}

// checkConvergence lets all tasks succeed, and checks that they complete and that no action follows.
func (m *model) checkConvergence(t rapid.TB) {
	m.spec.stopped, m.rejected, m.spec.cronErr, m.spec.foreign = false, false, nil, nil
	m.spec.pod = 3 // another pod retries permanent failures
	for stable, round := 0, 0; stable < 3 && round < 100; round++ {
		for _, slug := range taskSlugs {
			m.setStartFailure(slug, "")
		}
		m.approval = [2]string{m.token(), m.token()}
		m.reconcile(t, 99)
		m.collect()
		m.succeed()
		if !m.spec.cron {
			m.now = m.now.Add(time.Minute) // a schedule would start tasks forever
		} else if m.lastDecision.Condition.Reason == v1alpha1.ReasonTaskRetrying {
			m.now = m.lastDecision.Next
		}
		stable++
		if m.lastDecision.Mode != lifecycle.Apply || m.status.MaintenanceActive || m.pods() != 2*m.desired() {
			stable = 0
		}
	}
	m.reconcile(t, 99)
	m.reconcile(t, 99)
	if m.lastDecision.Mode != lifecycle.Apply || m.lastImage != m.spec.image || m.status.MaintenanceActive || m.status.Upgrade != nil {
		t.Fatalf("invariant tasks-complete: %s %+v\n%+v", m.lastDecision.Mode, m.lastDecision.Condition, m.status)
	}
	if len(m.lastDecision.Events)+len(m.lastDecision.Actions) > 0 || m.lastDecision.Drain || m.lastDecision.Page || m.lastDecision.ClearApprovals {
		t.Fatalf("invariant converged: %+v", m.lastDecision)
	}
}
