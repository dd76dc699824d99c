package superset_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// withIngress requests an Ingress for one host.
func withIngress(host string) func(*v1alpha1.Superset) {
	return func(s *v1alpha1.Superset) {
		s.Spec.Networking = &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{Host: host}}
	}
}

func (e *env) ingress() *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "development"}}
}

func routesTo(host string) func(*networkingv1.Ingress) error {
	return func(i *networkingv1.Ingress) error {
		if len(i.Spec.Rules) != 1 || i.Spec.Rules[0].Host != host {
			return fmt.Errorf("rules %+v", i.Spec.Rules)
		}
		backend := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		if backend.Name != "development-web-server" || backend.Port.Number != 8088 {
			return fmt.Errorf("backend %+v", backend)
		}
		return nil
	}
}

func TestIngressFollowsSpec(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml", withIngress("one.example.org")))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	ingress := e.ingress()
	expect.Object(t, e.client, ingress, routesTo("one.example.org"))
	if !metav1.IsControlledBy(ingress, sup) || ingress.Labels[v1alpha1.LabelParent] != sup.Name {
		t.Errorf("owner %v, labels %v", ingress.OwnerReferences, ingress.Labels)
	}
	e.waitIdle(sup)
	uid := ingress.UID

	e.edit(sup, withIngress("two.example.org"))
	expect.Object(t, e.client, ingress, routesTo("two.example.org"))
	ingress.Spec.Rules[0].Host = "hijacked.example.org"
	if err := e.client.Update(t.Context(), ingress); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, e.client, ingress, routesTo("two.example.org"))
	if ingress.UID != uid {
		t.Error("the Ingress was recreated")
	}

	if err := e.client.Delete(t.Context(), ingress); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, e.client, e.ingress(), routesTo("two.example.org"))
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Networking = nil })
	expect.Deleted(t, e.client, e.ingress())
	e.waitIdle(sup)
	if n := e.requests.matching(`^DELETE .*/ingresses/.* 200$`); n != 1 {
		t.Errorf("%d requests to delete one Ingress", n)
	}
}

// TestIngressStatusUpdateIsIgnored checks that status updates by an Ingress controller do not trigger reconciles.
func TestIngressStatusUpdateIsIgnored(t *testing.T) {
	t.Parallel()
	reconciles := &atomic.Int64{}
	e := start(t, options{wrap: func(c client.Client) client.Client { return lister{c, reconciles} }})
	sup := e.create(e.sample("development.yaml", withIngress("one.example.org")))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	ingress := e.ingress()
	expect.Object(t, e.client, ingress, routesTo("one.example.org"))
	e.waitIdle(sup)
	// A reconcile for another reason may occur in one window, but not in each of three.
	var extra int64
	for round := range 3 {
		before := int64(-1)
		waitStable(t, func() error {
			last := before
			if before = reconciles.Load(); before != last {
				return fmt.Errorf("still reconciling, %d times so far", before)
			}
			return nil
		})
		ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: fmt.Sprintf("192.0.2.%d", round+1)}}
		if err := e.client.Status().Update(t.Context(), ingress); err != nil {
			t.Fatal(err)
		}
		waitStable(t, func() error { return nil })
		if extra = reconciles.Load() - before; extra == 0 {
			break
		}
	}
	if extra > 0 {
		t.Fatalf("reconciled %d times for the status of an Ingress", extra)
	}
	// The counter works: a change of the spec is counted.
	before := reconciles.Load()
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress); err != nil {
		t.Fatal(err)
	}
	ingress.Spec.Rules[0].Host = "hijacked.example.org"
	if err := e.client.Update(t.Context(), ingress); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, e.client, ingress, routesTo("one.example.org"))
	if reconciles.Load() == before {
		t.Error("no reconcile was counted")
	}
}

// lister counts how often the Ingresses are listed, which each whole reconcile does once.
type lister struct {
	client.Client
	lists *atomic.Int64
}

func (l lister) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*networkingv1.IngressList); ok {
		l.lists.Add(1)
	}
	return l.Client.List(ctx, list, opts...)
}

func TestForeignIngressIsNotAdopted(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	foreign := e.ingress()
	foreign.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: "other", Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
	if err := e.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	sup := e.create(e.sample("development.yaml", withIngress("one.example.org")))
	got := expect.Condition(t, e.client, sup, "Degraded", metav1.ConditionTrue)
	if !strings.Contains(got.Message, "not controlled by the owner") {
		t.Errorf("condition %+v", got)
	}
	if now := get(e, "development", &networkingv1.Ingress{}); now.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the Ingress was changed: %+v", now)
	}
}

// policies lists the names of the Superset's NetworkPolicies.
func (e *env) policies(want ...string) {
	e.t.Helper()
	expect.Eventually(e.t, timeout, func() error {
		var list networkingv1.NetworkPolicyList
		if err := e.client.List(e.t.Context(), &list, client.InNamespace(e.namespace)); err != nil {
			return err
		}
		var got []string
		for i := range list.Items {
			got = append(got, list.Items[i].Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("policies differ (-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestNetworkPoliciesFollowComponents(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml", func(s *v1alpha1.Superset) {
		s.Spec.CeleryWorker = &v1alpha1.CeleryWorkerSpec{}
		port := networkingv1.NetworkPolicyPort{} // every port: the API server fills in the protocol
		s.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{
			ExtraIngress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{port}}},
		}
	}))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	e.policies("development-celery-worker-netpol", "development-web-server-netpol")
	web := get(e, "development-web-server-netpol", &networkingv1.NetworkPolicy{})
	worker := get(e, "development-celery-worker-netpol", &networkingv1.NetworkPolicy{})
	if !metav1.IsControlledBy(web, sup) || len(web.Spec.Ingress) != 3 || len(worker.Spec.Ingress) != 2 {
		t.Errorf("owners %v, rules %v and %v", web.OwnerReferences, web.Spec.Ingress, worker.Spec.Ingress)
	}
	pods := &corev1.PodList{}
	err := e.client.List(t.Context(), pods, client.InNamespace(e.namespace), client.MatchingLabels(web.Spec.PodSelector.MatchLabels))
	if err != nil || len(pods.Items) != 2 {
		t.Errorf("the policy selects %d pods of the web server (%v)", len(pods.Items), err)
	}
	e.waitIdle(sup)
	e.reconciler = e.process(nil) // a process without in-memory state
	e.waitIdle(sup)

	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryWorker, s.Spec.CeleryBeat = nil, &v1alpha1.CeleryBeatSpec{} })
	e.policies("development-celery-beat-netpol", "development-web-server-netpol")
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.NetworkPolicy = nil })
	e.policies()
	if n := e.requests.matching(`^DELETE .*/networkpolicies/.* 200$`); n != 3 {
		t.Errorf("%d requests to delete three NetworkPolicies", n)
	}
}

func TestW21AbsentObjectsAreNotDeleted(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	e.waitIdle(sup)
	if n := e.requests.matching(`^DELETE .*/(ingresses|networkpolicies|httproutes|servicemonitors)/`); n > 0 {
		t.Errorf("%d requests to delete objects that never existed: %v", n, e.requests.list())
	}
}
