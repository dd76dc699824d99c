package superset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// monitorDefinition brings ServiceMonitor. What the cluster of the package has, it
// has for all tests, so these definitions are only in clusters of their own.
const monitorDefinition = "testdata/servicemonitor-crd.yaml"

// routeDefinition is the file that brings HTTPRoute, as Gateway API publishes it.
func routeDefinition(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatalf("find the module of Gateway API (go mod download gets it): %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "standard", "gateway.networking.k8s.io_httproutes.yaml")
}

// definitions applies or deletes a file, as a person would.
func definitions(t *testing.T, c *cluster.Cluster, verb, file string) {
	t.Helper()
	args := []string{"--kubeconfig", c.Kubeconfig, verb, "-f", file}
	if verb == "apply" {
		args = append(args, "--server-side")
	}
	if out, err := exec.CommandContext(t.Context(), c.Tools.Path("kubectl"), args...).CombinedOutput(); err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
}

// withGateway asks for an HTTPRoute.
func withGateway(host gatewayv1.Hostname) func(*v1alpha1.Superset) {
	return func(s *v1alpha1.Superset) {
		s.Spec.Networking = &v1alpha1.NetworkingSpec{Gateway: &v1alpha1.GatewaySpec{
			GatewayRef: gatewayv1.ParentReference{Name: "public"}, Hostnames: []gatewayv1.Hostname{host},
		}}
	}
}

// withMonitor asks for a ServiceMonitor.
func withMonitor(s *v1alpha1.Superset) {
	s.Spec.Monitoring = &v1alpha1.MonitoringSpec{ServiceMonitor: &v1alpha1.ServiceMonitorSpec{}}
}

func (b *bed) untyped(apiVersion, kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(b.namespace)
	u.SetName("development")
	return u
}

func (b *bed) route() *unstructured.Unstructured {
	return b.untyped("gateway.networking.k8s.io/v1", "HTTPRoute")
}

func (b *bed) monitor() *unstructured.Unstructured {
	return b.untyped("monitoring.coreos.com/v1", "ServiceMonitor")
}

// gone waits until an object of an optional kind does not exist, or its kind does not.
func (b *bed) gone(u *unstructured.Unstructured) {
	b.t.Helper()
	expect.Eventually(b.t, long, func() error {
		err := b.client.Get(b.t.Context(), client.ObjectKeyFromObject(u), u)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil
		}
		return fmt.Errorf("%s is there: %w", u.GetKind(), err)
	})
}

func servesHost(host string) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		hosts, _, err := unstructured.NestedStringSlice(u.Object, "spec", "hostnames")
		if err != nil || len(hosts) != 1 || hosts[0] != host {
			return fmt.Errorf("hostnames %v, %w", hosts, err)
		}
		return nil
	}
}

func exists(*unstructured.Unstructured) error { return nil }

// warned waits until the Superset was told, so many times for each kind, that the cluster lacks it.
func (b *bed) warned(want map[string]int) {
	b.t.Helper()
	expect.Eventually(b.t, long, func() error {
		if diff := cmp.Diff(want, b.warnings()); diff != "" {
			return fmt.Errorf("warnings differ (-want +got):\n%s", diff)
		}
		return nil
	})
}

func (b *bed) warnings() map[string]int {
	b.t.Helper()
	var list eventsv1.EventList
	if err := b.client.List(b.t.Context(), &list, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	got := map[string]int{}
	for _, e := range list.Items {
		if e.Reason != "OptionalKindMissing" || e.Related == nil {
			continue
		}
		got[e.Related.Kind]++
		if e.Series != nil {
			got[e.Related.Kind] += int(e.Series.Count) - 1
		}
	}
	return got
}

func TestW23WithoutTheDefinitionsEverythingElseWorks(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	sup := b.create(b.sample("development.yaml", withGateway("bi.example.org"), withMonitor, func(s *v1alpha1.Superset) {
		s.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{}
	}))
	b.becomes(sup, phase(v1alpha1.PhaseRunning))
	expect.Condition(t, b.client, sup, "Available", metav1.ConditionTrue)
	b.policies("development-web-server-netpol")
	b.warned(map[string]int{"HTTPRoute": 1, "ServiceMonitor": 1})
	b.rests(sup)

	b.edit(sup, withGateway("other.example.org"))
	b.becomes(sup, phase(v1alpha1.PhaseRunning))
	b.warned(map[string]int{"HTTPRoute": 2, "ServiceMonitor": 2})
	b.edit(sup, withIngress("bi.example.org"))
	expect.Object(t, b.client, b.ingress(), routesTo("bi.example.org"))
	b.warned(map[string]int{"HTTPRoute": 2, "ServiceMonitor": 3})
	b.rests(sup)
	if n := b.requests.matching(`httproutes|servicemonitors`); n > 0 {
		t.Errorf("%d requests for kinds that are not served", n)
	}
}

func TestW23DefinitionsComeAndGoWithoutARestart(t *testing.T) {
	t.Parallel()
	c := cluster.Private(t, cluster.Options{CRDs: []string{crds}})
	b := start(t, options{cluster: c})
	sup := b.create(b.sample("development.yaml", withGateway("bi.example.org"), withMonitor))
	b.becomes(sup, phase(v1alpha1.PhaseRunning))
	b.warned(map[string]int{"HTTPRoute": 1, "ServiceMonitor": 1})

	definitions(t, c, "apply", routeDefinition(t))
	route := b.route()
	expect.Object(t, b.client, route, servesHost("bi.example.org"))
	if !metav1.IsControlledBy(route, sup) {
		t.Errorf("owner %v", route.GetOwnerReferences())
	}
	definitions(t, c, "apply", monitorDefinition)
	expect.Object(t, b.client, b.monitor(), exists)
	b.rests(sup)

	// They are watched like everything else.
	if err := b.client.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, b.client, b.route(), servesHost("bi.example.org"))
	b.edit(sup, withGateway("other.example.org"))
	expect.Object(t, b.client, b.route(), servesHost("other.example.org"))
	b.rests(sup)

	definitions(t, c, "delete", routeDefinition(t))
	b.warned(map[string]int{"HTTPRoute": 2, "ServiceMonitor": 1})
	b.edit(sup, func(s *v1alpha1.Superset) { s.Spec.WebServer.Replicas = ptr(int32(3)) })
	b.becomes(sup, func(s *v1alpha1.Superset) error {
		if s.Status.Ready != "3/3" {
			return fmt.Errorf("ready %s", s.Status.Ready)
		}
		return nil
	})
	b.becomes(sup, phase(v1alpha1.PhaseRunning))
	b.rests(sup)

	definitions(t, c, "apply", routeDefinition(t))
	expect.Object(t, b.client, b.route(), servesHost("other.example.org"))
	b.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Monitoring = nil })
	b.gone(b.monitor())
	b.rests(sup)
}

func TestNetworkingIsSwitchedBetweenIngressAndGateway(t *testing.T) {
	t.Parallel()
	c := cluster.Private(t, cluster.Options{CRDs: []string{crds, routeDefinition(t)}})
	failed := &atomic.Bool{}
	b := start(t, options{cluster: c, wrap: func(c client.Client) client.Client { return vanishing{c, failed} }})
	sup := b.create(b.sample("development.yaml", withIngress("bi.example.org")))
	b.becomes(sup, phase(v1alpha1.PhaseRunning))
	expect.Object(t, b.client, b.ingress(), routesTo("bi.example.org"))

	b.edit(sup, withGateway("bi.example.org"))
	expect.Object(t, b.client, b.route(), servesHost("bi.example.org"))
	expect.Gone(t, b.client, b.ingress())
	b.rests(sup)
	b.reconciler = b.process(nil) // reads nothing of optional kinds, and must leave them alone
	b.rests(sup)
	expect.Object(t, b.client, b.route(), servesHost("bi.example.org"))

	b.edit(sup, withIngress("bi.example.org"))
	expect.Object(t, b.client, b.ingress(), routesTo("bi.example.org"))
	b.gone(b.route())
	b.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Networking = nil })
	expect.Gone(t, b.client, &networkingv1.Ingress{ObjectMeta: b.ingress().ObjectMeta})
	for kind, want := range map[string]int{"ingresses": 2, "httproutes": 1} {
		if n := b.requests.matching(`^DELETE .*/` + kind + `/`); n != want {
			t.Errorf("%d requests to delete %s, want %d", n, kind, want)
		}
	}
	if got := b.warnings(); len(got) > 0 {
		t.Errorf("warned of a kind that is there: %v", got)
	}
	var list eventsv1.EventList
	if err := b.client.List(t.Context(), &list, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == "ReconcileError" {
			t.Errorf("a definition that was away for a moment is an error: %s", e.Note)
		}
	}
	if !failed.Load() {
		t.Error("no apply met a definition that was away")
	}
}

// vanishing answers the first apply of an HTTPRoute as an API server does whose
// definition has just gone.
type vanishing struct {
	client.Client
	failed *atomic.Bool
}

func (v vanishing) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	raw, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	if bytes.Contains(raw, []byte(`"kind":"HTTPRoute"`)) && !v.failed.Swap(true) {
		return apierrors.NewMethodNotSupported(schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}, "patch")
	}
	return v.Client.Apply(ctx, obj, opts...)
}
