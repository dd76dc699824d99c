package integration

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/gateway"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// TestAPIServerAcceptsGateways checks that the API server accepts the instance of every golden case of package gateway and every
// object rendered from it, that a second apply changes nothing, and that pods start.
func TestAPIServerAcceptsGateways(t *testing.T) {
	cases, err := filepath.Glob("../internal/gateway/testdata/*/instance.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			i := &v1alpha1.FireboltInstance{}
			if err := yaml.UnmarshalStrict(raw, i); err != nil {
				t.Fatal(err)
			}
			cl := apiServer(t)
			i.Namespace = cluster.Get(t).Namespace(t)
			if err := cl.Create(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			o := renderGateway(t, i)
			if own := o.Deployment.Spec.Template.Spec.ServiceAccountName; own != o.ServiceAccount.Name {
				account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: own, Namespace: i.Namespace}}
				if err := cl.Create(t.Context(), account); err != nil {
					t.Fatal(err)
				}
			}
			applyGatewayTwice(t, cl, i)
			want := *o.Deployment.Spec.Replicas
			expect.Object(t, cl, o.Deployment, func(d *appsv1.Deployment) error {
				if d.Status.Replicas != want {
					return fmt.Errorf("%d pods were made, want %d: %v", d.Status.Replicas, want, d.Status.Conditions)
				}
				return nil
			})
		})
	}
}

func renderGateway(t *testing.T, i *v1alpha1.FireboltInstance) gateway.Objects {
	t.Helper()
	o, err := gateway.Render(i, "envoyproxy/envoy:v1", gateway.EffectiveReplicas(i), netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// applyGatewayTwice applies the objects of a gateway by two processes: the second lacks the cached responses of the first.
func applyGatewayTwice(t *testing.T, cl client.Client, i *v1alpha1.FireboltInstance) {
	t.Helper()
	list := func() []client.Object {
		o := renderGateway(t, i)
		return []client.Object{o.ServiceAccount, o.Config, o.Service, o.Deployment, o.Budget}
	}
	for _, object := range list() {
		if outcome, err := apply.New(cl, names.FieldManager).Object(t.Context(), i, object, nil); err != nil || outcome != apply.Created {
			t.Fatalf("%T: %v %v", object, outcome, err)
		}
	}
	second := apply.New(cl, names.FieldManager)
	for _, object := range list() {
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
}
