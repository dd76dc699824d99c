package superset_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// TestRejectedObjectDelaysNoOther uses a Service with a node port that another Service has.
func TestRejectedObjectDelaysNoOther(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full())
	conflicting := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "taken"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if err := l.client.Create(t.Context(), conflicting); err != nil {
		t.Fatal(err)
	}
	port := conflicting.Spec.Ports[0].NodePort
	l.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.WebServer.Service = &v1alpha1.ComponentServiceSpec{Type: corev1.ServiceTypeNodePort, NodePort: &port}
		s.Spec.CeleryFlower.Replicas = new(int32(2))
		s.Spec.Networking.Ingress.Host = "other.example.org"
	})
	l.waitRolledOut("celery-flower", replicas(2))
	expect.Eventually(t, timeout, func() error {
		if host := get(l.env, "lab", ingress()).Spec.Rules[0].Host; host != "other.example.org" {
			return fmt.Errorf("the Ingress is for %s", host)
		}
		return nil
	})
	l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), stalled("ApplyRefused", metav1.ConditionTrue)))
	if text := message(sup, "Degraded"); !strings.Contains(text, fmt.Sprint(port)) {
		t.Errorf("Degraded does not name the port %d: %s", port, text)
	}
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.WebServer.Service.NodePort = nil })
	l.waitFor(sup, settled)
}

// rejectingClient is a client that rejects applies of one object while an answer is set.
type rejectingClient struct {
	client.Client
	name      string
	rejection *atomic.Pointer[error]
}

func (c rejectingClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if rejection := c.rejection.Load(); rejection != nil && strings.HasSuffix(describe("apply", obj), c.name) {
		return *rejection
	}
	return c.Client.Apply(ctx, obj, opts...)
}

func TestTerminatingNamespaceCausesNoFailure(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "lab-mcp-server", fmt.Errorf("because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	var rejection atomic.Pointer[error]
	l := newParallelEnv(t, options{idle: true, wrap: func(c client.Client) client.Client {
		return rejectingClient{Client: c, name: " lab-web-server", rejection: &rejection}
	}})
	sup := l.create(full()(l.env))
	l.reconcileUntil(sup, nil, settled)
	l.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.WebServer.Service = &v1alpha1.ComponentServiceSpec{Annotations: map[string]string{"a": "b"}}
	})
	reconcile := func() error {
		_, err := l.reconciler.Reconcile(t.Context(), request(sup))
		return err
	}
	// When the cache shows the edit, a reconcile returns the error of a rejection for another reason.
	other := error(apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "lab-mcp-server", fmt.Errorf("of a policy")))
	rejection.Store(&other)
	expect.Eventually(t, timeout, func() error {
		if reconcile() == nil {
			return fmt.Errorf("the rejection was not returned")
		}
		return nil
	})
	// All components are ready, but the spec is not applied.
	l.waitFor(sup, phase(v1alpha1.PhaseDegraded))
	rejected := error(terminating)
	rejection.Store(&rejected)
	if err := reconcile(); err != nil {
		t.Errorf("in a terminating namespace: %v", err)
	}
	rejection.Store(nil)
	l.reconcileUntil(sup, nil, settled)
}

// TestRejectedMaintenancePageDelaysNothing changes the page while it serves: first in a way that the API server used
// to reject for an existing Deployment, then in one that it always rejects.
func TestRejectedMaintenancePageDelaysNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.MaintenancePageSpec){
		"another strategy": func(p *v1alpha1.MaintenancePageSpec) {
			p.DeploymentTemplate = &v1alpha1.DeploymentTemplate{Strategy: &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}}
		},
		"an invalid label": func(p *v1alpha1.MaintenancePageSpec) {
			p.PodTemplate = &v1alpha1.PodTemplate{Labels: map[string]string{"a": "not a value"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(celery())
			l.edit(sup, func(s *v1alpha1.Superset) { tasks(finishAfter("2s"))(s); image("6.1.0")(s) })
			l.waitFor(sup, func(s *v1alpha1.Superset) error {
				if !s.Status.Lifecycle.MaintenanceActive {
					return fmt.Errorf("the page does not serve: %s", text(s))
				}
				return task("migrate", v1alpha1.TaskRunning, 1)(s)
			})
			l.edit(sup, func(s *v1alpha1.Superset) { change(s.Spec.Lifecycle.MaintenancePage) })
			l.waitRolledOut("web-server", replicas(2))
			l.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
				if s.Status.Lifecycle.MaintenanceActive || s.Status.DeployedVersion != "6.1.0" {
					return fmt.Errorf("the page still serves: %s", text(s))
				}
				return nil
			}))
			maintenancePage := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: names.Component("lab", names.MaintenancePage)}}
			expect.Deleted(t, l.client, maintenancePage)
		})
	}
}

// TestRejectedTaskBlocksOnce upgrades with a Job that the API server rejects at each retry, while the components run on.
func TestRejectedTaskBlocksOnce(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal())
	l.edit(sup, func(s *v1alpha1.Superset) {
		image("6.1.0")(s)
		s.Spec.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{Labels: map[string]string{"a": "not a value"}}
	})
	l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), stalled("ApplyRefused", metav1.ConditionTrue)))
	l.checkBlockedOnce(sup)
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Lifecycle.PodTemplate = nil })
	l.waitFor(sup, settled)
	l.checkBlockedOnce(sup)
}

// checkBlockedOnce checks for some time, which is enough for several retries, that the phase became Blocked only once.
func (l *recordedEnv) checkBlockedOnce(sup *v1alpha1.Superset) {
	l.t.Helper()
	expect.Never(l.t, 2*time.Second, func() error {
		if err := l.client.Get(l.t.Context(), client.ObjectKeyFromObject(sup), sup); err != nil {
			return err
		}
		n := 0
		for _, entry := range sup.Status.Transitions {
			if entry.To == string(v1alpha1.PhaseBlocked) {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%d transitions into Blocked, want 1: %+v", n, sup.Status.Transitions)
		}
		return nil
	})
}
