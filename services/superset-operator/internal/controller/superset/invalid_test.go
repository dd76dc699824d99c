package superset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// contradictions returns invalid specs that the schema accepts, with the path that the message must name.
func contradictions() map[string]struct {
	edit   func(*v1alpha1.Superset)
	path   string
	reason string
} {
	return map[string]struct {
		edit   func(*v1alpha1.Superset)
		path   string
		reason string
	}{
		"a sidecar named like an init container": {
			edit: func(s *v1alpha1.Superset) {
				duplicate := []corev1.Container{{Name: "twin", Image: "example.org/twin:1"}}
				s.Spec.WebServer.PodTemplate = &v1alpha1.PodTemplate{Sidecars: duplicate, InitContainers: duplicate}
			},
			path: "spec.webServer.podTemplate", reason: "InvalidSpec",
		},
		"two Services on one node port": {
			edit: func(s *v1alpha1.Superset) {
				service := &v1alpha1.ComponentServiceSpec{Type: corev1.ServiceTypeNodePort, NodePort: new(int32(31999))}
				s.Spec.WebServer.Service, s.Spec.MCPServer.Service = service, service
			},
			path: "spec.mcpServer.service", reason: "InvalidSpec",
		},
		"a schedule that never matches": {
			edit: cloning("61 2 * * *"), path: "spec.lifecycle.clone.cronSchedule", reason: "InvalidCronSchedule",
		},
	}
}

func TestInvalidSpecCreatesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range contradictions() {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.create(full(tc.edit)(l.env))
			l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), condition("LifecycleComplete", metav1.ConditionFalse, tc.reason), stalled(tc.reason, metav1.ConditionTrue)))
			if text := message(sup, "LifecycleComplete"); !strings.Contains(text, tc.path) {
				t.Errorf("the message does not name %s: %s", tc.path, text)
			}
			expect.Never(t, time.Second, func() error {
				for _, list := range []client.ObjectList{
					&appsv1.DeploymentList{}, &batchv1.JobList{}, &corev1.ServiceList{}, &networkingv1.IngressList{},
					&networkingv1.NetworkPolicyList{}, &policyv1.PodDisruptionBudgetList{},
				} {
					if err := l.client.List(t.Context(), list, client.InNamespace(l.namespace)); err != nil {
						return err
					}
					if n := meta.LenList(list); n > 0 {
						return fmt.Errorf("%d objects in %T", n, list)
					}
				}
				return nil
			})
		})
	}
}

func TestInvalidSpecKeepsRunningObjects(t *testing.T) {
	t.Parallel()
	for name, tc := range contradictions() {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(full())
			pods, frontends := l.pods(), l.frontends()
			original := sup.Spec.DeepCopy()
			start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { tc.edit(s); image("6.1.0")(s) })
			l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), condition("LifecycleComplete", metav1.ConditionFalse, tc.reason),
				condition("Available", metav1.ConditionTrue, "AllComponentsReady"), stalled(tc.reason, metav1.ConditionTrue)))
			if text := message(sup, "LifecycleComplete"); !strings.Contains(text, tc.path) {
				t.Errorf("the message does not name %s: %s", tc.path, text)
			}
			l.checkNoTaskWithoutApproval(sup, start)
			l.checkPodsUnchanged(pods)
			for key, want := range frontends {
				if got := l.frontends()[key]; got != want {
					t.Errorf("%s changed from %s to %s", key, want, got)
				}
			}
			l.edit(sup, func(s *v1alpha1.Superset) { s.Spec = *original })
			l.waitFor(sup, settled)
			l.checkPodsUnchanged(pods)
		})
	}
}

func TestSchemaRejectsInvalidSpecs(t *testing.T) {
	t.Parallel()
	c := cluster.Get(t)
	e := &env{t: t, namespace: c.Namespace(t), client: c.Client(t, scheme(t))}
	cases := map[string]struct {
		edit func(*v1alpha1.Superset)
		want string
	}{
		"a websocket server without an image": {
			edit: func(s *v1alpha1.Superset) { s.Spec.WebsocketServer.Image = nil }, want: "websocketServer.image.repository",
		},
		"an Ingress without a host": {
			edit: func(s *v1alpha1.Superset) { s.Spec.Networking.Ingress = &v1alpha1.IngressSpec{} }, want: "networking.ingress requires host",
		},
		"a clone whose source is of another type than the metastore": {
			edit: func(s *v1alpha1.Superset) {
				cloning("")(s)
				s.Spec.Lifecycle.Clone.Source.Type = new(v1alpha1.MySQL)
			},
			want: "spec.lifecycle.clone.source.type",
		},
		"a name too long for its children": {
			edit: func(s *v1alpha1.Superset) { s.Name = strings.Repeat("x", 47) }, want: "at most 46 characters",
		},
		"a cron expression of four fields": {
			edit: cloning("0 2 * *"), want: "spec.lifecycle.clone.cronSchedule",
		},
		"a rotation without a previous key": {
			edit: func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Rotate = &v1alpha1.RotateTaskSpec{} }, want: "spec.lifecycle.rotate",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := e.client.Create(t.Context(), full(tc.edit)(e))
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

// TestForeignNameBlocksAndIsReported checks that a foreign object with the name of a desired object is reported with
// the remedy, also before the operator creates another object, and that the reconcile continues after its deletion. The
// object stays unchanged.
func TestForeignNameBlocksAndIsReported(t *testing.T) {
	t.Parallel()
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "other"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	}
	for name, tc := range map[string]struct {
		foreign client.Object
		remedy  string
	}{
		"without labels": {&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, "Delete or rename"},
		"with all labels and another selector": {&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Labels: names.Labels("lab", "web-server")},
			Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, Template: pod},
		}, "Delete them"},
	} {
		t.Run(name, func(t *testing.T) {
			l, foreign := newParallelEnv(t, options{}), tc.foreign
			foreign.SetNamespace(l.namespace)
			foreign.SetName("lab-web-server")
			if err := l.client.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			sup := l.create(minimal()(l.env))
			l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), stalled("NotOwned", metav1.ConditionTrue)))
			for _, part := range []string{foreign.GetName(), tc.remedy} {
				if text := message(sup, "Degraded"); !strings.Contains(text, part) {
					t.Errorf("%q is not in the message: %s", part, text)
				}
			}
			expect.Eventually(t, timeout, func() error {
				if all := l.eventList(); !slices.ContainsFunc(all, func(e eventsv1.Event) bool {
					return e.Reason == "NotOwned" && strings.Contains(e.Note, tc.remedy)
				}) {
					return fmt.Errorf("no event has the reason and the remedy: %v", l.events())
				}
				return nil
			})
			expect.Unwritten(t, l.client, foreign)
			if err := l.client.Delete(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			l.waitFor(sup, settled)
		})
	}
}
