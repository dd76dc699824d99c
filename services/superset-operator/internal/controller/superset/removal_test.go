package superset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestW2DrainFollowsExistingObjects removes pods from the spec in the edit that requests a migration. The operator
// must neither wait forever nor migrate while pods run.
func TestW2DrainFollowsExistingObjects(t *testing.T) {
	t.Parallel()
	slowTermination := func(s *v1alpha1.Superset) {
		s.Spec.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{controlplane.EndAfterAnnotation: "500ms"}}
	}
	cases := map[string]struct {
		change    func(*v1alpha1.Superset)
		ready     string
		remaining []string
	}{
		"one component removed": {
			change: func(s *v1alpha1.Superset) { s.Spec.CeleryWorker = nil },
			ready:  "6/6", remaining: []string{"celery-beat", "celery-flower", "mcp-server", "web-server", "websocket-server"},
		},
		"all components removed": {
			change: func(s *v1alpha1.Superset) {
				s.Spec.WebServer, s.Spec.CeleryWorker, s.Spec.CeleryBeat = nil, nil, nil
				s.Spec.CeleryFlower, s.Spec.WebsocketServer, s.Spec.MCPServer = nil, nil, nil
				s.Spec.Networking = nil
			},
			ready: "0/0",
		},
		"no replicas desired": {
			change: func(s *v1alpha1.Superset) {
				s.Spec.Replicas, s.Spec.WebServer.Replicas = new(int32(0)), nil
				s.Spec.CeleryWorker.Autoscaling, s.Spec.CeleryBeat = nil, nil
			},
			ready: "0/0", remaining: []string{"celery-flower", "celery-worker", "mcp-server", "web-server", "websocket-server"},
		},
		"the web server removed": {
			change: func(s *v1alpha1.Superset) { s.Spec.WebServer, s.Spec.Networking = nil, nil },
			ready:  "5/5", remaining: []string{"celery-beat", "celery-flower", "celery-worker", "mcp-server", "websocket-server"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(full(slowTermination))
			start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { tc.change(s); image("6.1.0")(s) })
			l.waitFor(sup, all(phase(v1alpha1.PhaseRunning), lifecyclePhase(v1alpha1.LifecycleComplete), func(s *v1alpha1.Superset) error {
				if s.Status.Ready != tc.ready || s.Status.LastLifecycleImage != "apache/superset:6.1.0" {
					return fmt.Errorf("ready %s, image %s", s.Status.Ready, s.Status.LastLifecycleImage)
				}
				return nil
			}))
			expect.Deleted(t, l.client, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: page}})
			l.history.checkTasks("migrate")
			if diff := cmp.Diff([]string{"preflight", "migrate", "init"}, taskNames(l.history.tasks(start))); diff != "" {
				t.Errorf("tasks differ (-want +got):\n%s", diff)
			}
			var got []string
			for _, obj := range l.owned(&appsv1.DeploymentList{}, sup) {
				got = append(got, obj.GetName()[len("lab-"):])
			}
			if diff := cmp.Diff(tc.remaining, got); diff != "" {
				t.Errorf("Deployments differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemovedComponentsLeaveNothing(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full())
	pods := l.pods()
	l.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.MCPServer, s.Spec.NetworkPolicy, s.Spec.PodDisruptionBudget = nil, nil, nil
		s.Spec.CeleryWorker.Autoscaling = nil
	})
	for _, obj := range []named{
		{&appsv1.Deployment{}, "lab-mcp-server"},
		{&corev1.Service{}, "lab-mcp-server"},
		{&corev1.ConfigMap{}, "lab-mcp-server-config"},
		{policy(), "lab-web-server-netpol"},
		{policy(), "lab-mcp-server-netpol"},
		{budget(), "lab-web-server"},
		{budget(), "lab-mcp-server"},
		{autoscaler(), "lab-celery-worker"},
	} {
		obj.SetNamespace(l.namespace)
		obj.SetName(obj.name)
		expect.Deleted(t, l.client, obj.Object)
	}
	l.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
		if s.Status.Components.MCPServer != nil || s.Status.Ready != "6/6" {
			return fmt.Errorf("ready %s", s.Status.Ready)
		}
		return nil
	}))
	var remaining []string
	expect.Eventually(t, timeout, func() error {
		if remaining = l.pods(); len(remaining) != len(pods)-1 {
			return fmt.Errorf("pods were %v and are %v", pods, remaining)
		}
		return nil
	})
	for _, p := range remaining {
		found := false
		for _, before := range pods {
			found = found || before == p
		}
		if !found {
			t.Errorf("pod %s is new", p)
		}
	}
	// Without a proxy the configuration differs, so this change alone rolls pods.
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Networking = nil })
	route := ingress()
	route.SetNamespace(l.namespace)
	route.SetName("lab")
	expect.Deleted(t, l.client, route)
	l.waitFor(sup, settled)
}

// refusingClient refuses the deletion of autoscalers.
type refusingClient struct{ client.Client }

func (c refusingClient) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if _, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler); ok {
		return apierrors.NewForbidden(autoscalingv2.Resource("horizontalpodautoscalers"), obj.GetName(), errors.New("a webhook denied the request"))
	}
	return c.Client.Delete(ctx, obj, options...)
}

// TestRefusedDeletionKeepsNoPods removes a component whose autoscaler cannot be deleted: its pods, Service and
// configuration are deleted, and the error is reported.
func TestRefusedDeletionKeepsNoPods(t *testing.T) {
	l := newParallelEnv(t, options{wrap: func(c client.Client) client.Client { return refusingClient{c} }})
	sup := l.createRunning(full())
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryWorker = nil })
	meta := metav1.ObjectMeta{Namespace: l.namespace, Name: "lab-celery-worker"}
	expect.Deleted(t, l.client, &appsv1.Deployment{ObjectMeta: meta})
	expect.Deleted(t, l.client, &policyv1.PodDisruptionBudget{ObjectMeta: meta})
	config := metav1.ObjectMeta{Namespace: l.namespace, Name: "lab-celery-worker-config"}
	expect.Deleted(t, l.client, &corev1.ConfigMap{ObjectMeta: config})
	l.waitFor(sup, func(s *v1alpha1.Superset) error {
		if text := message(s, "Degraded"); !strings.Contains(text, "a webhook denied the request") {
			return fmt.Errorf("message of Degraded: %q", text)
		}
		return nil
	})
}

// TestTerminatingObjectsDelayNoDrain drains components whose Service, autoscaler and disruption budget stay because of a
// finalizer, as the Service of a load balancer does. They are replaced once they are deleted.
func TestTerminatingObjectsDelayNoDrain(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full())
	objects := []client.Object{
		get(l.env, "lab-celery-flower", &corev1.Service{}), get(l.env, "lab-celery-worker", autoscaler()), get(l.env, "lab-web-server", budget()),
	}
	finalizers := func(text string) {
		t.Helper()
		for _, obj := range objects {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+text+`}}`))
			if err := l.client.Patch(t.Context(), obj, patch); err != nil {
				t.Fatal(err)
			}
		}
	}
	finalizers(`["flotilla.dev/test"]`)
	l.edit(sup, image("6.1.0"))
	expect.Eventually(t, timeout, func() error {
		d := &appsv1.Deployment{}
		if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: l.namespace, Name: "lab-celery-flower"}, d); err != nil {
			return err
		}
		if runningImage(d) != "apache/superset:6.1.0" {
			return errors.New("not upgraded")
		}
		return nil
	})
	l.waitFor(sup, func(s *v1alpha1.Superset) error {
		if text := message(s, "Degraded"); !strings.Contains(text, "object is being deleted") {
			return fmt.Errorf("message of Degraded: %q", text)
		}
		return nil
	})
	finalizers("null")
	l.waitFor(sup, settled)
	for _, obj := range objects {
		former := obj.GetUID()
		if now := get(l.env, obj.GetName(), obj); now.GetUID() == former {
			t.Errorf("%T %s was not replaced", obj, obj.GetName())
		}
	}
}
