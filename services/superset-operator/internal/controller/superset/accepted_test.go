package superset_test

import (
	"os"
	"path/filepath"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// renderedObjectsAreAccepted applies the Superset of every golden case of package desired and every object rendered from it;
// server-side apply rejects lists with two entries of the same key. A second apply changes nothing.
func renderedObjectsAreAccepted(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	cases, err := filepath.Glob("../../desired/testdata/*/superset.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sup := &v1alpha1.Superset{}
			if err := yaml.UnmarshalStrict(raw, sup); err != nil {
				t.Fatal(err)
			}
			cl := c.Client(t, scheme(t))
			sup.Namespace, sup.UID = c.Namespace(t), ""
			if err := cl.Create(t.Context(), sup); err != nil {
				t.Fatal(err)
			}
			if problems := resolve.Validate(sup); len(problems) > 0 {
				t.Errorf("the API server accepts a spec that Validate rejects: %v", problems)
			}
			applyTwice(t, cl, sup)
		})
	}
}

// applyTwice applies the objects that the operator renders for a Superset as it is stored.
func applyTwice(t *testing.T, cl client.Client, sup *v1alpha1.Superset) {
	t.Helper()
	applier := apply.New(cl, "test")
	for _, object := range renderedObjects(t, sup) {
		if _, err := applier.Object(t.Context(), sup, object, nil); err != nil {
			t.Errorf("%T %s: %v", object, object.GetName(), err)
		}
	}
	for _, object := range renderedObjects(t, sup) {
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
}
