package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// getInstance returns a reference to the environment's instance, without content.
func (s *testEnv) getInstance() *v1alpha1.FireboltInstance {
	i := instance("shop")
	i.Namespace = s.namespace
	return i
}

// editInstance changes the environment's instance as a user would.
func (s *testEnv) editInstance(change func(*v1alpha1.FireboltInstance)) *v1alpha1.FireboltInstance {
	s.t.Helper()
	before := s.getInstance()
	if err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(before), before); err != nil {
		s.t.Fatal(err)
	}
	after := before.DeepCopy()
	change(after)
	if err := s.api.Patch(s.t.Context(), after, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
	return after
}

// instanceIs waits until the environment's instance is in the phase and the component's condition has the
// reason, and returns the instance.
func (s *testEnv) instanceIs(phase v1alpha1.InstancePhase, component, reason string) *v1alpha1.FireboltInstance {
	s.t.Helper()
	i := s.getInstance()
	expect.Object(s.t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
		c := meta.FindStatusCondition(i.Status.Conditions, component)
		if c == nil || c.Reason != reason || c.ObservedGeneration != i.Generation || i.Status.Phase != phase {
			return fmt.Errorf("phase %s, %+v", i.Status.Phase, i.Status.Conditions)
		}
		return nil
	})
	return i
}

// simulate lets the pods of a component fail, or recover when failure is empty.
func (s *testEnv) simulate(component, failure string) {
	s.t.Helper()
	pods := &corev1.PodList{}
	if err := s.api.List(s.t.Context(), pods, client.InNamespace(s.namespace), client.MatchingLabels(names.ComponentLabels("shop", component))); err != nil {
		s.t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		s.t.Fatalf("no pods of %s", component)
	}
	for i := range pods.Items {
		before := pods.Items[i].DeepCopy()
		metav1.SetMetaDataAnnotation(&pods.Items[i].ObjectMeta, "simulate.flotilla.dev/fail", failure)
		if failure == "" {
			delete(pods.Items[i].Annotations, "simulate.flotilla.dev/fail")
		}
		if err := s.api.Patch(s.t.Context(), &pods.Items[i], client.MergeFrom(before)); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestGatewayFailureDegradesInstanceOnly(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)

	s.simulate("gateway", "NeverReady")
	i := s.instanceIs(v1alpha1.InstanceDegraded, v1alpha1.ConditionGatewayReady, v1alpha1.ReasonProbeFailed)
	if i.Status.GatewayEndpoint != "" || i.Status.GatewayReady || i.Status.MetadataEndpoint == "" || !i.Status.MetadataReady {
		t.Errorf("status = %+v", i.Status)
	}
	s.waitForInstanceReason(i, v1alpha1.ReasonProbeFailed)
	expect.Condition(t, s.api, i, "Available", metav1.ConditionFalse)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)

	s.simulate("gateway", "")
	i = s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionGatewayReady, v1alpha1.ReasonComponentReady)
	var phases []string
	for _, entry := range i.Status.Transitions {
		phases = append(phases, entry.To)
	}
	if got := strings.Join(phases, " "); got != "Provisioning Ready Degraded Ready" {
		t.Errorf("transitions: %s", got)
	}
	s.warned("Degraded")
}

// warned waits for a Warning event of the instance that contains the text.
func (s *testEnv) warned(text string) {
	s.t.Helper()
	expect.Eventually(s.t, expect.Long, func() error {
		list := &eventsv1.EventList{}
		if err := s.api.List(s.t.Context(), list, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Kind == "FireboltInstance" && e.Regarding.Name == "shop" && e.Type == corev1.EventTypeWarning && strings.Contains(e.Note, text) {
				return nil
			}
		}
		return fmt.Errorf("none of %d events is a warning about %q", len(list.Items), text)
	})
}

func TestDefect8InstanceRecoversFromPermanentFailure(t *testing.T) {
	t.Parallel()
	component := func(c corev1.Container) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
	}
	cases := map[string]struct {
		breaks    func(*v1alpha1.FireboltInstance)
		component string
		reason    string
		text      string
	}{
		"a gateway template that sets what is the operator's": {
			breaks: func(i *v1alpha1.FireboltInstance) {
				i.Spec.Gateway.Template = component(corev1.Container{Name: "envoy", Command: []string{"sh"}})
			},
			component: v1alpha1.ConditionGatewayReady, reason: v1alpha1.ReasonTemplateRejected, text: "spec.gateway.template.spec.containers[envoy].command",
		},
		"a metadata template that does so": {
			breaks: func(i *v1alpha1.FireboltInstance) {
				i.Spec.Metadata.Template = component(corev1.Container{Name: "metadata", Args: []string{"--help"}})
			},
			component: v1alpha1.ConditionMetadataReady, reason: v1alpha1.ReasonTemplateRejected, text: "spec.metadata.template.spec.containers[metadata].args",
		},
		"resources that the API server calls invalid": {
			breaks: func(i *v1alpha1.FireboltInstance) {
				i.Spec.Metadata.Template = component(corev1.Container{Name: "metadata", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
					Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
				}})
			},
			component: v1alpha1.ConditionMetadataReady, reason: v1alpha1.ReasonEnsureFailed, text: "must be less than or equal to cpu limit",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			s.editInstance(tc.breaks)
			i := s.instanceIs(v1alpha1.InstanceFailed, tc.component, tc.reason)
			if c := meta.FindStatusCondition(i.Status.Conditions, tc.component); !strings.Contains(c.Message, tc.text) {
				t.Errorf("message %q does not name %q", c.Message, tc.text)
			}
			if i.Status.MetadataEndpoint == "" || i.Status.GatewayEndpoint == "" {
				t.Errorf("what still runs lost its endpoints: %+v", i.Status)
			}
			s.requests.reset()
			expect.Never(t, 2*short, func() error {
				if got := s.requests.list(false); len(got) > 8 {
					return fmt.Errorf("%d requests, as in a tight loop: %v", len(got), got)
				}
				return nil
			})
			s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Spec.Metadata.Template, i.Spec.Gateway.Template = nil, nil })
			s.instanceIs(v1alpha1.InstanceReady, tc.component, v1alpha1.ReasonComponentReady)
		})
	}
}

func TestRejectedComponentKeepsOtherComponent(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	i := instance("shop") // its Secret does not exist, and is not requested
	i.Spec.Metadata.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Hostname: "h", HostNetwork: true}}
	s.create(i)
	i = s.instanceIs(v1alpha1.InstanceFailed, v1alpha1.ConditionMetadataReady, v1alpha1.ReasonTemplateRejected)
	for _, path := range []string{"spec.metadata.template.spec.hostname", "spec.metadata.template.spec.hostNetwork"} {
		if c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(c.Message, path) {
			t.Errorf("Ready = %+v does not name %s", c, path)
		}
	}
	s.instanceIs(v1alpha1.InstanceFailed, v1alpha1.ConditionGatewayReady, v1alpha1.ReasonComponentReady)
	deployments := &appsv1.DeploymentList{}
	if err := s.api.List(t.Context(), deployments, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 1 || deployments.Items[0].Name != "shop-gateway" {
		t.Errorf("deployments: %d", len(deployments.Items))
	}
}

func TestPausedInstanceStaysUnchanged(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandPaused}
	})
	expect.Condition(t, s.api, s.getInstance(), "Paused", metav1.ConditionTrue)
	s.requests.reset()
	s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Spec.Gateway.Replicas = new(int32(3)) })
	s.simulate("gateway", "NeverReady")
	expect.Object(t, s.api, s.getInstance(), func(i *v1alpha1.FireboltInstance) error {
		if i.Status.GatewayReady {
			return errors.New("the status is not fresh")
		}
		return nil
	})
	for _, w := range s.requests.list(true) {
		if !strings.HasSuffix(w, "/fireboltinstances/shop/status") && !strings.Contains(w, "/events") {
			t.Errorf("a paused instance was written: %s", w)
		}
	}
	s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Annotations = nil })
	s.simulate("gateway", "")
	gateway := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop-gateway"}}
	expect.Object(t, s.api, gateway, func(d *appsv1.Deployment) error {
		if d.Status.ReadyReplicas != 3 {
			return fmt.Errorf("%d pods ready", d.Status.ReadyReplicas)
		}
		return nil
	})
}

// kubectl rollout restart writes an annotation into the pod template. The operator does not set
// it, so it stays; edits of the operator's fields are reverted.
func TestMetadataServiceAllowsRestartAndRepairsEdits(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	metadata := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop-metadata"}}
	s.read(metadata)
	before := metadata.DeepCopy()
	metadata.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
	metadata.Spec.Template.Spec.Containers[0].Command = []string{"sleep"}
	if err := s.api.Patch(t.Context(), metadata, client.MergeFrom(before), client.FieldOwner("kubectl")); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, s.api, metadata, func(d *appsv1.Deployment) error {
		c := d.Spec.Template.Spec.Containers[0].Command
		if c[0] == "sleep" || d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "now" || d.Status.ReadyReplicas != 1 || d.Status.ObservedGeneration != d.Generation {
			return fmt.Errorf("command %v, annotations %v, status %+v", c, d.Spec.Template.Annotations, d.Status)
		}
		return nil
	})
}
