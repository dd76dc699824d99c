package superset_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestSamplesReachRunning creates each sample with strict field validation, and lets the operator run it on simulated
// pods.
func TestSamplesReachRunning(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(samples, "*.yaml"))
	if err != nil || len(paths) < 4 {
		t.Fatalf("samples: %v, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			e := start(t, options{})
			for _, obj := range documents(t, path) {
				obj.SetNamespace(e.namespace)
				if err := client.WithFieldValidation(e.client, "Strict").Create(t.Context(), obj); err != nil {
					t.Fatal(err)
				}
				if obj.GetKind() != v1alpha1.Kind {
					continue
				}
				sup := &v1alpha1.Superset{}
				sup.Namespace, sup.Name = e.namespace, obj.GetName()
				e.waitFor(sup, phase(v1alpha1.PhaseRunning))
			}
		})
	}
}

// documents reads the objects of a file.
func documents(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for doc := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &obj.Object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, obj)
	}
	return out
}
