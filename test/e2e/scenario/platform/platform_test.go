package platform

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestManifestsAreValidYAML(t *testing.T) {
	for name, values := range map[string][]string{
		"engine.yaml":          {"${REPLICAS}", "2"},
		"superset-clone.yaml":  {"${NAME}", "a", "${TYPE}", "MySQL", "${HOST}", "mysql", "${USER}", "root"},
		"superset-repair.yaml": nil,
	} {
		filled, err := Manifest(name, values...)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(filled, "${") {
			t.Errorf("%s: a placeholder has no value", name)
		}
		for document := range strings.SplitSeq(filled, "\n---\n") {
			var o map[string]any
			if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, document)
			}
		}
	}
}

func TestIsTrueIgnoresOldGeneration(t *testing.T) {
	available := map[string]any{"type": "Available", "status": "True", "observedGeneration": int64(2)}
	if err := IsTrue(object(2, available), "Available"); err != nil {
		t.Error(err)
	}
	if IsTrue(object(3, available), "Available") == nil {
		t.Error("the condition of generation 2 counts for generation 3")
	}
	if IsTrue(object(2, available), "Ready") == nil {
		t.Error("an absent condition counts")
	}
}

func TestLooseReportsUnhardenedContainers(t *testing.T) {
	pod := func(spec string) *corev1.Pod {
		o := &corev1.Pod{}
		if err := yaml.UnmarshalStrict([]byte("spec: "+spec), o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	tight := `{securityContext: {runAsNonRoot: true}, containers: [{name: a, securityContext: {readOnlyRootFilesystem: true}}]}`
	if n, err := loose(pod(tight)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for name, spec := range map[string]string{
		"root":                  `{containers: [{name: a, securityContext: {readOnlyRootFilesystem: true}}]}`,
		"a writable root":       `{securityContext: {runAsNonRoot: true}, containers: [{name: a}]}`,
		"root by the container": `{securityContext: {runAsNonRoot: true}, containers: [{name: a, securityContext: {runAsNonRoot: false, readOnlyRootFilesystem: true}}]}`,
		"an init container":     `{securityContext: {runAsNonRoot: true}, containers: [], initContainers: [{name: a}]}`,
	} {
		if _, err := loose(pod(spec)); err == nil {
			t.Errorf("%s is not reported", name)
		}
	}
}

func object(generation int64, condition map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generation": generation},
		"status":   map[string]any{"conditions": []any{condition}},
	}}
}
