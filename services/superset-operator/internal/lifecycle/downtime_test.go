package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// run is a Superset whose decisions are persisted.
type run struct {
	t  *testing.T
	in lifecycle.Input
}

// decide decides at a time in seconds, and compares the downtime with its times: the start, the end of the drain, of the
// tasks, and its end. A negative time is none.
func (r *run) decide(second int, want []int, edit ...func(*lifecycle.Input)) {
	r.t.Helper()
	r.in = with(r.in, edit...)
	r.in.Now = now.Add(time.Duration(second) * time.Second)
	d := lifecycle.Decide(r.in)
	r.in.Status, r.in.LastImage = d.Status, d.LastImage
	var got []int
	if down := d.Status.Downtime; down != nil {
		for _, at := range []*metav1.Time{down.StartedAt, down.DrainedAt, down.TasksCompletedAt, down.EndedAt} {
			got = append(got, -1)
			if at != nil {
				got[len(got)-1] = int(at.Sub(now).Seconds())
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("after %d s, in phase %s, the downtime differs (-want +got):\n%s", second, d.Status.Phase, diff)
	}
}

func succeeded(task, checksum string) func(*lifecycle.Input) {
	return job(task, lifecycle.Job{Checksum: checksum, Attempt: 1, State: lifecycle.JobSucceeded, FinishedAt: at(0)})
}

func TestDowntimeHasParts(t *testing.T) {
	removed := workloads(lifecycle.Workloads{Desired: true, WebDesired: true})
	starting := workloads(lifecycle.Workloads{Desired: true, Exist: true, Pods: 1, WebDesired: true, WebExists: true})
	routed := page(lifecycle.Page{Ready: true, Routed: true})

	r := &run{t, change("1.0.0", "2.0.0", page(lifecycle.Page{}))}
	r.decide(0, nil) // The page starts.
	r.decide(5, nil, page(lifecycle.Page{Ready: true}))
	r.decide(10, []int{10, -1, -1, -1}, routed)
	r.decide(15, []int{10, -1, -1, -1}, workloads(lifecycle.Workloads{Desired: true, Pods: 1, WebDesired: true}))
	r.decide(20, []int{10, 20, -1, -1}, removed)
	r.decide(30, []int{10, 20, -1, -1}, succeeded("migrate", "m12.0.0"))
	r.decide(40, []int{10, 20, 40, -1}, succeeded("init", "i12.0.0"))
	r.decide(50, []int{10, 20, 40, -1}, starting)
	r.decide(60, []int{10, 20, 40, 60}, workloads(serving))
	r.decide(70, []int{10, 20, 40, 60})
	r.decide(80, []int{80, -1, -1, -1}, func(in *lifecycle.Input) {
		in.Steps[0].Checksum, in.Steps[1].Checksum, in.Jobs = "m13", "i13", map[string]lifecycle.Job{}
	})
}

func TestDowntimeOfCanceledDrainHasNoParts(t *testing.T) {
	r := &run{t, change("1.0.0", "2.0.0")}
	r.decide(0, []int{0, -1, -1, -1})
	r.decide(5, []int{0, -1, -1, 5}, func(in *lifecycle.Input) {
		in.Image = "superset:1.0.0"
		in.Steps[0].Checksum, in.Steps[1].Checksum = "m1", "i1"
	})
}

func TestInstallationHasNoDowntime(t *testing.T) {
	r := &run{t, input(workloads(lifecycle.Workloads{Desired: true, WebDesired: true}))}
	r.decide(0, nil)
	r.decide(30, nil, succeeded("migrate", "m1"))
	r.decide(60, nil, succeeded("init", "i1"))
	r.decide(90, nil, workloads(serving))
}

func TestDowntimeWithoutWebServerEndsWithTasks(t *testing.T) {
	r := &run{t, change("1.0.0", "2.0.0", workloads(lifecycle.Workloads{Desired: true, Exist: true, Pods: 1}))}
	r.decide(0, []int{0, -1, -1, -1})
	r.decide(10, []int{0, 10, -1, -1}, workloads(lifecycle.Workloads{Desired: true}))
	r.decide(20, []int{0, 10, -1, -1}, succeeded("migrate", "m12.0.0"))
	r.decide(30, []int{0, 10, 30, 30}, succeeded("init", "i12.0.0"))
	if r.in.Status.Phase != v1alpha1.LifecycleRestoring {
		t.Errorf("phase %s", r.in.Status.Phase)
	}
}
