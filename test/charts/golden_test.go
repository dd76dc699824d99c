package charts

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestGolden compares the rendered charts with golden files. Write an intended change with -update, and add a line to the
// CHANGELOG of the service if it restarts pods.
func TestGolden(t *testing.T) {
	each(t, func(t *testing.T, service, caseName, values string) {
		t.Helper()
		got := render(t, service, "--values", values)
		equalsGolden(t, service+"."+caseName, got)
	})
}

// equalsGolden compares a render with a golden file.
func equalsGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata/golden", name+".yaml")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test . -run Golden -update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: render differs (-want +got):\n%s", file, diff)
	}
}

// An upgrade to a new image changes only the image: no label, no role, no flag.
func TestImageTagChangesNothingElse(t *testing.T) {
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		before := strings.Split(render(t, service, "--values", values, "--set", "image.tag=1.0.0"), "\n")
		after := strings.Split(render(t, service, "--values", values, "--set", "image.tag=2.0.0"), "\n")
		if len(before) != len(after) {
			t.Fatalf("%d lines became %d", len(before), len(after))
		}
		changed := 0
		for i := range before {
			if before[i] == after[i] {
				continue
			}
			changed++
			if strings.ReplaceAll(before[i], "1.0.0", "2.0.0") != after[i] || !strings.Contains(after[i], "image: ") {
				t.Errorf("%q became %q", before[i], after[i])
			}
		}
		if changed == 0 {
			t.Error("tag not found")
		}
	})
}

// Without leader election the old pod ends before the new one starts, so that two never write at once.
func TestPodIsRecreatedWithoutLeaderElection(t *testing.T) {
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		for elect, want := range map[string]any{"true": nil, "false": map[string]any{"type": "Recreate", "rollingUpdate": nil}} {
			args := []string{"--values", values, "--set", "replicas=1,leaderElection.enabled=" + elect}
			if service == "engine-operator" && elect == "false" { // certificates of its own require an election
				args = append(args, "--set", "webhooks.enabled=false")
			}
			deployment := find(t, documents(t, render(t, service, args...)), "Deployment", service)
			got, _, err := unstructured.NestedFieldNoCopy(deployment.Object, "spec", "strategy")
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("leaderElection.enabled=%s: strategy %v, %v, want %v", elect, got, err, want)
			}
		}
	})
}

// Pod labels contain neither the version of the chart nor other values that a release changes,
// so a new chart with the same image does not restart pods.
func TestChartVersionRestartsNothing(t *testing.T) {
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		packed := pack(t, service, "--version", "9.9.9")
		before := find(t, documents(t, render(t, service, "--values", values)), "Deployment", service)
		after := find(t, documents(t, template(t, service, packed, "--values", values)), "Deployment", service)
		if before.GetLabels()["helm.sh/chart"] == after.GetLabels()["helm.sh/chart"] {
			t.Fatal("the package has the same version")
		}
		if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" {
			t.Errorf("the Deployment changes (-before +after):\n%s", diff)
		}
	})
}

// The CRDs of the charts equal those of the services, with one additional annotation.
func TestChartCRDsMatchServices(t *testing.T) {
	for _, service := range services {
		sources, err := filepath.Glob(filepath.Join("../../services", service, "config/crd/*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if len(sources) == 0 {
			continue
		}
		t.Run(service, func(t *testing.T) {
			for keep, want := range map[string]string{"true": "keep", "false": ""} {
				docs := documents(t, render(t, service+"-crds", "--set", "keep="+keep))
				if len(docs) != len(sources) {
					t.Fatalf("got %d CRDs, want %d", len(docs), len(sources))
				}
				for _, source := range sources {
					raw, err := os.ReadFile(source)
					if err != nil {
						t.Fatal(err)
					}
					original := documents(t, string(raw))[0]
					got := find(t, docs, "CustomResourceDefinition", original.GetName())
					annotations := got.GetAnnotations()
					if annotations["helm.sh/resource-policy"] != want {
						t.Errorf("keep=%s: annotations %v", keep, annotations)
					}
					delete(annotations, "helm.sh/resource-policy")
					if len(annotations) == 0 {
						annotations = nil
					}
					got.SetAnnotations(annotations)
					if !reflect.DeepEqual(original.Object, got.Object) { // cmp takes seconds for the largest
						t.Errorf("%s (-source +chart):\n%s", original.GetName(), cmp.Diff(original.Object, got.Object))
					}
				}
			}
		})
	}
}
