package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// inputFor returns an input for an image, keys and settings with preflight, migrate and init. Checksums start with the
// first letter of the task.
func inputFor(in lifecycle.Input, image, keys, settings string) lifecycle.Input {
	in = chain(in, "m "+image, "i "+image+" "+keys+" "+settings)
	in.Image = image
	check := lifecycle.Step{
		Kind: resolve.Preflight, JobName: "x-preflight", PodHash: "p1", MaxRetries: 1,
		Checksum: strings.Join([]string{"p", image, keys, settings}, " "), KeysChecksum: keys, SettingsChecksum: keys + " " + settings,
	}
	in.Steps = append([]lifecycle.Step{check}, in.Steps...)
	for i := range in.Steps {
		in.Steps[i].Image, in.Steps[i].RequiresDrain = image, in.Steps[i].Kind.Type == resolve.Migrate.Type
	}
	return in
}

// installed returns an installation with image x:1, keys k1 and settings s1 whose tasks are complete.
func installed(t *testing.T) lifecycle.Input {
	t.Helper()
	base, tasks := runTasks(t, inputFor(input(), "x:1", "k1", "s1"))
	if diff := cmp.Diff([]string{"m x:1", "i x:1 k1 s1"}, tasks); diff != "" {
		t.Fatalf("a first installation ran other tasks (-want +got):\n%s", diff)
	}
	base.Components, base.Jobs = true, map[string]lifecycle.Job{}
	base.Workloads = lifecycle.Workloads{Desired: true, Exist: true, Pods: 2}
	return base
}

// failPreflight lets the preflight fail permanently, and returns the next input and the decision.
func failPreflight(t *testing.T, in lifecycle.Input) (lifecycle.Input, lifecycle.Decision) {
	t.Helper()
	in = startTask(t, in)
	job, exists := in.Jobs["preflight"]
	if !exists {
		t.Fatalf("other tasks started: %v", in.Jobs)
	}
	job.State, job.FinishedAt, job.Message = lifecycle.JobFailed, at(0), "the image lacks the driver"
	in.Jobs["preflight"] = job
	d := lifecycle.Decide(in)
	if d.Condition.Reason != v1alpha1.ReasonTaskFailed || d.Drain || len(d.Actions) > 0 || !strings.Contains(d.Condition.Message, job.Message) {
		t.Errorf("drain %t, %v: %+v", d.Drain, d.Actions, d.Condition)
	}
	return decideOnce(in), d
}

func TestPreflightRunsForItsInputs(t *testing.T) {
	cases := map[string]struct {
		image, keys, settings string
		want                  []string
	}{
		"nothing changed":  {"x:1", "k1", "s1", nil},
		"another image":    {"x:2", "k1", "s1", []string{"p x:2 k1 s1", "m x:2", "i x:2 k1 s1"}},
		"other keys":       {"x:1", "k2", "s1", []string{"p x:1 k2 s1", "i x:1 k2 s1"}},
		"another database": {"x:1", "k1", "s2", []string{"p x:1 k1 s2", "i x:1 k1 s2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := inputFor(installed(t), tc.image, tc.keys, tc.settings)
			in.Workloads = lifecycle.Workloads{} // nothing to drain
			if _, tasks := runTasks(t, in); !cmp.Equal(tasks, tc.want) {
				t.Errorf("got %q, want %q", tasks, tc.want)
			}
		})
	}
}

func TestFailedPreflightKeepsComponents(t *testing.T) {
	cases := map[string]struct {
		image, keys, settings string
		want                  lifecycle.Mode
		revert                []string
	}{
		"another image: all but the image follows the spec": {"x:2", "k1", "s1", lifecycle.Hold, nil},
		"other keys":                   {"x:1", "k2", "s1", lifecycle.Wait, []string{"p x:1 k1 s1"}},
		"another database":             {"x:1", "k1", "s2", lifecycle.Wait, nil},
		"another image and database":   {"x:2", "k1", "s2", lifecycle.Wait, nil},
		"another image and other keys": {"x:2", "k2", "s1", lifecycle.Wait, []string{"p x:1 k1 s1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in, d := failPreflight(t, inputFor(installed(t), tc.image, tc.keys, tc.settings))
			if d.Mode != tc.want {
				t.Errorf("mode %s, want %s", d.Mode, tc.want)
			}
			// A rotation may follow a check of other keys, so only those are checked again.
			if _, tasks := runTasks(t, inputFor(in, "x:1", "k1", "s1")); !cmp.Equal(tasks, tc.revert) {
				t.Errorf("the revert ran %q, want %q", tasks, tc.revert)
			}
		})
	}
}

func TestConfigurationFollowsSpecWhileApprovalIsAwaited(t *testing.T) {
	for keys, want := range map[string]lifecycle.Mode{"k1": lifecycle.Hold, "k2": lifecycle.Wait} {
		in := inputFor(installed(t), "x:2", keys, "s2")
		in.Gate.Supervised = true
		if d := lifecycle.Decide(in); d.Mode != want || d.Phase != v1alpha1.PhaseAwaitingApproval {
			t.Errorf("%s: mode %s in %s, want %s", keys, d.Mode, d.Phase, want)
		}
	}
}

// keysOnly returns the state of a release that checked only the keys.
func keysOnly(in lifecycle.Input, keys string) lifecycle.Input {
	in.Status = in.Status.DeepCopy()
	last := in.Status.LastCompletedChecksums
	delete(last, "PreflightKeys")
	delete(last, "PreflightSettings")
	last["Preflight"] = keys
	in.Status.Preflight.DesiredChecksum, in.Status.Preflight.CompletedChecksum = keys, keys
	return in
}

func TestOperatorUpgradeRunsNoPreflight(t *testing.T) {
	base := installed(t)
	in := keysOnly(base, "k1")
	d := lifecycle.Decide(in)
	if d.Mode != lifecycle.Apply || len(d.Actions)+len(d.Events) > 0 {
		t.Fatalf("%s, %v, %v", d.Mode, d.Actions, d.Events)
	}
	want := lifecycle.Decide(base).Status
	if diff := cmp.Diff(want, d.Status, cmpopts.IgnoreFields(metav1.Condition{}, "Message")); diff != "" {
		t.Errorf("state differs from that of an installation (-want +got):\n%s", diff)
	}
	in.Status = d.Status
	if again := lifecycle.Decide(in); !cmp.Equal(d.Status, again.Status) {
		t.Errorf("the state is written twice:\n%s", cmp.Diff(d.Status, again.Status))
	}
	for name, changed := range map[string]lifecycle.Input{
		"image": inputFor(keysOnly(base, "k1"), "x:2", "k1", "s1"), "keys": inputFor(keysOnly(base, "k0"), "x:1", "k1", "s1"),
	} {
		d := lifecycle.Decide(changed)
		if !slices.ContainsFunc(d.Actions, func(a lifecycle.Action) bool { return a.Task == "preflight" }) {
			t.Errorf("no preflight for another %s with the upgrade of the operator: %v", name, d.Actions)
		}
	}
	in, d = failPreflight(t, inputFor(keysOnly(base, "k1"), "x:2", "k1", "s1"))
	if d.Mode != lifecycle.Hold {
		t.Errorf("mode %s after a preflight that failed for the image", d.Mode)
	}
	if _, tasks := runTasks(t, inputFor(in, "x:1", "k1", "s1")); len(tasks) > 0 {
		t.Errorf("the revert ran %q", tasks)
	}
}
