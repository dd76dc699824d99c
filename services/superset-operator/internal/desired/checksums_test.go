package desired_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
)

// effect is the set of checksums that an edit changes.
type effect struct{ migrate, init, web, worker bool }

func TestEditChangesAffectedChecksumsOnly(t *testing.T) {
	cases := map[string]struct {
		edit func(*v1alpha1.SupersetSpec)
		want effect
	}{
		"no edit changes nothing": {edit: func(*v1alpha1.SupersetSpec) {}},
		"another image runs all tasks again": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Image.Tag = "5.0.1" },
			want: effect{migrate: true, init: true},
		},
		"another repository of the same version too": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Image.Repository = "mirror.example/superset" },
			want: effect{migrate: true, init: true},
		},
		"shared Python runs init again and rolls all components": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Config = new("ROW_LIMIT = 1\n") },
			want: effect{init: true, web: true, worker: true},
		},
		"a component's Python rolls that component only": {
			edit: func(s *v1alpha1.SupersetSpec) { s.WebServer.Config = new("WEB_ONLY = False\n") },
			want: effect{web: true},
		},
		"tuning the web server does not affect the worker": {
			edit: func(s *v1alpha1.SupersetSpec) { s.WebServer.Gunicorn.Workers = new(int32(9)) },
			want: effect{web: true},
		},
		"a feature flag affects everything": {
			edit: func(s *v1alpha1.SupersetSpec) { s.FeatureFlags = map[string]bool{"A": true} },
			want: effect{init: true, web: true, worker: true},
		},
		"a trigger runs its task and those after it": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Migrate.Trigger = "again" },
			want: effect{migrate: true, init: true},
		},
		"a trigger of the last task runs that one": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Init.Trigger = "again" },
			want: effect{init: true},
		},
		"resources of tasks run no task again": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Lifecycle.PodTemplate.Container.Resources = nil },
		},
		"replicas run no task again": {
			edit: func(s *v1alpha1.SupersetSpec) { s.WebServer.Replicas = new(int32(7)) },
		},
		"timeouts and retries run no task again": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Migrate.MaxRetries = new(int32(9)) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := sums(t, func(*v1alpha1.SupersetSpec) {})
			after := sums(t, tc.edit)
			got := effect{
				migrate: before["migrate"] != after["migrate"], init: before["init"] != after["init"],
				web: before["web-server"] != after["web-server"], worker: before["celery-worker"] != after["celery-worker"],
			}
			if got != tc.want {
				t.Errorf("want %+v, got %+v", tc.want, got)
			}
		})
	}
}

func sums(t *testing.T, edit func(*v1alpha1.SupersetSpec)) map[string]string {
	t.Helper()
	sup := load(t, "testdata/production/superset.yaml")
	edit(&sup.Spec)
	state, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range state.Components {
		out[c.Slug] = c.Checksum
	}
	for _, task := range state.Tasks {
		out[task.Slug] = task.Checksum
	}
	return out
}

func TestRecreatedSupersetHasOwnTaskChecksums(t *testing.T) {
	sup := load(t, "testdata/production/superset.yaml")
	first, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	sup.UID = "another"
	second, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	if first.Tasks[0].Checksum == second.Tasks[0].Checksum {
		t.Error("a re-created Superset would skip its tasks")
	}
}
