package desired_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}))
}

// TestAPIServerAcceptsRenderedObjects applies the Superset of every golden case and
// every object rendered from it; server-side apply rejects lists with two
// entries of the same key. A second apply changes nothing.
func TestAPIServerAcceptsRenderedObjects(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := filepath.Glob("testdata/*/superset.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	c := cluster.Get(t)
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			cl, sup := c.Client(t, scheme), load(t, path)
			sup.Namespace, sup.UID = c.Namespace(t), ""
			if err := cl.Create(t.Context(), sup); err != nil {
				t.Fatal(err)
			}
			if problems := resolve.Validate(sup); len(problems) > 0 {
				t.Errorf("the API server accepts a spec that Validate rejects: %v", problems)
			}
			applier := apply.New(cl, "test")
			for _, object := range objects(t, sup) {
				if _, err := applier.Object(t.Context(), sup, object, nil); err != nil {
					t.Errorf("%T %s: %v", object, object.GetName(), err)
				}
			}
			for _, object := range objects(t, sup) {
				if _, isJob := object.(*batchv1.Job); isJob {
					// The API server adds labels to a Job's template, which never changes.
					continue
				}
				stored := object.DeepCopyObject().(client.Object)
				if err := cl.Get(t.Context(), client.ObjectKeyFromObject(object), stored); err != nil {
					t.Fatal(err)
				}
				before := stored.GetGeneration()
				if _, err := applier.Object(t.Context(), sup, object, stored); err != nil {
					t.Errorf("%T %s: %v", object, object.GetName(), err)
				}
				if object.GetGeneration() != before {
					t.Errorf("%T %s: applying it again changes it", object, object.GetName())
				}
			}
		})
	}
}

// objects renders everything from the Superset as it is stored.
func objects(t *testing.T, sup *v1alpha1.Superset) []client.Object {
	t.Helper()
	state, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	out := []client.Object{state.ServiceAccount}
	config := func(cm *corev1.ConfigMap) {
		if cm != nil {
			out = append(out, cm)
		}
	}
	for i := range state.Components {
		c := &state.Components[i]
		config(c.ConfigMap)
		out = append(out, c.Deployment)
		if c.Service != nil {
			out = append(out, c.Service)
		}
		if c.HPA != nil {
			out = append(out, c.HPA)
		}
		if c.PDB != nil {
			out = append(out, c.PDB)
		}
	}
	for i := range state.Tasks {
		task := &state.Tasks[i]
		config(task.ConfigMap)
		job, err := render.Job(&task.Task, task.Checksum, 1)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, job)
	}
	return out
}
