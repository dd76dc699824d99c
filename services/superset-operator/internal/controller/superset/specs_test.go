package superset_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// minimal returns a Superset with a web server, whose tasks finish immediately.
func minimal(edit ...func(*v1alpha1.Superset)) func(*env) *v1alpha1.Superset {
	return func(e *env) *v1alpha1.Superset {
		return e.sample("development.yaml", append([]func(*v1alpha1.Superset){func(s *v1alpha1.Superset) {
			s.Name = "lab"
			s.Spec.WebServer.Replicas = new(int32(1))
		}}, edit...)...)
	}
}

// full returns a Superset with all components and all kinds of objects.
func full(edit ...func(*v1alpha1.Superset)) func(*env) *v1alpha1.Superset {
	return func(e *env) *v1alpha1.Superset {
		sup := parse[v1alpha1.Superset](e.t, "testdata/full.yaml")
		sup.Namespace = e.namespace
		for _, e := range edit {
			e(sup)
		}
		return sup
	}
}

// celery returns the Superset of full with a web server, workers and beat only, for tests that need no other component.
func celery(edit ...func(*v1alpha1.Superset)) func(*env) *v1alpha1.Superset {
	return full(append([]func(*v1alpha1.Superset){func(s *v1alpha1.Superset) {
		s.Spec.CeleryFlower, s.Spec.WebsocketServer, s.Spec.MCPServer = nil, nil, nil
	}}, edit...)...)
}

func parse[T any](t testing.TB, file string) *T {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := yaml.UnmarshalStrict(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// image sets the version of the image.
func image(tag string) func(*v1alpha1.Superset) {
	return func(s *v1alpha1.Superset) { s.Spec.Image.Tag = tag }
}

// tasks sets annotations that control the simulated pods of migrate, rotate and init.
func tasks(annotations map[string]string) func(*v1alpha1.Superset) {
	return func(s *v1alpha1.Superset) {
		if s.Spec.Lifecycle == nil {
			s.Spec.Lifecycle = &v1alpha1.LifecycleSpec{}
		}
		if s.Spec.Lifecycle.PodTemplate == nil {
			s.Spec.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{}
		}
		s.Spec.Lifecycle.PodTemplate.Annotations = annotations
	}
}

// finishAfter returns annotations that set the duration of tasks.
func finishAfter(duration string) map[string]string {
	return map[string]string{controlplane.FinishAfterAnnotation: duration}
}

// failWith returns annotations that let tasks print a text and fail immediately.
func failWith(code, log string) map[string]string {
	return map[string]string{
		controlplane.FinishAfterAnnotation: "50ms", controlplane.ExitCodeAnnotation: code, controlplane.LogAnnotation: log,
	}
}

// disablePreflight disables the preflight, for tests of the other tasks.
func disablePreflight(s *v1alpha1.Superset) {
	s.Spec.Lifecycle.Preflight = &v1alpha1.PreflightSpec{Disabled: new(true)}
}

// withoutPreflight omits the preflight, which changes nothing.
func withoutPreflight(tasks []string) []string {
	return slices.DeleteFunc(tasks, func(task string) bool { return strings.HasPrefix(task, "preflight ") })
}

// annotate sets an annotation of a Superset.
func annotate(key, value string) func(*v1alpha1.Superset) {
	return func(s *v1alpha1.Superset) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[key] = value
		if value == "" {
			delete(s.Annotations, key)
		}
	}
}
