package desired_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// preflight returns the preflight of the golden case "staging".
func preflight(t *testing.T, edit func(*v1alpha1.SupersetSpec)) desired.Task {
	t.Helper()
	sup := load(t, "testdata/staging/superset.yaml")
	edit(&sup.Spec)
	state, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	if state.Tasks[0].Slug != "preflight" {
		t.Fatalf("the first task is %s", state.Tasks[0].Slug)
	}
	return state.Tasks[0]
}

func TestPreflightGetsConfigurationOfComponents(t *testing.T) {
	task := preflight(t, func(s *v1alpha1.SupersetSpec) {
		s.WebServer = &v1alpha1.WebServerSpec{Config: new("A = 1\n")}
		s.CeleryWorker = &v1alpha1.CeleryWorkerSpec{Config: new("B = 1\n")}
		s.CeleryWorker.Image = &v1alpha1.ImageOverrideSpec{Tag: new("6.1.0")} // possibly another Python
	})
	got := map[string]string{}
	for key, text := range task.ConfigMap.Data {
		if strings.HasPrefix(key, "spec.") {
			got[key] = text
		}
	}
	if diff := cmp.Diff(map[string]string{"spec.webServer.config": "A = 1\n"}, got); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
}

func TestPreflightChecksumInputs(t *testing.T) {
	ref := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "other"}, Key: "k"}
	cases := map[string]struct {
		edit func(*v1alpha1.SupersetSpec)
		want string // the checksums that change
	}{
		"nothing":           {func(*v1alpha1.SupersetSpec) {}, ""},
		"the image":         {func(s *v1alpha1.SupersetSpec) { s.Image.Tag = "6.1.0" }, "all"},
		"its trigger":       {func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Preflight = &v1alpha1.PreflightSpec{Trigger: "again"} }, "all"},
		"the configuration": {func(s *v1alpha1.SupersetSpec) { s.Config = new("A = 1\n") }, "all settings"},
		"a feature flag":    {func(s *v1alpha1.SupersetSpec) { s.FeatureFlags = map[string]bool{"A": true} }, "all settings"},
		"the bootstrap":     {func(s *v1alpha1.SupersetSpec) { s.BootstrapScript = new("true") }, "all settings"},
		"the metastore":     {func(s *v1alpha1.SupersetSpec) { s.Metastore.Host = new("other") }, "all settings"},
		"its password":      {func(s *v1alpha1.SupersetSpec) { s.Metastore.PasswordFrom = ref }, "all settings"},
		"the broker":        {func(s *v1alpha1.SupersetSpec) { s.Valkey = &v1alpha1.ValkeySpec{Host: "other"} }, "all settings"},
		"the key":           {func(s *v1alpha1.SupersetSpec) { s.SecretKeyFrom = ref }, "all settings keys"},
		"the previous key":  {func(s *v1alpha1.SupersetSpec) { s.PreviousSecretKeyFrom = ref }, "all settings keys"},
		"another rotation":  {func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Rotate.Trigger = "again" }, "all settings keys"},
		"another migration": {func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Migrate.Trigger = "again" }, ""},
		"replicas and pods": {func(s *v1alpha1.SupersetSpec) { s.Replicas, s.PodTemplate = new(int32(9)), nil }, ""},
		"the MCP server":    {func(s *v1alpha1.SupersetSpec) { s.MCPServer = &v1alpha1.MCPServerSpec{} }, "all"},
		"with its own image": {func(s *v1alpha1.SupersetSpec) {
			s.MCPServer = &v1alpha1.MCPServerSpec{ComponentSpec: v1alpha1.ComponentSpec{Image: &v1alpha1.ImageOverrideSpec{Tag: new("6.1.0")}}}
		}, ""},
		"of one component":  {func(s *v1alpha1.SupersetSpec) { s.WebServer = &v1alpha1.WebServerSpec{} }, ""},
		"pods of the tasks": {func(s *v1alpha1.SupersetSpec) { s.Lifecycle.PodTemplate = nil }, ""},
		"settings of init":  {func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Init = nil }, ""},
	}
	before := preflight(t, func(*v1alpha1.SupersetSpec) {})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after, got := preflight(t, tc.edit), ""
			if after.Checksum != before.Checksum {
				got = "all"
			}
			if after.SettingsChecksum != before.SettingsChecksum {
				got += " settings"
			}
			if after.KeysChecksum != before.KeysChecksum {
				got += " keys"
			}
			if got != tc.want {
				t.Errorf("changed %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPreflightKeysChecksumIsPinned pins the checksum of the keys. With another value, installations whose preflight
// checked only the keys would run it again after an update of the operator.
func TestPreflightKeysChecksumIsPinned(t *testing.T) {
	const want = "sha256:4b5cb7dda1026cc0e9aed064da6951ca84e96b637a6895d69aeeb9e2f8902f82"
	if got := preflight(t, func(*v1alpha1.SupersetSpec) {}).KeysChecksum; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPreflightSkipsPermissionOfMigration checks the preflight without migrate: if another system migrates, the
// metastore's user may lack permission to create tables.
func TestPreflightSkipsPermissionOfMigration(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		task := preflight(t, func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Migrate.Disabled = &disabled })
		job, err := render.Job(&task.Task, task.Checksum, 1)
		if err != nil {
			t.Fatal(err)
		}
		env := job.Spec.Template.Spec.Containers[0].Env
		skips := slices.Contains(env, corev1.EnvVar{Name: "SUPERSET_OPERATOR__SKIPS_MIGRATION", Value: "true"})
		if skips != disabled {
			t.Errorf("migrate disabled %t: the preflight skips the permission %t", disabled, skips)
		}
	}
}

// TestPreflightKnowsFollowingTasks checks what the preflight learns about the clone and the migration, which does not
// run it again.
func TestPreflightKnowsFollowingTasks(t *testing.T) {
	cases := map[string]struct {
		complete []string
		edit     func(*v1alpha1.SupersetSpec)
		want     []string
	}{
		"first run":          {nil, func(*v1alpha1.SupersetSpec) {}, []string{"CLONES"}},
		"migration follows":  {[]string{"Clone"}, func(*v1alpha1.SupersetSpec) {}, nil},
		"no clone":           {nil, func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Clone = nil }, nil},
		"both are complete":  {[]string{"Clone", "Migrate"}, func(*v1alpha1.SupersetSpec) {}, []string{"MIGRATED"}},
		"migrate by another": {[]string{"Clone"}, func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Migrate.Disabled = new(true) }, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sup := load(t, "testdata/staging/superset.yaml")
			tc.edit(&sup.Spec)
			base, err := desired.For(desired.Input{Superset: sup})
			if err != nil {
				t.Fatal(err)
			}
			state, err := desired.For(desired.Input{Superset: sup, Completed: func(kind resolve.TaskKind, _ string) bool {
				return slices.Contains(tc.complete, kind.Type)
			}})
			if err != nil {
				t.Fatal(err)
			}
			check := &state.Tasks[0]
			job, err := render.Job(&check.Task, check.Checksum, 1)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, name := range []string{"CLONES", "MIGRATED"} {
				env := corev1.EnvVar{Name: "SUPERSET_OPERATOR__" + name, Value: "true"}
				if slices.Contains(job.Spec.Template.Spec.Containers[0].Env, env) {
					got = append(got, name)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("the preflight gets %v, want %v", got, tc.want)
			}
			if check.Checksum != base.Tasks[0].Checksum {
				t.Error("the preflight runs again")
			}
		})
	}
}

// TestTasksRequireMCPServer checks that each task that checks the image requires the MCP server in it if the MCP
// server runs that image.
func TestTasksRequireMCPServer(t *testing.T) {
	serves := func(s *v1alpha1.SupersetSpec) { s.MCPServer = &v1alpha1.MCPServerSpec{} }
	cases := map[string]struct {
		edit func(*v1alpha1.SupersetSpec)
		want []string
	}{
		"no MCP server": {func(*v1alpha1.SupersetSpec) {}, nil},
		"its image":     {serves, []string{"preflight", "migrate"}},
		"another image": {func(s *v1alpha1.SupersetSpec) {
			serves(s)
			s.MCPServer.Image = &v1alpha1.ImageOverrideSpec{Tag: new("6.1.0")}
		}, nil},
		"no checks": {func(s *v1alpha1.SupersetSpec) {
			serves(s)
			s.Lifecycle.Preflight = &v1alpha1.PreflightSpec{Disabled: new(true)}
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sup := load(t, "testdata/staging/superset.yaml")
			tc.edit(&sup.Spec)
			state, err := desired.For(desired.Input{Superset: sup})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range state.Tasks {
				task := &state.Tasks[i]
				job, err := render.Job(&task.Task, task.Checksum, 1)
				if err != nil {
					t.Fatal(err)
				}
				env := job.Spec.Template.Spec.Containers[0].Env
				if slices.Contains(env, corev1.EnvVar{Name: "SUPERSET_OPERATOR__SERVES_MCP", Value: "true"}) {
					got = append(got, task.Slug)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("tasks that require the MCP server: %v, want %v", got, tc.want)
			}
		})
	}
}
