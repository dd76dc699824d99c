package superset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// monitorCRD is the file of the CRD of ServiceMonitor. The cluster of the package serves no optional kinds.
const monitorCRD = "testdata/servicemonitor-crd.yaml"

// routeCRD returns the file of the CRD of HTTPRoute, as Gateway API publishes it.
func routeCRD(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatalf("find the module of Gateway API (go mod download gets it): %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "standard", "gateway.networking.k8s.io_httproutes.yaml")
}

// crds applies or deletes a file with kubectl.
func crds(t *testing.T, c *cluster.Cluster, verb, file string) {
	t.Helper()
	args := []string{"--kubeconfig", c.Kubeconfig, verb, "-f", file}
	if verb == "apply" {
		args = append(args, "--server-side")
	}
	if out, err := exec.CommandContext(t.Context(), c.Tools.Path("kubectl"), args...).CombinedOutput(); err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
}

// withGateway requests an HTTPRoute.
func withGateway(host gatewayv1.Hostname) func(*v1alpha1.Superset) {
	return func(s *v1alpha1.Superset) {
		s.Spec.Networking = &v1alpha1.NetworkingSpec{Gateway: &v1alpha1.GatewaySpec{
			GatewayRef: gatewayv1.ParentReference{Name: "public"}, Hostnames: []gatewayv1.Hostname{host},
		}}
	}
}

// withMonitor requests a ServiceMonitor.
func withMonitor(s *v1alpha1.Superset) {
	s.Spec.Monitoring = &v1alpha1.MonitoringSpec{ServiceMonitor: &v1alpha1.ServiceMonitorSpec{}}
}

func (e *env) unstructuredObject(apiVersion, kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(e.namespace)
	u.SetName("development")
	return u
}

func (e *env) route() *unstructured.Unstructured {
	return e.unstructuredObject("gateway.networking.k8s.io/v1", "HTTPRoute")
}

func (e *env) monitor() *unstructured.Unstructured {
	return e.unstructuredObject("monitoring.coreos.com/v1", "ServiceMonitor")
}

// waitAbsent waits until an object of an optional kind, or the kind itself, does not exist.
func (e *env) waitAbsent(u *unstructured.Unstructured) {
	e.t.Helper()
	expect.Eventually(e.t, timeout, func() error {
		err := e.client.Get(e.t.Context(), client.ObjectKeyFromObject(u), u)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil
		}
		return fmt.Errorf("%s exists: %w", u.GetKind(), err)
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

// waitWarnings waits until the Superset has the wanted number of events for each kind that the cluster lacks.
func (e *env) waitWarnings(want map[string]int) {
	e.t.Helper()
	expect.Eventually(e.t, timeout, func() error {
		if diff := cmp.Diff(want, e.warnings()); diff != "" {
			return fmt.Errorf("warnings differ (-want +got):\n%s", diff)
		}
		return nil
	})
}

func (e *env) warnings() map[string]int {
	e.t.Helper()
	var list eventsv1.EventList
	if err := e.client.List(e.t.Context(), &list, client.InNamespace(e.namespace)); err != nil {
		e.t.Fatal(err)
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

func TestW23MissingCRDsBlockNothingElse(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml", withGateway("bi.example.org"), withMonitor, func(s *v1alpha1.Superset) {
		s.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{}
	}))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	expect.Condition(t, e.client, sup, "Available", metav1.ConditionTrue)
	e.policies("development-web-server-netpol")
	e.waitWarnings(map[string]int{"HTTPRoute": 1, "ServiceMonitor": 1})
	e.waitIdle(sup)

	e.edit(sup, withGateway("other.example.org"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	e.waitWarnings(map[string]int{"HTTPRoute": 2, "ServiceMonitor": 2})
	e.edit(sup, withIngress("bi.example.org"))
	expect.Object(t, e.client, e.ingress(), routesTo("bi.example.org"))
	e.waitWarnings(map[string]int{"HTTPRoute": 2, "ServiceMonitor": 3})
	e.waitIdle(sup)
	e.edit(sup, withGateway("bi.example.org"))
	e.waitWarnings(map[string]int{"HTTPRoute": 3, "ServiceMonitor": 4})
	e.waitIdle(sup)
	expect.Object(t, e.client, e.ingress(), routesTo("bi.example.org")) // it serves until the cluster has routes
	if n := e.requests.matching(`httproutes|servicemonitors`); n > 0 {
		t.Errorf("%d requests for kinds that are not served", n)
	}
}

func TestW23CRDsAreAddedAndRemovedWithoutRestart(t *testing.T) {
	t.Parallel()
	c := cluster.Private(t, cluster.Options{CRDs: []string{crdDir}})
	e := start(t, options{cluster: c})
	sup := e.create(e.sample("development.yaml", withGateway("bi.example.org"), withMonitor))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	e.waitWarnings(map[string]int{"HTTPRoute": 1, "ServiceMonitor": 1})

	crds(t, c, "apply", routeCRD(t))
	route := e.route()
	expect.Object(t, e.client, route, servesHost("bi.example.org"))
	if !metav1.IsControlledBy(route, sup) {
		t.Errorf("owner %v", route.GetOwnerReferences())
	}
	crds(t, c, "apply", monitorCRD)
	expect.Object(t, e.client, e.monitor(), exists)
	e.waitIdle(sup)

	// Optional kinds are watched like all others.
	if err := e.client.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, e.client, e.route(), servesHost("bi.example.org"))
	e.edit(sup, withGateway("other.example.org"))
	expect.Object(t, e.client, e.route(), servesHost("other.example.org"))
	e.waitIdle(sup)

	crds(t, c, "delete", routeCRD(t))
	e.waitWarnings(map[string]int{"HTTPRoute": 2, "ServiceMonitor": 1})
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.WebServer.Replicas = new(int32(3)) })
	e.waitFor(sup, func(s *v1alpha1.Superset) error {
		if s.Status.Ready != "3/3" {
			return fmt.Errorf("ready %s", s.Status.Ready)
		}
		return nil
	})
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	e.waitIdle(sup)

	crds(t, c, "apply", routeCRD(t))
	expect.Object(t, e.client, e.route(), servesHost("other.example.org"))
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Monitoring = nil })
	e.waitAbsent(e.monitor())
	e.waitIdle(sup)
}

// TestOptionalKindsAreServed runs the tests that require all optional kinds in one cluster.
func TestOptionalKindsAreServed(t *testing.T) {
	t.Parallel()
	c := cluster.Private(t, cluster.Options{CRDs: []string{crdDir, routeCRD(t), monitorCRD}})
	for name, test := range map[string]func(*testing.T, *cluster.Cluster){
		"rendered objects are accepted":                   renderedObjectsAreAccepted,
		"networking switches between Ingress and Gateway": networkingSwitchesBetweenIngressAndGateway,
		"foreign objects are reported and kept":           foreignObjectsAreReportedAndKept,
		"foreign objects stay unchanged":                  foreignObjectsStayUnchanged,
		"a kind that the role lacks is reported":          kindWithoutPermissionIsReported,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

func networkingSwitchesBetweenIngressAndGateway(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	failed := &atomic.Bool{}
	e := start(t, options{cluster: c, wrap: func(c client.Client) client.Client { return missingCRDClient{c, failed} }})
	sup := e.create(e.sample("development.yaml", withIngress("bi.example.org")))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	expect.Object(t, e.client, e.ingress(), routesTo("bi.example.org"))

	e.edit(sup, withGateway("bi.example.org"))
	expect.Object(t, e.client, e.route(), servesHost("bi.example.org"))
	expect.Deleted(t, e.client, e.ingress())
	requests := e.requests.list()
	created := slices.IndexFunc(requests, regexp.MustCompile(`^(POST|PATCH) .*/httproutes`).MatchString)
	if deleted := slices.IndexFunc(requests, regexp.MustCompile(`^DELETE .*/ingresses/`).MatchString); created < 0 || deleted < created {
		t.Errorf("request %d deletes the Ingress, request %d creates the HTTPRoute", deleted, created)
	}
	e.waitIdle(sup)
	e.reconciler = e.process(nil) // does not read optional kinds, and must not change their objects
	e.waitIdle(sup)
	expect.Object(t, e.client, e.route(), servesHost("bi.example.org"))

	e.edit(sup, withIngress("bi.example.org"))
	expect.Object(t, e.client, e.ingress(), routesTo("bi.example.org"))
	e.waitAbsent(e.route())
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Networking = nil })
	expect.Deleted(t, e.client, &networkingv1.Ingress{ObjectMeta: e.ingress().ObjectMeta})
	for kind, want := range map[string]int{"ingresses": 2, "httproutes": 1} {
		if n := e.requests.matching(`^DELETE .*/` + kind + `/`); n != want {
			t.Errorf("%d requests to delete %s, want %d", n, kind, want)
		}
	}
	if got := e.warnings(); len(got) > 0 {
		t.Errorf("a warning for a kind that is served: %v", got)
	}
	var list eventsv1.EventList
	if err := e.client.List(t.Context(), &list, client.InNamespace(e.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == "ReconcileError" {
			t.Errorf("a CRD that was missing briefly is reported as an error: %s", e.Note)
		}
	}
	if !failed.Load() {
		t.Error("no apply failed because of a missing CRD")
	}
}

// missingCRDClient answers the first apply of an HTTPRoute like an API server whose CRD was just deleted.
type missingCRDClient struct {
	client.Client
	failed *atomic.Bool
}

func (v missingCRDClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	raw, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	if bytes.Contains(raw, []byte(`"kind":"HTTPRoute"`)) && !v.failed.Swap(true) {
		return apierrors.NewMethodNotSupported(schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}, "patch")
	}
	return v.Client.Apply(ctx, obj, opts...)
}
