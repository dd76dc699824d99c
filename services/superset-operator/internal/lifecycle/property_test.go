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
// world_test.go. Without further events all tasks complete and the state stays unchanged.
func TestRandomEventsKeepInvariantsAndConverge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld()
		w.spec.disabled["clone"] = rapid.Bool().Draw(rt, "no clone")
		rt.Repeat(w.moves())
		w.calm(rt)
	})
}

// TestToggledTasksStartNothing disables and enables tasks in any order, removes and restores the clone's schedule,
// and edits disabled tasks. When the original spec is restored, no task has run.
func TestToggledTasksStartNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld()
		w.spec.cron, w.spec.disabled["rotate"] = rapid.Bool().Draw(rt, "cron"), rapid.Bool().Draw(rt, "no rotation")
		before := w.spec
		before.disabled, before.trigger = maps.Clone(before.disabled), map[string]int{}
		w.settle(rt)
		task := rapid.SampledFrom(words)
		rt.Repeat(map[string]func(*rapid.T){
			"reconcile": func(rt *rapid.T) { w.reconcile(rt, 99) },
			"disable":   func(rt *rapid.T) { w.spec.disabled[task.Draw(rt, "task")] = true },
			"enable": func(rt *rapid.T) {
				slug := task.Draw(rt, "task")
				w.spec.disabled[slug], w.spec.trigger[slug] = before.disabled[slug], 0
			},
			"edit": func(rt *rapid.T) {
				if slug := task.Draw(rt, "task"); w.spec.disabled[slug] {
					w.spec.trigger[slug]++
				}
			},
			"schedule": func(*rapid.T) { w.spec.cron = before.cron && !w.spec.cron },
			"": func(rt *rapid.T) {
				for slug, job := range w.jobs {
					if job.State == lifecycle.JobActive {
						rt.Fatalf("invariant toggling-starts-no-task: %s runs for %q", slug, job.Checksum)
					}
				}
			},
		})
		w.spec = before
		w.reconcile(rt, 99)
		w.reconcile(rt, 99)
		if w.last.Mode != lifecycle.Apply || len(w.last.Actions) > 0 {
			rt.Fatalf("invariant toggling-starts-no-task: %v, %+v", w.last.Actions, w.last.Condition)
		}
	})
}

// settle runs all tasks of a new world.
func (w *world) settle(rt *rapid.T) {
	for range 20 {
		w.reconcile(rt, 99)
		w.collect()
		w.succeed()
	}
	if w.last.Mode != lifecycle.Apply {
		rt.Fatalf("the tasks do not complete: %+v", w.last.Condition)
	}
}

var words = []string{"preflight", "clone", "migrate", "rotate", "init"}

// moves returns all random events.
func (w *world) moves() map[string]func(*rapid.T) {
	task := rapid.SampledFrom(words)
	flag := func(at *bool) func(*rapid.T) { return func(*rapid.T) { *at = !*at } }
	return map[string]func(*rapid.T){
		"reconcile":  func(rt *rapid.T) { w.reconcile(rt, 99) },
		"reconcile2": func(rt *rapid.T) { w.reconcile(rt, 99); w.collect(); w.reconcile(rt, 99) },
		"crash":      func(rt *rapid.T) { w.reconcile(rt, rapid.IntRange(0, 4).Draw(rt, "writes")) },
		"succeed":    func(rt *rapid.T) { w.finish(task.Draw(rt, "task"), lifecycle.JobSucceeded) },
		"proceed": func(rt *rapid.T) {
			for range 3 {
				w.succeed()
				w.reconcile(rt, 99)
				w.collect()
			}
		},
		"fail": func(rt *rapid.T) { w.finish(task.Draw(rt, "task"), lifecycle.JobFailed) },
		"fail permanently": func(rt *rapid.T) {
			for range 6 {
				for _, slug := range words {
					w.finish(slug, lifecycle.JobFailed)
				}
				w.reconcile(rt, 99)
				w.collect()
				w.now = w.now.Add(11 * time.Second)
			}
		},
		"vanish":  func(rt *rapid.T) { w.vanish(task.Draw(rt, "task")) },
		"collect": func(*rapid.T) { w.collect() },
		"stick": func(rt *rapid.T) {
			w.stick(task.Draw(rt, "task"), rapid.SampledFrom([]string{"", "no image"}).Draw(rt, "why"))
		},
		"time": func(rt *rapid.T) {
			w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, 15 * time.Second, time.Minute, time.Hour}).Draw(rt, "time"))
		},
		"image": func(rt *rapid.T) {
			w.spec.image = rapid.SampledFrom([]string{"superset:1.0.0", "superset:2.0.0", "superset:2.0.0-dev", "superset:latest"}).Draw(rt, "image")
		},
		"trigger":   func(rt *rapid.T) { w.spec.trigger[task.Draw(rt, "task")] = rapid.IntRange(0, 2).Draw(rt, "trigger") },
		"settings":  func(rt *rapid.T) { w.spec.settings = rapid.IntRange(0, 2).Draw(rt, "settings") },
		"pod":       func(rt *rapid.T) { w.spec.pod = rapid.IntRange(0, 2).Draw(rt, "pod") },
		"task":      func(rt *rapid.T) { slug := task.Draw(rt, "task"); w.spec.disabled[slug] = !w.spec.disabled[slug] },
		"lifecycle": flag(&w.spec.lifecycleOff), "supervised": flag(&w.spec.supervised), "stopped": flag(&w.spec.stopped),
		"components": flag(&w.spec.components), "page": flag(&w.spec.page), "zero": flag(&w.spec.zero), "cron": flag(&w.spec.cron),
		"stranger": func(rt *rapid.T) {
			w.spec.foreign = rapid.SampledFrom([][]string{nil, {"Pod other"}}).Draw(rt, "strangers")
		},
		"invalid": func(rt *rapid.T) {
			w.spec.cronErr = rapid.SampledFrom([]error{nil, errors.New("it never matches")}).Draw(rt, "error")
		},
		"approve": func(rt *rapid.T) {
			w.approval[rapid.IntRange(0, 1).Draw(rt, "annotation")] = rapid.SampledFrom([]string{"", "wrong", w.token()}).Draw(rt, "token")
		},
	}
}

func (w *world) token() string { return lifecycle.ApprovalToken(w.from(), w.spec.image) }

// from returns the image that a change starts from.
func (w *world) from() string {
	if older(w.migrated, w.spec.image) {
		return w.migrated
	}
	return w.lastImage
}

func older(from, to string) bool {
	return from != "" && version.Compare(from, to) == v1alpha1.DirectionDowngrade
}

func (w *world) succeed() {
	for _, slug := range words {
		w.finish(slug, lifecycle.JobSucceeded)
	}
}

// vanish removes a Job with its pod, as a user may do. If the result of a clone was not recorded, its completion is
// unknown afterwards.
func (w *world) vanish(task string) {
	if job, exists := w.jobs[task]; exists {
		if task == "clone" {
			w.cloned = ""
		}
		if task == "migrate" && w.status != nil {
			w.migrated = w.status.MigratedImage
		}
		job.Deleting = true
		w.jobs[task] = job
	}
}

func (w *world) stick(task, why string) {
	if job, exists := w.jobs[task]; exists && job.State == lifecycle.JobActive {
		job.StartFailure = why
		w.jobs[task] = job
	}
}

// calm lets all tasks succeed, and checks that they complete and that no action follows.
func (w *world) calm(rt *rapid.T) {
	w.spec.stopped, w.spec.cronErr, w.spec.foreign = false, nil, nil
	w.spec.pod = 3 // another pod retries permanent failures
	for quiet, round := 0, 0; quiet < 3 && round < 100; round++ {
		for _, slug := range words {
			w.stick(slug, "")
		}
		w.approval = [2]string{w.token(), w.token()}
		w.reconcile(rt, 99)
		w.collect()
		w.succeed()
		if !w.spec.cron {
			w.now = w.now.Add(time.Minute) // a schedule would start tasks forever
		} else if w.last.Condition.Reason == v1alpha1.ReasonTaskRetrying {
			w.now = w.last.Next
		}
		quiet++
		if w.last.Mode != lifecycle.Apply || w.status.MaintenanceActive || w.pods != w.desired() {
			quiet = 0
		}
	}
	w.reconcile(rt, 99)
	w.reconcile(rt, 99)
	if w.last.Mode != lifecycle.Apply || w.lastImage != w.spec.image || w.status.MaintenanceActive || w.status.Upgrade != nil {
		rt.Fatalf("invariant tasks-complete: %s %+v\n%+v", w.last.Mode, w.last.Condition, w.status)
	}
	if len(w.last.Events)+len(w.last.Actions) > 0 || w.last.Drain || w.last.Page || w.last.ClearApprovals {
		rt.Fatalf("invariant calm: %+v", w.last)
	}
}
