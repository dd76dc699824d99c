package compat

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	engine "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	superset "github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/test/compat/frozen"
)

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{
		"../../services/superset-operator/config/crd", "../../services/engine-operator/config/crd", "../../services/ingester/config/crd",
	}}))
}

// The current CRDs accept objects of the previous release, including their status, without
// warnings and without losing fields.
func TestCRDsAcceptPreviousObjects(t *testing.T) {
	c := cluster.Get(t)
	for _, r := range releases(t) {
		namespace := c.Namespace(t)
		cl := client.WithFieldValidation(c.Client(t, runtime.NewScheme()), "Strict")
		for name, text := range read(t, r, frozen.Objects, "") {
			t.Run(filepath.Base(r.Dir)+"/"+name, func(t *testing.T) {
				was := decode(t, text)
				now := fresh(was, namespace)
				status, has := was.Object["status"]
				if err := cl.Create(context.Background(), now); err != nil {
					t.Fatal(err)
				}
				if has && hasStatus(now.GetKind()) {
					now.Object["status"] = status
					if err := cl.Status().Update(context.Background(), now); err != nil {
						t.Fatal(err)
					}
				}
				for _, what := range removed(plain(t, map[string]any{"spec": was.Object["spec"], "status": status}), plain(t, now.Object), "") {
					t.Errorf("lost %s", what)
				}
			})
		}
	}
}

// hasStatus reports whether the status of a kind is a subresource. Michelangelo kinds have no status subresource.
func hasStatus(kind string) bool {
	switch kind {
	case "Superset", "FireboltEngine", "FireboltEngineClass", "FireboltInstance":
		return true
	}
	return false
}

func decode(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

// fresh returns a copy of the object in another namespace, without fields that the server sets and without finalizers.
func fresh(was *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	now := was.DeepCopy()
	now.SetNamespace(namespace)
	now.SetResourceVersion("")
	now.SetUID("")
	now.SetFinalizers(nil)
	now.SetOwnerReferences(nil)
	return now
}

// The Go types of this release read every field that the previous one wrote.
func TestTypesDecodePreviousObjectsInFull(t *testing.T) {
	readers := map[string]func() any{
		"Superset":            func() any { return &superset.Superset{} },
		"FireboltEngine":      func() any { return &engine.FireboltEngine{} },
		"FireboltEngineClass": func() any { return &engine.FireboltEngineClass{} },
		"FireboltInstance":    func() any { return &engine.FireboltInstance{} },
	}
	seen := map[string]bool{}
	for _, r := range releases(t) {
		for name, text := range read(t, r, frozen.Objects, "") {
			reader, current := readers[decode(t, text).GetKind()]
			if !current {
				continue // the registry of the ingester reads them, by the CRDs that the test above checks
			}
			seen[decode(t, text).GetKind()] = true
			t.Run(filepath.Base(r.Dir)+"/"+name, func(t *testing.T) {
				object := reader()
				if err := yaml.UnmarshalStrict(text, object); err != nil {
					t.Fatal(err)
				}
				raw, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				was := decode(t, text).Object
				for _, what := range removed(plain(t, map[string]any{"spec": was["spec"], "status": was["status"]}), parse(t, raw), "") {
					t.Errorf("lost %s", what)
				}
			})
		}
	}
	if len(seen) != len(readers) {
		t.Errorf("only %v were recorded", seen)
	}
}
