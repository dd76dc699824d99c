package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// withTasks returns a Superset with all tasks, of which the given ones have run.
func withTasks(edit func(*v1alpha1.LifecycleSpec), ran ...resolve.TaskKind) *v1alpha1.Superset {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	sup.Spec = v1alpha1.SupersetSpec{
		Environment: v1alpha1.Staging, Metastore: metastore("d"),
		Lifecycle: &v1alpha1.LifecycleSpec{Clone: &v1alpha1.CloneTaskSpec{}, Rotate: &v1alpha1.RotateTaskSpec{}},
	}
	edit(sup.Spec.Lifecycle)
	sup.Status.Lifecycle = &v1alpha1.LifecycleStatus{}
	for _, kind := range resolve.TaskKinds() {
		*kind.StatusRef(sup.Status.Lifecycle) = &v1alpha1.TaskRefStatus{State: v1alpha1.TaskPending}
	}
	for _, kind := range ran {
		(*kind.StatusRef(sup.Status.Lifecycle)).StartedAt = &metav1.Time{}
	}
	return sup
}

// TestIgnoredFieldsOfTasks checks that a field which a task does not read is a violation until the task has run, and then only
// reported.
func TestIgnoredFieldsOfTasks(t *testing.T) {
	command := container(&v1alpha1.ContainerTemplate{Command: []string{"mine"}})
	args := container(&v1alpha1.ContainerTemplate{Args: []string{"--mine"}})
	const shared, clone = "spec.lifecycle.podTemplate.container.", "spec.lifecycle.clone.podTemplate.container."
	for name, tc := range map[string]struct {
		edit func(*v1alpha1.LifecycleSpec)
		want map[string]string // the path of the field by task
	}{
		"none": {edit: func(*v1alpha1.LifecycleSpec) {}},
		"the command of all tasks but the clone": {
			edit: func(lc *v1alpha1.LifecycleSpec) { lc.PodTemplate = command },
			want: map[string]string{"migrate": shared + "command", "rotate": shared + "command", "init": shared + "command"},
		},
		"the command of the clone": {
			edit: func(lc *v1alpha1.LifecycleSpec) { lc.Clone.PodTemplate = command },
			want: map[string]string{"clone": clone + "command"},
		},
		"arguments of the clone": {
			edit: func(lc *v1alpha1.LifecycleSpec) { lc.Clone.PodTemplate, lc.Clone.Command = args, []string{"mine"} },
			want: map[string]string{"clone": clone + "args"},
		},
		"arguments of the other tasks": {
			edit: func(lc *v1alpha1.LifecycleSpec) { lc.PodTemplate = args },
			want: map[string]string{"migrate": shared + "args", "rotate": shared + "args", "init": shared + "args"},
		},
		"a command next to that of the task": {
			edit: func(lc *v1alpha1.LifecycleSpec) { lc.Clone.PodTemplate, lc.Clone.Command = command, []string{"mine"} },
		},
		"a command next to that of some tasks": {
			edit: func(lc *v1alpha1.LifecycleSpec) {
				lc.PodTemplate, lc.Rotate.Command = command, []string{"mine"}
				lc.Init = &v1alpha1.InitTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{Disabled: new(true)}}
			},
			want: map[string]string{"migrate": shared + "command"},
		},
		"disabled tasks": {
			edit: func(lc *v1alpha1.LifecycleSpec) {
				lc.Disabled, lc.PodTemplate, lc.Clone.PodTemplate = new(true), command, command
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ran := range [][]resolve.TaskKind{nil, {resolve.Migrate}, {resolve.Migrate, resolve.Clone}, resolve.TaskKinds()} {
				sup := withTasks(tc.edit, ran...)
				rejected, ignored := tasksOf(t, resolve.Validate(sup)), tasksOf(t, resolve.IgnoredFields(sup))
				wantRejected, wantIgnored := map[string]string{}, map[string]string{}
				for slug, path := range tc.want {
					if slices.ContainsFunc(ran, func(k resolve.TaskKind) bool { return k.Slug == slug }) {
						wantIgnored[slug] = path
					} else {
						wantRejected[slug] = path
					}
				}
				if diff := cmp.Diff([]any{wantRejected, wantIgnored}, []any{rejected, ignored}); diff != "" {
					t.Errorf("%d tasks have run: rejected and ignored fields (-want +got):\n%s", len(ran), diff)
				}
			}
		})
	}
}

// TestTaskHasRun checks each field that records a run, since a Superset that works must not become invalid.
func TestTaskHasRun(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.LifecycleStatus){
		"an attempt":                       func(s *v1alpha1.LifecycleStatus) { s.Clone.StartedAt = &metav1.Time{} },
		"a completion of another operator": func(s *v1alpha1.LifecycleStatus) { s.Clone.State = v1alpha1.TaskComplete },
		"the inputs of a completion":       func(s *v1alpha1.LifecycleStatus) { s.Clone, s.CompletedInputs = nil, map[string]string{"Clone": "x"} },
		"the checksum of the last sequence": func(s *v1alpha1.LifecycleStatus) {
			s.Clone, s.LastCompletedChecksums = nil, map[string]string{"Clone": "x"}
		},
	} {
		sup := withTasks(func(lc *v1alpha1.LifecycleSpec) {
			lc.Clone.PodTemplate = container(&v1alpha1.ContainerTemplate{Command: []string{"mine"}})
		})
		edit(sup.Status.Lifecycle)
		if got := resolve.Validate(sup); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
		if got := resolve.IgnoredFields(sup); len(got) != 1 {
			t.Errorf("%s: ignored fields %v", name, got)
		}
		sup.Status.Lifecycle = nil
		if got := resolve.Validate(sup); len(got) != 1 {
			t.Errorf("without a status: violations %v", got)
		}
	}
}

// tasksOf returns the path of each entry by the task that it names, and checks that the entry names the field to set.
func tasksOf(t *testing.T, entries []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, entry := range entries {
		path, text, _ := strings.Cut(entry, ": ")
		_, rest, _ := strings.Cut(text, "on task ")
		slug, fix, _ := strings.Cut(rest, ": ")
		if !strings.Contains(fix, "spec.lifecycle."+slug+".command") || out[slug] != "" {
			t.Errorf("%q does not name the field of one task", entry)
		}
		out[slug] = path
	}
	return out
}
