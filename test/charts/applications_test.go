package charts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Each chart has an example Application, whose values render. Those of the CRDs use server-side apply, since a CRD may be
// larger than an annotation.
func TestApplicationsRender(t *testing.T) {
	raw, err := os.ReadFile("../../deploy/argocd/applications.yaml")
	if err != nil {
		t.Fatal(err)
	}
	applications := documents(t, string(raw))
	names := installable(t)
	if len(applications) != len(names) {
		t.Errorf("got %d Applications of %d charts", len(applications), len(names))
	}
	for _, name := range names {
		application := find(t, applications, "Application", name)
		if got, _, err := unstructured.NestedString(application.Object, "spec", "source", "path"); err != nil || got != "deploy/charts/"+name {
			t.Errorf("%s: path %q, %v", name, got, err)
		}
		options, _, err := unstructured.NestedStringSlice(application.Object, "spec", "syncPolicy", "syncOptions")
		if err != nil {
			t.Fatal(err)
		}
		crds := !slices.Contains(services, name)
		if crds && !slices.Contains(options, "ServerSideApply=true") {
			t.Errorf("%s: syncOptions %v", name, options)
		}
		values, _, err := unstructured.NestedMap(application.Object, "spec", "source", "helm", "valuesObject")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "values.yaml")
		writeYAML(t, file, values)
		if text := render(t, name, "--values", file); !crds {
			find(t, documents(t, text), "Deployment", name)
		}
	}
}
