package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}))
}

// TestAPIServerAcceptsRenderedObjects checks that the API server accepts the instance of every golden case and every object
// rendered from it, that a second apply changes nothing, and that pods start.
func TestAPIServerAcceptsRenderedObjects(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := cluster.Get(t)
	for dir, i := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			cl := c.Client(t, scheme)
			i.Namespace = c.Namespace(t)
			if err := cl.Create(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			o := render(t, i)
			if own := o.Deployment.Spec.Template.Spec.ServiceAccountName; own != o.ServiceAccount.Name {
				account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: own, Namespace: i.Namespace}}
				if err := cl.Create(t.Context(), account); err != nil {
					t.Fatal(err)
				}
			}
			for _, object := range list(o) {
				if outcome, err := apply.New(cl, names.FieldManager).Object(t.Context(), i, object, nil); err != nil || outcome != apply.Created {
					t.Fatalf("%T: %v %v", object, outcome, err)
				}
			}
			// Another process lacks the cached responses of the first.
			second := apply.New(cl, names.FieldManager)
			for _, object := range list(render(t, i)) {
				stored := object.DeepCopyObject().(client.Object)
				if err := cl.Get(t.Context(), client.ObjectKeyFromObject(object), stored); err != nil {
					t.Fatal(err)
				}
				before := stored.GetGeneration()
				outcome, err := second.Object(t.Context(), i, object, stored)
				if err != nil || outcome != apply.Unchanged || object.GetGeneration() != before {
					t.Errorf("%T: applied again: %v, generation %d after %d, %v", object, outcome, object.GetGeneration(), before, err)
				}
			}
			expect.Object(t, cl, o.Deployment, func(d *appsv1.Deployment) error {
				if d.Status.Replicas != *o.Deployment.Spec.Replicas {
					return fmt.Errorf("%d pods were made: %v", d.Status.Replicas, d.Status.Conditions)
				}
				return nil
			})
		})
	}
}
