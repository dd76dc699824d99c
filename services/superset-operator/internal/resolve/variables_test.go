package resolve_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestVariablesReplacingConfigurationAreRejected covers variables with which Superset would silently use another
// file, module or metastore.
func TestVariablesReplacingConfigurationAreRejected(t *testing.T) {
	env := func(name string) *v1alpha1.PodTemplate {
		return &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{Env: []corev1.EnvVar{{Name: name, Value: "x"}}}}
	}
	const uri = "SUPERSET__SQLALCHEMY_DATABASE_URI"
	cases := map[string]struct {
		edit func(*v1alpha1.SupersetSpec)
		want string
	}{
		"another file": {
			func(s *v1alpha1.SupersetSpec) { s.WebServer.PodTemplate = env("SUPERSET_CONFIG_PATH") },
			"spec.webServer.podTemplate.container.env: must not set SUPERSET_CONFIG_PATH",
		},
		"another module of a task": {
			func(s *v1alpha1.SupersetSpec) {
				s.Lifecycle = &v1alpha1.LifecycleSpec{PodTemplate: env("SUPERSET_CONFIG")}
			},
			"spec.lifecycle.podTemplate.container.env: must not set SUPERSET_CONFIG,",
		},
		"another metastore": {
			func(s *v1alpha1.SupersetSpec) {
				s.PodTemplate, s.Metastore = env(uri), &v1alpha1.MetastoreSpec{URI: new("x")}
			},
			"use spec.metastore",
		},
		"the only metastore":  {func(s *v1alpha1.SupersetSpec) { s.PodTemplate = env(uri) }, ""},
		"a harmless variable": {func(s *v1alpha1.SupersetSpec) { s.PodTemplate = env("SUPERSET_ENV") }, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sup := &v1alpha1.Superset{Spec: v1alpha1.SupersetSpec{WebServer: &v1alpha1.WebServerSpec{}}}
			tc.edit(&sup.Spec)
			got := strings.Join(resolve.Validate(sup), "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
