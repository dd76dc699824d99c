package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// world is a cluster in small: the persisted state, the Jobs, and what they did.
type world struct {
	in     lifecycle.Input
	serial int
	// ran holds, in order, every task that began and the checksum it ran for.
	ran []string
	// schema is the checksum that the last migration that touched the database ran for.
	schema string
	done   bool
}

// reconcile decides, persists, and acts, but for a crash after any number of writes.
func (w *world) reconcile(rt *rapid.T, writes int) {
	w.in.Now = now
	d := lifecycle.Decide(w.in)
	if writes == 0 {
		return
	}
	w.in.Status, w.in.LastImage = d.Status, d.LastImage
	w.done = d.Done()
	if d.Done() {
		w.checkDone(rt)
	}
	for i, a := range d.Actions {
		if i+1 >= writes {
			return
		}
		w.act(rt, a)
	}
}

func (w *world) act(rt *rapid.T, a lifecycle.Action) {
	current, exists := w.in.Jobs[a.Task]
	if a.Verb == lifecycle.Delete {
		if exists && current.UID == a.UID {
			current.Deleting = true
			w.in.Jobs[a.Task] = current
		}
		return
	}
	if exists {
		return // the API server refuses a second Job of the same name
	}
	w.serial++
	sum := w.checksum(a.Task)
	w.in.Jobs[a.Task] = lifecycle.Job{
		UID: types.UID(fmt.Sprint(w.serial)), Checksum: sum, PodHash: "p1", Attempt: a.Attempt,
	}
	if a.Task == "init" && w.schema != w.checksum("migrate") {
		rt.Fatalf("init began on schema %q, want %q", w.schema, w.checksum("migrate"))
	}
	if a.Task == "migrate" {
		w.schema = "touched by " + sum
	}
	w.ran = append(w.ran, a.Task+" "+sum)
}

func (w *world) checkDone(rt *rapid.T) {
	if w.schema != w.checksum("migrate") {
		rt.Fatalf("components start on schema %q, want %q", w.schema, w.checksum("migrate"))
	}
	for task, j := range w.in.Jobs {
		if j.State == lifecycle.JobActive {
			rt.Fatalf("components start beside the running task %s", task)
		}
	}
}

func (w *world) checksum(task string) string {
	for _, s := range w.in.Steps {
		if s.Kind.Word == task {
			return s.Checksum
		}
	}
	return ""
}

// finish ends the running Job of a task.
func (w *world) finish(task string, state lifecycle.JobState) {
	j, exists := w.in.Jobs[task]
	if !exists || j.State != lifecycle.JobActive {
		return
	}
	j.State, j.FinishedAt, j.Message = state, &metav1.Time{Time: now.Add(-time.Hour)}, "failed"
	w.in.Jobs[task] = j
	if task == "migrate" && state == lifecycle.JobSucceeded {
		w.schema = j.Checksum
	}
}

// collect lets Jobs that are being deleted disappear.
func (w *world) collect() {
	for task, j := range w.in.Jobs {
		if j.Deleting {
			delete(w.in.Jobs, task)
		}
	}
}

func (w *world) image(version int) {
	image := fmt.Sprintf("superset:%d", version)
	w.in.Image = image
	for i := range w.in.Steps {
		s := &w.in.Steps[i]
		s.Image, s.Checksum = image, fmt.Sprintf("%s-%d", s.Kind.Word, version)
	}
}

// TestAnyOrderOfEventsIsSafeAndEnds drives the decision through random failures,
// crashes between writes, image changes and reverts. Never may init run, or
// components start, on a schema that is not the wanted one; and once the world is
// calm everything completes.
func TestAnyOrderOfEventsIsSafeAndEnds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{in: input()}
		w.image(1)
		w.in.Steps[0].MaxRetries, w.in.Steps[1].MaxRetries = 1000, 1000
		tasks := rapid.SampledFrom([]string{"migrate", "init"})
		rt.Repeat(map[string]func(*rapid.T){
			"reconcile": func(rt *rapid.T) { w.reconcile(rt, 99) },
			"crash":     func(rt *rapid.T) { w.reconcile(rt, rapid.IntRange(0, 2).Draw(rt, "writes")) },
			"succeed":   func(rt *rapid.T) { w.finish(tasks.Draw(rt, "task"), lifecycle.JobSucceeded) },
			"fail":      func(rt *rapid.T) { w.finish(tasks.Draw(rt, "task"), lifecycle.JobFailed) },
			"collect":   func(*rapid.T) { w.collect() },
			"image":     func(rt *rapid.T) { w.image(rapid.IntRange(1, 3).Draw(rt, "version")) },
			"stop":      func(rt *rapid.T) { w.in.Stopped = rapid.Bool().Draw(rt, "stopped") },
		})
		w.in.Stopped = false
		for range 20 {
			w.reconcile(rt, 99)
			w.collect()
			w.finish("migrate", lifecycle.JobSucceeded)
			w.finish("init", lifecycle.JobSucceeded)
		}
		if !w.done || w.in.LastImage != w.in.Image {
			rt.Fatalf("never completed: %+v", lifecycle.Decide(w.in).Condition)
		}
		before := len(w.ran)
		w.reconcile(rt, 99)
		if len(w.ran) != before || w.in.Status.Phase != v1alpha1.LifecycleRestoring {
			rt.Fatalf("a complete lifecycle ran again: %v", w.ran[before:])
		}
	})
}
