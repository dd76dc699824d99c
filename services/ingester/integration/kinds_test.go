package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// TestKindsHaveControllers: an earlier ingester watched an empty list of kinds without an error.
func TestKindsHaveControllers(t *testing.T) {
	b := newEnv(t)
	var mu sync.Mutex
	registered := map[string]bool{}
	b.log = funcr.New(func(_, text string) {
		mu.Lock()
		defer mu.Unlock()
		if _, kind, ok := strings.Cut(text, `"Ingester controller registered successfully" "kind"=`); ok {
			registered[strings.Trim(kind, `"`)] = true
		}
	}, funcr.Options{})
	b.start()()
	mu.Lock()
	defer mu.Unlock()
	for _, kind := range api.Kinds() {
		if !registered[kind] {
			t.Errorf("%s has no controller", kind)
		}
	}
	if want := len(api.Kinds()); len(registered) != want {
		t.Errorf("%d kinds have a controller, want %d", len(registered), want)
	}
}

// TestKindsLifecycle creates, changes and deletes the samples of all kinds, with the strict
// validation of kubectl.
func TestKindsLifecycle(t *testing.T) {
	b := newEnv(t)
	b.start()
	strict := client.NewNamespacedClient(client.WithFieldValidation(b.client, "Strict"), b.namespace)
	objects, seen := b.samples(), map[string]bool{}
	for _, u := range objects {
		seen[u.GetKind()] = true
		if err := strict.Create(t.Context(), u); err != nil {
			t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
		}
		b.stored(b.finalizer(u))
		b.patch(u, `{"metadata":{"labels":{"stage":"prod"}}}`)
		b.stored(u)
		b.delete(u)
	}
	for _, u := range objects {
		b.expectDeleted(u)
		b.row(u, "closed", "SELECT IF(delete_time IS NULL, 'live', 'closed') FROM "+strings.ToLower(u.GetKind())+" WHERE uid = ?")
		b.events(u, "created", "updated", "deleted")
	}
	if len(seen) != len(api.Kinds()) {
		t.Errorf("there are samples of %d kinds, want %d", len(seen), len(api.Kinds()))
	}
}

// TestOtherKindsAreStoredWithoutCRDOfModel: Model is the first kind.
func TestOtherKindsAreStoredWithoutCRDOfModel(t *testing.T) {
	crds, err := filepath.Glob("../config/crd/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crds = slices.DeleteFunc(crds, func(file string) bool { return strings.HasSuffix(file, "_models.yaml") })
	b := newEnvIn(t, cluster.Private(t, cluster.Options{CRDs: crds}), mysqltest.DSN(t))
	if err := b.client.List(t.Context(), newList("Model")); !meta.IsNoMatchError(err) {
		t.Fatalf("list Models: %v, want that the cluster does not serve them", err)
	}
	b.start()
	b.stored(b.finalizer(b.create(b.object("Project", "served"))))
}

// newList returns an empty list of a kind.
func newList(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(api.GroupVersion)
	list.SetKind(kind + "List")
	return list
}

// samples reads config/samples for the namespace of the test.
func (b *env) samples() []*unstructured.Unstructured {
	b.Helper()
	files, err := filepath.Glob("../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		b.Fatalf("samples: %v, %v", files, err)
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, u); err != nil {
			b.Fatalf("%s: %v", file, err)
		}
		if u.GetNamespace() != "default" {
			b.Errorf("%s is not in the namespace default", file)
		}
		if kind, _, _ := strings.Cut(filepath.Base(file), "_"); kind != strings.ToLower(u.GetKind()) {
			b.Errorf("%s holds a %s", file, u.GetKind())
		}
		u.SetNamespace(b.namespace)
		out = append(out, u)
	}
	return out
}

// TestSparkJobWithoutPodResourcesIsStored: such a job caused a panic in an earlier business controller
// in the process of the ingester.
func TestSparkJobWithoutPodResourcesIsStored(t *testing.T) {
	b := newEnv(t)
	b.start()
	job := b.object("SparkJob", "bare")
	job.Object["spec"] = map[string]any{"driver": map[string]any{"pod": map[string]any{"name": "driver"}}, "executor": map[string]any{}}
	b.stored(b.finalizer(b.create(job)))
}
