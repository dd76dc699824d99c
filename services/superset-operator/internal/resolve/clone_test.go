package resolve_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// taskOf resolves the task of a Superset with a clone and createDatabase; nil when it does not run.
func taskOf(kind resolve.TaskKind, edit func(*v1alpha1.SupersetSpec)) *resolve.Task {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}}
	sup.Spec = v1alpha1.SupersetSpec{
		Environment: v1alpha1.Staging,
		Image:       v1alpha1.ImageSpec{Repository: "r", Tag: "1", PullSecrets: []corev1.LocalObjectReference{{Name: "top"}}},
		Metastore:   &v1alpha1.MetastoreSpec{Host: new("db"), Database: new("d"), Username: new("u"), CreateDatabase: new(true)},
		Lifecycle: &v1alpha1.LifecycleSpec{Clone: &v1alpha1.CloneTaskSpec{Source: v1alpha1.CloneSourceSpec{
			Host: "prod", Database: "p", Username: "reader",
		}}},
	}
	edit(&sup.Spec)
	plan := resolve.For(sup, resolve.Options{})
	for i := range plan.Tasks {
		if plan.Tasks[i].Kind.Type == kind.Type {
			return &plan.Tasks[i]
		}
	}
	return nil
}

func TestCloneImage(t *testing.T) {
	type image struct {
		Image  string
		Policy corev1.PullPolicy
		Port   int32
	}
	cases := map[string]struct {
		edit func(*v1alpha1.CloneTaskSpec)
		want image
	}{
		"PostgreSQL": {func(*v1alpha1.CloneTaskSpec) {}, image{"postgres:17-alpine", "IfNotPresent", 5432}},
		"MySQL": {
			func(c *v1alpha1.CloneTaskSpec) { c.Source.Type = new(v1alpha1.MySQL) },
			image{"mysql:8.4", "IfNotPresent", 3306},
		},
		"only a tag": {
			func(c *v1alpha1.CloneTaskSpec) { c.Image = &v1alpha1.ContainerImageSpec{Tag: "16"} },
			image{"postgres:16", "IfNotPresent", 5432},
		},
		"only a repository": {func(c *v1alpha1.CloneTaskSpec) {
			c.Image, c.Source.Port = &v1alpha1.ContainerImageSpec{Repository: "mirror/pg", PullPolicy: "Always"}, new(int32(6432))
		}, image{"mirror/pg:17-alpine", "Always", 6432}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			task := taskOf(resolve.Clone, func(s *v1alpha1.SupersetSpec) { tc.edit(s.Lifecycle.Clone) })
			if diff := cmp.Diff(tc.want, image{task.Image, task.PullPolicy, task.Clone.Port}); diff != "" {
				t.Errorf("image differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCloneInheritsNothingFromOtherTasks(t *testing.T) {
	task := taskOf(resolve.Clone, func(s *v1alpha1.SupersetSpec) {
		s.SecretKey, s.ForceReload, s.BootstrapScript = new("secret"), "again", new("export A=b")
		s.PodTemplate = &v1alpha1.PodTemplate{NodeSelector: map[string]string{"from": "top", "kept": "yes"}}
		s.Lifecycle.Image = &v1alpha1.ImageOverrideSpec{Tag: new("2")}
		s.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{NodeSelector: map[string]string{"from": "lifecycle", "lifecycle": "yes"}}
		s.Lifecycle.PodRetention = &v1alpha1.PodRetentionSpec{Policy: v1alpha1.RetentionRetain}
		c := s.Lifecycle.Clone
		c.PodTemplate = &v1alpha1.PodTemplate{NodeSelector: map[string]string{"from": "clone"}}
		c.PodRetention = &v1alpha1.PodRetentionSpec{Policy: v1alpha1.RetentionDelete}
		c.Timeout, c.MaxRetries, c.RequiresDrain = &metav1.Duration{Duration: 30 * time.Minute}, new(int32(7)), new(false)
		c.Image = &v1alpha1.ContainerImageSpec{PullSecrets: []corev1.LocalObjectReference{{Name: "own"}, {Name: "top"}}}
	})
	want := map[string]any{
		"secret key": resolve.Value{}, "force reload": "", "bootstrap": "", "target image": "r:2", "database host": "db",
		"selector": map[string]string{"from": "clone", "kept": "yes"}, "retention": v1alpha1.RetentionDelete,
		"timeout": 30 * time.Minute, "attempts": int32(7), "drain": false,
		"pull secrets": []corev1.LocalObjectReference{{Name: "top"}, {Name: "own"}},
	}
	got := map[string]any{
		"secret key": task.Inputs.SecretKey, "force reload": task.Inputs.ForceReload, "bootstrap": task.Bootstrap,
		"target image": task.Clone.TargetImage, "database host": task.Inputs.DatabaseHost,
		"selector": task.Pod.NodeSelector, "retention": task.Retention,
		"timeout": task.Timeout, "attempts": task.MaxRetries, "drain": task.RequiresDrain, "pull secrets": task.PullSecrets,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clone differs (-want +got):\n%s", diff)
	}
	inherited := taskOf(resolve.Clone, func(s *v1alpha1.SupersetSpec) {
		s.Lifecycle.PodRetention = &v1alpha1.PodRetentionSpec{Policy: v1alpha1.RetentionRetain}
	})
	if inherited.Retention != v1alpha1.RetentionRetain || !inherited.RequiresDrain || inherited.MaxRetries != 3 || inherited.Timeout != 5*time.Minute {
		t.Errorf("defaults: %s, drain %v, %d attempts, %s", inherited.Retention, inherited.RequiresDrain, inherited.MaxRetries, inherited.Timeout)
	}
}

// TestExamplesExtendInitTimeout loads the examples, which takes longer than the default of other tasks.
func TestExamplesExtendInitTimeout(t *testing.T) {
	for name, tc := range map[string]struct {
		init v1alpha1.InitTaskSpec
		want time.Duration
	}{
		"without examples": {want: 5 * time.Minute},
		"examples":         {init: v1alpha1.InitTaskSpec{LoadExamples: new(true)}, want: 30 * time.Minute},
		"a timeout of the user": {
			init: v1alpha1.InitTaskSpec{LoadExamples: new(true), BaseTaskSpec: v1alpha1.BaseTaskSpec{Timeout: &metav1.Duration{Duration: time.Minute}}},
			want: time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			task := taskOf(resolve.Init, func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Init = &tc.init })
			if task.Timeout != tc.want {
				t.Errorf("the timeout is %s, want %s", task.Timeout, tc.want)
			}
		})
	}
}

func TestTasksAndRequirements(t *testing.T) {
	rotate, disabled := &v1alpha1.RotateTaskSpec{}, v1alpha1.BaseTaskSpec{Disabled: new(true)}
	cases := map[string]struct {
		edit func(*v1alpha1.LifecycleSpec)
		want map[string]bool // whether a task requires a drain
	}{
		"migrate and init unless disabled": {
			func(l *v1alpha1.LifecycleSpec) { l.Clone = nil },
			map[string]bool{"preflight": false, "migrate": true, "init": false},
		},
		"clone and rotate where configured": {
			func(l *v1alpha1.LifecycleSpec) { l.Rotate = rotate },
			map[string]bool{"preflight": false, "clone": true, "migrate": true, "rotate": true, "init": false},
		},
		"no disabled task": {func(l *v1alpha1.LifecycleSpec) {
			l.Preflight = &v1alpha1.PreflightSpec{Disabled: new(true)}
			l.Clone.BaseTaskSpec, l.Rotate = disabled, &v1alpha1.RotateTaskSpec{BaseTaskSpec: disabled}
			l.Migrate, l.Init = &v1alpha1.MigrateTaskSpec{BaseTaskSpec: disabled}, &v1alpha1.InitTaskSpec{BaseTaskSpec: disabled}
		}, map[string]bool{}},
		"with other settings": {func(l *v1alpha1.LifecycleSpec) {
			l.Clone, l.Migrate = nil, &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{RequiresDrain: new(false)}}
			l.Init = &v1alpha1.InitTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{RequiresDrain: new(true)}}
		}, map[string]bool{"preflight": false, "migrate": false, "init": true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string]bool{}
			for _, kind := range resolve.TaskKinds() {
				if task := taskOf(kind, func(s *v1alpha1.SupersetSpec) { tc.edit(s.Lifecycle) }); task != nil {
					got[task.Slug] = task.RequiresDrain
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("tasks differ (-want +got):\n%s", diff)
			}
		})
	}
}

// clone returns an edit of a Superset with a valid clone task.
func clone(edit func(*v1alpha1.SupersetSpec)) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) {
		s.Environment = v1alpha1.Staging
		s.Metastore = &v1alpha1.MetastoreSpec{Host: new("h"), Database: new("d"), Username: new("u")}
		s.Lifecycle = &v1alpha1.LifecycleSpec{Clone: &v1alpha1.CloneTaskSpec{Source: v1alpha1.CloneSourceSpec{Host: "s"}}}
		edit(s)
	}
}

func TestW13ContradictionsOfCloneAreReported(t *testing.T) {
	disabled := new(true)
	mysql := v1alpha1.MySQL
	checkContradictions(t, map[string]contradiction{
		"a valid clone": {edit: clone(func(*v1alpha1.SupersetSpec) {})},
		"a clone from another kind of database": {
			edit: clone(func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Clone.Source.Type = &mysql }),
			want: []string{"spec.lifecycle.clone.source.type"},
		},
		"a clone into another kind of database": {
			edit: clone(func(s *v1alpha1.SupersetSpec) { s.Metastore.Type = &mysql }),
			want: []string{"spec.lifecycle.clone.source.type"},
		},
		"a clone with a command of the user": {
			edit: clone(func(s *v1alpha1.SupersetSpec) {
				s.Metastore.Type, s.Lifecycle.Clone.Command = &mysql, []string{"translate"}
			}),
		},
		"a disabled clone": {
			edit: clone(func(s *v1alpha1.SupersetSpec) { s.Metastore, s.Lifecycle.Clone.Disabled = nil, disabled }),
		},
		"a clone while all tasks are disabled": {
			edit: clone(func(s *v1alpha1.SupersetSpec) { s.Metastore, s.Lifecycle.Disabled = nil, disabled }),
		},
		"a clone into an unstructured metastore": {
			edit: clone(func(s *v1alpha1.SupersetSpec) { s.Metastore = &v1alpha1.MetastoreSpec{URI: new("sqlite://")} }),
			want: []string{"spec.lifecycle.clone"},
		},
		"a clone in Production": {
			edit: clone(func(s *v1alpha1.SupersetSpec) { s.Environment = v1alpha1.Production }),
			want: []string{"spec.lifecycle.clone"},
		},
	})
}
